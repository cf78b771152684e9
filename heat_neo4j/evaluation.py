"""How well distances tell edges from non-edges: link prediction and network reconstruction.

Pairs are undirected throughout, so the reverse of a held-out edge is held out with it. A pair's score is
minus its hyperbolic distance; ties count one half.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from heat_neo4j._kernels.neighbours import count_pairs_above, paired_excess
from heat_neo4j._points import columns_of
from heat_neo4j._progress import Progress, no_progress
from heat_neo4j._random import draw_seed
from heat_neo4j.graph import Graph
from heat_neo4j.hyperboloid import distance

__all__ = ["EdgeSplit", "auroc", "link_auroc", "pair_distances", "reconstruction_auroc", "split_edges"]

_BLOCK = 1024  # rows between two progress reports


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


def auroc(edge_scores: ArrayLike, non_edge_scores: ArrayLike) -> float:
    """Return the chance that an edge scores higher than a non-edge, ties counted one half.

    Parameters
    ----------
    edge_scores, non_edge_scores : arrays of float
        Higher means likelier to be an edge; neither may be empty or hold NaN.

    Returns
    -------
    float
        Area under the receiver operating characteristic, in [0, 1]; exact.

    Raises
    ------
    ValueError
        If an array is empty or holds NaN.
    """
    edges = np.asarray(edge_scores, dtype=np.float64).ravel()
    others = np.sort(np.asarray(non_edge_scores, dtype=np.float64).ravel())
    if edges.size == 0 or others.size == 0:
        raise ValueError(f"AUROC needs edges and non-edges, got {edges.size} and {others.size}")
    if np.isnan(edges).any() or np.isnan(others).any():
        raise ValueError("AUROC needs scores that are not NaN")
    under = np.searchsorted(others, edges, side="left").sum(dtype=np.int64)
    not_above = np.searchsorted(others, edges, side="right").sum(dtype=np.int64)
    return float((int(under) + int(not_above)) / (2 * edges.size * others.size))


def link_auroc(embedding: NDArray[np.float64], split: EdgeSplit) -> float:
    """Return the AUROC of held-out edges against the split's non-edges, score = -distance.

    Parameters
    ----------
    embedding : float64 array of shape (N, d + 1)
        Points on the hyperboloid, one per row of `split.train`, trained on nothing but `split.train`.
    split : EdgeSplit
        From `split_edges`.

    Raises
    ------
    ValueError
        If `embedding` does not fit the graph or is not on the hyperboloid.
    """
    columns_of(embedding, split.train.n_nodes)
    return auroc(
        -pair_distances(embedding, split.test_edges), -pair_distances(embedding, split.test_non_edges)
    )


def pair_distances(embedding: NDArray[np.float64], pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the hyperbolic distance of each pair of rows.

    Parameters
    ----------
    embedding : float64 array of shape (N, d + 1)
        Points on the hyperboloid.
    pairs : int64 array of shape (m, 2)
        Row indices.

    Returns
    -------
    float64 array of shape (m,)
    """
    return np.asarray(distance(embedding[pairs[:, 0]], embedding[pairs[:, 1]]))


def reconstruction_auroc(
    embedding: NDArray[np.float64], graph: Graph, *, on_progress: Progress = no_progress
) -> float:
    """Return the AUROC of all edges against all non-edges, score = -distance.

    Exact, in O(N + E) memory and O(N^2 (d + log E)) time, on as many threads as Numba is set to; the result
    does not depend on their number.

    Parameters
    ----------
    embedding : float64 array of shape (N, d + 1)
        Points on the hyperboloid, one per node.
    graph : Graph
        The graph that the points are to reconstruct.
    on_progress : callable
        Called with ("reconstruction", nodes done, N).

    Raises
    ------
    ValueError
        If `embedding` does not fit the graph, or the graph has no edge or no non-edge.
    """
    spatial, time = columns_of(embedding, graph.n_nodes)
    n, n_edges = graph.n_nodes, graph.n_edges
    non_edges = n * (n - 1) // 2 - n_edges
    if n_edges == 0 or non_edges == 0:
        raise ValueError(f"AUROC needs edges and non-edges, got {n_edges} and {non_edges}")
    source, target = sparse.triu(graph.adjacency, k=1).nonzero()
    edge_z = np.sort(paired_excess(spatial, time, source.astype(np.int64), target.astype(np.int64)))
    doubled = 0
    on_progress("reconstruction", 0, n)
    for begin in range(0, n, _BLOCK):
        end = min(begin + _BLOCK, n)
        doubled += int(count_pairs_above(spatial, time, edge_z, begin, end))
        on_progress("reconstruction", end, n)
    # The sweep met the edges too: against themselves they add E^2, whatever their ties.
    return (doubled - n_edges**2) / (2 * n_edges * non_edges)


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
