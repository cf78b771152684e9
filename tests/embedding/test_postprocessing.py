"""Trained points set right: against a twin that takes one node at a time."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from heat_neo4j.embedding.placement import refine
from heat_neo4j.geometry.hyperboloid import check_points, lift, radius
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from tests.linkpred.test_link_score import clustered


def a_graph() -> Graph:
    """Return 30 nodes with weighted edges, the last of them alone."""
    rng = np.random.default_rng(4)
    upper = np.triu(rng.random((30, 30)) < 0.15, k=1) * rng.uniform(0.5, 3.0, size=(30, 30))
    upper[:, 29] = 0.0
    return Graph(adjacency=sparse.csr_array(upper))


def twin(points: np.ndarray, graph: Graph, node: int) -> np.ndarray:
    weights = graph.adjacency.toarray()[node]
    total = points[node].copy()
    if weights.sum() > 0:
        total += 0.1 * sum(w * point for w, point in zip(weights, points, strict=True)) / weights.sum()
    centroid = total / np.sqrt(total[-1] ** 2 - (total[:-1] ** 2).sum())
    degree = max(np.count_nonzero(weights), 1)
    length = np.linalg.norm(centroid[:-1])
    there = np.sinh(1.3 * np.arcsinh(length) / degree**0.02)
    return lift(centroid[:-1] / length * there)


def test_it_is_what_the_twin_says() -> None:
    graph = a_graph()
    points = lift(np.random.default_rng(5).normal(size=(30, 3)))
    refined = refine(points, graph)
    expected = [twin(points, graph, node) for node in range(29)]
    np.testing.assert_allclose(refined[:29], expected, rtol=1e-10)


def test_a_node_without_neighbours_shrinks_like_those_with_the_fewest() -> None:
    graph = a_graph()
    points = lift(np.random.default_rng(5).normal(size=(30, 3)))
    refined = refine(points, graph)
    fewest = graph.degrees == 1
    assert 1 < fewest.sum() < 29
    shrunk = radius(refined)[fewest].sum() / radius(points)[fewest].sum()
    np.testing.assert_allclose(radius(refined)[29], shrunk * radius(points)[29])
    np.testing.assert_allclose(refined[29, :-1] / points[29, :-1], refined[29, 0] / points[29, 0])


def test_a_point_at_the_centre_without_neighbours_stays_there() -> None:
    points = lift(np.zeros((30, 2)))
    refined = refine(points, a_graph())
    assert (refined[:, :-1] == 0).all()


def test_the_estimator_refines_unless_told_not_to() -> None:
    graph = clustered()
    model = HEAT(3, walks_per_node=2, walk_length=20, random_state=0)
    plain = model.set_params(refine=False).fit(graph).embedding_
    refined = model.set_params(refine=True).fit(graph).embedding_
    check_points(refined)
    np.testing.assert_array_equal(refined, refine(plain, graph))
    assert np.median(radius(refined)) > 1.1 * np.median(radius(plain))
