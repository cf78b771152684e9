"""Riemannian descent on the hyperboloid in frozen batches, the same bits for any number of threads.

A batch is one short segment each of many walks: a round takes the first segment of every walk, then the
second, and so on. (With whole walks, a component of two nodes, whose pairs in a walk are all the same, would
get one step for some hundred of them, lose hold of its nodes, and training could diverge.)

A team of threads runs `train_batches`. First half of a batch, shared out by segments: with the coordinates
frozen, draw the negatives and compute the softmax coefficient of every (pair, candidate). Second half, shared
out by nodes: each node sums its own tangent vector in the order of the segments, and takes one exponential
map. Which thread owns a node never changes the order of that node's sum.

The sum of many pairs from frozen coordinates can overshoot at a hub, or in a component of two nodes that a
whole walk alternates between. Each candidate at distance d pulls or pushes with stiffness |delta - p| along
its geodesic, and |delta - p| d coth(d) across it (the Hessian of d^2 / 2). Where rate * (sum of the
stiffness along that a node feels in the batch) exceeds _MAX_ALONG, its step is shortened to that ("damped",
and counted), and further if rate * (sum of the stiffness across) would exceed _MAX_ACROSS. The latter alone
damps nobody: a node that is pulled less as a source, and pushed as before as a negative of others, drifts
away.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.intrinsics import prefetch, prefetch_to_write
from heat_neo4j._kernels.jit import njit
from heat_neo4j._kernels.random import stream
from heat_neo4j._kernels.segments import AHEAD, owner_of, train_segment
from heat_neo4j._kernels.vectors import blend_rows, dot_rows
from heat_neo4j._kernels.worksharing import finish_pieces, next_phase, next_piece

__all__ = ["Workspace", "train_batches"]

_MAX_ALONG = 1.0  # a node reaches the mean of what pulls it, if that is near
_MAX_ACROSS = 1.9  # from 2 on a node goes past it by more than it was away, and training diverges
_SHORT = 1e-3  # squared length of a step
_S32 = np.int64(32)
_LOW_32 = np.int64(0xFFFFFFFF)


class Workspace(NamedTuple):
    """Buffers of one batch, reused by all.

    G segments of at most P positions and K candidates each; T threads; O owners, among which the nodes are
    shared out, and R nodes that one owner may have in a batch; width D = `padded_width(d + 1)`. Rows of P'
    and O' are P and O long and padded, so that threads write to cache lines of their own.
    """

    owners: int  # O
    slots: NDArray[np.int64]  # (G,): positions that have something to train; they come first
    sources: NDArray[np.int32]  # (G, P'): the node at each position
    source_points: NDArray[np.float64]  # (G, P, D): its point, as nodes move while others need the old ones
    contexts: NDArray[np.int64]  # (G, P'): how many of its candidates are contexts
    ends: NDArray[np.int64]  # (G, P'): where its candidates end
    candidates: NDArray[np.int32]  # (G, K): the contexts of each position, then its negatives
    pulls: NDArray[np.float64]  # (G, P, D): tangent sum of each source
    pull_stiffness: NDArray[np.float64]  # (G, P, 2): its stiffness, along the geodesics and across them
    proposals: NDArray[np.int32]  # (T, RING): nodes drawn and not yet tried as negatives
    mirror: NDArray[np.float64]  # (T, 8, D): a source point, spatial part negated; 7 rows keep threads apart
    scratch: NDArray[np.float64]  # (T, 4, K): on the way to the coefficients of a segment
    entry_ends: NDArray[np.int64]  # (G, O'): where the entries of each owner end; nobody owns what is padded
    entry_nodes: NDArray[np.int64]  # (G, K): the node an entry moves (high half), its source's position (low)
    entry_forces: NDArray[np.float64]  # (G, K, 3): (delta - p) d / sinh(d); stiffness along and across
    losses: NDArray[np.float64]  # (G,): summed over the pairs so far
    tallies: NDArray[np.int64]  # (G, 2): pairs trained so far, and skipped as the source has no negative
    stamp: NDArray[np.int64]  # (N,): the last batch that touched it (high half), place in `touched` (low)
    touched: NDArray[np.int32]  # (T, R): the nodes of the owner that a thread is at
    tangents: NDArray[np.float64]  # (T, R, D): their tangent sums
    stiffness: NDArray[np.float64]  # (T, R, 2): their stiffness, along the geodesics and across them
    factors: NDArray[np.float64]  # (T, 2, R): how far to go along the point, and along its tangent
    n_damped: NDArray[np.int64]  # (T,): steps damped so far
    frozen: NDArray[np.bool_]  # (N,) or (0,): nodes that do not move; of no length if all do


@njit(cache=True, inline="always")
def _place(stamp: Any, touched: Any, tangents: Any, stiffness: Any, count: Any, node: Any, batch: Any) -> Any:
    """Return the node's place among those touched in this batch, and how many those are; begin its sum."""
    stamped = stamp[node]
    if stamped >> _S32 == batch:
        return stamped & _LOW_32, count
    stamp[node] = (batch << _S32) | count
    touched[count] = node
    for i in range(0, tangents.shape[1]):
        tangents[count, i] = 0.0
    stiffness[count, 0] = 0.0
    stiffness[count, 1] = 0.0
    return count, count + 1


