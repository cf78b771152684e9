"""Laws of links by pattern, on labelled graphs of typed relationships that hypothesis makes up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from heat_neo4j.geometry.hyperboloid import distance, lift
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.linkpred.candidates import patterns_of
from heat_neo4j.linkpred.features import DIRECTION, FEATURES
from heat_neo4j.linkpred.link_score import LinkScore
from heat_neo4j.linkpred.prediction import PredictedLinks, predict_links
from heat_neo4j.patterns import Pattern
from tests.support import naive_links

LABELS, TYPES = ("A", "B", "C"), ("R", "S")


def made_of(n: int, labels: list[set[str]], found: list[tuple[int, str, int]], seed: int) -> Graph:
    """Return a graph of typed relationships, with attributes."""
    pairs = {kind: [(u, v) for u, name, v in found if name == kind] for kind in TYPES}
    arrays = {kind: np.array(own, dtype=np.int64).reshape(-1, 2).T for kind, own in pairs.items()}
    relationships = Relationships.from_pairs({kind: (u, v) for kind, (u, v) in arrays.items()})
    u, v = relationships.source, relationships.target
    joined = sparse.csr_array((np.ones(len(u)), (u, v)), shape=(n, n))
    return Graph(
        adjacency=sparse.csr_array(joined + joined.T),
        attributes=np.random.default_rng(seed).random((n, 3)).round(1),
        labels={label: np.array([label in own for own in labels], dtype=bool) for label in LABELS},
        relationships=relationships,
    )


@st.composite
def typed_graphs(draw: st.DrawFn) -> tuple[np.ndarray, Graph]:
    """A small graph and points on a lattice, where many distances are equal; parted, or with any labels."""
    n = draw(st.integers(2, 9))
    one = st.sampled_from(LABELS).map(lambda label: {label})
    labels = draw(
        st.lists(draw(st.sampled_from([one, st.sets(st.sampled_from(LABELS))])), min_size=n, max_size=n)
    )
    node = st.integers(0, n - 1)
    found = draw(st.lists(st.tuples(node, st.sampled_from(TYPES), node), max_size=14))
    if draw(st.booleans()):
        found += [(v, kind, u) for u, kind, v in found]
    points = draw(st.lists(st.tuples(*[st.integers(-2, 2).map(float)] * 2), min_size=n, max_size=n))
    return lift(np.array(points)), made_of(n, labels, found, n)


def linear_score(
    features: Sequence[str],
    common: Sequence[float],
    weights: Mapping[str, Sequence[float]] | None = None,
    directions: Mapping[str, Sequence[float]] | None = None,
) -> LinkScore:
    """Return a score of the given intercept and weights of features; each value counts from -50 to 50."""

    def table(of_pattern: Sequence[float]) -> tuple[tuple[float, ...], ...]:
        base, *slopes = map(float, of_pattern)
        return (base,), *((-50.0 * slope, 50.0 * slope) for slope in slopes)

    return LinkScore(
        features=tuple(features),
        knots=((-50.0, 50.0),) * len(features),
        common=table(common),
        tables={name: table(each) for name, each in (weights or {}).items()},
        reliability={},
        direction_features=DIRECTION,
        direction_width=(1.0,) * len(DIRECTION),
        directions={name: tuple(each) for name, each in (directions or {}).items()},
        figures={},
        n_edges=10,
        n_non_edges=10,
        distance_auroc=0.5,
    )


def a_score(patterns: tuple[Pattern, ...], seed: int, features: tuple[str, ...]) -> LinkScore:
    """Return a score with random weights; of some patterns it knows nothing."""
    rng = np.random.default_rng(seed)
    k = len(features)
    weights = {str(each): tuple(rng.normal(size=k + 1).tolist()) for each in patterns if rng.random() < 0.7}
    turns = {
        str(each): tuple(rng.normal(size=len(DIRECTION)).tolist()) for each in patterns if rng.random() < 0.8
    }
    return linear_score(features, rng.normal(size=k + 1), weights, turns)


KINDS = {"no score": None, "everything": (*FEATURES, "direction")}


def triples(links: PredictedLinks) -> list[tuple[int, str, int]]:
    return list(zip(links.source.tolist(), links.types, links.target.tolist(), strict=True))


def ends_of(links: PredictedLinks) -> list[tuple[int, int]]:
    return list(zip(links.source.tolist(), links.target.tolist(), strict=True))


def assert_lawful(points: np.ndarray, graph: Graph, links: PredictedLinks) -> None:
    assert links.rank.tolist() == list(range(1, len(links.source) + 1))
    expected = distance(points[links.source], points[links.target])
    np.testing.assert_allclose(links.distance, expected, rtol=1e-6, atol=1e-7)
    seen = set()
    for place, pattern in enumerate(links.patterns):
        own = links.pattern == place
        assert links.pattern_rank[own].tolist() == list(range(1, own.sum() + 1))
        allowed = naive_links.candidate_pairs(graph, pattern)
        for u, v in zip(links.source[own].tolist(), links.target[own].tolist(), strict=True):
            assert (u, v) in allowed, f"{u}-{pattern}->{v}"
            assert (frozenset((u, v)), pattern.type) not in seen
            seen.add((frozenset((u, v)), pattern.type))
    leading = links.distance if links.probability is None else -links.probability
    assert (np.diff(leading) >= 0).all()


@settings(max_examples=20, deadline=None)
@given(typed_graphs(), st.integers(1, 4), st.sampled_from(list(KINDS)), st.integers(0, 99))
def test_links_are_of_patterns_new_one_way_and_the_best_of_each_end(
    made: tuple[np.ndarray, Graph], k: int, kind: str, seed: int
) -> None:
    points, graph = made
    patterns, features = patterns_of(graph), KINDS[kind]
    score = None if features is None else a_score(patterns, seed, features)
    links = predict_links(points, graph, k, max_links=200, min_probability=0.0, score=score, n_threads=1)
    assert links.patterns == patterns
    assert_lawful(points, graph, links)
    again = predict_links(points, graph, k, max_links=200, min_probability=0.0, score=score, n_threads=2)
    for name in ("source", "target", "distance", "probability", "pattern"):
        assert np.asarray(getattr(links, name)).tobytes() == np.asarray(getattr(again, name)).tobytes()
    found = {(frozenset((u, v)), name) for u, name, v in triples(links)}
    possible_links, odds_of = {}, {}
    for pattern in patterns:
        pairs = sorted(naive_links.candidate_pairs(graph, pattern))
        array = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        near = -distance(points[array[:, 0]], points[array[:, 1]])
        odds = near if score is None else score.scorers(points, graph)(pattern).pairs(array)
        nearness, log_odds = dict(zip(pairs, near, strict=True)), dict(zip(pairs, odds, strict=True))
        of_source = sum(other.source == pattern.source for other in patterns)
        of_target = sum(other.target == pattern.target for other in patterns)
        most = math.ceil(k / min(of_source, of_target))
        by_score = kind == "everything"
        leading = log_odds if by_score else nearness
        sure, _ = naive_links.best_of_each_end(leading, most, of_sources=by_score)
        if min(of_source, of_target) <= k:  # of more patterns each has as many links as relationships at most
            assert {(ends, pattern.type) for ends in sure} <= found
        # Where it shares with no other.
        possible_links[pattern] = naive_links.best_of_each_end(leading, k, of_sources=by_score)[1]
        odds_of[pattern] = log_odds
    if not patterns:
        return
    pattern = patterns[seed % len(patterns)]
    few, narrowed = (
        predict_links(
            points, graph, k, max_links=top, min_probability=0.0, score=score, patterns=[str(pattern)]
        )
        for top in (3, 200)
    )
    assert narrowed.patterns == (pattern,)
    assert_lawful(points, graph, narrowed)
    assert set(map(frozenset, ends_of(narrowed))) <= possible_links[pattern]
    if score is not None:
        for u, v in ends_of(narrowed):
            log_odds = odds_of[pattern]
            assert log_odds[u, v] >= log_odds.get((v, u), -np.inf) - 1e-9
    assert len(few) == min(3, len(narrowed))
    if kind == "everything":
        np.testing.assert_array_equal(few.probability, narrowed.probability[:3])
    elif kind == "no score":
        np.testing.assert_array_equal(few.distance, narrowed.distance[:3])


def test_of_two_patterns_with_the_same_ends_the_likelier_link_stays() -> None:
    labels = [{"A"}, {"B"}, {"A"}, {"B"}]
    graph = made_of(4, labels, [(0, "R", 1), (3, "R", 2)], 0)
    points = lift(np.random.default_rng(0).normal(size=(4, 2)))
    assert set(map(str, patterns_of(graph))) == {"A-R->B", "B-R->A"}
    for seed in range(6):
        score = a_score(patterns_of(graph), seed, KINDS["everything"])
        links = predict_links(points, graph, max_links=9, min_probability=0.0, score=score)
        assert sorted(map(sorted, ends_of(links))) == [[0, 3], [1, 2]]
        scorers = {str(each): score.scorers(points, graph)(each) for each in patterns_of(graph)}
        for u, v, place in zip(
            links.source.tolist(), links.target.tolist(), links.pattern.tolist(), strict=True
        ):
            here = str(links.patterns[place])
            other = "B-R->A" if here == "A-R->B" else "A-R->B"
            assert scorers[here].pairs(np.array([[u, v]]))[0] >= scorers[other].pairs(np.array([[v, u]]))[0]


def test_links_of_certain_odds_are_still_in_the_order_of_these() -> None:
    graph = made_of(6, [{"A"}] * 6, [(0, "R", 1)], 0)
    points = lift(np.column_stack((np.arange(6.0) ** 2, np.zeros(6))))
    features = ("distance", "attributes", "direction")
    score = linear_score(features, (0.0,) * 4, {"A-R->A": (60.0, 1.0, 0.0, 0.0)})
    links = predict_links(points, graph, 5, max_links=30, min_probability=0.0, score=score)
    assert (links.probability == 1.0).all()
    assert (np.diff(links.distance) >= 0).all()
    assert len(links) == 14


def directed(n: int = 90, seed: int = 0) -> tuple[np.ndarray, Graph]:
    """Return a clustered graph of users that follow each other, and rate things."""
    rng = np.random.default_rng(seed)
    group, user = rng.integers(0, 4, size=n), np.arange(n) < n // 2
    chance = np.where(group[:, None] == group, 0.3, 0.02)
    there = rng.random((n, n)) < chance
    np.fill_diagonal(there, False)
    found = [(u, "R" if user[v] else "S", v) for u, v in np.argwhere(there).tolist() if user[u]]
    centres = rng.normal(size=(4, 3))
    points = lift(centres[group] + 0.4 * rng.normal(size=(n, 3)))
    return points, made_of(n, [{"A"} if each else {"B"} for each in user], found, seed)


def test_small_blocks_find_the_same_by_pattern(request: pytest.FixtureRequest) -> None:
    points, graph = directed()
    score = a_score(patterns_of(graph), 5, KINDS["everything"])
    whole = predict_links(points, graph, 3, min_probability=0.0, score=score)
    request.getfixturevalue("small_blocks")
    parts = predict_links(points, graph, 3, min_probability=0.0, score=score)
    assert triples(parts) == triples(whole)
    np.testing.assert_array_equal(parts.probability, whole.probability)


@pytest.mark.parametrize("seed", range(5))
def test_by_distance_nodes_that_are_both_have_their_k_nearest_of_either_side(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = [{"A"}] * 6 + [{"A", "B"}] * 5 + [{"B"}] * 6
    found = [(u, "R", v) for u, v in rng.integers((0, 6), (11, 17), (12, 2)).tolist()]
    points, graph = lift(rng.normal(size=(17, 2))), made_of(17, labels, found, seed)
    links = predict_links(points, graph, 2, max_links=400, patterns=["A-R->B"])
    pairs = sorted(naive_links.candidate_pairs(graph, links.patterns[0]))
    near = {(u, v): -float(distance(points[u], points[v])) for u, v in pairs}
    sure, possible = naive_links.best_of_each_end(near, 2)
    assert sure <= set(map(frozenset, ends_of(links))) <= possible
    first = predict_links(points, graph, None, max_links=9, patterns=["A-R->B"])
    different = {frozenset(pair): away for pair, away in near.items()}
    np.testing.assert_allclose(first.distance, sorted(-away for away in different.values())[:9], rtol=1e-9)


def test_of_two_nodes_that_may_be_linked_either_way_the_likelier_way_is_predicted() -> None:
    points, graph = directed()
    follows = Pattern("A", "R", "A")
    features = KINDS["everything"] or ()
    weights = (0.0,) * len(features) + (3.0,)
    turns = {str(follows): (1.0, 0.5) + (0.0,) * (len(DIRECTION) - 2)}
    score = linear_score(features, weights, directions=turns)
    links = predict_links(points, graph, 3, min_probability=0.0, score=score, patterns=[str(follows)])
    scorer, pairs = score.scorers(points, graph)(follows), np.column_stack((links.source, links.target))
    known = naive_links.joined_by(graph, "R")
    pairs = pairs[[(v, u) not in known for u, v in pairs.tolist()]]
    assert len(pairs) > 30
    assert (scorer.pairs(pairs) >= scorer.pairs(pairs[:, ::-1])).all()
    assert (scorer.pairs(pairs) > scorer.pairs(pairs[:, ::-1])).any()
