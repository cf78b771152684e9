"""How well a scorer finds the held-out relationships of one pattern among those that the pattern allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.evaluation.ranking import DEFAULT_LIMITS, Limits, PairFigures, finite
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.candidates import candidate_pairs, entries, relationships_of
from heat_neo4j.linkpred.metrics import (
    auroc,
    average_precision,
    node_ranking,
    precision_recall_curve,
    roc_curve,
)
from heat_neo4j.linkpred.scorers import DirectedScorer
from heat_neo4j.linkpred.splits import EdgeSplit, joins_held_out
from heat_neo4j.patterns import Pattern

__all__ = ["HeldOutLinks", "held_out_links", "measure_pattern"]

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_TOP = 10
_SCORES_PER_BLOCK = 1 << 19


@dataclass(frozen=True, eq=False)
class HeldOutLinks:
    """Relationships of a pattern that training does not have, and what they are told from."""

    links: Rows  # (m, 2), sorted
    others: Rows  # pairs of the pattern that no relationship of the type joins, also not a held-out one
    one_way: Rows  # those of `links` that may be turned round, and that nothing answers
    asked: Rows  # sources that rank the targets, rising: those of `links`, or some of them
    n_sources: int  # of `links`
    targets: Rows  # of the pattern, rising
    joined: sparse.csr_array  # (N, N): relationships of the type in the whole graph


def held_out_links(
    graph: Graph, split: EdgeSplit, pattern: Pattern, seed: int, limits: Limits = DEFAULT_LIMITS
) -> HeldOutLinks | None:
    """Return the relationships of a pattern in a graph that a split of it holds out.

    None if there is none, or no other pair.

    As many other pairs are drawn. With more than `limits.exact_nodes` sources or targets, `limits.nodes` of
    the sources with a held-out relationship are drawn to rank targets.
    """
    assert graph.relationships is not None
    n, candidates = graph.n_nodes, candidate_pairs(graph, pattern)
    own = np.column_stack(relationships_of(graph, pattern))
    codes = own @ (n, 1)
    links = own[joins_held_out(split, own)]
    others = candidates.other_pairs(codes, len(links), np.random.default_rng([seed, 2]))
    if not len(others):
        return None
    joined = graph.relationships.matrix(pattern.type, n)
    sources = np.unique(links[:, 0])
    asked = sources
    if max(len(candidates.sources), len(candidates.targets)) > limits.exact_nodes:
        size = min(limits.nodes, len(sources))
        asked = np.sort(np.random.default_rng([seed, 3]).choice(sources, size, replace=False))
    back = links[:, ::-1]
    may_turn = candidates.is_source[back[:, 0]] & candidates.is_target[back[:, 1]]
    one_way = links[may_turn & (entries(joined, back) == 0.0)]
    return HeldOutLinks(links, others, one_way, asked, len(sources), candidates.targets, joined)


def measure_pattern(scorer: DirectedScorer, held_out: HeldOutLinks) -> PairFigures:
    """Return how well a scorer, made from nothing but training, finds held-out relationships.

    AUROC and average precision: against the other pairs. Hits at 10 and the mean reciprocal rank: of each
    held-out relationship, by its rank among the pattern's targets for its source, which is 1 + the targets
    that score higher, equal ones counted one half; targets that the source has in the whole graph do not
    count. Direction accuracy, if there are relationships that nothing answers and that the pattern allows the
    other way round: the share of them that score higher than turned round, equal ones counted one half. A
    score that is not finite is a ValueError.
    """
    links, others = finite(scorer.pairs(held_out.links)), finite(scorer.pairs(held_out.others))
    metrics = {"auroc": auroc(links, others), "average_precision": average_precision(links, others)}
    rankings, errors = _rankings(scorer, held_out)
    metrics |= rankings
    if len(held_out.one_way):
        ahead, back = (finite(scorer.pairs(way)) for way in (held_out.one_way, held_out.one_way[:, ::-1]))
        metrics["direction_accuracy"] = float(np.mean((ahead > back) + 0.5 * (ahead == back)))
    return PairFigures(metrics, errors, roc_curve(links, others), precision_recall_curve(links, others))


def _rankings(scorer: DirectedScorer, held_out: HeldOutLinks) -> tuple[dict[str, float], dict[str, float]]:
    """Return hits and reciprocal ranks, and their standard errors if not every source is asked."""
    asked, targets = held_out.asked, held_out.targets
    own = scorer.between(asked, targets)
    is_partner = sparse.csr_array(
        (np.ones(len(held_out.links)), tuple(held_out.links.T)), shape=held_out.joined.shape
    )[asked][:, targets]
    is_joined = held_out.joined[asked][:, targets]
    place = np.searchsorted(targets, asked)  # of each source among the targets, if it is one
    itself = (place < len(targets)) & (targets[np.minimum(place, len(targets) - 1)] == asked)
    counts, sums = np.zeros(len(asked)), np.zeros((len(asked), 2))
    step = max(_SCORES_PER_BLOCK // max(len(targets), 1), 1)
    for begin in range(0, len(asked), step):
        end = min(begin + step, len(asked))
        scores = finite(own.rows(begin, end))
        open_to = is_joined[begin:end].toarray() == 0
        open_to[np.flatnonzero(itself[begin:end]), place[begin:end][itself[begin:end]]] = False
        partners = is_partner[begin:end].toarray() != 0
        for row in range(end - begin):
            ranks = node_ranking(scores[row, open_to[row]], scores[row, partners[row]]).ranks
            counts[begin + row] = len(ranks)
            sums[begin + row] = np.sum(ranks <= _TOP), np.sum(1.0 / ranks)
    means = sums.sum(axis=0) / counts.sum()
    errors = {}
    if 1 < len(asked) < held_out.n_sources:  # of a ratio of two sums
        unseen = 1.0 - len(asked) / held_out.n_sources
        spread = np.var((sums - means * counts[:, None]) / counts.mean(), axis=0, ddof=1)
        errors = _named(np.sqrt(unseen * spread / len(asked)))
    return _named(means), errors


def _named(values: Array) -> dict[str, float]:
    hits, reciprocal = values.tolist()
    return {"hits_at_10": hits, "mean_reciprocal_rank": reciprocal}
