"""Exact searches on the hyperboloid: nearest neighbours, and nearest unlinked pairs.

Points are stored in blocks; a search prunes most of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from heat_neo4j._kernels.sweeps import (
    BLOCK,
    GROUP,
    IS_SOURCE,
    IS_TARGET,
    NO_PARTNER,
    PROJECTED,
    nearest_absent,
)
from heat_neo4j._utils.display import plural
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.threads import WorkerThreads, resolve_threads
from heat_neo4j._utils.validation import check_integer
from heat_neo4j.geometry.hyperboloid import check_points

_ROWS_PER_REPORT = 8192  # nodes between progress reports


def columns_of(embedding: ArrayLike, n_nodes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the transposed spatial coordinates, shape (d, N), and the times, shape (N,).

    Raises ValueError if there is not one row per node or a row is not on the hyperboloid.
    """
    points = np.asarray(embedding, dtype=np.float64)
    check_points(points)
    if len(points) != n_nodes:
        raise ValueError(f"embedding has {plural(len(points), 'row')} for {plural(n_nodes, 'node')}")
    return np.ascontiguousarray(points[:, :-1].T), np.ascontiguousarray(points[:, -1])


class Blocks(NamedTuple):
    """M points on the hyperboloid in T blocks of `BLOCK` positions; the last may be partly empty."""

    points: NDArray[np.float64]  # (M, d), by position
    time: NDArray[np.float64]  # (M,), by position
    node: NDArray[np.int64]  # (M,): the point at each position
    projections: NDArray[np.float64]  # (T, PROJECTED, BLOCK): projections of ball coordinates
    one_minus_squares: NDArray[np.float64]  # (T, BLOCK): 1 - |x|^2 in the ball, in (0, 1]
    boxes: NDArray[np.float64]  # (T, 2, PROJECTED): minimum and maximum projection
    largest: NDArray[np.float64]  # (T,): maximum of 1 - |x|^2
    group_boxes: NDArray[np.float64]  # (G, 2, PROJECTED): the same for each group of `GROUP` blocks
    group_largest: NDArray[np.float64]  # (G,)
    masks: NDArray[np.uint8]  # (T,): union of the roles of a block's points


def make_blocks(spatial: NDArray[np.float64], time: NDArray[np.float64], roles: NDArray[np.uint8]) -> Blocks:
    """Arrange M points, spatial coordinates of shape (d, M), into blocks of nearby points of equal roles."""
    projection = _projection((spatial / (1.0 + time)).T)
    alike = [np.flatnonzero(roles == role) for role in np.unique(roles)]
    node = np.concatenate([each[cKDTree(projection[each], leafsize=BLOCK).indices] for each in alike])
    padded = np.append(node, np.full(-len(node) % BLOCK, node[-1])).reshape(-1, BLOCK)
    projections = np.ascontiguousarray(projection[padded].transpose(0, 2, 1))
    one_minus_squares = 2.0 / (1.0 + time[padded])  # 1 - |x|^2, without cancellation
    low, high, largest = projections.min(axis=2), projections.max(axis=2), one_minus_squares.max(axis=1)
    groups = np.arange(0, len(padded), GROUP)
    return Blocks(
        points=np.ascontiguousarray(spatial[:, node].T),
        time=time[node],
        node=node,
        projections=projections,
        one_minus_squares=one_minus_squares,
        boxes=np.stack((low, high), axis=1),
        largest=largest,
        group_boxes=np.stack((np.minimum.reduceat(low, groups), np.maximum.reduceat(high, groups)), axis=1),
        group_largest=np.maximum.reduceat(largest, groups),
        masks=np.bitwise_or.reduce(roles[padded], axis=1),
    )


