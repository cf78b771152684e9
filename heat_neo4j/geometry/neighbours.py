"""The nearest neighbours of every node, exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.sweeps import IS_SOURCE, IS_TARGET
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.threads import WorkerThreads, resolve_threads
from heat_neo4j._utils.validation import check_integer
from heat_neo4j.geometry.search import Candidates, columns_of, nearest_partners

__all__ = ["Neighbours", "nearest_neighbours"]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The k nearest neighbours of each node, nearest first.

    Parameters
    ----------
    partner : int64 array of shape (N, k)
        Rows of the neighbours.
    distance : float64 array of shape (N, k)
        Hyperbolic distances, rising; ties in order of the partner's row.
    """

    partner: NDArray[np.int64]
    distance: NDArray[np.float64]


def nearest_neighbours(
    embedding: NDArray[np.float64],
    k: int = 10,
    *,
    n_threads: int | None = None,
    on_progress: Progress = no_progress,
) -> Neighbours:
    """Return the k nearest neighbours of every point, linked or not, by an exact search.

    O(N k) memory; the same bits for any number of threads.

    Parameters
    ----------
    embedding : float64 array of shape (N, d + 1)
        Points of the hyperboloid, time last.
    k : int
        How many, at least 1; N - 1 if there are no more.
    n_threads : int, optional
        Threads to use; all cores when None.
    on_progress : callable
        Called with ("neighbours", nodes done, N).

    Returns
    -------
    Neighbours

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of range or the points are not on the hyperboloid.
    """
    check_integer("k", k, minimum=1)
    threads = resolve_threads(n_threads)
    n = len(embedding)
    spatial, time = columns_of(embedding, n)
    width = min(k, n - 1)
    if width < 1:
        return Neighbours(np.empty((n, 0), dtype=np.int64), np.empty((n, 0)))
    # Pairs that are linked are left out; of none, every other node is a candidate.
    no_links = np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
    roles = np.full(n, IS_SOURCE | IS_TARGET, dtype=np.uint8)
    with WorkerThreads(threads) as team:
        distance, partner = nearest_partners(
            Candidates(spatial, time, *no_links, roles),
            width,
            team,
            lambda stage, done, total: on_progress("neighbours", done, total),
        )
    return Neighbours(partner, distance)
