"""Scorers: pairs and rows agree, and neither cares about the order of a pair."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j import scorers
from heat_neo4j.hyperboloid import distance, lift

N = 23
RNG = np.random.default_rng(5)
POINTS = lift(RNG.normal(size=(N, 3)))
VALUES = RNG.normal(size=N)
VECTORS, WEIGHTS = RNG.normal(size=(N, 4)), np.array([1.0, -2.0, 0.5, 3.0])
ROWS = sparse.random_array((N, 9), density=0.3, rng=RNG, format="csr")
BY_HAND = {
    "distance": (scorers.DistanceScorer(POINTS), lambda u, v: -float(distance(POINTS[u], POINTS[v]))),
    "product": (scorers.NodeScorer(VALUES, np.multiply), lambda u, v: VALUES[u] * VALUES[v]),
    "sparse": (scorers.SparseProductScorer(ROWS, ROWS), lambda u, v: (ROWS[[u]] @ ROWS[[v]].T).sum()),
    "sum": (scorers.NodeScorer(VALUES, np.add), lambda u, v: VALUES[u] + VALUES[v]),
    "euclidean": (scorers.EuclideanScorer(VECTORS), lambda u, v: -((VECTORS[u] - VECTORS[v]) ** 2).sum()),
    "vectors": (scorers.VectorScorer(VECTORS), lambda u, v: VECTORS[u] @ VECTORS[v]),
    "weighted": (scorers.VectorScorer(VECTORS, WEIGHTS), lambda u, v: (VECTORS[u] * WEIGHTS) @ VECTORS[v]),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_pairs_and_rows_are_what_they_are_by_hand(name: str) -> None:
    scorer, by_hand = BY_HAND[name]
    assert scorer.n_nodes == N
    rows = scorer.rows(0, N)
    assert rows.shape == (N, N)
    slow = np.array([[by_hand(u, v) for v in range(N)] for u in range(N)])
    # Of a point to itself, the last digits of a distance near 0 are lost on the way through its square.
    np.testing.assert_allclose(rows, slow, atol=1e-7)
    np.testing.assert_array_equal(scorer.rows(7, 12), rows[7:12])
    u, v = RNG.integers(N, size=(2, 200))
    forth, back = (scorer.pairs(np.column_stack(ends)) for ends in ((u, v), (v, u)))
    np.testing.assert_allclose(forth, slow[u, v], atol=1e-7)
    np.testing.assert_allclose(forth, back, atol=1e-12)
    assert scorer.pairs(np.empty((0, 2), dtype=np.int64)).shape == (0,)
