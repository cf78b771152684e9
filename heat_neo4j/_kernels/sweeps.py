"""Exact sweeps over all pairs of points on the hyperboloid, with rows distributed over threads.

Pairs are compared by z = cosh d - 1 in its chordal form ``(|s - q|^2 - (t - t')^2) / 2``. The difference of
the time coordinates is ``(s - q) . (s + q) / (t + t')``, which avoids cancellation near a point and makes
z(u, v) bitwise equal to z(v, u). Sums follow the order of coordinates. Rows are independent, so results do
not depend on the number of threads.
"""

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.elementary import arccosh1p, sinh
from heat_neo4j._kernels.jit import njit
from heat_neo4j._kernels.lists import offer
from heat_neo4j._kernels.sparse import has_entry
from heat_neo4j._kernels.worksharing import next_index

Array = NDArray[np.float64]
Nodes = NDArray[np.int64]
Columns = NDArray[np.int32]
Roles = NDArray[np.uint8]

IS_SOURCE = np.uint8(1)
IS_TARGET = np.uint8(2)
NO_PARTNER = -1
BLOCK = 64  # nearby points per block, see `heat_neo4j.geometry.search`
GROUP = 64  # blocks per group
PROJECTED = 16  # dimensions of the projection used to prune far points
_SLACK = 1.0 + 1e-6  # relative rounding error of z
_BLUR = 1e-14  # absolute rounding error of |x - y|^2 when large times cancel


@njit(cache=True, nogil=True)
def excess_of_rows(points: Array, left: Nodes, right: Nodes) -> Array:
    """Return z = cosh d - 1 of the pairs (left[i], right[i]) of points as rows, (N, d + 1), time last."""
    z, d = np.empty(left.shape[0]), points.shape[1] - 1
    for i in range(left.shape[0]):
        u, v = left[i], right[i]
        apart = along = 0.0
        for k in range(d):
            difference = points[u, k] - points[v, k]
            apart += difference * difference
            along += difference * (points[u, k] + points[v, k])
        rise = along / (points[u, d] + points[v, d])
        z[i] = max(0.5 * (apart - rise * rise), 0.0)
    return z


@njit(cache=True)
def _ceiling(distance: float) -> float:
    """Return a z above which the distance certainly exceeds `distance`."""
    half = sinh(0.5 * distance)
    return 2.0 * half * half * (1.0 + 1e-9)


@njit(cache=True)
def _may_link(indptr: Nodes, indices: Columns, roles: Roles, u: int, v: int) -> bool:
    """Return whether two nodes are distinct, not linked, and have compatible roles."""
    forward = bool(roles[u] & IS_SOURCE) and bool(roles[v] & IS_TARGET)
    if not (forward or (bool(roles[v] & IS_SOURCE) and bool(roles[u] & IS_TARGET))):
        return False
    return v != u and not has_entry(indptr, indices, u, v)


@njit(cache=True)
def _excess_between(points: Array, time: Array, u: int, v: int) -> float:
    """Return the same bits as `excess_of_rows`, for one pair of points."""
    z, along = 0.0, 0.0
    for i in range(points.shape[1]):
        s, q = points[u, i], points[v, i]
        difference = s - q
        z += difference * difference
        along += difference * (s + q)
    rise = along / (time[u] + time[v])
    return max(0.5 * (z - rise * rise), 0.0)


@njit(cache=True)
def _limit(ceiling: float, one_minus_square: float) -> float:
    """Return the maximum of |x - y|^2 / (1 - |y|^2) for z <= `ceiling`, given 1 - |x|^2."""
    return 0.5 * ceiling * one_minus_square * _SLACK


@njit(cache=True, inline="always")
def _least_in(boxes: Array, largest: Array, box: int, projection: Array) -> float:
    """Return a lower bound of |x - y|^2 / (1 - |y|^2) for the points y in a box."""
    apart = 0.0
    for i in range(PROJECTED):
        beyond = max(boxes[box, 0, i] - projection[i], projection[i] - boxes[box, 1, i], 0.0)
        apart += beyond * beyond
    least: float = max(apart - _BLUR, 0.0) / largest[box]
    return least


@njit(cache=True)
def _survey(
    boxes: Array, largest: Array, group_boxes: Array, group_largest: Array, masks: Roles, role: int,
    projection: Array, limit: float, least: Array,
) -> None:  # fmt: skip
    """Fill least[t] with the bound of block t; NaN if it exceeds the limit or no role matches `role`."""
    for group in range(group_boxes.shape[0]):
        first, last = group * GROUP, min((group + 1) * GROUP, boxes.shape[0])
        if _least_in(group_boxes, group_largest, group, projection) > limit:
            least[first:last] = np.nan
            continue
        for t in range(first, last):
            suited = (role & IS_SOURCE and masks[t] & IS_TARGET) or (
                role & IS_TARGET and masks[t] & IS_SOURCE
            )
            least[t] = _least_in(boxes, largest, t, projection) if suited else np.nan


