"""The best-scored candidates of every node: of all pairs, or of a shortlist where these are too many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels.sweeps import NO_PARTNER
from heat_neo4j._utils.blockwise import BlockWorkers
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.threads import WorkerThreads
from heat_neo4j.geometry.search import PartnerSearch
from heat_neo4j.linkpred.candidates import CandidatePairs
from heat_neo4j.linkpred.scorers import DirectedScorer, SparseProductScorer

__all__ = ["BLOCK_ENTRIES", "BLOCK_ROWS", "EACH", "Codes", "best_of_all", "best_of_shortlist"]

BLOCK_ENTRIES = 1 << 22  # scores held at a time
# Partners of a node by distance, as many by what they have in common, and as many by how many they join.
EACH = 100
BLOCK_ROWS = 2048  # nodes whose partners are held at a time

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Codes = NDArray[np.int64]
"""Pairs (u, v) of N nodes as u N + v."""


def best_of_all(
    scorer: DirectedScorer,
    candidates: CandidatePairs,
    width: int,
    workers: BlockWorkers,
    on_progress: Progress,
) -> Codes:
    """Return the best-scored candidates of every source and of every target, ties in the order of the rows.

    It takes O(S T) scores, of which one block is held.
    """
    ends = candidates.sources, candidates.targets
    ways = [scorer.between(*ends)]
    if candidates.pattern is not None:
        ways.append(scorer.reversed().between(*ends[::-1]))
    calls: list[tuple[int, int, int]] = []
    for way in range(len(ways)):
        first, second = ends[::-1] if way else ends
        step = max(BLOCK_ENTRIES // max(len(second), 1), 1)
        calls += [(way, begin, min(begin + step, len(first))) for begin in range(0, len(first), step)]
    return _found(_AllPairs(candidates, tuple(ways), width).best, calls, workers, on_progress)


def best_of_shortlist(
    scorer: DirectedScorer,
    common: SparseProductScorer,
    embedding: Array,
    candidates: CandidatePairs,
    width: int,
    workers: BlockWorkers,
    on_progress: Progress,
) -> Codes:
    """Return the best-scored of the candidates of a shortlist: `EACH` of each node for each reason.

    Partners that the type joins most often are on it where sources are no targets, and so seldom have
    neighbours in common with them.
    """
    nodes = candidates.nodes
    shortlist = _Shortlist(
        candidates,
        scorer,
        among=common.between(nodes, nodes),
        popular=np.empty(0, dtype=np.int64) if candidates.has_either_way else _most_joined(candidates),
        search=PartnerSearch(candidates.in_space(embedding)),
        width=width,
    )
    begins = range(0, len(nodes) if len(nodes) > 1 else 0, BLOCK_ROWS)
    calls = [(begin, min(begin + BLOCK_ROWS, len(nodes))) for begin in begins]
    return _found(shortlist.best, calls, workers, on_progress)


def _found(
    best: Callable[..., tuple[Codes]],
    calls: Sequence[tuple[int, ...]],
    workers: BlockWorkers,
    on_progress: Progress,
) -> Codes:
    """Return what blocks find, each once, rising; the last two numbers of a call are its first rows."""
    total, done = sum(end - begin for *_, begin, end in calls), 0
    found = [np.empty(0, dtype=np.int64)]
    on_progress("links", done, total)
    for (*_, begin, end), (codes,) in zip(calls, workers.map(best, calls), strict=True):
        found.append(codes)
        done += end - begin
        on_progress("links", done, total)
    return np.unique(np.concatenate(found))


@dataclass(frozen=True, eq=False)
class _AllPairs:
    """All pairs of sources and targets."""

    candidates: CandidatePairs
    ways: tuple[DirectedScorer, ...]  # of sources with targets and, if pairs are ordered, the other way round
    width: int

    def best(self, team: WorkerThreads, way: int, begin: int, end: int) -> tuple[Codes]:
        """Return the best candidates of some sources, or of some targets."""
        candidates, reverse, n = self.candidates, bool(way), len(self.candidates.is_source)
        first, second = candidates.sources, candidates.targets
        if reverse:
            first, second = second, first
        first = first[begin:end]
        allowed = candidates.allowed(first, second, reverse=reverse)
        scores = np.where(allowed, self.ways[way].rows(begin, end), -np.inf)
        row, place = _best_places(scores, self.width)
        is_candidate = allowed[row, place]
        u, v = first[row[is_candidate]], second[place[is_candidate]]
        return (v * n + u if reverse else u * n + v,)


@dataclass(frozen=True, eq=False)
class _Shortlist:
    """Pairs of nodes that are near each other, have much in common, or of which one is joined to many."""

    candidates: CandidatePairs
    scorer: DirectedScorer
    among: SparseProductScorer  # scores by what nodes have in common
    popular: Rows  # places in `nodes`
    search: PartnerSearch
    width: int

    def best(self, team: WorkerThreads, begin: int, end: int) -> tuple[Codes]:
        """Return the best-scored candidates of some nodes, as sources and as targets."""
        candidates, nodes, n = self.candidates, self.candidates.nodes, len(self.candidates.is_source)
        rows = np.arange(begin, end)
        _, partner = self.search.nearest(rows, min(EACH, len(nodes) - 1), np.inf, team, no_progress)
        row, place = np.nonzero(partner != NO_PARTNER)
        near = rows[row] * len(nodes) + partner[row, place]
        shared = _most_in_common(candidates, self.among.sparse_rows(begin, end), begin)
        leading = (rows[:, None] * len(nodes) + self.popular).ravel()
        row, other = np.divmod(np.unique(np.concatenate((near, shared, leading))), len(nodes))
        pairs = np.column_stack((nodes[row], nodes[other]))  # few different first ends: quicker to score
        codes = []
        for way in (pairs, pairs[:, ::-1]):
            u, v = way.T
            there = candidates.is_source[u] & candidates.is_target[v] & (u != v)
            there[there] = ~candidates.are_joined(way[there])
            best = _best_of_row(pairs[there, 0], pairs[there, 1], self.scorer.pairs(way[there]), self.width)
            codes.append(way[there][best] @ (n, 1))
        return (np.unique(np.concatenate(codes)),)


def _best_places(scores: Array, width: int) -> tuple[Rows, Rows]:
    """Return rows and columns of the best scores of each row, ties by the lower column."""
    width = min(width, scores.shape[1])
    best = np.argsort(-scores, axis=1, kind="stable")[:, :width]
    return np.repeat(np.arange(len(scores)), width), best.ravel()


def _most_joined(candidates: CandidatePairs) -> Rows:
    """Return places in `nodes` of the `EACH` sources and targets that most relationships of the type join."""
    of_source, of_target = (np.asarray(candidates.joined.sum(axis=way)).ravel() for way in (1, 0))
    most = [
        ends[np.argsort(-counts[ends], kind="stable")[:EACH]]
        for ends, counts in ((candidates.sources, of_source), (candidates.targets, of_target))
    ]
    return np.searchsorted(candidates.nodes, np.unique(np.concatenate(most)))


def _most_in_common(candidates: CandidatePairs, shared: sparse.csr_array, begin: int) -> Codes:
    """Return the candidates with most in common, of nodes `begin` and the following, by places in `nodes`."""
    nodes = candidates.nodes
    row = np.repeat(np.arange(begin, begin + shared.shape[0]), np.diff(shared.indptr))
    other = shared.indices.astype(np.int64)
    pairs = np.column_stack((nodes[row], nodes[other]))
    may = (row != other) & (candidates.either_way(pairs) | candidates.either_way(pairs[:, ::-1]))
    row, other = row[may], other[may]
    best = _best_of_row(row, other, shared.data[may], EACH)
    return np.asarray(row[best] * len(nodes) + other[best])


def _best_of_row(row: Rows, other: Rows, scores: Array, most: int) -> Rows:
    """Return which pairs are among the `most` best of their row; ties by `other`."""
    order = np.lexsort((other, -scores, row))
    rank = np.arange(len(order)) - np.searchsorted(row[order], row[order])
    best: Rows = order[rank < most]
    return best
