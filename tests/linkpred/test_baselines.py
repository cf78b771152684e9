"""Baselines against what they are by definition, one pair at a time."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import cosine_similarity

from heat_neo4j.geometry.hyperboloid import check_points, from_poincare, radius
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred import baselines
from tests.support.gensim import needs_gensim


def a_graph(n: int = 30, n_edges: int = 90, seed: int = 0, attributes: bool = True) -> Graph:
    rng = np.random.default_rng(seed)
    u, v = np.triu_indices(n - 1, k=1)  # the last node is isolated
    chosen = rng.choice(len(u), size=n_edges, replace=False)
    return Graph(
        sparse.csr_array((rng.uniform(0.5, 2, n_edges), (u[chosen], v[chosen])), shape=(n, n)),
        attributes=sparse.random_array((n, 8), density=0.3, rng=rng, format="csr") if attributes else None,
    )


def dense(scorer) -> np.ndarray:
    return scorer.rows(0, scorer.n_nodes)


def test_popularity_and_adamic_adar_count_neighbours() -> None:
    graph = a_graph()
    near = [set(map(int, graph.adjacency[[u]].nonzero()[1])) for u in range(30)]
    degrees = dense(baselines.popularity(graph))
    shared = dense(baselines.adamic_adar(graph))
    for u in range(30):
        for v in range(30):
            assert degrees[u, v] == (1 + len(near[u])) * (1 + len(near[v]))
            if u != v:
                common = sum(1 / math.log(len(near[w])) for w in near[u] & near[v])
                assert shared[u, v] == pytest.approx(common, abs=1e-12)


def test_attribute_cosine_is_scikit_learns() -> None:
    graph = a_graph()
    found = dense(baselines.attribute_cosine(graph))
    np.testing.assert_allclose(found, cosine_similarity(graph.attributes), atol=1e-12)
    assert baselines.attribute_cosine(a_graph(attributes=False)) is None


@pytest.mark.parametrize("normalised", [False, True])
def test_svd_is_the_best_approximation_of_its_rank(normalised: bool) -> None:
    graph = a_graph()
    full = (graph.adjacency.toarray() != 0).astype(float)
    if normalised:
        full /= np.sqrt(np.maximum(np.outer(full.sum(axis=1), full.sum(axis=0)), 1))
    left, values, right = np.linalg.svd(full)
    best = left[:, :4] * values[:4] @ right[:4]
    # Of two singular values that are equal, either may be taken; here none are.
    found = dense(baselines.truncated_svd(graph, rank=4, normalised=normalised))
    np.testing.assert_allclose(found, best, atol=1e-4)


@needs_gensim
def test_poincare_embedding_is_gensims_in_the_order_of_the_graph() -> None:
    from gensim.models.poincare import PoincareModel

    graph, calls = a_graph(), []
    points = baselines.poincare_embedding(graph, 3, 2, lambda *call: calls.append(call), epochs=3)
    assert calls == [("gensim", epoch, 3) for epoch in range(4)]
    edges = [(u, v) for u in range(30) for v in graph.adjacency[[u]].nonzero()[1].tolist()]
    model = PoincareModel(edges, size=3, negative=10, seed=2)
    model.train(epochs=3)
    for u in range(29):
        np.testing.assert_array_equal(points[u], from_poincare(model.kv[u]))


@needs_gensim
def test_poincare_embedding_is_on_the_hyperboloid_and_repeatable() -> None:
    graph = a_graph()
    points = baselines.poincare_embedding(graph, 3, seed=2, epochs=6)
    assert points.shape == (30, 4)
    check_points(points)
    assert radius(points)[29] == 0.0  # nobody's neighbour: gensim never saw it
    assert (radius(points)[:29] > 0).all()
    np.testing.assert_array_equal(points, baselines.poincare_embedding(graph, 3, seed=2, epochs=6))
    assert not np.array_equal(points, baselines.poincare_embedding(graph, 3, seed=3, epochs=6))


@needs_gensim
def test_poincare_embedding_takes_fewer_negatives_or_says_there_are_none() -> None:
    path = Graph(sparse.diags_array(np.ones(4), offsets=1, shape=(5, 5), format="csr"))
    check_points(baselines.poincare_embedding(path, 2, seed=0, epochs=1))
    full = Graph(sparse.csr_array(np.ones((4, 4))))
    with pytest.raises(baselines.BaselineUnavailableError, match="linked to all others"):
        baselines.poincare_embedding(full, 2, seed=0)


def test_without_gensim_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gensim", None)
    with pytest.raises(baselines.BaselineUnavailableError) as caught:
        baselines.poincare_embedding(a_graph(), 2, seed=0)
    assert str(caught.value) == "not installed: pip install 'heat-neo4j[baselines]'"
