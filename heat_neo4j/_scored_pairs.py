"""The best-scored absent pairs of a graph under any `PairScorer`, in blocks of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.neighbours import IS_SOURCE, IS_TARGET
from heat_neo4j._progress import Progress
from heat_neo4j.graph import Graph
from heat_neo4j.scorers import PairScorer

__all__ = ["BLOCK_ENTRIES", "ScoredPairs", "are_suited", "best_absent", "ranked"]

BLOCK_ENTRIES = 1 << 22
"""Scores held at a time."""


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

    Parameters
    ----------
    scorer : PairScorer
        Over the rows of `graph`.
    graph : Graph
        Its edges are left out.
    nodes : int64 array
        Rows that may be an end, rising.
    roles : uint8 array of shape (len(nodes),)
        Which ends of a pair they may be.
    k, top : int, optional
        A pair is kept if either end is among the `k` best of the other; of all only the best `top`.
    on_progress : callable
        Called with ("links", nodes done, nodes considered).

    Returns
    -------
    ScoredPairs
        Ties in order of the rows.
    """
    n = graph.n_nodes
    width = min(k or top or 0, max(len(nodes) - 1, 0))
    found = np.empty(0, dtype=np.int64)
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
        found = np.union1d(found, np.minimum(u, v) * n + np.maximum(u, v))
        if top is not None and len(found) > 2 * top:
            found = np.sort(ranked(scorer, found, top).pairs @ (n, 1))
        done += len(block)
        on_progress("links", done, len(nodes))
    return ranked(scorer, found, top)


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
