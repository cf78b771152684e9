"""Ranking figures of held-out links, for any score of a source with all nodes.

Ranks are filtered: a held-out partner is ranked among all nodes that may be its pattern's targets and that
training does not link to the source; the source's other held-out partners do not count. Ties count half.
A. Bordes et al., "Translating Embeddings for Modeling Multi-relational Data" (NIPS 2013).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from heat_neo4j.linkpred.candidates import ends_of
from heat_neo4j.linkpred.metrics import auroc
from heat_neo4j.patterns import Pattern
from tests.benchmarks.shelf.dataset import DataSet, Pairs

__all__ = [
    "Figures",
    "Fitted",
    "Question",
    "Ranking",
    "Scorer",
    "TopPairs",
    "evaluate",
    "questions",
    "rank",
    "summary",
]

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

Scorer = Callable[[Rows], Array]
"""Scores of some sources with every node, shape (sources, N): higher is likelier."""

Fitted = Callable[[Pattern | None, bool], Scorer]
"""A method after training: gives the scorer of a pattern. If True, rows are targets, scored with sources."""

K = 10
TOP_PAIRS = 100
EVERY_SOURCE = 8_000  # up to so many are all asked, else those with held-out links
MOST_SOURCES = 2_000
_NON_LINKS = 5  # drawn for each held-out link, for the AUROC
_BLOCK = 4_000_000  # scores held at a time
_DISCOUNTS = 1 / np.log2(np.arange(2, K + 2))


@dataclass(frozen=True, eq=False)
class Question:
    """Held-out links to be ranked for their sources.

    Parameters
    ----------
    truth : int64 array of shape (m, 2)
        Rows (source, target).
    is_source, is_target : bool array of shape (N,)
        Which nodes the pattern allows.
    known : csr_array of shape (N, N)
        Not 0 where a pair is linked in training, or is left out for another reason.
    seen : bool array of shape (N,)
        Which nodes are targets of the type in training.
    ordered : bool
        False if (u, v) and (v, u) are one pair, and the truth holds both.
    """

    truth: Pairs
    is_source: Mask
    is_target: Mask
    known: sparse.csr_array
    seen: Mask
    ordered: bool = True


@dataclass(frozen=True, eq=False)
class Ranking:
    """What was found of a question."""

    ranks: Array  # of each held-out link, from 1
    seen: Mask  # whether its target is one in training: a half-link that was seen
    gains: Array  # nDCG@10 of each source that has held-out links
    recalls: Array  # recall@10 of the same
    precision: float  # share of held-out links among the 100 best pairs
    auroc: float  # held-out links against random pairs of the same sources


@dataclass(frozen=True)
class Figures:
    """Means over held-out links; `ndcg` and `recall` at 10 over sources, `precision` at 100 over pairs."""

    links: int
    mrr: float
    mrr_at_10: float  # where ranks beyond 10 count 0
    hits: float  # at 10
    mrr_seen: float  # NaN if there are none
    mrr_unseen: float
    unseen: float  # share of links
    ndcg: float
    recall: float
    precision: float
    auroc: float


class TopPairs:
    """Expected share of held-out links among the `wanted` best of many pairs, if ties fall by chance."""

    def __init__(self, wanted: int = TOP_PAIRS) -> None:
        self._wanted = wanted
        self._scores: Array = np.empty(0)
        self._counts: Array = np.empty(0)
        self._hits: Array = np.empty(0)

    def add(self, scores: Array, is_link: Mask) -> None:
        """Take more pairs."""
        if len(scores) > self._wanted:
            best = scores >= np.partition(scores, -self._wanted)[-self._wanted]
            scores, is_link = scores[best], is_link[best]
        every = np.concatenate((self._scores, scores))
        distinct, place = np.unique(every, return_inverse=True)
        counts, hits = (
            np.bincount(place, np.concatenate((before, own)), len(distinct)).astype(np.float64)
            for before, own in (
                (self._counts, np.ones(len(scores))),
                (self._hits, is_link.astype(np.float64)),
            )
        )
        above = counts[::-1].cumsum()[::-1] - counts
        kept = above < self._wanted
        self._scores, self._counts, self._hits = distinct[kept], counts[kept], hits[kept]

    def precision(self) -> float:
        """Return the share; of all pairs if there are fewer than wanted."""
        above = self._counts[::-1].cumsum()[::-1] - self._counts
        taken = np.minimum(self._counts, self._wanted - above)
        return float((self._hits * taken / self._counts).sum() / max(taken.sum(), 1.0))


def rank(
    scorer: Scorer,
    question: Question,
    seed: int = 0,
    *,
    every: int = EVERY_SOURCE,
    most: int = MOST_SOURCES,
    block: int = _BLOCK,
) -> Ranking:
    """Rank the held-out links of a question. A ValueError if a score is NaN.

    Up to `every` source are all asked, so that the 100 best pairs are those of the whole pattern; of more
    `most` of those with held-out links, drawn by the seed. A block of scores is held at a time.
    """
    random = np.random.default_rng(seed)
    n, targets = len(question.is_target), np.flatnonzero(question.is_target)
    truth, asked = question.truth, np.flatnonzero(question.is_source)
    if len(asked) > every:
        asked = np.unique(truth[:, 0])
        if len(asked) > most:
            asked = np.sort(random.choice(asked, most, replace=False))
        truth = truth[np.isin(truth[:, 0], asked)]
    links = sparse.csr_array((np.ones(len(truth), dtype=np.bool_), (truth[:, 0], truth[:, 1])), shape=(n, n))
    draws = -(-_NON_LINKS * len(truth) // len(asked))
    best, step = TopPairs(), max(block // n, 1)
    ranks, seen, gains, recalls, of_links, of_others = [], [], [], [], [], []
    for begin in range(0, len(asked), step):
        sources = asked[begin : begin + step]
        scores = np.array(scorer(sources), dtype=np.float64)  # a copy, where NaN marks what is no candidate
        if np.isnan(scores).any():
            raise ValueError("a score is NaN")
        is_link = links[sources].toarray()
        is_out = question.known[sources].toarray() != 0
        is_out[:, ~question.is_target] = True
        is_out[np.arange(len(sources)), sources] = True
        scores[is_out & ~is_link] = np.nan
        pairs = scores if question.ordered else np.where(np.arange(n) > sources[:, None], scores, np.nan)
        best.add(pairs[~np.isnan(pairs)], is_link[~np.isnan(pairs)])
        for row, own in zip(scores, is_link, strict=True):
            partners, drawn = row[own], random.choice(targets, draws)
            if len(partners):
                hits = own[_best(row, K)]
                ideal = _DISCOUNTS[: min(len(partners), K)].sum()
                gains.append(float(_DISCOUNTS[: len(hits)][hits].sum() / ideal))
                recalls.append(np.count_nonzero(hits) / len(partners))
                seen.append(question.seen[own])
                row[own] = np.nan
                above = np.array([np.count_nonzero(row > score) for score in partners])
                tied = np.array([np.count_nonzero(row == score) for score in partners])
                ranks.append(1 + above + tied / 2)
                of_links.append(partners)
            of_others.append(row[drawn][~np.isnan(row[drawn])])
    return Ranking(
        ranks=np.concatenate(ranks),
        seen=np.concatenate(seen),
        gains=np.array(gains),
        recalls=np.array(recalls),
        precision=best.precision(),
        auroc=auroc(np.concatenate(of_links), np.concatenate(of_others)),
    )


def summary(rankings: Sequence[Ranking]) -> Figures:
    """Return the figures of all held-out links of some rankings; `precision` and `auroc` are plain means."""
    ranks, seen, gains, recalls = (
        np.concatenate([getattr(each, name) for each in rankings])
        for name in ("ranks", "seen", "gains", "recalls")
    )
    return Figures(
        links=len(ranks),
        mrr=_mean(1 / ranks),
        mrr_at_10=_mean(np.where(ranks <= K, 1 / ranks, 0.0)),
        hits=_mean(ranks <= K),
        mrr_seen=_mean(1 / ranks[seen]),
        mrr_unseen=_mean(1 / ranks[~seen]),
        unseen=_mean(~seen),
        ndcg=_mean(gains),
        recall=_mean(recalls),
        precision=_mean([each.precision for each in rankings]),
        auroc=_mean([each.auroc for each in rankings]),
    )


def questions(data: DataSet, pattern: Pattern | None) -> tuple[Question, ...]:
    """Return what is asked of a pattern: targets of its sources, and if `both_sides` sources of targets."""
    graph, n, truth = data.graph, data.graph.n_nodes, data.truth[pattern]
    if pattern is None:
        everything = np.ones(n, dtype=np.bool_)
        both_ways = np.concatenate((truth, truth[:, ::-1]))
        return (
            Question(both_ways, everything, everything, graph.adjacency, graph.degrees > 0, ordered=False),
        )
    assert graph.relationships is not None
    is_source, is_target = ends_of(graph, pattern)
    train = graph.relationships.matrix(pattern.type, n)
    u, v = data.known.get(pattern, np.empty((0, 2), dtype=np.int64)).T
    known = sparse.csr_array(train + sparse.csr_array((np.ones(len(u)), (u, v)), shape=(n, n)))
    back = sparse.csr_array(known.T)
    sent, received = train.sum(axis=1) > 0, train.sum(axis=0) > 0
    forward = Question(truth, is_source, is_target, known, received)
    if not data.both_sides:
        return (forward,)
    return forward, Question(truth[:, ::-1], is_target, is_source, back, sent)


def evaluate(data: DataSet, fitted: Fitted, seed: int = 0) -> dict[str, Figures]:
    """Return the figures of each pattern by its text; of a knowledge graph those of all types together."""
    rankings = {
        "" if pattern is None else str(pattern): [
            rank(fitted(pattern, backwards), question, seed)
            for backwards, question in zip((False, True), questions(data, pattern), strict=False)
        ]
        for pattern in data.truth
    }
    if data.both_sides:
        return {"all types": summary([each for of in rankings.values() for each in of])}
    return {name: summary(each) for name, each in rankings.items()}


def _best(row: Array, k: int) -> Rows:
    """Return the places of the `k` highest scores that are not NaN, of equal ones the first."""
    there = np.flatnonzero(~np.isnan(row))
    if len(there) > k:
        there = there[row[there] >= np.partition(row[there], -k)[-k]]
    return there[np.argsort(-row[there], kind="stable")[:k]]


def _mean(values: ArrayLike) -> float:
    """Return the mean, NaN of nothing."""
    return float(np.mean(np.asarray(values, dtype=np.float64))) if np.size(values) else float("nan")