@njit(cache=True, error_model="numpy")
def _move(
    points: Any, time: int, touched: Any, count: int, tangents: Any, stiffness: Any, scratch: Any, rate: float
) -> int:
    """Move points to exp_x(rate * projected sum in `tangents`); return how many steps were damped.

    One thing at a time for all of them: within one point each result waits for the one before.
    """
    along, across = scratch[0], scratch[1]
    for t in range(count):
        x = touched[t]
        prefetch_to_write(points, touched[t + AHEAD])
        inner = dot_rows(tangents, t, points, x) - 2.0 * tangents[t, time] * points[x, time]
        blend_rows(tangents, t, 1.0, inner, points, x)
    damped = 0
    for t in range(count):
        step = rate
        if rate * stiffness[t, 0] > _MAX_ALONG:
            step = min(_MAX_ALONG / stiffness[t, 0], _MAX_ACROSS / stiffness[t, 1])
            damped += 1
        square = dot_rows(tangents, t, tangents, t) - 2.0 * tangents[t, time] * tangents[t, time]
        square = max(step * step * square, 0.0)
        if square < _SHORT:  # nearly every step; the first term left out is below 1e-16
            along[t] = 1.0 + square * (1 / 2 + square * (1 / 24 + square * (1 / 720)))
            across[t] = step * (1.0 + square * (1 / 6 + square * (1 / 120 + square * (1 / 5040))))
        else:
            norm = np.sqrt(square)
            along[t] = np.cosh(norm)
            across[t] = step * np.sinh(norm) / norm
    for t in range(count):
        x = touched[t]
        blend_rows(points, x, along[t], across[t], tangents, t)
        points[x, time] = 0.0
    for t in range(count):
        x = touched[t]
        points[x, time] = np.sqrt(1.0 + dot_rows(points, x, points, x))
    return damped


