"""Held-out edges: a graph cut in two, such that nothing of what is tested reaches training.

Pairs are undirected throughout, so the reverse of a held-out edge is held out with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._random import draw_seed
from heat_neo4j.graph import Graph

__all__ = ["EdgeSplit", "split_edges"]


@dataclass(frozen=True, eq=False)
class EdgeSplit:
    """A graph with some edges held out, and as many pairs that are no edges.

    Parameters
    ----------
    train : Graph
        The graph without the held-out edges; nodes and attributes are untouched.
    test_edges : int64 array of shape (m, 2)
        Held-out edges as rows (u, v), u < v, sorted.
    test_non_edges : int64 array of shape (m, 2)
        Distinct pairs (u, v), u < v, sorted, that are edges neither in `train` nor in `test_edges`. Fewer
        than m only where the whole graph has fewer.
    """

    train: Graph
    test_edges: NDArray[np.int64]
    test_non_edges: NDArray[np.int64]


def split_edges(graph: Graph, share: float = 0.15, random_state: int | None = 0) -> EdgeSplit:
    """Hold out a share of the edges such that every node that has an edge keeps one.

    As in the HEAT authors' program, but on undirected pairs: edges are put in random order, those that are
    the first of one of their ends stay, and the first of the others are held out. Non-edges are drawn
    uniformly, without replacement, from all pairs of the whole graph.

    Parameters
    ----------
    graph : Graph
        The whole graph.
    share : float
        Share of the edges to hold out, in (0, 1). Sparse graphs may allow fewer; all that can be are taken.
    random_state : int, optional
        Seed; the same seed gives the same split. None draws a fresh one.

    Returns
    -------
    EdgeSplit

    Raises
    ------
    ValueError
        If `share` is out of range, no edge can be held out, or the graph has no non-edge.
    """
    if not 0.0 < share < 1.0:
        raise ValueError(f"share must lie between 0 and 1, got {share}")
    edge_seed, non_edge_seed = np.random.SeedSequence(draw_seed(random_state)).spawn(2)
    upper = sparse.coo_array(sparse.triu(graph.adjacency, k=1, format="csr"))
    edges = np.column_stack((upper.row, upper.col)).astype(np.int64)
    held_out = _choose_edges(edges, graph.n_nodes, max(round(share * len(edges)), 1), edge_seed)
    if not held_out.any():
        raise ValueError(f"no edge of {graph!r} can be held out while every node keeps one")
    kept = sparse.coo_array(
        (upper.data[~held_out], (upper.row[~held_out], upper.col[~held_out])), shape=graph.adjacency.shape
    ).tocsr()
    return EdgeSplit(
        train=replace(graph, adjacency=sparse.csr_array(kept + kept.T)),
        test_edges=edges[held_out],
        test_non_edges=_draw_non_edges(edges, graph.n_nodes, int(held_out.sum()), non_edge_seed),
    )


def _choose_edges(
    edges: NDArray[np.int64], n: int, wanted: int, seed: np.random.SeedSequence
) -> NDArray[np.bool_]:
    """Mark up to `wanted` edges at random, sparing those that come first at one of their ends."""
    place = np.random.default_rng(seed).permutation(len(edges))
    first = np.full(n, len(edges))
    for end in (0, 1):
        np.minimum.at(first, edges[:, end], place)
    spared = (place == first[edges[:, 0]]) | (place == first[edges[:, 1]])
    others = np.flatnonzero(~spared)
    chosen = np.zeros(len(edges), dtype=bool)
    chosen[others[np.argsort(place[others])[:wanted]]] = True
    return chosen


def _draw_non_edges(
    edges: NDArray[np.int64], n: int, wanted: int, seed: np.random.SeedSequence
) -> NDArray[np.int64]:
    """Draw distinct non-edges uniformly, by their rank among all non-edges; sorted."""
    row_start = np.concatenate(([0], np.cumsum(np.arange(n - 1, 0, -1, dtype=np.int64))))
    total = n * (n - 1) // 2 - len(edges)
    if total == 0:
        raise ValueError(f"the graph of {n} nodes is complete: it has no non-edge to draw")
    ranks = np.sort(
        np.random.default_rng(seed).choice(total, size=min(wanted, total), replace=False, shuffle=False)
    )
    edge_codes = row_start[edges[:, 0]] + edges[:, 1] - edges[:, 0] - 1
    # Non-edge number r is the pair with code r + (number of edges before it).
    codes = ranks + np.searchsorted(edge_codes - np.arange(len(edges)), ranks, side="right")
    u = np.searchsorted(row_start, codes, side="right") - 1
    return np.column_stack((u, codes - row_start[u] + u + 1)).astype(np.int64)
