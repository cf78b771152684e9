"""Network reconstruction: all edges against all non-edges, scored by minus the distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.neighbours import count_pairs_above, paired_excess
from heat_neo4j._points import columns_of
from heat_neo4j._progress import Progress, no_progress
from heat_neo4j._team import Team, resolve_threads
from heat_neo4j.graph import Graph

__all__ = ["reconstruction_auroc"]

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
    with Team(resolve_threads(n_threads)) as team:
        for begin in range(0, n, _BLOCK):
            end = min(begin + _BLOCK, n)
            team.run(count_pairs_above, spatial, time, edge_z, begin, end, doubled)
            on_progress("reconstruction", end, n)
    # The sweep met the edges too: against themselves they add E^2, whatever their ties.
    return (int(doubled[0]) - n_edges**2) / (2 * n_edges * non_edges)
