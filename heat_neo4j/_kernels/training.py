"""Riemannian descent on the hyperboloid in frozen batches, the same bits for any number of threads.

A batch is one short segment each of many walks: a round takes the first segment of every walk, then the
second, and so on. (With whole walks, a component of two nodes, whose pairs in a walk are all the same, would
get one step for some hundred of them, lose hold of its nodes, and training could diverge.)

A team of threads runs `train_batches`. First half of a batch, shared out by segments: with the coordinates
frozen, draw the negatives and compute the softmax coefficient of every (pair, candidate), stage by stage for
all positions of a segment: a stage is a loop over some hundred candidates, which the compiler turns into
vector instructions. Second half, shared out by nodes: each node sums its own tangent vector in the order of
the segments, and takes one exponential map. Which thread owns a node never changes the order of that node's
sum.

The sum of many pairs from frozen coordinates can overshoot at a hub, or in a component of two nodes that a
whole walk alternates between. Each candidate at distance d pulls or pushes with stiffness |delta - p| along
its geodesic, and |delta - p| d coth(d) across it (the Hessian of d^2 / 2). Where rate * (sum of the stiffness
along that a node feels in the batch) exceeds _MAX_ALONG, its step is shortened to that ("damped", and
counted), and further if rate * (sum of the stiffness across) would exceed _MAX_ACROSS. The latter alone damps
nobody: a node that is pulled less as a source, and pushed as before as a negative of others, drifts away.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.elementary import cosh, exp, log, sinh
from heat_neo4j._kernels.intrinsics import prefetch, prefetch_to_write
from heat_neo4j._kernels.jit import njit
from heat_neo4j._kernels.pairs import draw_negatives
from heat_neo4j._kernels.random import stream
from heat_neo4j._kernels.vectors import blend_rows, dot_rows
from heat_neo4j._kernels.worksharing import finish_pieces, next_phase, next_piece

_SERIES = 1e-6  # z below which a series gives the distance
_LARGE = 1e250  # of a product, before its logarithm is taken
AHEAD = 12  # how far ahead of its use memory is fetched; lists are that much longer than what they hold
_SOON = 4  # likewise, where a stamp that was fetched before tells the place
_FETCHED = 4  # entries, with one fetch
_OWNED = np.uint64(3)  # nodes go to owners by blocks of 8: neighbours in memory have one owner
_OWNER_HASH = np.uint64(0x9E3779B1)
_HASH_BITS = np.uint64(0xFFFFFFFF)
_U32 = np.uint64(32)
_MAX_ALONG = 1.0  # a node reaches the mean of what pulls it, if that is near
_MAX_ACROSS = 1.9  # from 2 on a node goes past it by more than it was away, and training diverges
_MOVED = 128  # nodes that are moved at a time: they fit the nearest cache
_SHORT = 0.03  # squared length of a step
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
def _owner_of(node: Any, owners: Any) -> Any:
    """Return which of `owners` moves the node; hashed, so that hubs spread."""
    hashed = ((np.uint64(node) >> _OWNED) * _OWNER_HASH) & _HASH_BITS
    return np.int64((hashed * np.uint64(owners)) >> _U32)


@njit(cache=True, error_model="numpy")
def _draw(
    nodes: Any, length: int, begin: int, end: int, window: int, n_negatives: int, negatives: Any,
    state: Any, proposals: Any, sources: Any, contexts: Any, ends: Any, candidates: Any, tally: Any,
) -> int:  # fmt: skip
    """Write the candidates of positions [begin, end) of a walk; return how many positions have some."""
    slots, exists, listed_from, listed, listed_slots, words, row_words = negatives
    drawn = proposed = used = slot = 0
    trained = skipped = np.int64(0)
    for at in range(begin, min(end, length)):
        source = nodes[at]
        count: Any = 0
        for other in range(max(at - window, 0), min(at + window + 1, length)):
            candidates[used + count] = nodes[other]
            count += np.int64(nodes[other] != source)
        if count == 0:
            continue
        if not exists[source]:
            skipped += count
            continue
        drawn, proposed = draw_negatives(
            slots, listed_from, listed, listed_slots, words, row_words, source, state, drawn, proposed,
            proposals, candidates, used + count, n_negatives,
        )  # fmt: skip
        used += count + n_negatives
        trained += count
        sources[slot] = source
        contexts[slot] = count
        ends[slot] = used
        slot += 1
    tally[0] += trained
    tally[1] += skipped
    return slot


@njit(cache=True, error_model="numpy")
def _measure(
    points: Any, time: int, n_slots: int, sources: Any, ends: Any, candidates: Any, source_points: Any,
    mirror: Any, z: Any, entry_nodes: Any, entry_forces: Any,
) -> None:  # fmt: skip
    """Set the source points aside; write z = cosh(distance) - 1 of each candidate.

    The entries are fetched meanwhile: `_sort` writes them all over, and another thread has read them.
    """
    k = 0
    for slot in range(n_slots):
        source = sources[slot]
        for i in range(points.shape[1]):
            source_points[slot, i] = points[source, i]
            mirror[0, i] = -points[source, i]
        mirror[0, time] = points[source, time]
        while k < ends[slot]:
            prefetch(points, candidates[k + AHEAD])
            if k & (_FETCHED - 1) == 0:
                prefetch_to_write(entry_nodes, k)
                prefetch_to_write(entry_forces, k)
            z[k] = dot_rows(mirror, 0, points, candidates[k]) - 1.0
            k += 1


@njit(cache=True, error_model="numpy")
def _log(product: float) -> float:
    """Return ln(product); `log` itself is compiled anew at each call."""
    return log(product)


@njit(cache=True, inline="always")
def _power(base: Any, exponent: Any) -> Any:
    """Return a power; the exponent is 0 to 7."""
    square = base * base
    once = base if exponent & 1 else 1.0
    twice = square if exponent & 2 else 1.0
    return once * twice * (square * square if exponent & 4 else 1.0)


@njit(cache=True, error_model="numpy")
def softmax(
    z: Any, n_slots: int, contexts: Any, ends: Any, scale: float, weights: Any, stiffness: Any, ahead: Any,
    times: Any,
) -> float:  # fmt: skip
    """Write each candidate's coefficient and stiffness; return the loss, summed over the contexts.

    A position's first candidates are contexts, the others the negatives that they share. For each context,
    with p the softmax over -d^2 scale of it and the negatives, the descent direction at the source is sum
    (delta - p) d / sinh(d) (x_w - cosh(d) x_u), and its mirror image at each candidate; a negative's
    coefficient is the sum over the contexts.

    Of the K candidates, `z` has cosh(d) - 1; `weights` and `stiffness` receive (delta - p) d / sinh(d) and
    abs(delta - p); `ahead` is scratch. Each of `n_slots` positions has as many contexts as `contexts` says,
    and its candidates end at `ends`. `scale` is 1 / (2 sigma^2). Each of K `times`, 1 to 7, says how many
    pairs a context stands for; with None, each stands for one.
    """
    size = ends[n_slots - 1]
    for k in range(size):
        above = max(z[k], _SERIES)
        root = np.sqrt(above * (above + 2.0))
        distance = log(1.0 + above + root)  # loses at most 1e-13 there
        below = max(z[k], 0.0)
        near = z[k] < _SERIES  # arcosh(1 + z)^2 = 2 z - z^2 / 3 + ...
        weights[k] = 1.0 - below / 3.0 if near else distance / root
        ahead[k] = (below / 3.0 - 2.0) * below * scale if near else -distance * distance * scale
    begin = 0
    for slot in range(n_slots):
        highest = -np.inf  # of the negatives
        for k in range(begin + contexts[slot], ends[slot]):
            highest = max(highest, ahead[k])
        for k in range(begin, ends[slot]):
            ahead[k] -= highest
        begin = ends[slot]
    for k in range(size):
        stiffness[k] = exp(-abs(ahead[k]))
    loss = 0.0
    product = 1.0  # of what the losses are logarithms of
    begin = 0
    for slot in range(n_slots):
        first_negative, end = begin + contexts[slot], ends[slot]
        total = 0.0  # of the negatives, in units of exp(highest)
        for k in range(first_negative, end):
            total += stiffness[k]
        share = 0.0  # a negative's p summed over the contexts, in units of its own exponential
        for k in range(begin, first_negative):
            # In units of the larger of the context's and the highest negative's, so that nothing overflows.
            leads = ahead[k] > 0.0
            own = 1.0 if leads else stiffness[k]
            unit = stiffness[k] if leads else 1.0
            rest = total * unit
            away = rest / (own + rest)
            if times is None:
                share += unit / (own + rest)
                loss -= min(ahead[k], 0.0)
                product *= own + rest
            else:
                share += times[k] * unit / (own + rest)
                away *= times[k]
                loss -= times[k] * min(ahead[k], 0.0)
                product *= _power(own + rest, np.int64(times[k]))
            if product > _LARGE:
                loss += _log(product)
                product = 1.0
            stiffness[k] = away
            weights[k] *= away
        for k in range(first_negative, end):
            stiffness[k] *= share
            weights[k] *= -stiffness[k]
        begin = end
    return loss + _log(product)


@njit(cache=True, error_model="numpy")
def _across(weight: float, z: float) -> float:
    """Return how stiff a pull is across its geodesic: abs(delta - p) d coth(d), with z = cosh(d) - 1."""
    return abs(weight) * (1.0 + z)


@njit(cache=True, error_model="numpy")
def _pull(
    points: Any, n_slots: int, ends: Any, candidates: Any, z: Any, weights: Any, stiffness: Any, pulls: Any,
    pull_stiffness: Any,
) -> None:  # fmt: skip
    """Sum what the candidates of each position do to its source."""
    k = 0
    for slot in range(n_slots):
        for i in range(points.shape[1]):
            pulls[slot, i] = 0.0
        along = across = 0.0
        while k < ends[slot]:
            blend_rows(pulls, slot, 1.0, weights[k], points, candidates[k])
            along += stiffness[k]
            across += _across(weights[k], z[k])
            k += 1
        pull_stiffness[slot, 0] = along
        pull_stiffness[slot, 1] = across


@njit(cache=True, error_model="numpy")
def _sort(
    n_slots: int, ends: Any, candidates: Any, z: Any, weights: Any, stiffness: Any, owners: int,
    entry_ends: Any, entry_nodes: Any, entry_forces: Any,
) -> None:  # fmt: skip
    """Write an entry for each candidate, sorted by owner and within one in the order of the candidates."""
    entry_ends[:owners] = 0
    for k in range(ends[n_slots - 1]):
        entry_ends[_owner_of(candidates[k], owners)] += 1
    begin = 0
    for owner in range(owners):
        count = entry_ends[owner]
        entry_ends[owner] = begin
        begin += count
    k = 0
    for slot in range(n_slots):
        while k < ends[slot]:
            owner = _owner_of(candidates[k], owners)
            entry = entry_ends[owner]
            entry_nodes[entry] = (np.int64(candidates[k]) << _S32) | slot
            entry_forces[entry, 0] = weights[k]
            entry_forces[entry, 1] = stiffness[k]
            entry_forces[entry, 2] = _across(weights[k], z[k])
            entry_ends[owner] = entry + 1
            k += 1


@njit(cache=True, error_model="numpy")
def pull_segment(points: Any, time: int, scale: float, w: Any, g: int, thread: int, times: Any) -> None:
    """Fill the entries of segment `g`, whose candidates are drawn; `times` are those of `softmax`."""
    n_slots = w.slots[g]
    if n_slots == 0:
        w.entry_ends[g, : w.owners] = 0
        return
    sources, contexts, ends, candidates = w.sources[g], w.contexts[g], w.ends[g], w.candidates[g]
    scratch = w.scratch[thread]
    z, weights, stiffness, ahead = scratch[0], scratch[1], scratch[2], scratch[3]
    _measure(
        points, time, n_slots, sources, ends, candidates, w.source_points[g], w.mirror[thread], z,
        w.entry_nodes[g], w.entry_forces[g],
    )  # fmt: skip
    w.losses[g] += softmax(z, n_slots, contexts, ends, scale, weights, stiffness, ahead, times)
    _pull(points, n_slots, ends, candidates, z, weights, stiffness, w.pulls[g], w.pull_stiffness[g])
    _sort(
        n_slots, ends, candidates, z, weights, stiffness, w.owners, w.entry_ends[g], w.entry_nodes[g],
        w.entry_forces[g],
    )  # fmt: skip


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
    damped = 0
    for begin in range(0, count, _MOVED):
        end = min(begin + _MOVED, count)
        for t in range(begin, end):
            x = touched[t]
            prefetch_to_write(points, touched[t + AHEAD])
            inner = dot_rows(tangents, t, points, x) - 2.0 * tangents[t, time] * points[x, time]
            blend_rows(tangents, t, 1.0, inner, points, x)
        for t in range(begin, end):
            step = rate
            if rate * stiffness[t, 0] > _MAX_ALONG:
                step = min(_MAX_ALONG / stiffness[t, 0], _MAX_ACROSS / stiffness[t, 1])
                damped += 1
            square = dot_rows(tangents, t, tangents, t) - 2.0 * tangents[t, time] * tangents[t, time]
            square = max(step * step * square, 0.0)
            if square < _SHORT:  # nearly every step; the first term left out is below 1e-17
                even = 1 / 720 + square * (1 / 40320 + square * (1 / 3628800))
                odd = 1 / 5040 + square * (1 / 362880 + square * (1 / 39916800))
                along[t] = 1.0 + square * (1 / 2 + square * (1 / 24 + square * even))
                across[t] = step * (1.0 + square * (1 / 6 + square * (1 / 120 + square * odd)))
            else:
                norm = np.sqrt(square)
                along[t] = cosh(norm)
                across[t] = step * sinh(norm) / norm
        for t in range(begin, end):
            x = touched[t]
            blend_rows(points, x, along[t], across[t], tangents, t)
            points[x, time] = 0.0
        for t in range(begin, end):
            x = touched[t]
            points[x, time] = np.sqrt(1.0 + dot_rows(points, x, points, x))
    return damped


@njit(cache=True, error_model="numpy")
def move_nodes(
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
            if _owner_of(source, owners) == owner and not (some_frozen and frozen[source]):
                place, count = _place(stamp, touched, tangents, stiffness, count, source, batch)
                blend_rows(tangents, place, 1.0, 1.0, pulls, slot)
                stiffness[place, 0] += pull_stiffness[slot, 0]
                stiffness[place, 1] += pull_stiffness[slot, 1]
        source_points = w.source_points[g]
        entry_nodes, entry_forces = w.entry_nodes[g], w.entry_forces[g]
        begin = w.entry_ends[g, owner - 1] if owner > 0 else 0
        for e in range(begin, w.entry_ends[g, owner]):
            prefetch(stamp, entry_nodes[e + AHEAD] >> _S32)
            prefetch(tangents, stamp[entry_nodes[e + _SOON] >> _S32] & _LOW_32)
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

    `points`, shape (N, D) with D a multiple of 4, are moved in place; columns behind `time` are 0. The block
    is of the walks `indices`, shape (B,), with `nodes`, shape (B, L), and `lengths`; a segment has so many
    `positions`, a walk so many segments. `first_batch` counts in the block, `batch_stamp` in the whole
    training, from 1 on and below 2**31; `rates` are the learning rates of the batches. `window`,
    `n_negatives` and `sigma` are HEAT's c, m and sigma; `key` is that of the negatives' random streams.
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
                w.slots[g] = _draw(
                    nodes[walk], lengths[walk], begin, end, window, n_negatives, negatives, state,
                    w.proposals[thread], w.sources[g], w.contexts[g], w.ends[g], w.candidates[g],
                    w.tallies[g],
                )  # fmt: skip
                pull_segment(points, time, scale, w, g, thread, None)
                done += 1
                g = next_piece(shared, phase, segments, thread, n_threads)
            finish_pieces(shared, done, segments)
        else:
            rate = rates[b] / (sigma * sigma)
            owner = next_piece(shared, phase, owners, thread, n_threads)
            while owner >= 0:
                move_nodes(points, time, w, owner, segments, batch_stamp + b, rate, thread)
                done += 1
                owner = next_piece(shared, phase, owners, thread, n_threads)
            finish_pieces(shared, done, owners)
        phase = next_phase(shared, phase)
