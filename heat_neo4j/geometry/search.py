"""Exact searches among points on the hyperboloid: nearest neighbours, and nearest pairs that no edge joins.

Points are stored in blocks; a search skips most of them.
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

Partners = tuple[NDArray[np.float64], NDArray[np.int64]]

_ROWS_PER_REPORT = 8192  # nodes between two progress reports


def columns_of(embedding: ArrayLike, n_nodes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the spatial coordinates transposed, shape (d, N), and the times of one point per node.

    A ValueError if there is not one row per node, or a row is not on the hyperboloid.
    """
    points = np.asarray(embedding, dtype=np.float64)
    check_points(points)
    if len(points) != n_nodes:
        raise ValueError(f"embedding has {plural(len(points), 'row')} for {plural(n_nodes, 'node')}")
    return np.ascontiguousarray(points[:, :-1].T), np.ascontiguousarray(points[:, -1])


class Blocks(NamedTuple):
    """M points on the hyperboloid in T blocks of `BLOCK` places; the last may be partly empty."""

    points: NDArray[np.float64]  # (M, d), by place
    time: NDArray[np.float64]  # (M,), by place
    node: NDArray[np.int64]  # (M,): which point is at a place
    projections: NDArray[np.float64]  # (T, PROJECTED, BLOCK): of the coordinates in the ball
    one_minus_squares: NDArray[np.float64]  # (T, BLOCK): 1 - |x|^2 in the ball, in (0, 1]
    boxes: NDArray[np.float64]  # (T, 2, PROJECTED): least and largest projection
    largest: NDArray[np.float64]  # (T,): largest 1 - |x|^2
    group_boxes: NDArray[np.float64]  # (G, 2, PROJECTED): of each group of `GROUP` blocks
    group_largest: NDArray[np.float64]  # (G,)
    masks: NDArray[np.uint8]  # (T,): all roles that the points of a block have


def make_blocks(spatial: NDArray[np.float64], time: NDArray[np.float64], roles: NDArray[np.uint8]) -> Blocks:
    """Arrange M points, spatial coordinates of shape (d, M), so that near ones are in one block."""
    projection = _projection((spatial / (1.0 + time)).T)
    node = np.asarray(cKDTree(projection, leafsize=BLOCK).indices, dtype=np.int64)
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
    """Return the coordinates along the directions of largest variance, (M, PROJECTED), padded with 0."""
    if ball.shape[1] > PROJECTED:
        centred = ball - ball.mean(axis=0)
        _, directions = np.linalg.eigh(centred.T @ centred)
        return np.asarray(centred @ directions[:, -PROJECTED:])
    projection = np.zeros((len(ball), PROJECTED))
    projection[:, : ball.shape[1]] = ball
    return projection


class Candidates(NamedTuple):
    """The M nodes that may be linked: points on the hyperboloid, pairs that exist already, and roles."""

    spatial: NDArray[np.float64]  # (d, M)
    time: NDArray[np.float64]  # (M,)
    indptr: NDArray[np.int64]  # of a CSR array, sorted within rows
    indices: NDArray[np.int32]
    roles: NDArray[np.uint8]  # (M,): `IS_SOURCE`, `IS_TARGET`: a pair has one of each at opposite ends


