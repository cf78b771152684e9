"""Riemannian gradient descent on the hyperboloid in frozen batches, deterministic for any number of threads.

A batch holds one short segment each of many walks: a round takes the first segment of every walk, then the
second, and so on. (With whole walks, a two-node component would take one step for about a hundred identical
pairs, drift apart, and training could diverge.)

A team of threads runs `train_batches`. The first half of a batch is parallel over segments. With frozen
coordinates, it draws the negatives and computes the softmax coefficient of every (pair, candidate), in stages
for all positions of a segment. A stage is a loop over about a hundred candidates, which the compiler
vectorises. The second half is parallel over nodes: each node sums its tangent vector in the order of the
segments, and takes one exponential map. The thread that owns a node does not affect the order of its sum.

The sum of many pairs at frozen coordinates can overshoot at a hub, or in a two-node component that a whole
walk alternates between. Each candidate at distance d pulls or pushes with stiffness |delta - p| along its
geodesic, and |delta - p| d coth(d) across it (the Hessian of d^2 / 2). If rate * (total stiffness along)
exceeds _MAX_ALONG at a node, its step is shortened to that limit ("damped", and counted), and further if
rate * (total stiffness across) exceeds _MAX_ACROSS. The second limit alone does not trigger damping: a node
that is pulled less as a source, but pushed as before as a negative, would drift away.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.elementary import cosh, exp, log, sinh
from heat_neo4j._kernels.hierarchy import draw_relatives
from heat_neo4j._kernels.intrinsics import prefetch, prefetch_to_write
from heat_neo4j._kernels.jit import njit
from heat_neo4j._kernels.pairs import draw_negatives
from heat_neo4j._kernels.random import stream
from heat_neo4j._kernels.vectors import blend_rows, dot_rows
from heat_neo4j._kernels.worksharing import finish_pieces, next_phase, next_piece

_SERIES = 1e-6  # z below which a series gives the distance
_LARGE = 1e250  # a running product above this is replaced by its logarithm
AHEAD = 12  # prefetch distance; lists are padded by that many entries
_SOON = 4  # prefetch distance of data whose index depends on an earlier prefetch
_FETCHED = 4  # entries per prefetch
_OWNED = np.uint64(3)  # nodes are assigned to owners in blocks of 8, so that cache lines have one owner
_OWNER_HASH = np.uint64(0x9E3779B1)
_HASH_BITS = np.uint64(0xFFFFFFFF)
_U32 = np.uint64(32)
_MAX_ALONG = 1.0  # a step reaches the mean of the attracting points, if that is near
_MAX_ACROSS = 1.9  # from 2 on, a step overshoots by more than the distance, and training diverges
_MOVED = 128  # nodes moved at a time; they fit the L1 cache
_SHORT = 0.03  # maximum squared step length for the series
_S32 = np.int64(32)
_LOW_32 = np.int64(0xFFFFFFFF)


class Workspace(NamedTuple):
    """Buffers of one batch, reused by all batches.

    G segments of at most P positions and K candidates each; T threads; O owners of disjoint sets of nodes; at
    most R nodes per owner and batch; width D = `padded_width(d + 1)`. P' and O' are P and O padded to cache
    lines, to avoid false sharing.
    """

    owners: int  # O
    slots: NDArray[np.int64]  # (G,): number of positions with candidates; they come first
    sources: NDArray[np.int32]  # (G, P'): the node at each position
    source_points: NDArray[np.float64]  # (G, P, D): a copy of its point, as nodes move before others are done
    contexts: NDArray[np.int64]  # (G, P'): number of its candidates that are contexts
    ends: NDArray[np.int64]  # (G, P'): end of its candidates
    candidates: NDArray[np.int32]  # (G, K): the contexts of each position, then its negatives
    pulls: NDArray[np.float64]  # (G, P, D): tangent sum of each source
    pull_stiffness: NDArray[np.float64]  # (G, P, 2): its stiffness, along the geodesics and across them
    proposals: NDArray[np.int32]  # (T, RING): nodes drawn but not yet tried as negatives
    mirror: NDArray[np.float64]  # (T, 8, D): a source point, spatial part negated; 7 rows are padding
    scratch: NDArray[np.float64]  # (T, 4, K): intermediate values of a segment
    entry_ends: NDArray[np.int64]  # (G, O'): end of each owner's entries
    entry_nodes: NDArray[np.int64]  # (G, K): the node to move (high half), its source's position (low)
    entry_forces: NDArray[np.float64]  # (G, K, 3): (delta - p) d / sinh(d); stiffness along and across
    losses: NDArray[np.float64]  # (G,): sum over the pairs so far
    tallies: NDArray[np.int64]  # (G, 2): pairs trained so far, and skipped for lack of negatives
    stamp: NDArray[np.int64]  # (N,): the last batch that touched it (high half), index in `touched` (low)
    touched: NDArray[np.int32]  # (T, R): nodes of the owner that a thread processes
    tangents: NDArray[np.float64]  # (T, R, D): their tangent sums
    stiffness: NDArray[np.float64]  # (T, R, 2): their stiffness, along the geodesics and across them
    factors: NDArray[np.float64]  # (T, 2, R): coefficients of the point and of its tangent
    n_damped: NDArray[np.int64]  # (T,): steps damped so far
    frozen: NDArray[np.bool_]  # (N,): mask of nodes that do not move; (0,) if all move


@njit(cache=True, inline="always")
def _owner_of(node: Any, owners: Any) -> Any:
    """Return the owner of a node; hashed, so that hubs are spread."""
    hashed = ((np.uint64(node) >> _OWNED) * _OWNER_HASH) & _HASH_BITS
    return np.int64((hashed * np.uint64(owners)) >> _U32)


@njit(cache=True, error_model="numpy")
def _draw(
    nodes: Any, length: int, begin: int, end: int, window: int, n_negatives: int, negatives: Any,
    state: Any, proposals: Any, sources: Any, contexts: Any, ends: Any, candidates: Any, tally: Any,
) -> int:  # fmt: skip
    """Write the candidates of positions [begin, end) of a walk; return the number of positions with any."""
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
    """Copy the source points; write z = cosh(distance) - 1 of each candidate.

    Also prefetches the entries that `_sort` overwrites, which another thread has read.
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
    """Return ln(product); `log` itself is inlined, and so compiled, at each call."""
    return log(product)


