"""Recommendations: the likeliest partners of a node, and the probabilities of given pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j._utils.validation import check_integer
from heat_neo4j.geometry.hyperboloid import pair_distances
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.candidates import candidate_pairs, ends_of
from heat_neo4j.linkpred.link_score import LinkScorer
from heat_neo4j.linkpred.rules.pattern_rules import Rule
from heat_neo4j.linkpred.rules.schema_rules import SchemaRules
from heat_neo4j.linkpred.scorers import DistanceScorer
from heat_neo4j.patterns import Pattern

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Named = TypeVar("Named", Pattern, Pattern | None)
Scorers = Callable[[Pattern | None], LinkScorer]
"""Function from patterns to scorers, as returned by `LinkScore.scorers`."""

_ROUNDING = 1e-9  # log odds of one pair that are computed in two ways differ by less
_RIVALS_HELD = 1 << 20  # scores of rivals in memory at a time
_AMONG_RIVALS = 10  # times as many partners are ranked if each has one link, which others may get


@dataclass(frozen=True, eq=False)
class Recommended:
    """The likeliest partners of a node in a pattern, likeliest first.

    Parameters
    ----------
    pattern : Pattern, optional
        Pattern of the links; None for an undirected graph.
    reverse : bool
        Whether the node is the target and its partners are sources.
    partner : int64 array of shape (K,)
        Rows of the graph.
    distance : float64 array of shape (K,)
        Hyperbolic distance; ascending if there are no probabilities.
    probability : float64 array of shape (K,), optional
        Probability, descending; None without a score.
    n_candidates : int
        Number of candidates that were ranked.
    left_out : mapping of Rule to int
        Number of nodes that each rule left out.
    has_role : bool
        Whether the node can have links of the pattern; not if nodes are either sources or targets, and this
        one has the other role.
    """

    pattern: Pattern | None
    reverse: bool
    partner: Rows
    distance: Array
    probability: Array | None
    n_candidates: int
    left_out: Mapping[Rule, int] = field(default_factory=dict)
    has_role: bool = True

    def chance(self, place: int) -> float | None:
        """Return the probability of the partner at `place`; None without a score."""
        return None if self.probability is None else float(self.probability[place])


def patterns_at(
    graph: Graph, patterns: Sequence[Named], row: int, *, reverse: bool = False
) -> tuple[Named, ...]:
    """Return the patterns that allow the node as source, or as target if `reverse`."""
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
    rules: SchemaRules | None = None,
    min_degree: int = 0,
) -> list[Recommended]:
    """Return, for each pattern, a node's `k` likeliest partners that it is not linked to yet.

    `row` is a row of the graph and of `embedding`: points on the hyperboloid, shape (N, d + 1). With
    `reverse`, the node is the target. Without scorers, partners are ranked by distance. Ties go to the lower
    row. Partners with fewer than `min_degree` neighbours are left out, and links that `rules` forbid, unless
    they forbid all because the node has its maximum.
    """
    check_integer("k", k, minimum=1)
    check_integer("min_degree", min_degree, minimum=0)
    by_distance, found = DistanceScorer(embedding), []
    own_end = Rule.PER_TARGET if reverse else Rule.PER_SOURCE
    for pattern in patterns:
        candidates = candidate_pairs(graph, pattern)
        own, others = np.array([row]), candidates.sources if reverse else candidates.targets
        has_role = (candidates.is_target if reverse else candidates.is_source)[row]
        suited = has_role & (graph.degrees[others] >= min_degree)
        others = others[candidates.allowed(own, others, reverse=reverse)[0] & suited]
        left_out: dict[Rule, int] = {}
        if rules is not None:
            pairs = np.column_stack((np.full(len(others), row), others))[:, :: -1 if reverse else 1]
            broken = rules.forbidden(graph, pattern, pairs, ignored=own_end)
            left_out = {rule: count for rule in Rule if rule and (count := int(np.sum(broken == rule)))}
            others = others[broken == Rule.ALLOWED]
        scorer = None if scorers is None else scorers(pattern)
        ranking = by_distance if scorer is None else scorer
        scores = (ranking.reversed() if reverse else ranking).between(own, others).rows(0, 1)[0]
        compete = scorer is not None and rules is not None and rules.allow_one(pattern)[int(not reverse)]
        best = np.argsort(-scores, kind="stable")[: _AMONG_RIVALS * k if compete else k]
        pairs = np.column_stack((np.full(len(best), row), others[best]))[:, :: -1 if reverse else 1]
        chance = None
        if scorer is not None:
            chance = probability_among_rivals(scorer, rules, graph, pattern, pairs, scores[best])
            order = np.argsort(-chance, kind="stable")[:k]
            best, pairs, chance = best[order], pairs[order], chance[order]
        found.append(
            Recommended(
                pattern,
                reverse,
                others[best],
                pair_distances(embedding, pairs),
                chance,
                len(others),
                left_out,
                bool(has_role),
            )
        )
    return found


def probability_among_rivals(
    scorer: LinkScorer,
    rules: SchemaRules | None,
    graph: Graph,
    pattern: Pattern | None,
    pairs: Rows,
    log_odds: Array,
) -> Array:
    """Return the probability of each pair of a pattern, shape (m,), given its log odds.

    If rules allow a node one link, the calibration is that of its likeliest pair, be it a link already. Its
    other pairs are as much less probable as their odds are lower, and all together at most fill the rest.
    """
    chance = scorer.probability(log_odds)
    if rules is None or not (ends := np.flatnonzero(rules.allow_one(pattern))).size:
        return chance
    opened, full = rules.open(graph, candidate_pairs(graph, pattern)), rules.full(graph, pattern)
    for end in ends:
        ranking, others = (scorer.reversed(), opened.sources) if end else (scorer, opened.targets)
        is_full = full[Rule.PER_TARGET if end else Rule.PER_SOURCE]
        nodes, of_pair = np.unique(pairs[:, end], return_inverse=True)
        ranked, best = ranking.between(nodes, others), np.full(len(nodes), -np.inf)
        np.maximum.at(best, of_pair, log_odds)
        less, step = np.zeros(len(nodes)), max(_RIVALS_HELD // max(len(others), 1), 1)
        for begin in range(0, len(nodes), step):
            part = slice(begin, begin + step)
            allowed = opened.allowed(nodes[part], others, reverse=bool(end))
            allowed |= is_full[nodes[part], None] & (nodes[part, None] != others)
            rivals = np.where(allowed, ranked.rows(begin, min(begin + step, len(nodes))), -np.inf)
            best[part] = np.maximum(best[part], rivals.max(axis=1, initial=-np.inf))
            top = best[part, None]
            less[part] = np.where(rivals < top - _ROUNDING, np.exp(rivals - top), 0.0).sum(axis=1)
        likeliest, odds = scorer.probability(best), log_odds - best[of_pair]
        rest = np.minimum(1.0, (1.0 - likeliest) / np.maximum(likeliest * less, 1e-300))
        share = likeliest[of_pair] * np.exp(odds) * np.where(odds < -_ROUNDING, rest[of_pair], 1.0)
        chance = np.minimum(chance, share)
    return chance


@one_blas_thread()
def probabilities(
    graph: Graph, scorers: Scorers, rules: SchemaRules, patterns: Sequence[Pattern | None], pairs: Rows
) -> tuple[Array, Array, Rows]:
    """Return the probability of each pair of rows, shape (m, 2), under its likeliest pattern.

    Returns probabilities, log odds and pattern indices, each of shape (m,); NaN, NaN and -1 if no pattern
    allows the pair. In an undirected graph the lower row is the source, as in `predict_links`.
    """
    probability, log_odds = np.full(len(pairs), np.nan), np.full(len(pairs), np.nan)
    place = np.full(len(pairs), -1, dtype=np.int64)
    for number, pattern in enumerate(patterns):
        is_source, is_target = ends_of(graph, pattern)
        own = np.flatnonzero(is_source[pairs[:, 0]] & is_target[pairs[:, 1]] & (pairs[:, 0] != pairs[:, 1]))
        if not own.size:
            continue
        scorer, ends = scorers(pattern), pairs[own] if pattern is not None else np.sort(pairs[own], axis=1)
        odds = scorer.pairs(ends)
        chance = probability_among_rivals(scorer, rules, graph, pattern, ends, odds)
        better = (place[own] < 0) | (chance > probability[own])
        rows = own[better]
        probability[rows], log_odds[rows], place[rows] = chance[better], odds[better], number
    return probability, log_odds, place
