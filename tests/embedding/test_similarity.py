"""How numbers are compared: by rank, against a slow twin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.embedding.comparison import compared
from heat_neo4j.embedding.similarity import scaled
from heat_neo4j.graph import Graph, Provenance

NUMBER = {"property": "price", "kind": "number", "mean": 0.0, "missing": False, "n_columns": 1}
MARKED = {**NUMBER, "missing": True, "n_columns": 2}
OPEN = {"property": "open", "kind": "boolean", "mean": 0.0, "missing": False, "n_columns": 1}


def graph_of(columns: list[np.ndarray], *recipe: dict[str, object]) -> Graph:
    """Return a graph without edges."""
    n = len(columns[0])
    attributes = np.column_stack(columns).astype(float)
    return Graph(
        sparse.csr_array((n, n)), attributes=attributes, provenance=Provenance(attribute_recipe=recipe)
    )


def cosines(graph: Graph) -> np.ndarray:
    """Return the similarity of all pairs."""
    d, background = scaled(compared(graph))
    rows = d.toarray() + background
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows @ rows.T


def test_ranks_agree_with_a_slow_twin_and_other_columns_stay() -> None:
    prices, missing, is_open = [3.0, 9.0, 3.0, 5.0, 1.0], [0, 0, 0, 1, 0], [1, 0, 0, 1, 1]
    found = compared(graph_of([np.array(prices), np.array(missing), np.array(is_open)], MARKED, OPEN))
    known = [price for price, lacks in zip(prices, missing, strict=True) if not lacks]
    expected = []
    for price in prices:
        below, equal = sum(other < price for other in known), sum(other == price for other in known)
        turn = math.pi * (below + equal / 2) / len(known)
        expected.append([math.cos(turn), math.cos(2 * turn)])
    means = np.mean([row for row, lacks in zip(expected, missing, strict=True) if not lacks], axis=0)
    expected[3] = means.tolist()
    np.testing.assert_allclose(found[:, :2], expected, atol=1e-15)
    np.testing.assert_array_equal(found[:, 2:], np.column_stack((missing, is_open)))


@pytest.mark.parametrize("shape", [np.asarray, np.exp, lambda x: x**3], ids=["even", "skewed", "cubed"])
def test_similarity_falls_with_the_difference_in_rank(shape) -> None:
    values = np.linspace(-3.0, 3.0, 101)
    alike = cosines(graph_of([shape(values)], NUMBER))
    for place in (0, 25, 50, 100):
        left, right = alike[place, place::-1], alike[place, place:]
        for side in (left[:50], right[:50]):
            assert (np.diff(side) < 0.0).all()
            assert (side[:6] > 0.85).all()
            assert (side[45:] < 0.3).all()


def test_a_sparse_matrix_gives_the_same_columns() -> None:
    graph = graph_of([np.array([0.0, 2.0, 0.0, 7.0]), np.array([0, 0, 1, 0])], MARKED)
    thin = Graph(graph.adjacency, attributes=sparse.csr_array(graph.attributes), provenance=graph.provenance)
    np.testing.assert_array_equal(compared(thin).toarray(), compared(graph))


def test_columns_without_numbers_are_not_copied() -> None:
    graph = graph_of([np.array([0, 1, 1])], OPEN)
    assert compared(graph) is graph.attributes
