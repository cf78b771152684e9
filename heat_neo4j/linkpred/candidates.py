"""The best-scored absent pairs: of all pairs in blocks of rows, or of a shortlist where they are too many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.sweeps import IS_SOURCE, IS_TARGET, NO_PARTNER
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.threads import WorkerThreads
from heat_neo4j.geometry.search import Candidates, PartnerSearch
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.scorers import PairScorer, SparseProductScorer

__all__ = [
    "BLOCK_ENTRIES",
    "BLOCK_ROWS",
    "EACH",
    "ScoredPairs",
    "are_suited",
    "best_absent",
    "best_of_shortlist",
    "ranked",
]

BLOCK_ENTRIES = 1 << 22  # scores held at a time
EACH = 200  # partners of a node by distance, and as many by what they have in common
BLOCK_ROWS = 2048  # nodes whose partners are held at a time

Codes = NDArray[np.int64]  # pairs (u, v) of M nodes as u M + v


class ScoredPairs(NamedTuple):
    """Unordered pairs of rows, shape (L, 2) with u < v, and their scores, shape (L,); best first."""

    pairs: NDArray[np.int64]
    scores: NDArray[np.float64]


def best_absent(
    scorer: PairScorer,
    graph: Graph,
    nodes: NDArray[np.int64],
    roles: NDArray[np.uint8],
    k: int | None,
    top: int | None,
    on_progress: Progress,
) -> ScoredPairs:
    """Return the best-scored pairs that no edge joins; O(N^2) scores, of which one block is held.

    Either end of a pair is among the `k` best of the other; of all only the best `top`. Ends are rows of
    `nodes`, rising, with the `roles` that each may have. Ties are in order of the rows. Progress is called
    with ("links", nodes done, nodes considered).
    """
    n = graph.n_nodes
    width = min(k or top or 0, max(len(nodes) - 1, 0))
    codes = np.empty(0, dtype=np.int64)
    done = 0
    on_progress("links", done, len(nodes))
    for begin in range(0, n if width else 0, max(BLOCK_ENTRIES // n, 1)):
        end = min(begin + max(BLOCK_ENTRIES // n, 1), n)
        members = slice(*np.searchsorted(nodes, (begin, end)))
        block = nodes[members]
        if not len(block):
            continue
        allowed = _allowed(graph, nodes, roles, members)
        scores = np.where(allowed, scorer.rows(begin, end)[block - begin][:, nodes], -np.inf)
        partner = np.argsort(-scores, axis=1, kind="stable")[:, :width]
        row, place = np.nonzero(np.take_along_axis(allowed, partner, axis=1))
        u, v = block[row], nodes[partner[row, place]]
        codes = np.union1d(codes, np.minimum(u, v) * n + np.maximum(u, v))
        if top is not None and len(codes) > 2 * top:
            codes = np.sort(ranked(scorer, codes, top).pairs @ (n, 1))
        done += len(block)
        on_progress("links", done, len(nodes))
    return ranked(scorer, codes, top)


def ranked(scorer: PairScorer, codes: NDArray[np.int64], top: int | None) -> ScoredPairs:
    """Return the best `top` pairs of those with the rising codes u N + v; ties by code."""
    pairs = np.column_stack(np.divmod(codes, max(scorer.n_nodes, 1)))
    scores = scorer.pairs(pairs)
    order = np.argsort(-scores, kind="stable")[:top]
    return ScoredPairs(pairs[order], scores[order])


def are_suited(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return whether nodes with these roles may be linked; the arrays are broadcast."""
    forward = (one & IS_SOURCE != 0) & (other & IS_TARGET != 0)
    backward = (one & IS_TARGET != 0) & (other & IS_SOURCE != 0)
    return np.asarray(forward | backward)


def _allowed(
    graph: Graph, nodes: NDArray[np.int64], roles: NDArray[np.uint8], members: slice
) -> NDArray[np.bool_]:
    """Return which of `nodes` each of the members may be linked to; shape (members, len(nodes))."""
    absent: NDArray[np.bool_] = graph.adjacency[nodes[members]][:, nodes].toarray() == 0
    absent[np.arange(len(absent)), np.arange(len(nodes))[members]] = False
    allowed: NDArray[np.bool_] = absent & are_suited(roles[members, None], roles)
    return allowed


def best_of_shortlist(
    scorer: PairScorer,
    common: SparseProductScorer,
    candidates: Candidates,
    nodes: NDArray[np.int64],
    k: int | None,
    top: int | None,
    team: WorkerThreads,
    on_progress: Progress,
) -> ScoredPairs:
    """Return the best-scored absent pairs of a node with its `EACH` nearest and most connected.

    As `best_absent`, but only pairs of the M `candidates`, rows `nodes` of the graph, that are near, or have
    much in `common`, are scored.
    """
    n = len(nodes)
    among = common.among(nodes)
    search = PartnerSearch(candidates, team)
    codes = np.empty(0, dtype=np.int64)
    on_progress("links", 0, n)
    for begin in range(0, n if n > 1 else 0, BLOCK_ROWS):
        end = min(begin + BLOCK_ROWS, n)
        near = _nearest(search, begin, end, n)
        row, other = np.divmod(np.union1d(near, _most_in_common(candidates, among, begin, end)), n)
        pairs = np.column_stack((nodes[row], nodes[other]))  # few different first ends: quicker to score
        best = _best_of_row(row, other, scorer.pairs(pairs), k or top or 0)
        codes = np.union1d(codes, np.sort(pairs[best], axis=1) @ (scorer.n_nodes, 1))
        if top is not None and len(codes) > 2 * top:
            codes = np.sort(ranked(scorer, codes, top).pairs @ (scorer.n_nodes, 1))
        on_progress("links", end, n)
    return ranked(scorer, codes, top)


def _nearest(search: PartnerSearch, begin: int, end: int, n: int) -> Codes:
    rows = np.arange(begin, end)
    _, partner = search.nearest(rows, min(EACH, n - 1), np.inf, no_progress)
    row, place = np.nonzero(partner != NO_PARTNER)
    return rows[row] * n + partner[row, place]


def _most_in_common(candidates: Candidates, common: SparseProductScorer, begin: int, end: int) -> Codes:
    n, roles, starts = len(candidates.time), candidates.roles, candidates.indptr[begin : end + 1]
    shared = common.sparse_rows(begin, end)
    row = np.repeat(np.arange(begin, end), np.diff(shared.indptr))
    other = shared.indices.astype(np.int64)
    linked = candidates.indices[starts[0] : starts[-1]]
    joined = np.repeat(np.arange(begin, end), np.diff(starts)) * n + linked
    absent = (row != other) & ~np.isin(row * n + other, joined) & are_suited(roles[row], roles[other])
    row, other = row[absent], other[absent]
    best = _best_of_row(row, other, shared.data[absent], EACH)
    codes: Codes = row[best] * n + other[best]
    return codes


def _best_of_row(
    row: NDArray[np.int64], other: NDArray[np.int64], scores: NDArray[np.float64], most: int
) -> NDArray[np.int64]:
    """Return which pairs are among the `most` best of their row; ties by `other`."""
    order = np.lexsort((other, -scores, row))
    rank = np.arange(len(order)) - np.searchsorted(row[order], row[order])
    best: NDArray[np.int64] = order[rank < most]
    return best