@njit(cache=True, inline="always")
def _power(base: Any, exponent: Any) -> Any:
    """Return base ** exponent for exponents from 0 to 7."""
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

    A position's first candidates are its contexts, the others the negatives that they share. For each
    context, with p the softmax over -d^2 scale of it and the negatives, the descent direction at the source
    is sum (delta - p) d / sinh(d) (x_w - cosh(d) x_u), and its mirror image at each candidate; a negative's
    coefficient is the sum over the contexts.

    `z` holds cosh(d) - 1 of the K candidates. `weights` and `stiffness` receive (delta - p) d / sinh(d) and
    abs(delta - p); `ahead` is scratch. `contexts` holds the number of contexts of each of `n_slots`
    positions, `ends` the end of its candidates. `scale` is 1 / (2 sigma^2). `times`, 1 to 7, holds the
    multiplicity of each context; None means 1.
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
        highest = -np.inf  # over the negatives
        for k in range(begin + contexts[slot], ends[slot]):
            highest = max(highest, ahead[k])
        for k in range(begin, ends[slot]):
            ahead[k] -= highest
        begin = ends[slot]
    for k in range(size):
        stiffness[k] = exp(-abs(ahead[k]))
    loss = 0.0
    product = 1.0  # of the arguments of the losses' logarithms
    begin = 0
    for slot in range(n_slots):
        first_negative, end = begin + contexts[slot], ends[slot]
        total = 0.0  # over the negatives, in units of exp(highest)
        for k in range(first_negative, end):
            total += stiffness[k]
        share = 0.0  # a negative's p summed over the contexts, in units of its own exponential
        for k in range(begin, first_negative):
            # In units of the larger of the context's and the highest negative's exponential: no overflow.
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
    """Return the stiffness across the geodesic: abs(delta - p) d coth(d), with z = cosh(d) - 1."""
    return abs(weight) * (1.0 + z)


