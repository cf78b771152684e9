"""The best-scored absent pairs where there are too many to score all: near ones, and those much in common."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.neighbours import NO_PARTNER
from heat_neo4j._link_search import Candidates, PartnerSearch
from heat_neo4j._progress import Progress, no_progress
from heat_neo4j._scored_pairs import ScoredPairs, are_suited, ranked
from heat_neo4j._team import Team
from heat_neo4j.scorers import PairScorer, SparseProductScorer

__all__ = ["BLOCK_ROWS", "EACH", "best_of_shortlist"]

EACH = 200
"""Partners of a node by distance, and as many by what they have in common."""

BLOCK_ROWS = 2048
"""Nodes whose partners are held at a time."""

Codes = NDArray[np.int64]
"""Pairs (u, v) of M nodes as u M + v."""


def best_of_shortlist(
    scorer: PairScorer,
    common: SparseProductScorer,
    candidates: Candidates,
    nodes: NDArray[np.int64],
    k: int | None,
    top: int | None,
    team: Team,
    on_progress: Progress,
) -> ScoredPairs:
    """Return the best-scored absent pairs of a node with its `EACH` nearest and most connected.

    Parameters
    ----------
    scorer : PairScorer
        Over the rows of the graph.
    common : SparseProductScorer
        What two rows of the graph have in common.
    candidates : Candidates
        The nodes that may be linked, M of them.
    nodes : int64 array of shape (M,)
        Their rows in the graph, rising.
    k, top, on_progress
        As for `best_absent`.
    team : Team
        Threads that look for the nearest.
    """
    n = len(nodes)
    among = common.among(nodes)
    search = PartnerSearch(candidates, team)
    found = np.empty(0, dtype=np.int64)
    on_progress("links", 0, n)
    for begin in range(0, n if n > 1 else 0, BLOCK_ROWS):
        end = min(begin + BLOCK_ROWS, n)
        near = _nearest(search, begin, end, n)
        row, other = np.divmod(np.union1d(near, _most_in_common(candidates, among, begin, end)), n)
        pairs = np.column_stack((nodes[row], nodes[other]))  # few different first ends: quicker to score
        best = _best_of_row(row, other, scorer.pairs(pairs), k or top or 0)
        found = np.union1d(found, np.sort(pairs[best], axis=1) @ (scorer.n_nodes, 1))
        if top is not None and len(found) > 2 * top:
            found = np.sort(ranked(scorer, found, top).pairs @ (scorer.n_nodes, 1))
        on_progress("links", end, n)
    return ranked(scorer, found, top)


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
