"""Riemannian descent on the hyperboloid in frozen batches, the same bits for any number of threads.

A batch is one short segment each of many walks: a round takes the first segment of every walk, then the
second, and so on. (With whole walks, a component of two nodes, whose pairs in a walk are all the same, would
get one step for some hundred of them, lose hold of its nodes, and training could diverge.)

Phase 1, parallel over segments: with the coordinates frozen, draw the negatives and compute the softmax
coefficient of every (pair, candidate). Phase 2, parallel over owners: each node sums its own tangent vector
in the order of the segments and takes one exponential map. Then the moved points are copied back. Which
thread owns a node never changes the order of that node's sum.

The sum of many pairs from frozen coordinates can overshoot at a hub, or in a component of two nodes that a
whole walk alternates between. Each candidate pulls or pushes with stiffness |delta - p|; where rate * (sum of
the stiffness that a node feels in the batch) exceeds MAX_STIFFNESS, its step is shortened to that ("damped",
and counted).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from heat_neo4j._kernels.pairs import draw_negatives
from heat_neo4j._kernels.random import stream

__all__ = ["MAX_STIFFNESS", "Workspace", "train_batches", "weigh"]

MAX_STIFFNESS = 1.0  # at 1 a node reaches the mean of what pulls it; from 2 on frozen batches diverge
_SERIES = 1e-6
_SHORT = 1e-3  # squared length of a step
_OWNER_HASH = np.uint64(0x9E3779B1)
_LOW_32 = np.uint64(0xFFFFFFFF)
_S32 = np.uint64(32)


class Workspace(NamedTuple):
    """Buffers of one batch, reused by all; G segments of P positions, O owners, E entries a segment.

    Attributes
    ----------
    sources : int32 array of shape (G, P)
        Source node of each position, -1 where it moved nothing.
    pulls : float64 array of shape (G, P, d + 2)
        Tangent sum of each source position, and its stiffness.
    entry_node, entry_source : int32 arrays of shape (G, O, E)
        The node an entry moves and the source it moves it to or from.
    entry_weight, entry_stiffness : float64 arrays of shape (G, O, E)
        The coefficient (delta - p) d / sinh(d), and |delta - p|.
    n_entries : int64 array of shape (G, O)
        Entries used.
    candidates : int32 array of shape (G, K)
        A position's contexts and negatives.
    weights, stiffness : float64 arrays of shape (G, K)
        Their coefficients and |delta - p|.
    losses : float64 array of shape (G,)
        Loss summed over the segment's pairs.
    tallies : int64 array of shape (G, 2)
        Pairs trained, pairs skipped because the source has no negative.
    moved : float64 array of shape (N, d + 2)
        Tangent sums and stiffness, then new points.
    stamp : int64 array of shape (N,)
        The last batch that touched the node.
    touched : int32 array of shape (O, N)
        Nodes touched by each owner.
    n_touched, n_damped : int64 arrays of shape (O,)
        How many touched in this batch; how many steps were damped so far.
    """

    sources: NDArray[np.int32]
    pulls: NDArray[np.float64]
    entry_node: NDArray[np.int32]
    entry_source: NDArray[np.int32]
    entry_weight: NDArray[np.float64]
    entry_stiffness: NDArray[np.float64]
    n_entries: NDArray[np.int64]
    candidates: NDArray[np.int32]
    weights: NDArray[np.float64]
    stiffness: NDArray[np.float64]
    losses: NDArray[np.float64]
    tallies: NDArray[np.int64]
    moved: NDArray[np.float64]
    stamp: NDArray[np.int64]
    touched: NDArray[np.int32]
    n_touched: NDArray[np.int64]
    n_damped: NDArray[np.int64]


@njit(cache=True, inline="always")
def _owner(node: Any, owners: Any) -> Any:
    """Return which of `owners` sums the node; hashed, so that hubs spread."""
    hashed = (np.uint64(node) * _OWNER_HASH) & _LOW_32
    return np.int64((hashed * np.uint64(owners)) >> _S32)


@njit(cache=True, inline="always")
def weigh(
    points: Any, source: Any, candidates: Any, n_contexts: Any, size: Any, scale: Any, weights: Any,
    stiffness: Any,
) -> Any:  # fmt: skip
    """Write each candidate's coefficient and stiffness; return the loss, summed over the contexts.

    The first candidates are contexts, the others the negatives that they share. For each context, with p the
    softmax over -d^2 scale of it and the negatives, the descent direction at the source is
    sum (delta - p) d / sinh(d) (x_w - cosh(d) x_u), and its mirror image at each candidate; a negative's
    coefficient is the sum over the contexts.
    """
    d = points.shape[1] - 1
    for k in range(size):
        node = candidates[k]
        z = points[source, d] * points[node, d] - 1.0
        for i in range(d):
            z -= points[source, i] * points[node, i]
        if z > _SERIES:  # log loses at most 1e-13 there, and costs a fraction of log1p
            root = np.sqrt(z * (z + 2.0))
            distance = np.log(1.0 + z + root)
            weights[k] = distance / root
            stiffness[k] = -distance * distance * scale
        else:  # arcosh(1 + z)^2 = 2 z - z^2 / 3 + ...
            z = max(z, 0.0)
            weights[k] = 1.0 - z / 3.0
            stiffness[k] = (z / 3.0 - 2.0) * z * scale
    highest = -np.inf
    for k in range(n_contexts, size):
        highest = max(highest, stiffness[k])
    total = 0.0  # of the negatives, in units of exp(highest)
    for k in range(n_contexts, size):
        stiffness[k] = np.exp(stiffness[k] - highest)
        total += stiffness[k]
    loss = 0.0
    share = 0.0  # a negative's p summed over the contexts, in units of its own exponential
    for k in range(n_contexts):
        ahead = stiffness[k] - highest
        if ahead > 0.0:  # so that no exponential overflows
            small = np.exp(-ahead)
            rest = total * small
            share += small / (1.0 + rest)
            away = rest / (1.0 + rest)
            loss += np.log1p(rest)
        else:
            own = np.exp(ahead)
            share += 1.0 / (own + total)
            away = total / (own + total)
            loss += np.log(own + total) - ahead
        stiffness[k] = away
        weights[k] *= away
    for k in range(n_contexts, size):
        stiffness[k] *= share
        weights[k] *= -stiffness[k]
    return loss


@njit(cache=True)
def _segment(
    points: Any, nodes: Any, length: int, negatives: Any, w: Any, g: int, owners: int, begin: int, end: int,
    window: int, n_negatives: int, scale: float, state: Any,
) -> None:  # fmt: skip
    """Fill the entries of segment `g`: positions [begin, end) of a walk."""
    columns = points.shape[1]
    sources, pulls, candidates = w.sources[g], w.pulls[g], w.candidates[g]
    weights, stiffness, n_entries = w.weights[g], w.stiffness[g], w.n_entries[g]
    entry_node, entry_source = w.entry_node[g], w.entry_source[g]
    entry_weight, entry_stiffness = w.entry_weight[g], w.entry_stiffness[g]
    slots, noise, exists, listed_from, listed, listed_slots, words, row_words = negatives
    n_entries[:] = 0
    sources[:] = -1
    loss = 0.0
    trained = 0
    skipped = 0
    for at in range(begin, min(end, length)):
        slot = at - begin
        source = nodes[at]
        count = 0
        for other in range(max(at - window, 0), min(at + window + 1, length)):
            if nodes[other] != source:
                candidates[count] = nodes[other]
                count += 1
        if count == 0:
            continue
        if not exists[source]:
            skipped += count
            continue
        state, size = draw_negatives(
            slots, noise, listed_from, listed, listed_slots, words, row_words, source, state, candidates,
            count, n_negatives,
        )  # fmt: skip
        loss += weigh(points, source, candidates, count, size, scale, weights, stiffness)
        trained += count
        sources[slot] = source
        pulls[slot, :] = 0.0
        for k in range(size):
            node = candidates[k]
            weight = weights[k]
            for i in range(columns):
                pulls[slot, i] += weight * points[node, i]
            pulls[slot, columns] += stiffness[k]
            owner = _owner(node, owners)
            entry = n_entries[owner]
            entry_node[owner, entry] = node
            entry_source[owner, entry] = source
            entry_weight[owner, entry] = weight
            entry_stiffness[owner, entry] = stiffness[k]
            n_entries[owner] = entry + 1
    w.losses[g] = loss
    w.tallies[g, 0] = trained
    w.tallies[g, 1] = skipped


@njit(cache=True, inline="always")
def _touch(stamp: Any, touched: Any, moved: Any, count: Any, node: Any, batch: Any) -> Any:
    """Start the node's sum if this batch has not touched it yet; return how many nodes it has touched."""
    if stamp[node] != batch:
        stamp[node] = batch
        touched[count] = node
        moved[node, :] = 0.0
        return count + 1
    return count


