"""Splits and AUROC against slow twins, scikit-learn and the protocol's promises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score

from heat_neo4j.geometry.hyperboloid import lift, pair_distances
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.metrics import auroc
from heat_neo4j.linkpred.splits import split_edges
from tests.support import naive_links
from tests.support.link_auroc import link_auroc


def random_graph(n: int, n_edges: int, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    u, v = np.triu_indices(n, k=1)
    chosen = rng.choice(len(u), size=n_edges, replace=False)
    weights = rng.uniform(0.5, 2.0, size=n_edges)
    return Graph(
        adjacency=sparse.csr_array((weights, (u[chosen], v[chosen])), shape=(n, n)),
        attributes=rng.normal(size=(n, 3)),
    )


def as_set(pairs: np.ndarray) -> set[tuple[int, int]]:
    return {(int(u), int(v)) for u, v in pairs}


@pytest.mark.parametrize("n_edges", [60, 150, 700])
def test_split_keeps_its_promises(n_edges: int) -> None:
    graph = random_graph(50, n_edges)
    split = split_edges(graph, share=0.15, random_state=3)
    held_out, others = as_set(split.test_edges), as_set(split.test_non_edges)
    edges, kept = naive_links.edge_set(graph), naive_links.edge_set(split.train)
    assert len(held_out) == len(split.test_edges) == round(0.15 * n_edges)
    assert held_out | kept == edges
    assert not held_out & kept
    assert len(others) == len(split.test_non_edges) == len(held_out)
    assert not others & edges
    assert all(u < v for u, v in held_out | others)
    assert ((split.train.degrees > 0) == (graph.degrees > 0)).all()
    for u, v in kept:
        assert split.train.adjacency[u, v] == split.train.adjacency[v, u] == graph.adjacency[u, v]
    np.testing.assert_array_equal(split.train.attributes, graph.attributes)


def test_split_is_decided_by_the_seed_alone() -> None:
    graph = random_graph(80, 400)
    first, same, other = (split_edges(graph, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.test_edges, same.test_edges)
    np.testing.assert_array_equal(first.test_non_edges, same.test_non_edges)
    assert as_set(first.test_edges) != as_set(other.test_edges)
    assert as_set(first.test_non_edges) != as_set(other.test_non_edges)


def test_non_edges_are_uniform_over_all_pairs_that_are_no_edges() -> None:
    graph = random_graph(7, 10)
    counts: dict[tuple[int, int], int] = {}
    for seed in range(1000):
        for pair in as_set(split_edges(graph, share=0.2, random_state=seed).test_non_edges):
            counts[pair] = counts.get(pair, 0) + 1
    assert len(counts) == 21 - 10
    expected = 1000 * 2 / 11
    # Each count is binomial with a standard deviation near 12.
    assert max(abs(count - expected) for count in counts.values()) < 5 * np.sqrt(expected)


def test_edges_in_like_places_are_held_out_equally_often() -> None:
    ring = Graph(adjacency=sparse.csr_array(np.roll(np.eye(12), 1, axis=1)))
    counts = np.zeros((12, 12))
    for seed in range(700):
        edges = split_edges(ring, share=0.1, random_state=seed).test_edges
        counts[edges[:, 0], edges[:, 1]] += 1
    counts = counts[counts > 0]
    assert len(counts) == 12
    assert np.abs(counts - 700 / 12).max() < 5 * np.sqrt(700 / 12)


def test_a_random_split_holds_out_any_edge_alike():
    """In a path every edge is the only one of an end or a bridge; each is held out as often as the others."""
    path = Graph(sparse.diags_array(np.ones(20), offsets=1, shape=(21, 21), format="csr"))
    counts = np.zeros(20)
    for seed in range(400):
        edges = split_edges(path, 0.2, seed, how="random").test_edges
        assert len(edges) == 4
        counts[edges[:, 0]] += 1
    # 400 draws of 4 of 20: binomial with mean 80 and deviation 8, of 20 edges.
    assert np.abs(counts - 80).max() < 4 * 8


def test_a_sparse_graph_gives_up_what_it_can() -> None:
    path = Graph(adjacency=sparse.diags_array(np.ones(5), offsets=1, format="csr"))
    split = split_edges(path, share=0.9)
    assert 1 <= len(split.test_edges) <= 2
    assert (split.train.degrees > 0).all()


def test_split_refuses_what_it_cannot_do() -> None:
    star = Graph(adjacency=sparse.csr_array((np.ones(4), (np.zeros(4, int), np.arange(1, 5))), shape=(5, 5)))
    for graph in (star, Graph(adjacency=sparse.csr_array((3, 3)))):
        with pytest.raises(ValueError, match="can be held out while every node keeps one"):
            split_edges(graph)
    complete = Graph(adjacency=sparse.csr_array(np.ones((4, 4))))
    with pytest.raises(ValueError, match="the graph of 4 nodes is complete"):
        split_edges(complete)
    for share in (0.0, 1.0, -0.1, float("nan")):
        with pytest.raises(ValueError, match="share must lie between 0 and 1"):
            split_edges(random_graph(10, 20), share=share)


def test_nearly_complete_graph_gives_the_non_edges_it_has() -> None:
    full = np.ones((8, 8))
    full[2, 5] = full[5, 2] = full[0, 7] = full[7, 0] = 0
    split = split_edges(Graph(adjacency=sparse.csr_array(full)), share=0.5)
    assert as_set(split.test_non_edges) == {(2, 5), (0, 7)}


@pytest.mark.parametrize("decimals", [0, 1, 8])
def test_auroc_equals_the_twin_and_scikit_learn(decimals: int) -> None:
    rng = np.random.default_rng(decimals)
    edges = np.round(rng.normal(0.5, 1, size=60), decimals)
    others = np.round(rng.normal(0, 1, size=90), decimals)
    result = auroc(edges, others)
    assert result == naive_links.auroc(edges.tolist(), others.tolist())
    truth = np.repeat([1, 0], [60, 90])
    assert result == pytest.approx(roc_auc_score(truth, np.concatenate((edges, others))), abs=1e-12)


def test_auroc_at_its_ends() -> None:
    assert auroc([2, 3], [0, 1]) == 1.0
    assert auroc([0, 1], [2, 3]) == 0.0
    assert auroc([1, 1], [1]) == 0.5
    for edges, others in (([], [1.0]), ([1.0], [])):
        with pytest.raises(ValueError, match="AUROC needs edges and non-edges"):
            auroc(edges, others)
    with pytest.raises(ValueError, match="without NaN"):
        auroc([np.nan], [1.0])


def test_link_auroc_scores_by_distance() -> None:
    graph = random_graph(60, 300)
    split = split_edges(graph, random_state=1)
    points = lift(np.random.default_rng(0).normal(size=(60, 4)))
    near, far = (-pair_distances(points, pairs) for pairs in (split.test_edges, split.test_non_edges))
    assert link_auroc(points, split) == naive_links.auroc(near.tolist(), far.tolist())
    with pytest.raises(ValueError, match="embedding has 59 rows for 60 nodes"):
        link_auroc(points[1:], split)
