"""Scorers: pairs and rows agree, also of different first and second nodes, and turned round."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.geometry.hyperboloid import distance, lift
from heat_neo4j.linkpred import scorers

N = 23
RNG = np.random.default_rng(5)
POINTS = lift(RNG.normal(size=(N, 3)))
VALUES = RNG.normal(size=N)
VECTORS, WEIGHTS = RNG.normal(size=(N, 4)), np.array([1.0, -2.0, 0.5, 3.0])
ROWS = sparse.random_array((N, 9), density=0.3, rng=RNG, format="csr")
LINKS = sparse.random_array((N, N), density=0.2, rng=RNG, format="csr")
STEPS = sparse.csr_array(LINKS + LINKS.T)
WHOLE = np.random.default_rng(6).integers(-3, 4, (N - 1, 150)).astype(np.float32)  # sums are exact
PLACES = np.append(np.random.default_rng(6).permutation(N - 1), -1)  # the last node has no row
BY_HAND = {
    "dense": (
        scorers.DenseProductScorer(WHOLE, WHOLE, PLACES, PLACES),
        lambda u, v: WHOLE[PLACES[u]] @ WHOLE[PLACES[v]] if max(u, v) < N - 1 else 0.0,
    ),
    "sum of two": (
        scorers.SumScorer(scorers.NodeScorer(VALUES, np.add), scorers.SparseProductScorer(ROWS, ROWS)),
        lambda u, v: VALUES[u] + VALUES[v] + (ROWS[[u]] @ ROWS[[v]].T).sum(),
    ),
    "distance": (scorers.DistanceScorer(POINTS), lambda u, v: -float(distance(POINTS[u], POINTS[v]))),
    "product": (scorers.NodeScorer(VALUES, np.multiply), lambda u, v: VALUES[u] * VALUES[v]),
    "sparse": (scorers.SparseProductScorer(ROWS, ROWS), lambda u, v: (ROWS[[u]] @ ROWS[[v]].T).sum()),
    "through a middle": (
        scorers.SparseProductScorer(STEPS, STEPS, middle=STEPS),
        lambda u, v: (STEPS[[u]] @ STEPS @ STEPS[[v]].T).sum(),
    ),
    "sum": (scorers.NodeScorer(VALUES, np.add), lambda u, v: VALUES[u] + VALUES[v]),
    "vectors": (scorers.VectorScorer(VECTORS), lambda u, v: VECTORS[u] @ VECTORS[v]),
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
    np.testing.assert_array_equal(scorer.rows(7, 8), rows[7:8])
    u, v = RNG.integers(N, size=(2, 200))
    forth, back = (scorer.pairs(np.column_stack(ends)) for ends in ((u, v), (v, u)))
    np.testing.assert_allclose(forth, slow[u, v], atol=1e-7)
    np.testing.assert_allclose(forth, back, atol=1e-12)
    assert scorer.pairs(np.empty((0, 2), dtype=np.int64)).shape == (0,)


@pytest.mark.parametrize("middle", [None, STEPS])
def test_pairs_rows_and_a_choice_of_nodes_score_the_same(middle: sparse.csr_array | None) -> None:
    pairs = RNG.integers(N, size=(300, 2))
    scorer = scorers.SparseProductScorer(STEPS, STEPS, middle)
    whole = scorer.pairs(pairs)
    np.testing.assert_array_equal(whole, scorer.rows(0, N)[pairs[:, 0], pairs[:, 1]])
    some = np.array([20, 3, 7, 11])
    np.testing.assert_array_equal(
        scorer.between(some, some[:3]).pairs(np.array([[0, 1], [3, 2]])),
        scorer.pairs(np.array([[20, 3], [11, 7]])),
    )


@pytest.mark.parametrize(("short", "long"), [(0, 5), (1, 1), (1, 400), (3, 400), (30, 400), (400, 400)])
def test_products_of_rows_of_any_lengths(short: int, long: int) -> None:
    rng = np.random.default_rng(short + long)
    dense = np.zeros((4, 400))
    for row, filled in enumerate((short, long, short, long)):
        dense[row, rng.choice(400, filled, replace=False)] = rng.integers(1, 9, filled)
    scorer = scorers.SparseProductScorer(sparse.csr_array(dense), sparse.csr_array(dense))
    pairs = np.array([[u, v] for u in range(4) for v in range(4)])
    np.testing.assert_array_equal(scorer.pairs(pairs), (dense @ dense.T).ravel())


FIRST, SECOND = np.array([20, 3, 7, 11, 0]), np.array([2, 20, 9])
OTHERS = lift(RNG.normal(size=(7, 3)))
DIRECTED = {
    "distance": scorers.DistanceScorer(POINTS, OTHERS),
    "sum": scorers.NodeScorer(VALUES, np.add, RNG.normal(size=7)),
    "sparse": scorers.SparseProductScorer(
        ROWS, sparse.random_array((7, 9), density=0.4, rng=RNG, format="csr")
    ),
    "through a middle": scorers.SparseProductScorer(
        LINKS, sparse.random_array((7, 8), density=0.5, rng=RNG, format="csr"),
        sparse.random_array((N, 8), density=0.3, rng=RNG, format="csr"),
    ),
    "vectors": scorers.VectorScorer(VECTORS, RNG.normal(size=(7, 4))),
    "dense": scorers.DenseProductScorer(WHOLE, WHOLE[:5] + 1, PLACES, np.array([4, 0, -1, 1, 2, 3, 3])),
}  # fmt: skip


@pytest.mark.parametrize("name", DIRECTED)
def test_first_and_second_nodes_may_be_different(name: str) -> None:
    scorer = DIRECTED[name]
    assert scorer.n_nodes == 7
    whole = scorer.rows(0, N)
    assert whole.shape == (N, 7)
    u, v = np.divmod(np.arange(N * 7), 7)
    np.testing.assert_allclose(scorer.pairs(np.column_stack((u, v))), whole.ravel(), atol=1e-12)
    back = scorer.reversed()
    assert back.n_nodes == N
    np.testing.assert_allclose(back.rows(0, 7), whole.T, atol=1e-12)
    np.testing.assert_allclose(back.pairs(np.column_stack((v, u))), whole.ravel(), atol=1e-12)
    np.testing.assert_array_equal(back.reversed().rows(0, N), whole)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("same nodes", name) for name in BY_HAND if name != "euclidean"]
    + [("directed", name) for name in DIRECTED],
)
def test_a_choice_of_nodes_scores_as_all_do(kind: str, name: str) -> None:
    scorer = DIRECTED[name] if kind == "directed" else BY_HAND[name][0]
    second = SECOND % scorer.n_nodes
    part = scorer.between(FIRST, second)
    expected = scorer.rows(0, N)[FIRST][:, second]
    assert part.n_nodes == len(second)
    np.testing.assert_allclose(part.rows(0, len(FIRST)), expected, atol=1e-7)
    np.testing.assert_allclose(part.reversed().rows(0, len(second)), expected.T, atol=1e-7)
    u, v = np.divmod(np.arange(len(FIRST) * len(second)), len(second))
    np.testing.assert_allclose(part.pairs(np.column_stack((u, v))), expected.ravel(), atol=1e-7)
