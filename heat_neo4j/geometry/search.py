"""Exact searches among points on the hyperboloid, in blocks of which most are passed over."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from heat_neo4j._kernels.sweeps import GROUP, NO_PARTNER, TILE, VIEW, nearest_absent
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.threads import WorkerThreads
from heat_neo4j.geometry.hyperboloid import check_points

__all__ = [
    "Candidates",
    "Columns",
    "Pairs",
    "PartnerSearch",
    "Tiles",
    "columns_of",
    "first_partners",
    "lay_tiles",
    "nearest_pairs",
    "nearest_partners",
]


class Columns(NamedTuple):
    """Spatial coordinates transposed, shape (d, N), and the time coordinate, shape (N,)."""

    spatial: NDArray[np.float64]
    time: NDArray[np.float64]


def columns_of(embedding: ArrayLike, n_nodes: int) -> Columns:
    """Check that `embedding` holds one point on the hyperboloid per node, and transpose it.

    Parameters
    ----------
    embedding : array of shape (N, d + 1)
        Hyperboloid coordinates, time last.
    n_nodes : int
        N of the graph they belong to.

    Raises
    ------
    ValueError
        If there is not one row per node, a value is not finite, or a row is not on the hyperboloid.
    """
    points = np.asarray(embedding, dtype=np.float64)
    check_points(points)
    if len(points) != n_nodes:
        raise ValueError(f"embedding has {len(points)} rows for {n_nodes} nodes")
    return Columns(np.ascontiguousarray(points[:, :-1].T), np.ascontiguousarray(points[:, -1]))


class Tiles(NamedTuple):
    """M points in T tiles of `TILE` places, the last of which may be partly empty.

    Parameters
    ----------
    points, time : float64 arrays of shape (M, d) and (M,)
        On the hyperboloid, by place.
    node : int64 array of shape (M,)
        Which point is at a place.
    views : float64 array of shape (T, VIEW, TILE)
        Part of the coordinates in the ball.
    gaps : float64 array of shape (T, TILE)
        1 - |x|^2 of each place, in (0, 1].
    boxes : float64 array of shape (T, 2, VIEW)
        Least and largest view of each tile.
    widest : float64 array of shape (T,)
        Largest gap of each tile.
    outer_boxes, outer_widest : float64 arrays of shape (G, 2, VIEW) and (G,)
        The same of each group of `GROUP` tiles.
    masks : uint8 array of shape (T,)
        All roles that a tile's points have.
    """

    points: NDArray[np.float64]
    time: NDArray[np.float64]
    node: NDArray[np.int64]
    views: NDArray[np.float64]
    gaps: NDArray[np.float64]
    boxes: NDArray[np.float64]
    widest: NDArray[np.float64]
    outer_boxes: NDArray[np.float64]
    outer_widest: NDArray[np.float64]
    masks: NDArray[np.uint8]


def lay_tiles(spatial: NDArray[np.float64], time: NDArray[np.float64], roles: NDArray[np.uint8]) -> Tiles:
    """Lay points out in tiles.

    Parameters
    ----------
    spatial, time : float64 arrays of shape (d, M) and (M,)
        The points, at least one, coordinates first.
    roles : uint8 array of shape (M,)
        Bits that say what each may be.
    """
    view = _view((spatial / (1.0 + time)).T)
    node = np.asarray(cKDTree(view, leafsize=TILE).indices, dtype=np.int64)
    padded = np.append(node, np.full(-len(node) % TILE, node[-1])).reshape(-1, TILE)
    views = np.ascontiguousarray(view[padded].transpose(0, 2, 1))
    gaps = 2.0 / (1.0 + time[padded])  # 1 - |x|^2, without cancellation
    low, high, widest = views.min(axis=2), views.max(axis=2), gaps.max(axis=1)
    groups = np.arange(0, len(padded), GROUP)
    return Tiles(
        points=np.ascontiguousarray(spatial[:, node].T),
        time=time[node],
        node=node,
        views=views,
        gaps=gaps,
        boxes=np.stack((low, high), axis=1),
        widest=widest,
        outer_boxes=np.stack((np.minimum.reduceat(low, groups), np.maximum.reduceat(high, groups)), axis=1),
        outer_widest=np.maximum.reduceat(widest, groups),
        masks=np.bitwise_or.reduce(roles[padded], axis=1),
    )


def _view(ball: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the coordinates along the directions of largest variance, shape (M, VIEW), padded with 0."""
    if ball.shape[1] > VIEW:
        centred = ball - ball.mean(axis=0)
        _, directions = np.linalg.eigh(centred.T @ centred)
        return np.asarray(centred @ directions[:, -VIEW:])
    view = np.zeros((len(ball), VIEW))
    view[:, : ball.shape[1]] = ball
    return view


_BLOCK_ROWS = 8192  # nodes between two progress reports

Found = tuple[NDArray[np.float64], NDArray[np.int64]]


