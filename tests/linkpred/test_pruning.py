"""Pairs are dropped only if they cannot reach the minimum, and before all of their features are computed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from heat_neo4j import Graph
from heat_neo4j.geometry.hyperboloid import lift
from heat_neo4j.linkpred.calibration import HeldOut, Reliability
from heat_neo4j.linkpred.candidates import patterns_of
from heat_neo4j.linkpred.features import Feature, PairFeatures
from heat_neo4j.linkpred.link_score import LinkScorer, link_score
from heat_neo4j.linkpred.pruning import PrunedScorer
from heat_neo4j.linkpred.splits import split_edges
from tests.linkpred.test_pattern_laws import made_of

N = 120


@cache
def made() -> tuple[np.ndarray, Graph]:
    """Return points and a graph of two types, whose links join neighbours on a ring."""
    rng = np.random.default_rng(0)
    source = rng.integers(0, N, 900)
    target = (source + rng.integers(1, 8, 900)) % N
    found = [(int(u), "RS"[i % 3 == 0], int(v)) for i, (u, v) in enumerate(zip(source, target, strict=True))]
    turn = 2 * np.pi * np.arange(N) / N
    points = lift(np.column_stack((np.cos(turn), np.sin(turn))) * 2.0 + rng.normal(0, 0.3, (N, 2)))
    return points, made_of(N, [{"A"}] * N, found, 0)


@cache
def scorer() -> LinkScorer:
    """Return the scorer of the commoner type."""
    points, graph = made()
    split = split_edges(graph, 0.1, random_state=0, non_edges_per_edge=5)
    score = link_score([HeldOut(split, points)], graph)
    return score.scorers(points, graph)(patterns_of(graph)[0])


def every_pair() -> np.ndarray:
    """Return all ordered pairs, sorted, as columns that are contiguous."""
    return np.asfortranarray(np.argwhere(~np.eye(N, dtype=bool)))


@pytest.mark.parametrize("typed", [True, False])
def test_no_pair_exceeds_the_ceiling_of_either_end(typed: bool) -> None:
    points, graph = made()
    graph = graph if typed else replace(graph, relationships=None, labels={})
    pattern = patterns_of(graph)[0] if typed else None
    bounded = 0
    for name, feature in PairFeatures(points, graph).of(pattern).link.items():
        values = feature.rows(0, N)
        for ceiling, most in (
            (feature.ceiling(), values.max(axis=1)),
            (feature.reversed().ceiling(), values.max(axis=0)),
        ):
            bounded += ceiling is not None
            assert ceiling is None or (most <= ceiling + 1e-9).all(), name
    assert bounded >= (20 if typed else 10)


def test_a_difference_has_no_ceiling() -> None:
    points, graph = made()
    for feature in PairFeatures(points, graph).of(patterns_of(graph)[0]).direction.values():
        assert feature.ceiling() is None or len(feature._scorers) == 1


@pytest.mark.parametrize("share", [0.0, 0.9, 0.999])
def test_the_pairs_that_can_reach_the_minimum_stay_with_the_same_scores(share: float) -> None:
    pairs, whole = every_pair(), scorer()
    scores = replace(whole, direction=None).pairs(pairs)
    direction = max(whole.table[-1])
    least = float(np.quantile(scores + direction, share))
    kept, found = PrunedScorer(whole, least, pairs[::7]).pairs(pairs)
    can = scores + direction >= least
    np.testing.assert_array_equal(kept, pairs[can])
    np.testing.assert_array_equal(found, scores[can])


class Counted:
    """A feature that counts the pairs it is computed for."""

    def __init__(self, feature: Feature) -> None:
        self._feature, self.n_pairs = feature, 0
        self.n_nodes, self.ceiling, self.reversed = feature.n_nodes, feature.ceiling, feature.reversed

    def pairs(self, pairs: np.ndarray) -> np.ndarray:
        self.n_pairs += len(pairs)
        return self._feature.pairs(pairs)


def test_most_features_of_hopeless_pairs_are_not_computed() -> None:
    pairs, whole = every_pair(), scorer()
    scores = replace(whole, direction=None).pairs(pairs)
    counted = {name: Counted(feature) for name, feature in whole.features.items()}
    least = float(np.quantile(scores, 0.999))
    PrunedScorer(replace(whole, features=counted), least, pairs[::50]).pairs(pairs)  # type: ignore[arg-type]
    assert sum(each.n_pairs for each in counted.values()) < 0.6 * len(counted) * len(pairs)


@pytest.mark.parametrize("probability", [0.001, 0.1, 0.2, 0.3, 0.69, 0.7])
def test_the_lowest_score_with_a_probability_has_it(probability: float) -> None:
    known = Reliability((-2.0, 0.0, 1.0, 2.0), (0.1, 0.3, 0.3, 0.7), (), (), (), (), ())
    lowest = known.log_odds_at(probability)
    assert known.at(lowest) == pytest.approx(probability)
    assert known.at(lowest - 1e-6) < probability
    assert known.log_odds_at(0.71) == np.inf
