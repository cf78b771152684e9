"""The combined link score: its features against slow twins, its fit, and the search for the best pairs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from heat_neo4j.geometry.hyperboloid import distance, lift, radius
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.baselines import adamic_adar
from heat_neo4j.linkpred.calibration import CalibrationError, embed_without, fit_link_probability
from heat_neo4j.linkpred.combined_score import FEATURES, LinkScore, link_score
from heat_neo4j.linkpred.metrics import auroc
from heat_neo4j.linkpred.pattern_score import fit_link_score
from heat_neo4j.linkpred.prediction import predict_links
from heat_neo4j.linkpred.splits import split_edges


def clustered(n: int = 150, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 5, size=n)
    chance = np.where(group[:, None] == group, 0.25, 0.01)
    upper = np.triu(rng.random((n, n)) < chance, k=1) * rng.uniform(0.5, 2.0, size=(n, n))
    labels = {"Even": np.arange(n) % 2 == 0, "Odd": np.arange(n) % 2 == 1}
    attributes = np.eye(5)[group] + rng.random((n, 5))
    return Graph(adjacency=sparse.csr_array(upper), attributes=attributes, labels=labels)


def some_points(n: int, seed: int = 1) -> np.ndarray:
    return lift(np.random.default_rng(seed).normal(size=(n, 3)))


def twin_features(points: np.ndarray, graph: Graph, u: int, v: int) -> dict[str, float]:
    links = graph.adjacency.toarray() > 0
    degree = links.sum(axis=1)
    common = sum(1 / np.log(degree[w]) for w in range(len(links)) if links[u, w] and links[w, v])
    longer = sum(
        1 / np.sqrt(degree[a] * degree[b])
        for a in np.flatnonzero(links[u])
        for b in np.flatnonzero(links[v])
        if links[a, b]
    )
    x, y = graph.attributes[u], graph.attributes[v]
    weights = graph.adjacency.toarray()
    scaled = graph.attributes / graph.attributes.std(axis=0)
    scaled /= np.linalg.norm(scaled, axis=1, keepdims=True)

    def around(rows: np.ndarray, node: int) -> np.ndarray:
        return rows[node] + weights[node] @ rows / (weights[node].sum() or 1.0)

    sums = np.array([around(points, node) for node in (u, v)])
    square = sums[:, -1] ** 2 - (sums[:, :-1] ** 2).sum(axis=1)
    first, second = sums / np.sqrt(square)[:, None]
    p, q = around(scaled, u), around(scaled, v)
    return {
        "distance": -float(distance(points[u], points[v])),
        "radii": float(radius(points[u]) + radius(points[v])),
        "degrees": np.log1p(degree[u]) + np.log1p(degree[v]),
        "common_neighbours": np.log1p(common),
        "paths_of_three": np.log1p(longer),
        "attributes": float(x @ y / np.linalg.norm(x) / np.linalg.norm(y)),
        "neighbourhood_distance": -float(distance(first, second)),
        "neighbourhood_attributes": float(p @ q / np.linalg.norm(p) / np.linalg.norm(q)),
    }


def a_score(**weights: float) -> LinkScore:
    """Return a score with the given weights of single features, on features as they are."""
    k = len(FEATURES)
    linear = [weights.get(name, 0.0) for name in FEATURES] + [0.0] * (k * (k + 1) // 2)
    plain, wide = (0.0,) * k, (1e9,) * k
    return LinkScore(FEATURES, plain, (1.0,) * k, (-1e9,) * k, wide, -0.3, tuple(linear), 20, 20, 0.9, 0.8)


@pytest.mark.parametrize("feature", FEATURES)
def test_each_feature_is_what_the_twin_says(feature: str) -> None:
    graph, points = clustered(40), some_points(40)
    scorer = a_score(**{feature: 2.0}).scorer(points, graph)
    pairs = np.column_stack(np.triu_indices(40, k=1))
    expected = [-0.3 + 2.0 * twin_features(points, graph, u, v)[feature] for u, v in pairs]
    np.testing.assert_allclose(scorer.pairs(pairs), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(scorer.pairs(pairs[:, ::-1]), expected, rtol=1e-10, atol=1e-12)
    rows = scorer.rows(3, 9)
    for u in range(3, 9):
        for v in (v for v in range(40) if v != u):
            pair = np.array([[min(u, v), max(u, v)]])
            assert rows[u - 3, v] == pytest.approx(scorer.pairs(pair)[0], rel=1e-10, abs=1e-12)


def test_the_combined_score_is_about_as_good_as_the_best_of_its_parts() -> None:
    """Over four graphs: on one of them, some 200 test edges, luck decides."""
    combined, parts = [], []
    for seed in range(4):
        split = split_edges(clustered(300, seed), random_state=seed)
        model = HEAT(4, walks_per_node=4, walk_length=20, random_state=seed).fit(split.train)
        score = fit_link_score(model, split.train)
        single = [a_score(**{feature: 1.0}) for feature in FEATURES]
        scorers = [found.scorer(model.embedding_, split.train) for found in (score, *single)]
        own, *others = (auroc(s.pairs(split.test_edges), s.pairs(split.test_non_edges)) for s in scorers)
        combined.append(own)
        parts.append(others)
        assert score.n_non_edges == 5 * score.n_edges > 500
        assert min(score.auroc, score.distance_auroc) > 0.75
    assert np.mean(combined) > np.mean(parts, axis=0).max() - 0.01
    assert LinkScore.from_dict(json.loads(json.dumps(score.to_dict()))) == score


def test_a_score_is_fitted_to_a_part_of_very_many_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    held_out = embed_without(HEAT(3, walks_per_node=1, walk_length=10, random_state=0), clustered(300))
    edges = len(held_out.split.test_edges)
    assert link_score(held_out).n_edges == edges > 100
    monkeypatch.setattr("heat_neo4j.linkpred.combined_score.FITTED_EDGES", edges // 3)
    part = link_score(held_out)
    assert part.n_edges == -(-edges // 4)
    assert part.n_non_edges == -(-5 * edges // 4)
    assert part.auroc > 0.7


def test_products_and_ranges_of_features() -> None:
    weights = np.random.default_rng(3).normal(size=9)
    score = LinkScore(
        ("a", "b", "c"), (1.0, 0.0, 2.0), (2.0, 1.0, 0.5), (-1.0, -2.0, -3.0), (1.0, 2.0, 3.0),
        0.7, tuple(weights), 10, 10, 0.5, 0.5,
    )  # fmt: skip
    for values in ([1.5, -0.4, 2.2], [9.0, 0.1, -50.0]):
        a = np.clip((values[0] - 1) / 2, -1, 1)
        b = np.clip(values[1], -2, 2)
        c = np.clip((values[2] - 2) / 0.5, -3, 3)
        expected = 0.7 + weights @ [a, b, c, a * a, a * b, a * c, b * b, b * c, c * c]
        assert score.log_odds([np.array(v) for v in values]) == pytest.approx(expected, rel=1e-12)


def test_a_graph_without_attributes_has_a_score_without_them() -> None:
    graph = Graph(adjacency=clustered().adjacency)
    score = fit_link_score(HEAT(3, walks_per_node=2, walk_length=10, random_state=0), graph)
    assert set(score.features) == set(FEATURES) - {"attributes", "neighbourhood_attributes"}
    assert np.isfinite(score.scorer(some_points(150), graph).rows(0, 2)).all()


def test_probabilities_are_the_logistic_of_the_log_odds() -> None:
    np.testing.assert_allclose(a_score().probability([-2.0, 0.0, 3.0]), expit([-2.0, 0.0, 3.0]))


def test_too_few_edges_are_said_so() -> None:
    triangle = Graph(adjacency=sparse.csr_array(np.ones((3, 3)) - np.eye(3)))
    with pytest.raises(CalibrationError, match="no link probability"):
        fit_link_score(HEAT(2, random_state=0), triangle)


def best_by_hand(score: LinkScore, points: np.ndarray, graph: Graph, k: int | None) -> list:
    """Return the pairs that are among the k best of either end, best first."""
    n, scorer = graph.n_nodes, score.scorer(points, graph)
    odds = {
        (u, v): float(scorer.pairs(np.array([[u, v]]))[0])
        for u in range(n)
        for v in range(u + 1, n)
        if not graph.adjacency[u, v]
    }
    kept = set()
    for u in range(n):
        mine = sorted((pair for pair in odds if u in pair), key=lambda pair: (-odds[pair], sum(pair) - u))
        kept |= set(mine[:k])
    return sorted(kept, key=lambda pair: (-odds[pair], pair))


@pytest.mark.parametrize(("k", "top"), [(3, None), (None, 25), (2, 10)])
@pytest.mark.parametrize("shortlisted", [False, True])
def test_the_best_scored_pairs_are_found(
    k: int | None, top: int | None, shortlisted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a shortlist too, since each node's 200 nearest are all there are."""
    monkeypatch.setattr("heat_neo4j.linkpred.prediction.SCORED_PAIRS", 0 if shortlisted else 30**2)
    monkeypatch.setattr("heat_neo4j.linkpred.best_scored.BLOCK_ROWS", 7)
    graph, points = clustered(30), some_points(30)
    score = a_score(distance=1.0, degrees=0.4, paths_of_three=0.7)
    found = predict_links(points, graph, k, top=top, score=score)
    expected = best_by_hand(score, points, graph, k)[:top]
    assert list(zip(found.source.tolist(), found.target.tolist(), strict=True)) == expected
    np.testing.assert_array_equal(found.distance, distance(points[found.source], points[found.target]))
    assert (np.diff(found.probability) <= 0).all()
    assert found.shortlisted == shortlisted