@njit(cache=True, error_model="numpy")
def _gather(
    points: Any, time: int, w: Any, owner: int, segments: int, batch: int, rate: float, thread: int
) -> None:
    """Sum and move the nodes of one owner, but for those that are frozen."""
    owners, frozen = w.owners, w.frozen
    some_frozen = frozen.shape[0] > 0
    stamp, touched, tangents, stiffness = w.stamp, w.touched[thread], w.tangents[thread], w.stiffness[thread]
    count = np.int64(0)  # for a literal 0 all that takes it would be compiled once more
    for g in range(segments):
        sources, pulls, pull_stiffness = w.sources[g], w.pulls[g], w.pull_stiffness[g]
        for slot in range(w.slots[g]):
            source = sources[slot]
            if owner_of(source, owners) == owner and not (some_frozen and frozen[source]):
                place, count = _place(stamp, touched, tangents, stiffness, count, source, batch)
                blend_rows(tangents, place, 1.0, 1.0, pulls, slot)
                stiffness[place, 0] += pull_stiffness[slot, 0]
                stiffness[place, 1] += pull_stiffness[slot, 1]
        source_points = w.source_points[g]
        entry_nodes, entry_forces = w.entry_nodes[g], w.entry_forces[g]
        begin = w.entry_ends[g, owner - 1] if owner > 0 else 0
        for e in range(begin, w.entry_ends[g, owner]):
            prefetch(stamp, entry_nodes[e + AHEAD] >> _S32)
            node, slot = entry_nodes[e] >> _S32, entry_nodes[e] & _LOW_32
            if some_frozen and frozen[node]:
                continue
            place, count = _place(stamp, touched, tangents, stiffness, count, node, batch)
            blend_rows(tangents, place, 1.0, entry_forces[e, 0], source_points, slot)
            stiffness[place, 0] += entry_forces[e, 1]
            stiffness[place, 1] += entry_forces[e, 2]
    w.n_damped[thread] += _move(points, time, touched, count, tangents, stiffness, w.factors[thread], rate)


@njit(cache=True, error_model="numpy", nogil=True)
def train_batches(
    points: Any, time: int, indices: Any, nodes: Any, lengths: Any, negatives: Any, w: Any,
    positions: int, segments_per_walk: int, first_batch: int, batch_stamp: int, rates: Any, window: int,
    n_negatives: int, sigma: float, key: Any, shared: Any, thread: int, n_threads: int,
) -> None:  # fmt: skip
    """Train some batches of one block of walks. Run by a team.

    Parameters
    ----------
    points : float64 array of shape (N, D)
        Hyperboloid points, moved in place; D is a multiple of 4.
    time : int
        The column of the time coordinate; those behind it are 0.
    indices, nodes, lengths : arrays of shape (B,), (B, L) and (B,)
        Which walks the block is of, the nodes of each, and how many they are.
    positions, segments_per_walk : int
        Positions of a segment, and into how many segments a walk is cut.
    first_batch, batch_stamp : int
        The first batch, in the block, and in the whole training, from 1 on and below 2**31.
    rates : float64 array of shape (n,)
        Learning rate of each batch.
    window, n_negatives, sigma : int, int, float
        HEAT's c, m and sigma.
    key : uint64
        Key of the negatives' random streams.
    """
    per_batch = w.sources.shape[0]
    n_walks = indices.shape[0]
    n_segments = n_walks * segments_per_walk
    scale = 0.5 / (sigma * sigma)
    owners = w.owners
    phase = next_phase(shared, -1)
    while 0 <= phase < 2 * rates.shape[0]:
        b = phase >> 1
        offset = (first_batch + b) * per_batch
        segments = min(per_batch, n_segments - offset)
        done = 0
        if phase & 1 == 0:
            g = next_piece(shared, phase, segments, thread, n_threads)
            while g >= 0:
                walk = (offset + g) % n_walks
                begin = (offset + g) // n_walks * positions
                end = min(begin + positions, nodes.shape[1])
                state = stream(stream(key, indices[walk]), begin)
                train_segment(
                    points, time, nodes[walk], lengths[walk], begin, end, window, n_negatives, scale,
                    negatives, state, w, g, thread,
                )  # fmt: skip
                done += 1
                g = next_piece(shared, phase, segments, thread, n_threads)
            finish_pieces(shared, done, segments)
        else:
            rate = rates[b] / (sigma * sigma)
            owner = next_piece(shared, phase, owners, thread, n_threads)
            while owner >= 0:
                _gather(points, time, w, owner, segments, batch_stamp + b, rate, thread)
                done += 1
                owner = next_piece(shared, phase, owners, thread, n_threads)
            finish_pieces(shared, done, owners)
        phase = next_phase(shared, phase)