@njit(cache=True)
def _step(points: Any, node: int, tangent: Any, rate: float) -> bool:
    """Turn the sum in `tangent` into the new point, exp_x(rate * projected sum); tell if it was damped."""
    d = points.shape[1] - 1
    x = points[node]
    inner = -tangent[d] * x[d]
    for i in range(d):
        inner += tangent[i] * x[i]
    damped = rate * tangent[d + 1] > MAX_STIFFNESS
    if damped:
        rate = MAX_STIFFNESS / tangent[d + 1]
    square = 0.0
    for i in range(d + 1):
        tangent[i] = rate * (tangent[i] + inner * x[i])
        square += tangent[i] * tangent[i] if i < d else -tangent[i] * tangent[i]
    square = max(square, 0.0)
    if square < _SHORT:  # nearly every step; the first term left out is below 1e-16
        along = 1.0 + square * (1 / 2 + square * (1 / 24 + square * (1 / 720)))
        across = 1.0 + square * (1 / 6 + square * (1 / 120 + square * (1 / 5040)))
    else:
        norm = np.sqrt(square)
        along = np.cosh(norm)
        across = np.sinh(norm) / norm
    time = 1.0
    for i in range(d):
        tangent[i] = along * x[i] + across * tangent[i]
        time += tangent[i] * tangent[i]
    tangent[d] = np.sqrt(time)
    return damped


