"""Exact sweeps over all pairs of points on the hyperboloid, in rows that threads share out.

Pairs are compared by z = cosh d - 1 in its chordal form ``(|s - q|^2 - (t - t')^2) / 2``, where the
difference of the time coordinates comes from ``(s - q) . (s + q) / (t + t')``: no large numbers cancel near
a point, and z(u, v) has the same bits as z(v, u). Spatial coordinates arrive transposed, shape (d, M), so
that the inner loops run over points: sums are made in the order of the coordinates, whatever the vector
width. A row's result depends on nothing but the row, so bits do not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from heat_neo4j._kernels.barrier import take
from heat_neo4j._kernels.intrinsics import atomic_add

__all__ = [
    "IS_SOURCE",
    "IS_TARGET",
    "NO_PARTNER",
    "count_pairs_above",
    "nearest_absent",
    "nearest_among",
    "paired_excess",
]

IS_SOURCE = np.uint8(1)
IS_TARGET = np.uint8(2)
NO_PARTNER = -1
_TILE = 256


@njit(cache=True)
def _excess(
    spatial: NDArray[np.float64],
    time: NDArray[np.float64],
    u: int,
    first: int,
    last: int,
    z: NDArray[np.float64],
    along: NDArray[np.float64],
) -> None:
    """Fill z[: last - first] with cosh d(u, v) - 1 for v in [first, last); `along` is scratch."""
    n = last - first
    for j in range(n):
        z[j] = 0.0
        along[j] = 0.0
    for i in range(spatial.shape[0]):
        s = spatial[i, u]
        for j in range(n):
            q = spatial[i, first + j]
            difference = s - q
            z[j] += difference * difference
            along[j] += difference * (s + q)
    for j in range(n):
        rise = along[j] / (time[u] + time[first + j])
        z[j] = max(0.5 * (z[j] - rise * rise), 0.0)


@njit(cache=True)
def paired_excess(
    spatial: NDArray[np.float64],
    time: NDArray[np.float64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return z = cosh d - 1 of the pairs (left[i], right[i])."""
    z = np.empty(left.shape[0])
    along = np.empty(1)
    for i in range(left.shape[0]):
        _excess(spatial, time, left[i], right[i], right[i] + 1, z[i : i + 1], along)
    return z


@njit(cache=True)
def _is_neighbour(indptr: NDArray[np.int64], indices: NDArray[np.int32], u: int, v: int) -> bool:
    low, high = indptr[u], indptr[u + 1]
    while low < high:
        middle = (low + high) >> 1
        if indices[middle] < v:
            low = middle + 1
        else:
            high = middle
    found: bool = low < indptr[u + 1] and indices[low] == v
    return found


@njit(cache=True)
def _sift_down(distance: NDArray[np.float64], partner: NDArray[np.int64], size: int) -> None:
    """Restore a heap, largest (distance, partner) on top, whose top entry has been replaced."""
    at = 0
    d, v = distance[0], partner[0]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (
            distance[other] > distance[child]
            or (distance[other] == distance[child] and partner[other] > partner[child])
        ):
            child = other
        if d > distance[child] or (d == distance[child] and v > partner[child]):
            break
        distance[at], partner[at] = distance[child], partner[child]
        at = child
    distance[at], partner[at] = d, v


@njit(cache=True)
def _sift_up(distance: NDArray[np.float64], partner: NDArray[np.int64], at: int) -> None:
    """Restore a heap whose last entry, `at`, has been added."""
    d, v = distance[at], partner[at]
    while at > 0:
        parent = (at - 1) >> 1
        if distance[parent] > d or (distance[parent] == d and partner[parent] > v):
            break
        distance[at], partner[at] = distance[parent], partner[parent]
        at = parent
    distance[at], partner[at] = d, v


@njit(cache=True)
def _distance(excess: float) -> float:
    """Return arcosh(1 + excess)."""
    distance: float = np.log1p(excess + np.sqrt(excess * (excess + 2.0)))
    return distance


@njit(cache=True)
def _ceiling(distance: float) -> float:
    """Return a z above which the distance is surely larger than `distance`."""
    half: float = np.sinh(0.5 * distance)
    return 2.0 * half * half * (1.0 + 1e-9)


@njit(cache=True)
def _offer(distance: NDArray[np.float64], partner: NDArray[np.int64], size: int, d: float, v: int) -> int:
    """Put (d, v) into a heap of the smallest; return how many it holds now."""
    if size < distance.shape[0]:
        distance[size], partner[size] = d, v
        _sift_up(distance, partner, size)
        return size + 1
    if d < distance[0] or (d == distance[0] and v < partner[0]):
        distance[0], partner[0] = d, v
        _sift_down(distance, partner, size)
    return size


@njit(cache=True)
def _sort(distance: NDArray[np.float64], partner: NDArray[np.int64], size: int) -> None:
    """Turn a heap into an ascending list."""
    for end in range(size - 1, 0, -1):
        distance[0], distance[end] = distance[end], distance[0]
        partner[0], partner[end] = partner[end], partner[0]
        _sift_down(distance, partner, end)


@njit(cache=True)
def _may_link(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], roles: NDArray[np.uint8], u: int, v: int
) -> bool:
    """Tell whether two nodes are different, not joined, and of roles that go together."""
    if v == u or _is_neighbour(indptr, indices, u, v):
        return False
    forward = bool(roles[u] & IS_SOURCE) and bool(roles[v] & IS_TARGET)
    return forward or (bool(roles[v] & IS_SOURCE) and bool(roles[u] & IS_TARGET))


