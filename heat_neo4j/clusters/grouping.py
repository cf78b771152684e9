"""Groups by level: k-means of directions, then k-means of the centres of its groups.

Groups are numbered from 1 on each level. All runs on one thread, because sums of several differ in their last
bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin_min

from heat_neo4j._utils.threads import one_thread

Array = NDArray[np.float64]
Groups = NDArray[np.int64]
"""The group of each node on each level, shape (N, L): the coarsest first, 0 if unknown."""

UNKNOWN = 0
_COARSEST = 10
_BETWEEN = 10_000  # with more nodes there is a level between the coarsest and the finest
_STARTS = 10  # of k-means on centres; nodes are many and get one
_LOYALTY = 1.25  # how many times as far its own centre may be as the nearest before a node leaves its group


def usual_levels(n_nodes: int) -> tuple[int, ...]:
    """Return how many groups each level has: about ten on the first, sqrt(N) on the last.

    >>> usual_levels(800), usual_levels(65_000)
    ((9, 28), (10, 50, 255))
    """
    finest = max(2, round(n_nodes**0.5))
    coarsest = min(_COARSEST, max(2, finest // 3))
    if coarsest == finest:
        return (finest,)
    between = (round((coarsest * finest) ** 0.5),) if n_nodes > _BETWEEN else ()
    return (coarsest, *between, finest)


@one_thread()
def find_groups(points: Array, levels: Sequence[int], seed: int) -> Groups:
    """Return groups of unit vectors, shape (N, d); each lies within one on the level above, the largest is 1.

    `levels` are numbers of groups, ascending; there are fewer groups where points coincide.
    """
    of_node: NDArray[np.int64] = np.arange(len(points))
    weight: NDArray[Any] = np.ones(len(points))
    columns: list[NDArray[np.int64]] = []
    for wanted in reversed(levels):
        n_groups = min(wanted, len(np.unique(points, axis=0)))
        starts = _STARTS if columns else 1
        found = KMeans(n_groups, n_init=starts, tol=0.0, random_state=seed).fit(points, sample_weight=weight)
        own = found.labels_.astype(np.int64)
        points, weight = found.cluster_centers_, np.bincount(own, weights=weight, minlength=n_groups)
        of_node = own[of_node]
        columns.insert(0, _by_size(of_node))
    return np.column_stack(columns)


@one_thread()
def updated_groups(points: Array, before: Groups) -> Groups:
    """Return the groups that nodes are in now, by the numbers that they have in `before`.

    Centres are those of the known members of the finest groups. A new node joins the nearest centre. Others
    leave their group only if its centre is much farther than the nearest. Groups keep their parents.
    """
    finest = before[:, -1]
    numbers, row = np.unique(finest, return_index=True)
    numbers, row = numbers[numbers != UNKNOWN], row[numbers != UNKNOWN]
    centres = np.array([points[finest == number].mean(axis=0) for number in numbers.tolist()])
    nearest, distance = pairwise_distances_argmin_min(points, centres)
    known = np.flatnonzero(finest != UNKNOWN)
    own = np.searchsorted(numbers, finest[known])
    stays = np.linalg.norm(points[known] - centres[own], axis=1) <= _LOYALTY * distance[known]
    nearest[known[stays]] = own[stays]
    return np.asarray(before[row[nearest]])


def _by_size(column: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the groups numbered by their size, the largest 1."""
    order = np.argsort(-np.bincount(column), kind="stable")
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(1, len(order) + 1)
    return number[column]
