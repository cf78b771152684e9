"""AUROC of one embedding: of link prediction, and of network reconstruction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.sweeps import count_pairs_above, paired_excess
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.threads import WorkerThreads, resolve_threads
from heat_neo4j.geometry.hyperboloid import pair_distances
from heat_neo4j.geometry.search import columns_of
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.metrics import auroc
from heat_neo4j.linkpred.splits import EdgeSplit

__all__ = [
    "link_auroc",
    "reconstruction_auroc",
]


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


_BLOCK = 1024  # rows between two progress reports


def reconstruction_auroc(
    embedding: NDArray[np.float64],
    graph: Graph,
    *,
    n_threads: int | None = None,
    on_progress: Progress = no_progress,
) -> float:
    """Return the AUROC of all edges against all non-edges, score = -distance.

    Exact, in O(N + E) memory and O(N^2 (d + log E)) time.

    Parameters
    ----------
    embedding : float64 array of shape (N, d + 1)
        Points on the hyperboloid, one per node.
    graph : Graph
        The graph that the points are to reconstruct.
    n_threads : int, optional
        Threads to use; all cores when None. The result does not depend on it.
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
    source, target = (ends.astype(np.int64) for ends in graph.edges.coords)
    edge_z = np.sort(paired_excess(spatial, time, source, target))
    doubled = np.zeros(1, dtype=np.int64)
    on_progress("reconstruction", 0, n)
    with WorkerThreads(resolve_threads(n_threads)) as team:
        for begin in range(0, n, _BLOCK):
            end = min(begin + _BLOCK, n)
            team.run(count_pairs_above, spatial, time, edge_z, begin, end, doubled)
            on_progress("reconstruction", end, n)
    # The sweep met the edges too: against themselves they add E^2, whatever their ties.
    return (int(doubled[0]) - n_edges**2) / (2 * n_edges * non_edges)