@njit(cache=True)
def _scan_row(
    spatial: NDArray[np.float64],
    time: NDArray[np.float64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    roles: NDArray[np.uint8],
    u: int,
    first: int,
    bound: float,
    distance: NDArray[np.float64],
    partner: NDArray[np.int64],
) -> None:
    """Fill `distance` and `partner` with the nearest absent partners of u among [first, M), sorted."""
    z = np.empty(_TILE)
    along = np.empty(_TILE)
    size = 0
    ceiling = _ceiling(bound)
    for start in range(first, time.shape[0], _TILE):
        stop = min(start + _TILE, time.shape[0])
        _excess(spatial, time, u, start, stop, z, along)
        for v in range(start, stop):
            excess = z[v - start]
            if excess > ceiling or not _may_link(indptr, indices, roles, u, v):
                continue
            size = _offer(distance, partner, size, _distance(excess), v)
            if size == distance.shape[0]:
                ceiling = min(ceiling, _ceiling(distance[0]))
    _sort(distance, partner, size)


@njit(cache=True, nogil=True)
def nearest_among(
    spatial: NDArray[np.float64],
    time: NDArray[np.float64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    roles: NDArray[np.uint8],
    rows: NDArray[np.int64],
    candidates: NDArray[np.int64],
    distance: NDArray[np.float64],
    partner: NDArray[np.int64],
    barrier: NDArray[np.int64],
    thread: int,
    n_threads: int,
) -> None:
    """Find the k nearest absent partners of some points among given ones. Run by a team.

    Parameters
    ----------
    spatial, time, indptr, indices, roles
        As for `nearest_absent`.
    rows : int64 array of shape (B,)
        The points.
    candidates : int64 array of shape (B, C)
        Among which to look, none twice; `NO_PARTNER` where there are fewer.
    distance, partner : arrays of shape (B, k)
        As for `nearest_absent`.
    """
    z, along = np.empty(1), np.empty(1)
    row = take(barrier)
    while row < rows.shape[0]:
        u = rows[row]
        distance[row, :] = np.inf
        partner[row, :] = NO_PARTNER
        size = 0
        for c in range(candidates.shape[1]):
            v = candidates[row, c]
            if v != NO_PARTNER and _may_link(indptr, indices, roles, u, v):
                _excess(spatial, time, u, v, v + 1, z, along)
                size = _offer(distance[row], partner[row], size, _distance(z[0]), v)
        _sort(distance[row], partner[row], size)
        row = take(barrier)


@njit(cache=True, nogil=True)
def nearest_absent(
    spatial: NDArray[np.float64],
    time: NDArray[np.float64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    roles: NDArray[np.uint8],
    rows: NDArray[np.int64],
    later_only: bool,
    bound: float,
    distance: NDArray[np.float64],
    partner: NDArray[np.int64],
    barrier: NDArray[np.int64],
    thread: int,
    n_threads: int,
) -> None:
    """Find the k nearest absent partners of some points among all. Run by a team.

    Parameters
    ----------
    spatial, time : arrays of shape (d, M) and (M,)
        Points on the hyperboloid.
    indptr, indices : CSR arrays
        Pairs that exist already, sorted within rows.
    roles : uint8 array of shape (M,)
        `IS_SOURCE` and `IS_TARGET` bits; a pair must have one of each at opposite ends.
    rows : int64 array of shape (B,)
        The points.
    later_only : bool
        Look only at partners in later rows, so that each pair is met once.
    bound : float
        Pairs farther apart than this may be left out.
    distance, partner : arrays of shape (B, k)
        Receive them sorted by (distance, partner); infinity and `NO_PARTNER` where there are fewer.
    """
    row = take(barrier)
    while row < rows.shape[0]:
        u = rows[row]
        distance[row, :] = np.inf
        partner[row, :] = NO_PARTNER
        first = u + 1 if later_only else 0
        _scan_row(spatial, time, indptr, indices, roles, u, first, bound, distance[row], partner[row])
        row = take(barrier)


@njit(cache=True)
def _count_row(
    spatial: NDArray[np.float64], time: NDArray[np.float64], sorted_z: NDArray[np.float64], u: int
) -> int:
    z = np.empty(_TILE)
    along = np.empty(_TILE)
    total = 0
    for start in range(u + 1, time.shape[0], _TILE):
        stop = min(start + _TILE, time.shape[0])
        _excess(spatial, time, u, start, stop, z, along)
        for j in range(stop - start):
            under = np.searchsorted(sorted_z, z[j])
            total += under
            if under < sorted_z.shape[0] and sorted_z[under] == z[j]:
                under = np.searchsorted(sorted_z, z[j], side="right")
            total += under
    return total


@njit(cache=True, nogil=True)
def count_pairs_above(
    spatial: NDArray[np.float64],
    time: NDArray[np.float64],
    sorted_z: NDArray[np.float64],
    begin: int,
    end: int,
    total: NDArray[np.int64],
    barrier: NDArray[np.int64],
    thread: int,
    n_threads: int,
) -> None:
    """Add to total[0], over pairs (u, v) with u in [begin, end), v > u, how many of `sorted_z` lie under z.

    A value equal to the pair's z counts once and one under it twice, so the sum is twice that of counts
    with ties at a half, and is exact. Run by a team.
    """
    row = begin + take(barrier)
    while row < end:
        atomic_add(total, 0, _count_row(spatial, time, sorted_z, row))
        row = begin + take(barrier)
