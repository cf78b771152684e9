"""Ranking metrics of a scorer on the held-out links of a pattern, or of an undirected graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.graph import Graph, entries
from heat_neo4j.linkpred.candidates import candidate_pairs, relationships_of
from heat_neo4j.linkpred.metrics import (
    NodeRanking,
    auroc,
    average_precision,
    expected_calibration_error,
    node_ranking,
    roc_curve,
)
from heat_neo4j.linkpred.scorers import DirectedScorer
from heat_neo4j.linkpred.splits import EdgeSplit, joins_held_out
from heat_neo4j.patterns import Pattern

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_TOP = 10
_PRECISION_AT = (10, 100)
_SCORES_PER_BLOCK = 1 << 19


@dataclass(frozen=True)
class Limits:
    """Maximum number of sources or targets to rank exactly, and number of sources sampled above it."""

    exact_nodes: int = 10_000  # all pairs are scored; 4 to 27 s per method for 12 thousand on two cores
    nodes: int = 1_000


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class PairFigures:
    """The metrics of one scorer, and the sampling standard errors of those that are not exact."""

    metrics: Mapping[str, float]
    errors: Mapping[str, float] = field(default_factory=dict)
    # False and true positive rates.
    roc: tuple[Array, Array] = field(default=(np.empty(0), np.empty(0)), repr=False)


@dataclass(frozen=True, eq=False)
class HeldOutLinks:
    """Held-out links, and the pairs that they are ranked among.

    Without a pattern, links count in both directions: each end ranks the other.
    """

    n_nodes: int  # number of nodes of the graph
    pairs: Rows  # (m, 2): the held-out links, without duplicates
    others: Rows  # non-links: pairs without a link in the whole graph or any edge in training
    one_way: Rows  # the `pairs` whose reverse is allowed but is not a link
    asked: Rows  # sources that rank the targets, sorted ascending
    targets: Rows  # ranked targets, sorted ascending
    partners: sparse.csr_array  # (asked, targets): nonzero at held-out links
    joined: sparse.csr_array  # (asked, targets): nonzero at all links, which are not ranked as negatives
    n_sources: int  # number of sources with a held-out link
    n_written: int  # number of links in training, which is the maximum that a run writes
    is_complete: bool  # whether all sources rank all targets, so that the best pairs are known
    is_ordered: bool  # False without a pattern


def held_out_links(
    graph: Graph,
    split: EdgeSplit,
    pattern: Pattern | None,
    seed: int,
    limits: Limits = DEFAULT_LIMITS,
) -> HeldOutLinks | None:
    """Return the links of a pattern that a split holds out; None if there is nothing to rank.

    An equal number of non-links is drawn; without a pattern, those of the split are used. All sources rank
    all targets. With more than `limits.exact_nodes` sources or targets, only a random sample of at most
    `limits.nodes` sources with a held-out link does.
    """
    n, candidates = graph.n_nodes, candidate_pairs(split.train, pattern)
    one_way = np.empty((0, 2), dtype=np.int64)
    if pattern is None:
        pairs, others, joined = split.test_edges, split.test_non_edges, graph.adjacency
        both = np.concatenate((pairs, pairs[:, ::-1]))
        n_written = split.train.n_edges
    else:
        assert graph.relationships is not None
        own = np.column_stack(relationships_of(graph, pattern))
        pairs = both = own[joins_held_out(split, own)]
        # Pairs with an edge in training are excluded: they cannot be held-out links, so they are easy
        # negatives.
        linked = np.column_stack(split.train.adjacency.nonzero()).astype(np.int64)
        closed = np.concatenate((own, linked)) @ (n, 1)
        others = candidates.other_pairs(closed, len(pairs), np.random.default_rng([seed, 2]))
        whole = graph.relationships.matrix(pattern.type, n)
        joined = sparse.csr_array(whole + candidates.joined)
        back = pairs[:, ::-1]
        may_turn = candidates.is_source[back[:, 0]] & candidates.is_target[back[:, 1]]
        one_way = pairs[may_turn & (entries(whole, back) == 0.0)]
        n_written = len(own) - len(pairs)
    if not len(others) or not len(pairs):
        return None
    sources = np.unique(both[:, 0])
    most = max(len(candidates.sources), len(candidates.targets))
    is_complete = most <= limits.exact_nodes
    asked = candidates.sources if is_complete else sources
    if not is_complete:
        size = min(limits.nodes, len(sources))
        asked = np.sort(np.random.default_rng([seed, 3]).choice(sources, size, replace=False))
    held = sparse.csr_array((np.ones(len(both)), tuple(both.T)), shape=(n, n))
    targets = candidates.targets
    among = joined[asked][:, targets]
    return HeldOutLinks(
        n_nodes=n,
        pairs=pairs,
        others=others,
        one_way=one_way,
        asked=asked,
        targets=targets,
        partners=held[asked][:, targets],
        joined=among,
        n_sources=len(sources),
        n_written=n_written,
        is_complete=is_complete,
        is_ordered=pattern is not None,
    )


def measure_links(
    scorer: DirectedScorer, held_out: HeldOutLinks, block: int = _SCORES_PER_BLOCK
) -> PairFigures:
    """Return the metrics of a scorer, fitted to the training graph only, on held-out links.

    The filtered rank of a held-out link is 1 + the number of its source's targets that score higher, ties
    counted one half. Targets linked to the source in the whole graph do not count, nor do targets outside the
    candidates of the training graph (`candidate_pairs`). Metrics of ranks:

    - Mean reciprocal rank, hits at 10 and mean rank over links; mean average precision over sources.
    - If all sources rank all targets: precision of the 10 and the 100 best unlinked pairs, precision and
      recall of as many pairs as training has links and, if the scorer has probabilities, their expected
      calibration error on these pairs. Ties are broken by source, then target. A metric is omitted if there
      are too few pairs.
    - Direction accuracy, if some links are not reciprocated and their reverse is allowed: the share of these
      that score higher than their reverse, ties counted one half.
    - AUROC and average precision against the non-links.

    At most about `block` scores are in memory at a time. Raises ValueError if a score is not finite.
    """
    if scorer.n_nodes != held_out.n_nodes:
        raise ValueError(f"the scorer has {scorer.n_nodes:,} nodes, the graph {held_out.n_nodes:,}")
    links, others = finite(scorer.pairs(held_out.pairs)), finite(scorer.pairs(held_out.others))
    metrics, errors = _rankings(scorer, held_out, block)
    if len(held_out.one_way):
        ahead, back = (finite(scorer.pairs(way)) for way in (held_out.one_way, held_out.one_way[:, ::-1]))
        metrics["direction_accuracy"] = float(np.mean((ahead > back) + 0.5 * (ahead == back)))
    metrics |= {"auroc": auroc(links, others), "average_precision": average_precision(links, others)}
    return PairFigures(metrics, errors, roc_curve(links, others))


def _rankings(
    scorer: DirectedScorer, held_out: HeldOutLinks, block: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the metrics of ranks and best pairs, and standard errors if sources are sampled."""
    asked, targets = held_out.asked, held_out.targets
    own = scorer.between(asked, targets)
    best = BestPairs(max(*_PRECISION_AT, held_out.n_written))
    ranks = _Ranks()
    step = max(block // max(len(targets), 1), 1)
    for begin in range(0, len(asked), step):
        end = min(begin + step, len(asked))
        scores = finite(own.rows(begin, end))
        is_partner = held_out.partners[begin:end].toarray() != 0
        itself = asked[begin:end, None] == targets
        is_other = (held_out.joined[begin:end].toarray() == 0) & ~itself
        for row in np.flatnonzero(is_partner.any(axis=1)):
            ranks.add(node_ranking(scores[row, is_other[row]], scores[row, is_partner[row]]))
        if held_out.is_complete:
            is_open = is_other | is_partner
            if not held_out.is_ordered:
                is_open &= targets > asked[begin:end, None]
            first, second = np.nonzero(is_open)
            best.add((first + begin) * len(targets) + second, scores[first, second])
    metrics = ranks.means()
    if held_out.is_complete:
        metrics |= _of_the_best(held_out, best, getattr(scorer, "probability", None))
    return metrics, ranks.errors(held_out.n_sources)


def _of_the_best(
    held_out: HeldOutLinks, best: BestPairs, probability: Callable[[Array], Array] | None
) -> dict[str, float]:
    """Return precision, recall and calibration error of the best pairs."""
    codes, scores = best.pairs()
    pairs = np.column_stack(np.divmod(codes, len(held_out.targets)))
    is_link = entries(held_out.partners, pairs) != 0.0
    found = {f"precision_at_{k}": float(is_link[:k].mean()) for k in _PRECISION_AT if len(is_link) >= k}
    written = is_link[: held_out.n_written]
    if len(written):
        found["precision_at_written"] = float(written.mean())
        found["recall_at_written"] = float(written.sum() / len(held_out.pairs))
        if probability is not None:
            chances = probability(scores[: len(written)])
            found["calibration_error"] = expected_calibration_error(chances, written)
    return found


class BestPairs:
    """Accumulates the codes of the best-scored pairs; ties go to the lowest codes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._least = -np.inf
        self._scores: Array = np.empty(0)
        self._codes: Rows = np.empty(0, dtype=np.int64)

    def add(self, codes: Rows, scores: Array) -> None:
        """Add pairs; codes must increase, also between calls."""
        # A tie with the last pair of a full list ranks after it.
        better = scores > self._least
        self._scores = np.concatenate((self._scores, scores[better]))
        self._codes = np.concatenate((self._codes, codes[better]))
        if self._scores.size > 4 * self._most:
            self._trim()

    def pairs(self) -> tuple[Rows, Array]:
        """Return the codes of the best pairs and their scores, best first."""
        self._trim()
        return self._codes, self._scores

    def _trim(self) -> None:
        order = np.argsort(-self._scores, kind="stable")[: self._most]  # codes are ascending among equals
        self._scores, self._codes = self._scores[order], self._codes[order]
        if order.size == self._most:
            self._least = float(self._scores[-1])


class _Ranks:
    """Accumulates ranks and average precisions by source."""

    def __init__(self) -> None:
        self._sums: list[tuple[float, float, float]] = []
        self._counts: list[int] = []
        self._precisions: list[float] = []

    def add(self, ranking: NodeRanking) -> None:
        ranks = ranking.ranks
        self._sums.append((float(np.sum(1.0 / ranks)), float(np.sum(ranks <= _TOP)), float(ranks.sum())))
        self._counts.append(len(ranks))
        self._precisions.append(ranking.average_precision)

    def means(self) -> dict[str, float]:
        of_links = np.sum(self._sums, axis=0) / np.sum(self._counts)
        return _named(of_links, np.mean(self._precisions))

    def errors(self, n_sources: int) -> dict[str, float]:
        """Return standard errors of a sample from `n_sources`; means over links are ratio estimators."""
        size, counts = len(self._counts), np.array(self._counts, dtype=np.float64)
        if not 1 < size < n_sources:
            return {}
        sums = np.array(self._sums)
        residuals = (sums - sums.sum(axis=0) / counts.sum() * counts[:, None]) / counts.mean()
        unseen = (1.0 - size / n_sources) / size
        of_links = np.sqrt(unseen * np.var(residuals, axis=0, ddof=1))
        return _named(of_links, np.sqrt(unseen * np.var(self._precisions, ddof=1)))


def _named(of_links: Array, precision: np.floating) -> dict[str, float]:
    reciprocal, hits, rank = of_links.tolist()
    return {
        "mean_reciprocal_rank": reciprocal,
        "hits_at_10": hits,
        "mean_rank": rank,
        "mean_average_precision": float(precision),
    }


def finite(scores: Array) -> Array:
    """Return the scores; raises ValueError if one is NaN or infinite."""
    if not np.isfinite(scores).all():
        raise ValueError("a scorer returned a NaN or infinite score")
    return scores
