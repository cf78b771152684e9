"""Groups by level: k-means of smoothed directions, then of those within each group.

Groups are numbered from 1 on each level. k-means runs on one thread, as sums of several differ in their last
bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin_min

from heat_neo4j._utils.threads import one_thread
from heat_neo4j.geometry.hyperboloid import centroids
from heat_neo4j.geometry.search import nearest_neighbours

Array = NDArray[np.float64]
Groups = NDArray[np.int64]
"""The group of each node on each level, shape (N, L): the coarsest first, 0 if unknown."""

UNKNOWN = 0
_COARSEST = 10
_BETWEEN = 10_000  # with more nodes there is a level between the coarsest and the finest
_STARTS = 10  # of k-means, of which the best counts
_SEEDS = 2**32  # those of NumPy
_NEAREST = 15  # neighbours in the space; 15 and 30 gave the same on five graphs
_STEPS = 4  # of smoothing
_LOYALTY = 1.25  # how many times as far its own centre may be as the nearest before a node leaves its group


def usual_levels(n_nodes: int) -> tuple[int, ...]:
    """Return how many groups each level has: up to ten on the first, sqrt(N) on the last.

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
    """Return nested groups of unit vectors, shape (N, d); on each level, number 1 is the largest.

    `levels` are numbers of groups, ascending. A group is split into groups of the next level in proportion to
    its size. Coinciding points reduce their number.
    """
    n = len(points)
    above, columns = np.zeros(n, dtype=np.int64), []
    for wanted in levels:
        found, n_found = np.empty(n, dtype=np.int64), 0
        sizes = np.bincount(above)
        more = np.diff(np.round(np.cumsum(sizes) * ((wanted - len(sizes)) / n)), prepend=0.0)
        for group, share in enumerate((1 + more).tolist()):
            members = np.flatnonzero(above == group)
            own = points[members]
            n_groups = min(int(share), len(np.unique(own, axis=0)))
            means = KMeans(n_groups, n_init=_STARTS, random_state=seed % _SEEDS).fit(own)
            found[members] = n_found + means.labels_
            n_found += n_groups
        above = _by_size(found)
        columns.append(above + 1)
    return np.column_stack(columns)


@one_thread()
def updated_groups(points: Array, before: Groups) -> Groups:
    """Return the new groups of `points`, (N, d), with the numbers of `before`.

    On each level the centres are those of the known members. A new node joins the nearest centre within its
    group on the level above. Others leave their group only if its centre is much farther than the nearest.
    """
    known = before[:, 0] != UNKNOWN
    above, above_before = np.zeros(len(points), dtype=np.int64), np.where(known, 0, UNKNOWN - 1)
    columns = []
    for column in before.T:
        found = np.empty(len(points), dtype=np.int64)
        for group in np.unique(above).tolist():
            numbers = np.unique(column[above_before == group])
            centres = np.array([points[column == number].mean(axis=0) for number in numbers.tolist()])
            members = np.flatnonzero(above == group)
            nearest, distance = pairwise_distances_argmin_min(points[members], centres)
            own = np.searchsorted(numbers, column[members]).clip(max=len(numbers) - 1)
            to_own = np.linalg.norm(points[members] - centres[own], axis=1)
            stays = (numbers[own] == column[members]) & (to_own <= _LOYALTY * distance)
            found[members] = numbers[np.where(stays, own, nearest)]
        columns.append(found)
        above, above_before = found, column
    return np.column_stack(columns)


def _by_size(column: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the groups numbered by their size, the largest 0."""
    order = np.argsort(-np.bincount(column), kind="stable")
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    return number[column]


def smoothed_directions(embedding: Array, adjacency: sparse.csr_array, n_threads: int | None = None) -> Array:
    """Return a unit vector for each node, shape (N, d).

    Each node moves half-way to its neighbours four times. These are the nearest nodes in the space and those
    that relationships join it to; the two kinds count alike, whatever their number. The direction from the
    origin then tells a node's group, while the distance only tells how general it is.
    """
    n = len(embedding)
    near = nearest_neighbours(embedding, _NEAREST, n_threads=n_threads).partner
    ends = (np.repeat(np.arange(n), near.shape[1]), near.ravel())
    mutual = sparse.csr_array((np.ones(near.size), ends), shape=(n, n))
    joined = sparse.csr_array((np.ones(adjacency.nnz), adjacency.indices, adjacency.indptr), shape=(n, n))
    towards = _shares(sparse.csr_array(_shares(sparse.csr_array(mutual + mutual.T)) + _shares(joined)))
    weights = sparse.csr_array(sparse.eye_array(n) + towards)
    points = embedding
    for _ in range(_STEPS):
        points = centroids(weights, points)
    spatial = points[:, :-1]
    length = np.linalg.norm(spatial, axis=1, keepdims=True)
    return np.asarray(np.divide(spatial, length, out=np.zeros_like(spatial), where=length > 0))


def _shares(weights: sparse.csr_array) -> sparse.csr_array:
    """Return the weights scaled to sum 1 in each row; rows of zeros stay as they are."""
    sums = np.asarray(weights.sum(axis=1)).ravel()
    scale = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
    return sparse.csr_array(sparse.diags_array(scale) @ weights)