@njit(cache=True, error_model="numpy")
def _pull(
    points: Any, n_slots: int, ends: Any, candidates: Any, z: Any, weights: Any, stiffness: Any, pulls: Any,
    pull_stiffness: Any,
) -> None:  # fmt: skip
    """Sum the forces of each position's candidates on its source."""
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
    """Write one entry per candidate, stably sorted by owner."""
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
    """Fill the entries of segment `g`, whose candidates are drawn; `times` as in `softmax`."""
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
    """Return the node's index among those touched in this batch, and their number; initialise its sum."""
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
    """Move points to exp_x(rate * projected sum in `tangents`); return the number of damped steps.

    Each stage runs over all points, because within one point every result depends on the previous one.
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
            if square < _SHORT:  # nearly every step; the first omitted term is below 1e-17
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
    """Sum the forces on the nodes of one owner and move them, except frozen ones."""
    owners, frozen = w.owners, w.frozen
    some_frozen = frozen.shape[0] > 0
    stamp, touched, tangents, stiffness = w.stamp, w.touched[thread], w.tangents[thread], w.stiffness[thread]
    count = np.int64(0)  # a literal 0 would compile another specialisation of every callee
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


@njit(cache=True, error_model="numpy")
def move_share(
    points: Any, time: int, w: Any, shared: Any, phase: int, segments: int, batch: int, rate: float,
    thread: int, n_threads: int,
) -> None:  # fmt: skip
    """Move the nodes of the owners that this thread of the team gets."""
    done = 0
    owner = next_piece(shared, phase, w.owners, thread, n_threads)
    while owner >= 0:
        move_nodes(points, time, w, owner, segments, batch, rate, thread)
        done += 1
        owner = next_piece(shared, phase, w.owners, thread, n_threads)
    finish_pieces(shared, done, w.owners)


@njit(cache=True, error_model="numpy", nogil=True)
def train_batches(
    points: Any, time: int, indices: Any, nodes: Any, lengths: Any, w: Any, positions: int, n_segments: int,
    first_batch: int, batch_stamp: int, rates: Any, sigma: float, key: Any, negatives: Any, window: int,
    closure: Any, n_children: int, n_proposals: int, n_negatives: int, shared: Any, thread: int,
    n_threads: int,
) -> None:  # fmt: skip
    """Train some batches of one block of walks. Run by a team.

    `points`, shape (N, D) with D a multiple of 4, are updated in place; columns after `time` are 0. The block
    consists of walks `indices`, shape (B,), with `nodes`, shape (B, L), and `lengths`. A segment has
    `positions` positions, the block `n_segments` segments. `first_batch` counts within the block,
    `batch_stamp` over the whole training, from 1 to below 2**31. `rates` holds the batches' learning rates.
    `window`, `n_negatives` and `sigma` are HEAT's c, m and sigma; `key` seeds the negatives' random streams.

    Either `negatives` or `closure` is None. With `closure`, the first nodes of walks are the sources; see
    `draw_relatives`.
    """
    per_batch = w.sources.shape[0]
    n_walks = indices.shape[0]
    scale = 0.5 / (sigma * sigma)
    phase = next_phase(shared, -1)
    while 0 <= phase < 2 * rates.shape[0]:
        b = phase >> 1
        offset = (first_batch + b) * per_batch
        segments = min(per_batch, n_segments - offset)
        if phase & 1 == 0:
            done = 0
            g = next_piece(shared, phase, segments, thread, n_threads)
            while g >= 0:
                if negatives is not None:
                    walk = (offset + g) % n_walks
                    begin = (offset + g) // n_walks * positions
                    end = min(begin + positions, nodes.shape[1])
                    state = stream(stream(key, indices[walk]), begin)
                    w.slots[g] = _draw(
                        nodes[walk], lengths[walk], begin, end, window, n_negatives, negatives, state,
                        w.proposals[thread], w.sources[g], w.contexts[g], w.ends[g], w.candidates[g],
                        w.tallies[g],
                    )  # fmt: skip
                if closure is not None:
                    begin = (offset + g) * positions
                    w.slots[g] = draw_relatives(
                        points, time, nodes, lengths, begin, min(begin + positions, n_walks), closure,
                        n_negatives, n_children, n_proposals, key, w.sources[g], w.contexts[g], w.ends[g],
                        w.candidates[g], w.tallies[g],
                    )  # fmt: skip
                pull_segment(points, time, scale, w, g, thread, None)
                done += 1
                g = next_piece(shared, phase, segments, thread, n_threads)
            finish_pieces(shared, done, segments)
        else:
            rate = rates[b] / (sigma * sigma)
            move_share(points, time, w, shared, phase, segments, batch_stamp + b, rate, thread, n_threads)
        phase = next_phase(shared, phase)
