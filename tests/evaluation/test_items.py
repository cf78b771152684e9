"""Baselines from recommender systems and the stack, against plain twins."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.evaluation.baselines import ease, item_neighbours, rp3beta, stack
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.linkpred.baselines import BaselineUnavailableError, fastrp
from heat_neo4j.linkpred.metrics import auroc
from heat_neo4j.linkpred.splits import split_edges
from heat_neo4j.patterns import Pattern

USERS, MOVIES = 25, 18
N = USERS + MOVIES
RATED = Pattern("User", "RATED", "Movie")


def films(users: int = USERS, movies: int = MOVIES, seed: int = 0) -> Graph:
    """Return users who rate the movies of their taste; the last movie has no rating."""
    rng, n = np.random.default_rng(seed), users + movies
    taste = np.arange(n) % 3
    likes = rng.random((users, movies)) < np.where(taste[:users, None] == taste[users:], 0.5, 0.08)
    likes[:, -1] = False
    u, v = np.nonzero(likes)
    is_user = np.arange(n) < users
    return Graph(
        sparse.csr_array((np.ones(len(u)), (u, v + users)), shape=(n, n)),
        attributes=rng.normal(size=(n, 3)) + np.eye(3)[taste],
        labels={"User": is_user, "Movie": ~is_user},
        relationships=Relationships.from_pairs({"RATED": (u, v + users)}),
    )


GRAPH = films()


def ratings(graph: Graph, pattern: Pattern | None) -> np.ndarray:
    if pattern is None:
        return (graph.adjacency.toarray() != 0).astype(float)
    assert graph.relationships is not None
    return graph.relationships.matrix("RATED", graph.n_nodes).toarray()


def nearest(similar: np.ndarray, k: int) -> np.ndarray:
    """Keep of each column, a target, the k largest entries apart from itself; of equal ones the first."""
    kept = np.zeros_like(similar)
    for target in range(len(similar)):
        column = similar[:, target].copy()
        column[target] = 0
        best = sorted(range(len(column)), key=lambda other: (-column[other], other))[:k]
        kept[best, target] = column[best]
    return kept


def cosine_twin(x: np.ndarray, shrinkage: float, k: int) -> np.ndarray:
    similar = np.zeros((x.shape[1], x.shape[1]))
    for i, j in np.ndindex(similar.shape):
        common = (x[:, i] * x[:, j]).sum()
        if common:
            similar[i, j] = common / (np.sqrt(x[:, i].sum() * x[:, j].sum()) + shrinkage)
    return x @ nearest(similar, k)


def walk_twin(x: np.ndarray, alpha: float, beta: float, k: int) -> np.ndarray:
    of_source, of_target = np.maximum(x.sum(axis=1), 1), np.maximum(x.sum(axis=0), 1)
    from_target = (x.T / of_target[:, None]) ** alpha
    similar = from_target @ (x / of_source[:, None]) ** alpha / of_target**beta
    return x @ nearest(similar, k)


def ease_twin(x: np.ndarray, ridge: float) -> np.ndarray:
    """Each target by a ridge regression on all others: the weights that EASE has in closed form."""
    weights = np.zeros((x.shape[1], x.shape[1]))
    for target in np.flatnonzero(x.sum(axis=0)):
        others = [other for other in range(x.shape[1]) if other != target]
        a = x[:, others]
        found = np.linalg.solve(a.T @ a + ridge * np.eye(len(others)), a.T @ x[:, target])
        weights[others, target] = found
    return x @ weights


CASES = [
    (item_neighbours, {"shrinkage": 3.0, "neighbours": 4}, lambda x: cosine_twin(x, 3.0, 4)),
    (item_neighbours, {"shrinkage": 0.0, "neighbours": 99}, lambda x: cosine_twin(x, 0.0, 99)),
    (rp3beta, {"alpha": 0.8, "beta": 0.4, "neighbours": 99}, lambda x: walk_twin(x, 0.8, 0.4, 99)),
    (ease, {"ridge": 7.0}, lambda x: ease_twin(x, 7.0)),
]


@pytest.mark.parametrize("pattern", [RATED, None], ids=str)
@pytest.mark.parametrize(("score", "parameters", "twin"), CASES)
def test_item_scores_equal_their_twins(monkeypatch, score, parameters, twin, pattern) -> None:
    expected = twin(ratings(GRAPH, pattern))
    if pattern is None:
        expected = expected + expected.T
    for entries in (4_000_000, 1):  # all at once, or a target a block
        monkeypatch.setattr("heat_neo4j.evaluation.baselines._ENTRIES", entries)
        scorer = score(GRAPH, pattern, **parameters)
        np.testing.assert_allclose(scorer.rows(0, N), expected, atol=1e-12)


def test_what_would_take_too_long_says_why() -> None:
    n = 33_000
    star = Graph(
        sparse.csr_array((np.ones(n), (np.zeros(n, dtype=int), np.arange(1, n + 1))), (n + 1, n + 1))
    )
    with pytest.raises(BaselineUnavailableError, match="33,001 targets: more than 3,000 take too long"):
        ease(star)
    with pytest.raises(BaselineUnavailableError, match="too many pairs of targets"):
        rp3beta(star)


def test_fastrp_sums_random_steps() -> None:
    links = ratings(GRAPH, None)
    step = links / np.maximum(links.sum(axis=1, keepdims=True), 1)
    unit = lambda rows: rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)  # noqa: E731
    start = np.random.default_rng(3).choice((-1.0, 0.0, 1.0), (N, 16), p=(1 / 6, 2 / 3, 1 / 6))
    total, vectors = unit(start), start
    for _ in range(3):
        vectors = step @ vectors
        total = total + unit(vectors)
    np.testing.assert_allclose(fastrp(GRAPH, 16, 3), unit(total), atol=1e-12)


def test_the_stack_ranks_links_of_a_taste_and_repeats_itself() -> None:
    graph = films(80, 60)
    split = split_edges(graph, 0.2, 0, how="random")
    turned = split.test_non_edges[(split.test_non_edges[:, 0] < 80) & (split.test_non_edges[:, 1] >= 80)]
    for pattern in (RATED, None):
        scorer = stack(split.train, pattern, seed=1)
        reached = auroc(scorer.pairs(split.test_edges), scorer.pairs(turned))
        assert reached > 0.75
        again = stack(split.train, pattern, seed=1)
        np.testing.assert_array_equal(again.pairs(turned), scorer.pairs(turned))
    with pytest.raises(BaselineUnavailableError, match="fewer than 10 links to fit to"):
        stack(films(8, 6), RATED)
