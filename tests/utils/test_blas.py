"""All that is promised has the same bits for any number of BLAS threads, on arrays large enough to differ."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from heat_neo4j.embedding.attribute_signal import attribute_signals
from heat_neo4j.geometry.drift import fit_isometry, measure_drift
from heat_neo4j.geometry.hyperboloid import lift
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.calibration import HeldOut
from heat_neo4j.linkpred.link_score import LinkScore, link_score
from heat_neo4j.linkpred.prediction import predict_links
from heat_neo4j.linkpred.splits import split_edges


def points_of(n: int, d: int, seed: int = 0) -> np.ndarray:
    return lift(np.random.default_rng(seed).normal(size=(n, d)))


def near_pairs(n: int, n_edges: int, columns: int = 30) -> Graph:
    """Return a graph that joins nodes with near numbers, with sparse attributes."""
    rng = np.random.default_rng(0)
    source = rng.integers(0, n, size=n_edges)
    target = (source + rng.geometric(0.02, size=n_edges)) % n
    adjacency = sparse.csr_array(sparse.coo_array((np.ones(n_edges), (source, target)), shape=(n, n)))
    attributes = sparse.random_array((n, columns), density=0.1, rng=rng, format="csr")
    return Graph(adjacency=adjacency, attributes=attributes)


def on_a_spiral(n: int) -> np.ndarray:
    """Return points that lie near each other where their numbers are near."""
    turn = np.linspace(0.0, 2 * np.pi, n)
    return lift(3.0 * np.column_stack((np.cos(turn), np.sin(turn), np.sin(9 * turn))))


def held_out(n: int, n_edges: int) -> HeldOut:
    split = split_edges(near_pairs(n, n_edges), 0.1, random_state=0, non_edges_per_edge=5)
    return HeldOut(split, on_a_spiral(n))


def coordinates() -> object:
    return HEAT(16, walks_per_node=1, walk_length=10, random_state=0).fit(near_pairs(2000, 8000)).embedding_


def alignment() -> object:
    source, target = points_of(30_000, 16), points_of(30_000, 16, seed=1)
    return fit_isometry(source, target)(source)


def drift() -> object:
    return measure_drift(points_of(3000, 16), points_of(3000, 16, seed=1), [""] * 3000).to_dict()


@cache
def score() -> LinkScore:
    return link_score([held_out(1500, 12_000)], near_pairs(1500, 12_000))


def fitted_score() -> object:
    return score().to_dict()


def links() -> object:
    graph = near_pairs(1500, 12_000)
    found = predict_links(on_a_spiral(1500), graph, 3, score=score())
    assert found.probability is not None
    return found.source, found.target, found.probability


def choice() -> object:
    return attribute_signals(near_pairs(500, 2000))


PROMISED: tuple[Callable[[], object], ...] = (
    alignment, choice, fitted_score, coordinates, drift, links,
)  # fmt: skip


def bits_of(result: object) -> str:
    return hashlib.sha256(pickle.dumps(result)).hexdigest()


def of_threads(n_threads: int) -> dict[str, str]:
    """Return the bits of all that is promised, computed while BLAS has so many threads."""
    score.cache_clear()
    with threadpool_limits(n_threads, user_api="blas"):
        return {compute.__name__: bits_of(compute()) for compute in PROMISED}


@pytest.fixture(scope="module")
def bits() -> tuple[dict[str, str], dict[str, str]]:
    return of_threads(1), of_threads(2)


@pytest.mark.parametrize("name", [compute.__name__ for compute in PROMISED])
def test_the_bits_do_not_depend_on_the_number_of_blas_threads(name: str, bits) -> None:
    one, two = bits
    assert one[name] == two[name]