class Candidates(NamedTuple):
    """The nodes that may be linked, numbered from 0.

    Parameters
    ----------
    spatial, time : float64 arrays of shape (d, M) and (M,)
        Points on the hyperboloid.
    indptr, indices : CSR arrays
        Pairs that exist already, sorted within rows.
    roles : uint8 array of shape (M,)
        `IS_SOURCE` and `IS_TARGET` bits; a pair must have one of each at opposite ends.
    """

    spatial: NDArray[np.float64]
    time: NDArray[np.float64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    roles: NDArray[np.uint8]


class Pairs(NamedTuple):
    """Unordered pairs of candidates, source < target."""

    distance: NDArray[np.float64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]


def nearest_partners(candidates: Candidates, k: int, team: WorkerThreads, on_progress: Progress) -> Found:
    """Return the k nearest absent partners of every node.

    Parameters
    ----------
    candidates : Candidates
        The nodes, M of them.
    k : int
        Partners per node, at least 1.
    team : WorkerThreads
        Threads to use.
    on_progress : callable
        Called with ("links", nodes done, nodes in all).

    Returns
    -------
    distance, partner : arrays of shape (M, k)
        Sorted by (distance, partner); infinity and `NO_PARTNER` where there are fewer.
    """
    return PartnerSearch(candidates, team).nearest(np.arange(len(candidates.time)), k, np.inf, on_progress)


def nearest_pairs(
    candidates: Candidates, k: int | None, top: int | None, team: WorkerThreads, on_progress: Progress
) -> Pairs:
    """Return the nearest absent pairs in the order of (distance, source, target).

    Parameters
    ----------
    candidates : Candidates
        Between which nodes.
    k : int, optional
        Partners per node: a pair is kept if either end is among the k nearest of the other; no limit if None.
    top : int, optional
        Keep only so many pairs; given if k is not.
    team, on_progress
        As for `nearest_partners`.
    """
    n = len(candidates.time)
    if n < 2:
        return _merge([], top)
    if k is not None:
        distance, partner = nearest_partners(candidates, min(k, n - 1), team, on_progress)
        return _merge([_unordered(np.arange(n), distance, partner)], top)
    assert top is not None
    return _overall(PartnerSearch(candidates, team), n, top, on_progress)


def first_partners(top: int, n: int) -> int:
    """Return how many partners of each of n nodes are looked for at first, for the `top` nearest pairs."""
    return max(4, 4 * top // n)


def _overall(search: PartnerSearch, n: int, top: int, on_progress: Progress) -> Pairs:
    """Return the `top` nearest pairs: nodes all of whose partners may be among them are asked for more."""
    rows, k = np.arange(n), min(n - 1, first_partners(top, n))
    bound = np.inf
    kept: list[Pairs] = []
    while True:
        distance, partner = search.nearest(rows, k, bound, on_progress)
        kept = [_merge([*kept, _unordered(rows, distance, partner)], top)]
        if len(kept[0].distance) == top:
            bound = kept[0].distance[-1]
        rows = rows[(partner[:, -1] != NO_PARTNER) & (distance[:, -1] <= bound)]
        if k == n - 1 or not len(rows):
            return kept[0]
        k, on_progress = min(n - 1, 4 * k), no_progress  # the few that ask again


class PartnerSearch:
    """The candidates in tiles, and the team that looks through them.

    Parameters
    ----------
    candidates : Candidates
        The nodes, at least one.
    team : WorkerThreads
        Threads to use.
    """

    def __init__(self, candidates: Candidates, team: WorkerThreads) -> None:
        self._links = candidates.indptr, candidates.indices, candidates.roles
        self._tiles = lay_tiles(candidates.spatial, candidates.time, candidates.roles)
        self._place = np.argsort(self._tiles.node)
        self._team = team

    def nearest(self, rows: NDArray[np.int64], k: int, bound: float, on_progress: Progress) -> Found:
        """Return the k nearest absent partners of some nodes, none farther than `bound` being asked for."""
        distance, partner = np.empty((len(rows), k)), np.empty((len(rows), k), dtype=np.int64)
        order = np.argsort(self._place[rows])  # nodes that lie together look at the same tiles
        on_progress("links", 0, len(rows))
        for begin in range(0, len(rows), _BLOCK_ROWS):
            block = order[begin : begin + _BLOCK_ROWS]
            found = np.empty((len(block), k)), np.empty((len(block), k), dtype=np.int64)
            self._team.run(
                nearest_absent, *self._tiles, *self._links, self._place[rows[block]], bound, *found
            )
            distance[block], partner[block] = found
            on_progress("links", begin + len(block), len(rows))
        return distance, partner


def _unordered(rows: NDArray[np.int64], distance: NDArray[np.float64], partner: NDArray[np.int64]) -> Pairs:
    """Return what was found for some rows, as pairs."""
    row, place = np.nonzero(partner != NO_PARTNER)
    u, v = rows[row], partner[row, place]
    return Pairs(distance[row, place], np.minimum(u, v), np.maximum(u, v))


def _merge(found: list[Pairs], top: int | None) -> Pairs:
    """Return the first `top` different pairs by (distance, source, target)."""
    distance = np.concatenate([np.empty(0), *(pairs.distance for pairs in found)])
    source = np.concatenate([np.empty(0, np.int64), *(pairs.source for pairs in found)])
    target = np.concatenate([np.empty(0, np.int64), *(pairs.target for pairs in found)])
    order = np.lexsort((target, source, distance))
    distance, source, target = distance[order], source[order], target[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (source[1:] != source[:-1]) | (target[1:] != target[:-1])
    return Pairs(distance[first][:top], source[first][:top], target[first][:top])