def test_a_shortlist_holds_the_nearest_and_those_with_most_in_common(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, points = clustered(60), some_points(60)
    monkeypatch.setattr("heat_neo4j.linkpred.prediction.SCORED_PAIRS", 0)
    monkeypatch.setattr("heat_neo4j.linkpred.best_scored.EACH", 2)
    found = predict_links(points, graph, 60, score=a_score(degrees=1.0))
    nearest = predict_links(points, graph, 2)
    common = adamic_adar(graph).rows(0, 60)
    common[graph.adjacency.toarray() > 0] = 0.0
    np.fill_diagonal(common, 0.0)
    pairs = set(zip(nearest.source.tolist(), nearest.target.tolist(), strict=True))
    for u, row in enumerate(common):
        most = np.argsort(-row, kind="stable")[:2]
        pairs |= {(min(u, v), max(u, v)) for v in most.tolist() if row[v] > 0}
    assert set(zip(found.source.tolist(), found.target.tolist(), strict=True)) == pairs


def test_a_shortlist_gives_the_same_on_any_number_of_threads_and_tells_its_progress(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("heat_neo4j.linkpred.prediction.SCORED_PAIRS", 0)
    monkeypatch.setattr("heat_neo4j.linkpred.best_scored.BLOCK_ROWS", 25)
    graph, points, told = clustered(60), some_points(60), []
    one, three = (
        predict_links(
            points, graph, 3, score=a_score(), n_threads=threads, on_progress=lambda *call: told.append(call)
        )
        for threads in (1, 3)
    )
    np.testing.assert_array_equal(one.source, three.source)
    np.testing.assert_array_equal(one.probability, three.probability)
    assert told == 2 * [("links", done, 60) for done in (0, 25, 50, 60)]


def test_small_blocks_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, points = clustered(60), some_points(60)
    score = a_score(distance=1.0, common_neighbours=0.5)
    whole = predict_links(points, graph, None, top=40, min_degree=5, score=score)
    monkeypatch.setattr("heat_neo4j.linkpred.best_scored.BLOCK_ENTRIES", 130)
    parts = predict_links(points, graph, None, top=40, min_degree=5, score=score)
    np.testing.assert_array_equal(whole.source, parts.source)
    np.testing.assert_array_equal(whole.target, parts.target)
    np.testing.assert_array_equal(whole.probability, parts.probability)
    assert (graph.degrees[whole.source] >= 5).all()


def test_a_graph_with_nothing_to_link_gives_no_pair() -> None:
    full = Graph(adjacency=sparse.csr_array(np.ones((4, 4)) - np.eye(4)), attributes=np.eye(4))
    assert len(predict_links(some_points(4), full, 3, score=a_score(distance=1.0))) == 0


def test_a_score_and_a_probability_are_one_too_many() -> None:
    graph = clustered()
    law = fit_link_probability(HEAT(3, walks_per_node=2, random_state=0), graph)
    with pytest.raises(ValueError, match="give probability or score, not both"):
        predict_links(some_points(150), graph, score=a_score(), probability=law)