class Neighbours(NamedTuple):
    """The k nearest neighbours of m nodes, nearest first, shape (m, k); ties in order of the rows."""

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
    """Return the k nearest neighbours of some nodes or points, or all if there are no more, linked or not.

    The nodes are those in `rows`, shape (m,), or all; no node is a neighbour of itself. `points`, shape
    (m, d + 1), replace them. O(m k) memory, and O(N) with points; the same bits for any number of threads,
    all cores when None. Progress is called with ("neighbours", nodes done, m).
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
    """Return the nearest absent pairs in the order of (distance, source, target).

    A pair counts if either end is among the k nearest of the other; k None sets no limit. Only the nearest
    `top` pairs are returned; `top` is required if k is None.
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
    """Return the number of partners of each of n nodes in the first search for the `top` nearest pairs."""
    return max(4, 4 * top // n)


def _overall(search: PartnerSearch, n: int, top: int, workers: WorkerThreads, on_progress: Progress) -> Pairs:
    """Return the `top` nearest pairs; search again for nodes whose partners may all be among them."""
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
        k, on_progress = min(n - 1, 4 * k), no_progress  # for the few rows that are left


class PartnerSearch:
    """Candidates in blocks, at least one, to search partners in."""

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
    ) -> Partners:
        """Return distances and nodes of the k nearest absent partners of m nodes, shape (m, k).

        Sorted by (distance, partner); infinity and `NO_PARTNER` where there are fewer. Those farther than
        `bound` may be left out. With `epsilon` the search is quicker and approximate: sinh(d / 2) of the i-th
        partner is at most 1 + `epsilon` times that of the i-th nearest. In more than 16 dimensions a maths
        library lays out the blocks; there the search is exact, so that its result depends on no library.
        Progress is called with (stage, nodes done, m).

        S. Arya et al., "An optimal algorithm for approximate nearest neighbor searching", J. ACM 45 (1998).
        """
        distance, partner = np.empty((len(rows), k)), np.empty((len(rows), k), dtype=np.int64)
        places = self._place[rows]
        order = np.argsort(places, kind="stable")  # nodes that lie together look at the same blocks
        batches = [order[begin : begin + _ROWS_PER_REPORT] for begin in range(0, len(rows), _ROWS_PER_REPORT)]
        is_laid_out_alike = self._blocks.points.shape[1] <= PROJECTED
        stretch = (1.0 + epsilon) ** 2 if is_laid_out_alike else 1.0
        calls = [(_as_range(places[batch]), k, bound, stretch) for batch in batches]
        done = 0
        on_progress(stage, done, len(rows))
        for batch, partners in zip(batches, workers.map(self.partners, calls), strict=True):
            distance[batch], partner[batch] = partners
            done += len(batch)
            on_progress(stage, done, len(rows))
        return distance, partner

    def partners(
        self, team: WorkerThreads, places: range | NDArray[np.int64], k: int, bound: float, stretch: float
    ) -> Partners:
        """Do the work of `nearest` for the nodes at some places."""
        partners = np.empty((len(places), k)), np.empty((len(places), k), dtype=np.int64)
        places = np.asarray(places, dtype=np.int64)
        team.run(nearest_absent, *self._blocks, *self._links, places, bound, stretch, *partners)
        return partners


def _as_range(places: NDArray[np.int64]) -> range | NDArray[np.int64]:
    """Return strictly rising numbers as a range if possible, which is short to send."""
    first, last = int(places[0]), int(places[-1])
    return range(first, last + 1) if last - first + 1 == len(places) else places


def _unordered(rows: NDArray[np.int64], distance: NDArray[np.float64], partner: NDArray[np.int64]) -> Pairs:
    """Return the pairs of some rows with their partners."""
    row, place = np.nonzero(partner != NO_PARTNER)
    u, v = rows[row], partner[row, place]
    return Pairs(distance[row, place], np.minimum(u, v), np.maximum(u, v))


def _merge(parts: list[Pairs], top: int | None) -> Pairs:
    """Return the first `top` different pairs by (distance, source, target)."""
    distance = np.concatenate([np.empty(0), *(pairs.distance for pairs in parts)])
    source = np.concatenate([np.empty(0, np.int64), *(pairs.source for pairs in parts)])
    target = np.concatenate([np.empty(0, np.int64), *(pairs.target for pairs in parts)])
    order = np.lexsort((target, source, distance))
    distance, source, target = distance[order], source[order], target[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (source[1:] != source[:-1]) | (target[1:] != target[:-1])
    return Pairs(distance[first][:top], source[first][:top], target[first][:top])
