"""Recommendations: whom one node is likeliest to be linked with, and how likely given pairs are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j._utils.validation import check_integer
from heat_neo4j.geometry.hyperboloid import pair_distances
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.candidates import candidate_pairs, ends_of
from heat_neo4j.linkpred.link_score import LinkScorer
from heat_neo4j.linkpred.scorers import DistanceScorer
from heat_neo4j.patterns import Pattern

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Named = TypeVar("Named", Pattern, Pattern | None)
Scorers = Callable[[Pattern | None], LinkScorer]
"""What `LinkScore.scorers` returns for points and a graph."""


@dataclass(frozen=True, eq=False)
class Recommended:
    """The likeliest partners of a node in a pattern, the likeliest first.

    Parameters
    ----------
    pattern : Pattern, optional
        What would join them; None of a graph without directions.
    reverse : bool
        Whether the partners are sources, and the node is the target.
    partner : int64 array of shape (K,)
        Rows of the graph.
    distance : float64 array of shape (K,)
        Hyperbolic distance; rising if there is no probability.
    probability : float64 array of shape (K,), optional
        Falling; None without a score.
    n_candidates : int
        Of how many they are the likeliest.
    """

    pattern: Pattern | None
    reverse: bool
    partner: Rows
    distance: Array
    probability: Array | None
    n_candidates: int

    def chance(self, place: int) -> float | None:
        """Return the probability of one of them, None without a score."""
        return None if self.probability is None else float(self.probability[place])


def patterns_at(
    graph: Graph, patterns: Sequence[Named], row: int, *, reverse: bool = False
) -> tuple[Named, ...]:
    """Return those of the patterns of which a node may be the source, or if `reverse` the target."""
    return tuple(pattern for pattern in patterns if ends_of(graph, pattern)[int(reverse)][row])


@one_blas_thread()
def likeliest_partners(
    embedding: Array,
    graph: Graph,
    patterns: Sequence[Pattern | None],
    row: int,
    k: int = 10,
    *,
    reverse: bool = False,
    scorers: Scorers | None = None,
) -> list[Recommended]:
    """Return for each pattern the `k` likeliest partners of a node, of all that are not joined to it so yet.

    `row` is a row of the graph and of `embedding`, points of the hyperboloid, shape (N, d + 1). Without
    scorers the nearest are the likeliest. With `reverse` the node is the target. Of equal ones the lower row
    comes first.
    """
    check_integer("k", k, minimum=1)
    by_distance, found = DistanceScorer(embedding), []
    for pattern in patterns:
        candidates = candidate_pairs(graph, pattern)
        own, others = np.array([row]), candidates.sources if reverse else candidates.targets
        has_role = (candidates.is_target if reverse else candidates.is_source)[row]
        others = others[candidates.allowed(own, others, reverse=reverse)[0] & has_role]
        scorer = None if scorers is None else scorers(pattern)
        ranking = by_distance if scorer is None else scorer
        scores = (ranking.reversed() if reverse else ranking).between(own, others).rows(0, 1)[0]
        best = np.argsort(-scores, kind="stable")[:k]
        found.append(
            Recommended(
                pattern,
                reverse,
                others[best],
                pair_distances(embedding, np.column_stack((np.full(len(best), row), others[best]))),
                None if scorer is None else scorer.probability(scores[best]),
                len(others),
            )
        )
    return found


@one_blas_thread()
def probabilities(
    graph: Graph, scorers: Scorers, patterns: Sequence[Pattern | None], pairs: Rows
) -> tuple[Array, Array, Rows]:
    """Return how likely pairs of rows are, shape (m, 2), each as a link of its likeliest pattern.

    The probabilities, the log odds and the places of the patterns, all of shape (m,): NaN and -1 where no
    pattern allows the pair. Of a graph without directions the lower row is the source, as in `predict_links`.
    """
    probability, log_odds = np.full(len(pairs), np.nan), np.full(len(pairs), np.nan)
    place = np.full(len(pairs), -1, dtype=np.int64)
    for number, pattern in enumerate(patterns):
        is_source, is_target = ends_of(graph, pattern)
        own = np.flatnonzero(is_source[pairs[:, 0]] & is_target[pairs[:, 1]] & (pairs[:, 0] != pairs[:, 1]))
        if not own.size:
            continue
        scorer = scorers(pattern)
        odds = scorer.pairs(pairs[own] if pattern is not None else np.sort(pairs[own], axis=1))
        chance = scorer.probability(odds)
        better = (place[own] < 0) | (chance > probability[own])
        rows = own[better]
        probability[rows], log_odds[rows], place[rows] = chance[better], odds[better], number
    return probability, log_odds, place