def _projection(ball: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the coordinates along the principal components, (M, PROJECTED), padded with 0."""
    if ball.shape[1] > PROJECTED:
        centred = ball - ball.mean(axis=0)
        _, directions = np.linalg.eigh(centred.T @ centred)
        return np.asarray(centred @ directions[:, -PROJECTED:])
    projection = np.zeros((len(ball), PROJECTED))
    projection[:, : ball.shape[1]] = ball
    return projection


class Candidates(NamedTuple):
    """M nodes for link candidates: points on the hyperboloid, existing links, and roles."""

    spatial: NDArray[np.float64]  # (d, M)
    time: NDArray[np.float64]  # (M,)
    indptr: NDArray[np.int64]  # existing links as a CSR array with sorted rows
    indices: NDArray[np.int32]
    roles: NDArray[np.uint8]  # (M,): `IS_SOURCE`, `IS_TARGET` or both; a pair needs one of each


class Neighbours(NamedTuple):
    """The k nearest neighbours of m nodes, nearest first, shape (m, k); ties go to the lower row."""

    partner: NDArray[np.int64]
    distance: NDArray[np.float64]


class Pairs(NamedTuple):
    """Unordered pairs of candidates, source < target."""

    distance: NDArray[np.float64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]


def nearest_neighbours(
    embedding: NDArray[np.float64],
    k: int = 10,
    *,
    rows: NDArray[np.int64] | None = None,
    points: NDArray[np.float64] | None = None,
    n_threads: int | None = None,
    on_progress: Progress = no_progress,
) -> Neighbours:
    """Return the k nearest neighbours of nodes or points, linked or not; fewer if the graph is smaller.

    The queries are the nodes `rows`, shape (m,), by default all, without themselves; or `points`, shape
    (m, d + 1), if given. Takes O(m k) memory, plus O(N) with points. The result is bitwise the same for any
    number of threads, by default all cores. Calls `on_progress` with ("neighbours", nodes done, m).
    """
    check_integer("k", k, minimum=1)
    n = len(embedding)
    roles = np.full(n, IS_SOURCE | IS_TARGET, dtype=np.uint8)
    rows, width = np.arange(n) if rows is None else rows, min(k, n - 1)
    if points is not None:
        roles = np.repeat(np.array([IS_TARGET, IS_SOURCE], dtype=np.uint8), (n, len(points)))
        rows, width = n + np.arange(len(points)), min(k, n)
        embedding = np.concatenate((embedding, points))
    spatial, time = columns_of(embedding, len(roles))
    if width < 1 or not len(rows):
        return Neighbours(np.empty((len(rows), width), dtype=np.int64), np.empty((len(rows), width)))
    no_links = np.zeros(len(roles) + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
    search = PartnerSearch(Candidates(spatial, time, *no_links, roles))
    with WorkerThreads(resolve_threads(n_threads)) as team:
        distance, partner = search.nearest(rows, width, np.inf, team, on_progress, "neighbours")
    return Neighbours(partner, distance)


def nearest_pairs(
    candidates: Candidates, k: int | None, top: int | None, workers: WorkerThreads, on_progress: Progress
) -> Pairs:
    """Return the nearest unlinked pairs, sorted by (distance, source, target).

    A pair is returned if either end is among the k nearest of the other; None means no limit. At most the
    nearest `top` pairs are returned; `top` is required if k is None.
    """
    n = len(candidates.time)
    if n < 2:
        return _merge([], top)
    search = PartnerSearch(candidates)
    if k is not None:
        rows = np.arange(n)
        distance, partner = search.nearest(rows, min(k, n - 1), np.inf, workers, on_progress)
        return _merge([_unordered(rows, distance, partner)], top)
    assert top is not None
    return _overall(search, n, top, workers, on_progress)


def first_partners(top: int, n: int) -> int:
    """Return the number of partners per node, of n, in the first search for the `top` nearest pairs."""
    return max(4, 4 * top // n)


def _overall(search: PartnerSearch, n: int, top: int, workers: WorkerThreads, on_progress: Progress) -> Pairs:
    """Return the `top` nearest pairs; repeats the search for nodes that may have further partners."""
    rows, k = np.arange(n), min(n - 1, first_partners(top, n))
    bound = np.inf
    nearest = _merge([], top)
    while True:
        distance, partner = search.nearest(rows, k, bound, workers, on_progress)
        nearest = _merge([nearest, _unordered(rows, distance, partner)], top)
        if len(nearest.distance) == top:
            bound = nearest.distance[-1]
        rows = rows[(partner[:, -1] != NO_PARTNER) & (distance[:, -1] <= bound)]
        if k == n - 1 or not len(rows):
            return nearest
        k, on_progress = min(n - 1, 4 * k), no_progress  # few rows are left


class PartnerSearch:
    """Search for partners among one or more candidates, stored in blocks."""

    def __init__(self, candidates: Candidates) -> None:
        self._links = candidates.indptr, candidates.indices, candidates.roles
        self._blocks = make_blocks(candidates.spatial, candidates.time, candidates.roles)
        self._place = np.argsort(self._blocks.node, kind="stable")

    def nearest(
        self,
        rows: NDArray[np.int64],
        k: int,
        bound: float,
        workers: WorkerThreads,
        on_progress: Progress,
        stage: str = "links",
        epsilon: float = 0.0,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return distances and nodes of the k nearest unlinked partners of m nodes, shape (m, k).

        Results are sorted by (distance, partner) and padded with infinity and `NO_PARTNER`. Partners farther
        than `bound` may be omitted. With `epsilon` the search is faster and approximate: sinh(d / 2) of the
        i-th partner is at most 1 + `epsilon` times that of the i-th nearest. In more than 16 dimensions the
        blocks depend on LAPACK, so the search is always exact there, and its result does not depend on a
        library. Calls `on_progress` with (stage, nodes done, m).

        S. Arya et al., "An optimal algorithm for approximate nearest neighbor searching", J. ACM 45 (1998).
        """
        distance, partner = np.empty((len(rows), k)), np.empty((len(rows), k), dtype=np.int64)
        places = self._place[rows]
        order = np.argsort(places, kind="stable")  # nearby nodes visit the same blocks
        is_laid_out_alike = self._blocks.points.shape[1] <= PROJECTED
        stretch = (1.0 + epsilon) ** 2 if is_laid_out_alike else 1.0
        on_progress(stage, 0, len(rows))
        for begin in range(0, len(rows), _ROWS_PER_REPORT):
            batch = order[begin : begin + _ROWS_PER_REPORT]
            found = np.empty((len(batch), k)), np.empty((len(batch), k), dtype=np.int64)
            workers.run(nearest_absent, *self._blocks, *self._links, places[batch], bound, stretch, *found)
            distance[batch], partner[batch] = found
            on_progress(stage, begin + len(batch), len(rows))
        return distance, partner


def _unordered(rows: NDArray[np.int64], distance: NDArray[np.float64], partner: NDArray[np.int64]) -> Pairs:
    """Return the pairs of some rows with their partners."""
    row, place = np.nonzero(partner != NO_PARTNER)
    u, v = rows[row], partner[row, place]
    return Pairs(distance[row, place], np.minimum(u, v), np.maximum(u, v))


def _merge(parts: list[Pairs], top: int | None) -> Pairs:
    """Return the first `top` distinct pairs, sorted by (distance, source, target)."""
    distance = np.concatenate([np.empty(0), *(pairs.distance for pairs in parts)])
    source = np.concatenate([np.empty(0, np.int64), *(pairs.source for pairs in parts)])
    target = np.concatenate([np.empty(0, np.int64), *(pairs.target for pairs in parts)])
    order = np.lexsort((target, source, distance))
    distance, source, target = distance[order], source[order], target[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (source[1:] != source[:-1]) | (target[1:] != target[:-1])
    return Pairs(distance[first][:top], source[first][:top], target[first][:top])
