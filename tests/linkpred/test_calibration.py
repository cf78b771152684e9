"""`fit_link_probability`: what it fits, what it leaves alone, and when it says no."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import BaseEstimator

from heat_neo4j.geometry.hyperboloid import lift
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.calibration import CalibrationError, LinkProbability, fit_link_probability
from heat_neo4j.linkpred.splits import split_edges


def communities(n: int = 120, groups: int = 4, seed: int = 0) -> Graph:
    """Groups with many relationships inside and few between."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % groups
    chance = np.where(group[:, None] == group[None, :], 0.25, 0.01)
    return Graph(adjacency=sparse.csr_array(np.triu(rng.random((n, n)) < chance, k=1).astype(float)))


def quick_heat(**parameters: Any) -> HEAT:
    return HEAT(n_components=3, walks_per_node=3, walk_length=20, **parameters)


@dataclass
class Fixed(BaseEstimator):
    """An estimator that answers with given points and remembers what it was fitted on."""

    points: Any
    random_state: int | None = 0
    seen = None

    def fit(self, graph: Graph, *, on_progress: Any) -> Fixed:
        Fixed.seen = graph
        self.embedding_ = lift(self.points)
        return self


def test_is_the_logistic_fit_of_held_out_distances() -> None:
    graph = communities()
    points = np.random.default_rng(1).normal(size=(120, 2)) * 0.3
    points[:, 0] += np.arange(120) % 4
    fitted = fit_link_probability(Fixed(points), graph, share=0.2)
    split = split_edges(graph, 0.2, random_state=0, non_edges_per_edge=5)
    embedding = lift(points)

    def distances(pairs: np.ndarray) -> np.ndarray:
        a, b = embedding[pairs[:, 0]], embedding[pairs[:, 1]]
        return np.arccosh(a[:, -1] * b[:, -1] - np.sum(a[:, :-1] * b[:, :-1], axis=1))

    near, far = distances(split.test_edges), distances(split.test_non_edges)

    width = np.concatenate((near, far)).std()
    half = (len(near) + len(far)) / 2  # edges and non-edges weigh the same together

    def loss(parameters: np.ndarray) -> float:
        """Logistic, with scikit-learn's penalty on the slope per standard deviation."""
        intercept, slope = parameters
        fit = (
            half * np.logaddexp(0, -(intercept + slope * near)).mean()
            + half * np.logaddexp(0, intercept + slope * far).mean()
        )
        return float(fit + 0.5 * (slope * width) ** 2)

    intercept, slope = minimize(loss, [0.0, -1.0], tol=1e-12).x
    assert fitted.radius == pytest.approx(-intercept / slope, rel=1e-4)
    assert fitted.temperature == pytest.approx(-1 / slope, rel=1e-4)
    assert (fitted.n_edges, fitted.n_non_edges) == (len(near), len(far))
    assert naive_auroc(near, far) == pytest.approx(fitted.auroc, abs=1e-12)


def naive_auroc(near: np.ndarray, far: np.ndarray) -> float:
    return float(np.mean((near[:, None] < far[None, :]) + 0.5 * (near[:, None] == far[None, :])))


def test_training_never_sees_the_held_out_edges_and_the_model_stays_as_it_is() -> None:
    graph = communities()
    model = quick_heat(random_state=5).fit(graph)
    before = model.embedding_.copy()
    first, again = fit_link_probability(model, graph), fit_link_probability(model, graph)
    assert first == again
    np.testing.assert_array_equal(model.embedding_, before)
    assert first.auroc > 0.7
    stand_in = Fixed(np.random.default_rng(0).normal(size=(120, 2)) + 3 * (np.arange(120) % 4)[:, None])
    fit_link_probability(stand_in, graph)
    split = split_edges(graph, 0.1, random_state=0)
    assert (Fixed.seen.adjacency != split.train.adjacency).nnz == 0
    assert not Fixed.seen.adjacency[split.test_edges[:, 0], split.test_edges[:, 1]].any()


def test_an_unfitted_model_without_a_seed_will_do() -> None:
    fitted = fit_link_probability(quick_heat(), communities())
    assert np.isfinite(fitted.radius)
    assert fitted.temperature > 0


def test_perfectly_parted_distances_give_a_finite_curve() -> None:
    graph = Graph(adjacency=sparse.block_diag([sparse.coo_array(np.ones((12, 12)))] * 2, format="csr"))
    points = np.repeat([[-4.0, 0.0], [4.0, 0.0]], 12, axis=0)
    fitted = fit_link_probability(Fixed(points), graph, share=0.2)
    assert fitted.auroc == 1.0
    assert 0 < fitted.temperature < np.inf
    assert 0 < fitted.radius < 8
    near, far = fitted([0.0, 9.0])
    assert 0.9 < near < 1
    assert 0 < far < 0.1


def test_probability_is_a_half_at_the_radius_and_never_overflows() -> None:
    curve = LinkProbability(radius=2.0, temperature=0.01, n_edges=10, n_non_edges=10, auroc=0.9)
    assert curve(2.0) == 0.5
    np.testing.assert_array_equal(curve([0.0, 1e6]), [1.0, 0.0])
    assert curve(np.zeros((0,))).shape == (0,)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (Graph(adjacency=sparse.csr_array((5, 5))), "no edge .* can be held out"),
        (communities(n=40), "edges can be held out against"),
        (Graph(adjacency=sparse.csr_array(np.ones((30, 30)))), "the graph of 30 nodes is complete"),
    ],
    ids=["no edges", "few edges", "complete"],
)
def test_says_why_there_is_no_probability(graph: Graph, message: str) -> None:
    with pytest.raises(CalibrationError, match=f"^no link probability: .*{message}"):
        fit_link_probability(quick_heat(random_state=0), graph)


def test_refuses_distances_that_say_nothing_or_the_opposite() -> None:
    graph = communities()
    with pytest.raises(CalibrationError, match=r"not nearer than other pairs \(AUROC 0.500\)"):
        fit_link_probability(Fixed(np.zeros((120, 2))), graph)
    bipartite = Graph(adjacency=sparse.csr_array(np.kron([[0, 1], [1, 0]], np.eye(60) + np.eye(60, k=1))))
    apart = np.repeat([[-3.0, 0.0], [3.0, 0.0]], 60, axis=0)
    with pytest.raises(CalibrationError, match="held-out edges are not nearer"):
        fit_link_probability(Fixed(apart), bipartite)