@njit(cache=True)
def _nearest_block(least: Array, limit: float) -> int:
    """Return the block with the lowest bound within the limit; -1 if there is none."""
    best = -1
    for t in range(least.shape[0]):
        if least[t] <= limit:
            best, limit = t, least[t]
    return best


@njit(cache=True, inline="always")
def _measure_block(block: Array, projection: Array, apart: Array) -> None:
    """Fill apart[j] with the squared distance of the j-th projection of a block from `projection`."""
    apart[:] = 0.0
    for i in range(0, PROJECTED, 8):  # unrolled by eight: fewer loads and stores of the sums
        for j in range(BLOCK):
            apart[j] += (
                (block[i, j] - projection[i]) ** 2
                + (block[i + 1, j] - projection[i + 1]) ** 2
                + (block[i + 2, j] - projection[i + 2]) ** 2
                + (block[i + 3, j] - projection[i + 3]) ** 2
                + (block[i + 4, j] - projection[i + 4]) ** 2
                + (block[i + 5, j] - projection[i + 5]) ** 2
                + (block[i + 6, j] - projection[i + 6]) ** 2
                + (block[i + 7, j] - projection[i + 7]) ** 2
            )


@njit(cache=True, nogil=True)
def nearest_absent(
    points: Array, time: Array, node: Nodes, projections: Array, one_minus_squares: Array, boxes: Array,
    largest: Array, group_boxes: Array, group_largest: Array, masks: Roles, indptr: Nodes, indices: Columns,
    roles: Roles, places: Nodes, bound: float, stretch: float, distance: Array, partner: Nodes,
    shared: Nodes, thread: int, n_threads: int,
) -> None:  # fmt: skip
    """Find the k nearest unlinked partners of some points among all. Run by a team.

    The search visits the point's own block, then the nearest blocks until it has k partners, then every block
    that may hold a nearer one. `points` to `masks` are the fields of `geometry.search.Blocks`; `indptr`,
    `indices` and `roles` come from its `Candidates`. `places`, shape (B,), are the positions of the points in
    the blocks. Pairs farther apart than `bound` may be omitted. With `stretch` > 1, a block is visited only
    if `stretch` times its minimum squared distance in the ball is within reach, so some of the k may be
    slightly farther than the true nearest. `distance` and `partner`, shape (B, k), receive the partners
    sorted by (distance, node), padded with infinity and `NO_PARTNER`.
    """
    least, projection, apart = np.empty(boxes.shape[0]), np.empty(PROJECTED), np.empty(BLOCK)
    k = distance.shape[1]
    row = next_index(shared)
    while row < places.shape[0]:
        u = places[row]
        one_minus_square = one_minus_squares[u // BLOCK, u % BLOCK]
        for i in range(PROJECTED):  # compiles twice as fast as a slice
            projection[i] = projections[u // BLOCK, i, u % BLOCK]
        distance[row, :] = -np.inf  # negative until the end
        partner[row, :] = NO_PARTNER
        limit = _limit(_ceiling(bound), one_minus_square)
        t = own = u // BLOCK
        size, passed = np.int64(0), 0  # a literal 0 would compile another specialisation of every callee
        while t >= 0:
            _measure_block(projections[t], projection, apart)
            for j in range(min(BLOCK, time.shape[0] - t * BLOCK)):
                if apart[j] > limit * one_minus_squares[t, j] + _BLUR:
                    continue
                v = t * BLOCK + j
                if not _may_link(indptr, indices, roles, node[u], node[v]):
                    continue
                d = arccosh1p(_excess_between(points, time, u, v))
                size = offer(distance[row], partner[row], size, -d, node[v])
                if size == k:
                    limit = min(limit, _limit(_ceiling(-distance[row, k - 1]), one_minus_square))
            if t == own:
                _survey(
                    boxes, largest, group_boxes, group_largest, masks, roles[node[u]], projection, limit,
                    least,
                )  # fmt: skip
            least[t] = np.nan
            if size < k:
                t = _nearest_block(least, limit)
            else:
                while passed < least.shape[0] and not stretch * least[passed] <= limit:
                    passed += 1
                t = passed if passed < least.shape[0] else -1
        distance[row] *= -1.0
        row = next_index(shared)
