"""Teleports among near nodes only: their weights are exact, and what is left out is told."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j import HEAT, Graph
from heat_neo4j._kernels.random import stream
from heat_neo4j._kernels.similarity import sample_similar
from heat_neo4j.embedding import estimator
from heat_neo4j.embedding import similarity as _similarity
from heat_neo4j.errors import ConfigError
from tests.support import naive
from tests.support.slow import slow

N = 300


@pytest.fixture(scope="module", params=["few columns", "many columns"])
def graph(request):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 5, N)
    columns = 30 if request.param == "few columns" else 400
    chance = np.where(np.arange(columns) % 5 == group[:, None], 0.3, 0.02) * 30 / columns
    facts = sparse.csr_array((rng.random((N, columns)) < chance).astype(float))
    ring = sparse.csr_array(np.roll(np.eye(N), 1, axis=1))
    return Graph(adjacency=ring, attributes=facts)


@pytest.fixture(scope="module")
def law(graph):
    return naive.similarity(graph.attributes.toarray())


@pytest.fixture(params=["compared", slow("searched")])
def near_attributes(request, monkeypatch):
    limit = _similarity.TABLE_LIMIT if request.param == "compared" else 0
    near = partial(_similarity.near_attributes, table_limit=limit)
    monkeypatch.setattr(estimator, "near_attributes", near)
    return near


def weights_of(similarity):
    """The listed weights as a dense matrix."""
    weights, begins = np.zeros((N, N)), similarity.listed_from
    for u in range(N):
        part = slice(begins[u], begins[u + 1])
        weights[u, similarity.listed_nodes[part]] = np.diff(similarity.listed_cumulative[part], prepend=0.0)
    return weights


def test_listed_weights_are_those_of_the_law(graph, law, near_attributes):
    similarity, _ = near_attributes(graph, 12, 3)
    sizes = np.diff(similarity.listed_from)
    assert sizes.max() <= 13
    assert sizes.mean() > 5
    weights = weights_of(similarity)
    np.testing.assert_allclose(weights[weights > 0], law[weights > 0], atol=1e-9)


def test_the_most_similar_of_few_nodes_are_listed(graph, law):
    similarity, _ = _similarity.near_attributes(graph, 12, 3)
    listed, best = weights_of(similarity), np.sort(law, axis=1)[:, -12:]
    np.testing.assert_allclose(listed.sum(axis=1), np.maximum(best, 0.0).sum(axis=1), atol=1e-9)


def test_the_lists_hold_most_of_the_most_similar(graph, law, near_attributes):
    similarity, _ = near_attributes(graph, 12, 3)
    best = np.sort(law, axis=1)[:, -12:].sum(axis=1)
    # Rows of one or two attributes in 400 form islands of ties, between which the search does not find.
    least = 0.99 if graph.n_attributes < 100 else 0.5
    assert (weights_of(similarity).sum(axis=1)[best > 0] / best[best > 0]).mean() > least


def test_the_dropped_mass_is_what_is_not_listed(graph, law, near_attributes):
    similarity, dropped = near_attributes(graph, 12, 3)
    whole = law.sum(axis=1)
    share = 1 - weights_of(similarity).sum(axis=1)[whole > 0] / whole[whole > 0]
    assert dropped == pytest.approx(share.mean(), abs=0.02)  # of 256 of the 300 nodes
    assert 0.2 < dropped < 1


def test_all_neighbours_are_the_whole_law(graph, near_attributes):
    _, dropped = near_attributes(graph, N - 1, 3)
    assert dropped < 0.05


def test_draws_follow_the_listed_weights(graph, near_attributes):
    similarity, _ = near_attributes(graph, 12, 3)
    node = int(weights_of(similarity).sum(axis=1).argmax())
    draws = 20_000
    drawn = np.empty(draws, dtype=np.int64)
    states = np.array([stream(np.uint64(1), i) for i in range(draws)], dtype=np.uint64)
    sample_similar(similarity, np.full(draws, node), states, np.arange(draws), draws, drawn)
    weights = weights_of(similarity)[node]
    expected = weights / weights.sum() * draws
    seen = np.bincount(drawn, minlength=N)[weights > 0]
    assert seen.sum() == draws
    assert (((seen - expected[weights > 0]) ** 2 / expected[weights > 0]).sum()) < 60


def test_a_fit_tells_what_it_left_out_and_repeats_to_the_bit(graph, near_attributes):
    options = {"attribute_neighbours": 10, "walks_per_node": 2, "walk_length": 10, "random_state": 0}
    one, two = (HEAT(3, **options, n_threads=threads).fit(graph) for threads in (1, 2))
    assert one.training_["attribute_sampling"] == "neighbours"
    assert 0.2 < one.training_["attribute_mass_dropped"] < 1
    assert one.embedding_.tobytes() == two.embedding_.tobytes()
    exact = HEAT(3, **{**options, "attribute_neighbours": None}).fit(graph)
    assert exact.training_["attribute_mass_dropped"] == 0
    assert exact.embedding_.tobytes() != one.embedding_.tobytes()


def test_without_the_library_one_line_says_what_to_install(graph, monkeypatch):
    monkeypatch.setattr(_similarity, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'heat-neo4j\[approximate\]'"):
        _similarity.near_attributes(graph, 5, 0, table_limit=N - 1)
