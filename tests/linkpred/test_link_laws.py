"""Laws of predicted links, splits and reconstruction on graphs and points that hypothesis makes up."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from heat_neo4j.geometry.hyperboloid import lift
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.prediction import predict_links
from heat_neo4j.linkpred.splits import split_edges
from tests.benchmarks.reconstruction import reconstruction_auroc
from tests.support import naive_links

DIMENSION = 2


@st.composite
def embedded_graphs(draw: st.DrawFn, smallest: int = 1) -> tuple[np.ndarray, Graph]:
    """A small graph and points on a lattice, where many distances are equal."""
    n = draw(st.integers(smallest, 12))
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    masks = {
        label: np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=bool)
        for label in ("A", "B")
    }
    coordinate = st.integers(-2, 2).map(float)
    row = st.lists(coordinate, min_size=DIMENSION, max_size=DIMENSION)
    points = draw(st.lists(row, min_size=n, max_size=n))
    u, v = np.array(edges, dtype=int).reshape(-1, 2).T
    adjacency = sparse.csr_array((np.ones(len(edges)), (u, v)), shape=(n, n))
    return lift(np.array(points)), Graph(adjacency=adjacency, labels=masks)


limits = st.fixed_dictionaries(
    {
        "k": st.integers(1, 13),
        "max_links": st.none() | st.integers(1, 20),
        "min_degree": st.integers(0, 2),
        "max_degree": st.none() | st.integers(2, 5),
    }
)


@given(embedded_graphs(), limits)
def test_links_equal_the_slow_twin_where_distances_tie(
    made: tuple[np.ndarray, Graph], limits: dict[str, Any]
) -> None:
    points, graph = made
    links = predict_links(points, graph, **limits)
    total = graph.n_edges if limits["max_links"] is None else limits["max_links"]
    expected = naive_links.predicted_pairs(points, graph, **{**limits, "max_links": total})
    assert list(zip(links.source.tolist(), links.target.tolist(), strict=True)) == [e[1:] for e in expected]
    np.testing.assert_allclose(links.distance, [e[0] for e in expected], rtol=1e-12, atol=1e-15)
    if limits["max_links"] is not None:
        overall = predict_links(points, graph, **{**limits, "k": None})
        twin = naive_links.predicted_pairs(points, graph, **{**limits, "k": None})
        assert list(zip(overall.source.tolist(), overall.target.tolist(), strict=True)) == [
            e[1:] for e in twin
        ]


@given(embedded_graphs(smallest=3), st.floats(0.01, 0.99), st.integers(0, 2**32))
def test_a_split_never_leaks_or_strands(made: tuple[np.ndarray, Graph], share: float, seed: int) -> None:
    graph = made[1]
    edges = naive_links.edge_set(graph)
    try:
        split = split_edges(graph, share=share, random_state=seed)
    except ValueError:
        # Complete, or a random cover by edges may leave none over: covers have fewer than N edges.
        assert len(edges) < graph.n_nodes or len(edges) == graph.n_nodes * (graph.n_nodes - 1) // 2
        return
    held_out, others = (
        {tuple(pair) for pair in p.tolist()} for p in (split.test_edges, split.test_non_edges)
    )
    assert naive_links.edge_set(split.train) == edges - held_out
    assert held_out <= edges
    assert not others & edges
    assert 1 <= len(held_out) <= max(round(share * len(edges)), 1)
    assert len(others) == min(len(held_out), graph.n_nodes * (graph.n_nodes - 1) // 2 - len(edges))
    assert ((split.train.degrees > 0) == (graph.degrees > 0)).all()


@given(embedded_graphs(smallest=3))
def test_reconstruction_equals_the_slow_twin_where_distances_tie(made: tuple[np.ndarray, Graph]) -> None:
    points, graph = made
    n_pairs = graph.n_nodes * (graph.n_nodes - 1) // 2
    if 0 < graph.n_edges < n_pairs:
        result = reconstruction_auroc(points, graph)
        assert abs(result - naive_links.reconstruction_auroc(points, graph)) < 1e-12