@njit(cache=True)
def _gather(points: Any, w: Any, owner: int, owners: int, segments: int, batch: int, rate: float) -> None:
    """Sum and move the nodes of one owner."""
    columns = points.shape[1]
    stamp, moved, touched = w.stamp, w.moved, w.touched[owner]
    count = 0
    for g in range(segments):
        sources, pulls = w.sources[g], w.pulls[g]
        for slot in range(sources.shape[0]):
            source = sources[slot]
            if source >= 0 and _owner(source, owners) == owner:
                count = _touch(stamp, touched, moved, count, source, batch)
                for i in range(columns + 1):
                    moved[source, i] += pulls[slot, i]
        entry_node, entry_source = w.entry_node[g, owner], w.entry_source[g, owner]
        entry_weight, entry_stiffness = w.entry_weight[g, owner], w.entry_stiffness[g, owner]
        for e in range(w.n_entries[g, owner]):
            node, other, weight = entry_node[e], entry_source[e], entry_weight[e]
            count = _touch(stamp, touched, moved, count, node, batch)
            for i in range(columns):
                moved[node, i] += weight * points[other, i]
            moved[node, columns] += entry_stiffness[e]
    for t in range(count):
        if _step(points, touched[t], moved[touched[t]], rate):
            w.n_damped[owner] += 1
    w.n_touched[owner] = count


@njit(cache=True)
def _publish(points: Any, w: Any) -> None:
    """Copy the moved points back; by one thread, since waking another takes longer than the copy."""
    for owner in range(w.n_touched.shape[0]):
        for t in range(w.n_touched[owner]):
            node = w.touched[owner, t]
            for i in range(points.shape[1]):
                points[node, i] = w.moved[node, i]


@njit(cache=True, parallel=True)
def train_batches(
    points: Any, indices: Any, nodes: Any, lengths: Any, negatives: Any, w: Any, segments_per_walk: int,
    first_batch: int, n_batches: int, batch_stamp: int, rates: Any, window: int, n_negatives: int,
    sigma: float, key: Any,
) -> Any:  # fmt: skip
    """Train `n_batches` batches of one block of walks.

    Parameters
    ----------
    points : float64 array of shape (N, d + 1)
        Hyperboloid points, moved in place.
    indices : int64 array of shape (B,)
        Which walks the block is of.
    nodes, lengths : int32 array of shape (B, L), int64 array of shape (B,)
        The nodes of each, and how many they are.
    negatives, w : Negatives, Workspace
        See there.
    segments_per_walk : int
        Into how many segments a walk is cut.
    first_batch, n_batches : int
        Which batches of the block.
    batch_stamp : int
        Number of the first batch in the whole training, unique and above 0.
    rates : float64 array of shape (n_batches,)
        Learning rate of each batch.
    window, n_negatives, sigma : int, int, float
        HEAT's c, m and sigma.
    key : uint64
        Key of the negatives' random streams.

    Returns
    -------
    (float, int, int)
        Sum of the losses, pairs trained, pairs skipped for want of a negative.
    """
    per_batch = w.sources.shape[0]
    positions = w.sources.shape[1]
    owners = w.n_touched.shape[0]
    n_walks = indices.shape[0]
    n_segments = n_walks * segments_per_walk
    scale = 0.5 / (sigma * sigma)
    loss = 0.0
    trained = 0
    skipped = 0
    for b in range(n_batches):
        offset = (first_batch + b) * per_batch
        segments = min(per_batch, n_segments - offset)
        for g in prange(segments):  # in uint64: without the casts all below is compiled twice
            walk = (offset + np.int64(g)) % n_walks
            begin = (offset + np.int64(g)) // n_walks * positions
            end = min(begin + positions, nodes.shape[1])
            state = stream(stream(key, indices[walk]), begin)
            _segment(
                points, nodes[walk], lengths[walk], negatives, w, np.int64(g), owners, begin, end, window,
                n_negatives, scale, state,
            )  # fmt: skip
        rate = rates[b] / (sigma * sigma)
        for owner in prange(owners):
            _gather(points, w, np.int64(owner), owners, segments, batch_stamp + b, rate)
        _publish(points, w)
        for g in range(segments):
            loss += w.losses[g]
            trained += w.tallies[g, 0]
            skipped += w.tallies[g, 1]
    return loss, trained, skipped
