"""Buckets: sort the pairs of a round of walks by the parts of their nodes, and train them.

An address packs a node's part (high bits) and its position there (the low `place_bits`). Hubs have a copy at
the first positions of every part; the part of their address is one beyond the last. A pair in the bucket of
parts p <= q is packed into one number: the position of the node in p, then that of the node in q. The rows
of a bucket are the nodes of p, then those of q; a bucket of one part has its nodes once.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.intrinsics import prefetch
from heat_neo4j._kernels.jit import njit
from heat_neo4j._kernels.pairs import MAX_DRAWS, has_pair, locate
from heat_neo4j._kernels.random import advance, draw_slot, mix, stream
from heat_neo4j._kernels.training import move_nodes, pull_segment

SPARE = 2  # extra draws per position, as some draws are rejected because the pair is in D
_S32 = np.uint64(32)


class BucketNodes(NamedTuple):
    """The n nodes of a bucket and their negative-sampling tables."""

    names: NDArray[np.int32]  # (n,): rows in the graph
    first: int  # number of nodes of the first part; n if there is only one part
    exists: NDArray[np.bool_]  # (n,): whether the node has any negative
    slots: NDArray[np.uint64]  # (n,): the alias table of each part
    list_of: NDArray[np.int32]  # (n,): index of the list that its negatives are drawn from; -1 for none
    listed_from: NDArray[np.int64]  # start of each list
    listed: NDArray[np.int32]  # rows of negatives in the other part
    listed_slots: NDArray[np.uint64]  # the alias table of each list
    words: NDArray[np.uint64]  # the set D, as in `PairSet`
    row_words: int


class Positions(NamedTuple):
    """Source positions with their contexts, in training order."""

    sources: NDArray[np.int32]  # rows
    begins: NDArray[np.int64]  # index of the first context in `contexts`
    counts: NDArray[np.int32]  # number of contexts
    strides: NDArray[np.int32]  # distance between successive contexts
    contexts: NDArray[np.int32]  # rows
    times: NDArray[np.float32]  # multiplicity of each context


class Draws(NamedTuple):
    """The first m + SPARE draws of each position, for the current and the next segment."""

    proposals: NDArray[np.int32]  # rows
    places: NDArray[np.int64]  # index of the pair's word in D
    masks: NDArray[np.uint64]  # the pair's bits in that word
    times: NDArray[np.float64]  # (K,): multiplicity of each context among the segment's candidates


@njit(cache=True, inline="always")
def bucket_number(first: Any, second: Any, n_parts: Any) -> Any:
    """Return the index, among V (V + 1) / 2, of the bucket of parts first <= second."""
    return ((first * (2 * n_parts - 1 - first)) >> 1) + second


@njit(cache=True, inline="always")
def _are_one(one: Any, other: Any, place: Any, n_hubs: Any) -> Any:
    """Return whether two addresses belong to one node; a hub has the same position in all parts."""
    return one == other or ((one ^ other) & place == 0 and np.int64(one & place) < n_hubs)


@njit(cache=True, nogil=True)
def count_pairs(
    walks: Any, nodes: Any, lengths: Any, window: int, address_of: Any, place_bits: int, n_parts: int,
    n_hubs: int, key: Any, addresses: Any, begins: Any,
) -> None:  # fmt: skip
    """Count the pairs of some walks by bucket, and write the addresses of their nodes.

    Each visit of a walk to a hub uses the copy in a random part, drawn from `key` and the walk's number in
    `walks`. Pairs are unordered. `begins`, one longer than the number of buckets, receives the start of each
    bucket's pairs after sorting.
    """
    bits = np.uint32(place_bits)
    place = np.uint32((1 << place_bits) - 1)
    begins[:] = 0
    for i in range(nodes.shape[0]):
        length = lengths[i]
        state = stream(key, walks[i])
        for a in range(length):
            address = address_of[nodes[i, a]]
            if np.int64(address >> bits) == n_parts:
                part = ((mix(advance(state, a)) >> _S32) * np.uint64(n_parts)) >> _S32
                address = np.uint32(part << np.uint64(place_bits)) | (address & place)
            addresses[i, a] = address
        for a in range(length):
            one = addresses[i, a]
            part_of_one = np.int64(one >> bits)
            for b in range(a + 1, min(a + window + 1, length)):
                other = addresses[i, b]
                if not _are_one(one, other, place, n_hubs):
                    part_of_other = np.int64(other >> bits)
                    bucket = bucket_number(
                        min(part_of_one, part_of_other), max(part_of_one, part_of_other), n_parts
                    )
                    begins[bucket + 1] += 1
    for bucket in range(1, begins.shape[0]):
        begins[bucket] += begins[bucket - 1]


@njit(cache=True, nogil=True)
def place_pairs(
    addresses: Any, lengths: Any, window: int, place_bits: int, n_parts: int, n_hubs: int, ends: Any,
    pairs: Any,
) -> None:  # fmt: skip
    """Write the pairs of some walks sorted by bucket, in the order of the walks within a bucket.

    `ends` holds the start of each bucket before, and its end afterwards.
    """
    bits = np.uint32(place_bits)
    place = np.uint32((1 << place_bits) - 1)
    for i in range(addresses.shape[0]):
        length = lengths[i]
        for a in range(length):
            one = addresses[i, a]
            for b in range(a + 1, min(a + window + 1, length)):
                other = addresses[i, b]
                if _are_one(one, other, place, n_hubs):
                    continue
                swapped = (other >> bits) < (one >> bits)
                low = other if swapped else one
                high = one if swapped else other
                bucket = bucket_number(np.int64(low >> bits), np.int64(high >> bits), n_parts)
                at = ends[bucket]
                pairs[at] = (np.uint64(low & place) << np.uint64(place_bits)) | np.uint64(high & place)
                ends[bucket] = at + 1


@njit(cache=True, nogil=True)
def group_pairs(
    pairs: Any, place_bits: int, second: int, most: int, most_times: int, key: Any, starts: Any, ends: Any,
    by_context: Any, positions: Any,
) -> int:  # fmt: skip
    """Group the pairs of a bucket, in both directions, by source; return the number of positions.

    `second` is the row of the first node of the second part, 0 if there is only one part. Up to `most_times`
    equal pairs are merged. A source's contexts are spread evenly over the fewest positions with at most
    `most` contexts each; equal contexts go to different positions. Positions are shuffled by `key`. `starts`
    (n + 1 entries), `ends` (n) and `by_context` (one per pair and direction) are scratch. `positions` has
    room for that many contexts and for all positions.
    """
    sources, begins, counts, strides, contexts, times = positions
    bits = np.uint64(place_bits)
    place = np.uint64((1 << place_bits) - 1)
    n = starts.shape[0] - 1
    starts[:] = 0
    for k in range(pairs.shape[0]):
        pair = np.uint64(pairs[k])
        starts[np.int64(pair >> bits) + 1] += 1
        starts[np.int64(pair & place) + second + 1] += 1
    for row in range(n):
        starts[row + 1] += starts[row]
    for row in range(n):
        ends[row] = starts[row]
    for k in range(pairs.shape[0]):
        pair = np.uint64(pairs[k])
        one, other = np.int64(pair >> bits), np.int64(pair & place) + second
        by_context[ends[other]] = one
        ends[other] += 1
        by_context[ends[one]] = other
        ends[one] += 1
    for row in range(n):
        ends[row] = starts[row]
    for context in range(n):
        for k in range(starts[context], starts[context + 1]):
            source = by_context[k]
            end = ends[source]
            if end > starts[source] and contexts[end - 1] == context and times[end - 1] < most_times:
                times[end - 1] += np.float32(1.0)
            else:
                contexts[end] = context
                times[end] = 1.0
                ends[source] = end + 1
    n_positions = 0
    for row in range(n):
        count = ends[row] - starts[row]
        shares = (count + most - 1) // most
        for share in range(shares):
            # Inside-out shuffle: insert at a random index, and move the entry there to the end.
            drawn = np.int64(((mix(stream(key, n_positions)) >> _S32) * np.uint64(n_positions + 1)) >> _S32)
            sources[n_positions] = sources[drawn]
            begins[n_positions] = begins[drawn]
            counts[n_positions] = counts[drawn]
            strides[n_positions] = strides[drawn]
            sources[drawn] = row
            begins[drawn] = starts[row] + share
            counts[drawn] = (count - share + shares - 1) // shares
            strides[drawn] = shares
            n_positions += 1
    return n_positions


@njit(cache=True, error_model="numpy")
def _propose(
    positions: Any, begin: int, end: int, n_negatives: int, nodes: Any, key: Any, draws: Any, row: int
) -> None:
    """Make the first draws of positions [begin, end), stored from `row` on, and prefetch their words of D."""
    at_source = positions.sources
    names, first, slots = nodes.names, nodes.first, nodes.slots
    words, row_words = nodes.words, nodes.row_words
    proposals, places, masks = draws.proposals, draws.places, draws.masks
    n, n_words = names.shape[0], words.shape[0]
    drawn = n_negatives + SPARE
    for at in range(begin, end):
        source, state = at_source[at], stream(key, at)
        base = first if source < first < n else 0
        size = n - base if source < first else first
        for i in range(drawn):
            v = base + draw_slot(slots, base, size, advance(state, i + 1))
            proposals[row + i] = v
            places[row + i], masks[row + i] = locate(row_words, n_words, names[source], names[v])
            prefetch(words, places[row + i])
        row += drawn


@njit(cache=True, error_model="numpy")
def _draw(
    positions: Any, begin: int, end: int, n_negatives: int, nodes: Any, key: Any, draws: Any, row: int,
    sources: Any, contexts: Any, ends: Any, candidates: Any, times: Any, tally: Any,
) -> int:  # fmt: skip
    """Write the candidates of positions [begin, end), whose first draws are stored from `row` on.

    Returns the number of positions with candidates.
    """
    at_source, at_begin, at_count, at_stride, all_contexts, all_times = positions
    names, first, exists, slots, list_of, listed_from, listed, listed_slots, words, row_words = nodes
    proposals, places, masks, _ = draws
    n = names.shape[0]
    drawn = n_negatives + SPARE
    row -= drawn
    used: Any = 0
    slot: Any = 0
    trained = skipped = np.int64(0)
    for at in range(begin, end):
        row += drawn
        source, count = at_source[at], np.int64(at_count[at])
        own_list = list_of[source]
        is_listed = own_list >= 0
        if not exists[source] or (is_listed and listed_from[own_list + 1] == listed_from[own_list]):
            for i in range(count):
                skipped += np.int64(all_times[at_begin[at] + i * at_stride[at]])
            continue
        context, stride = at_begin[at], np.int64(at_stride[at])
        for i in range(count):
            candidates[used + i] = all_contexts[context]
            times[used + i] = all_times[context]
            trained += np.int64(all_times[context])
            context += stride
        used += count
        state, last = stream(key, at), used + n_negatives
        if is_listed:
            list_begin = listed_from[own_list]
            list_size = listed_from[own_list + 1] - list_begin
            for i in range(n_negatives):
                place = draw_slot(listed_slots, list_begin, list_size, advance(state, i + 1))
                candidates[used + i] = listed[list_begin + place]
            used = last
        base = first if source < first < n else 0
        size = n - base if source < first else first
        name = names[source]
        failed: Any = 0
        k: Any = 0
        while used < last:
            if k < drawn:
                v = np.int64(proposals[row + k])
                is_new = np.int64(words[places[row + k]] & masks[row + k] != masks[row + k])
            else:
                v = base + draw_slot(slots, base, size, advance(state, k + 1))
                is_new = np.int64(not has_pair(words, row_words, name, names[v]))
            k += 1
            suits = np.int64(names[v] != name) & (is_new | np.int64(failed == MAX_DRAWS))
            candidates[used] = v
            used += suits
            failed = min(failed + 1, MAX_DRAWS) * (1 - suits)
        sources[slot] = source
        contexts[slot] = count
        ends[slot] = used
        slot += 1
    tally[0] += trained
    tally[1] += skipped
    return slot


@njit(cache=True, error_model="numpy", nogil=True)
def train_bucket(
    points: Any, time: int, nodes: Any, positions: Any, n_positions: int, w: Any, draws: Any,
    rate: float, last_rate: float, n_negatives: int, sigma: float, key: Any,
) -> None:  # fmt: skip
    """Train the positions of a bucket in batches, with a rate that decays linearly to `last_rate`.

    `points`, one row per node of `nodes`, are updated in place. `w` is a `Workspace` with one owner; `draws`
    is scratch.
    """
    segments, in_segment = w.source_points.shape[0], w.source_points.shape[1]
    per_batch = segments * in_segment
    n_batches = (n_positions + per_batch - 1) // per_batch
    scale = 0.5 / (sigma * sigma)
    w.stamp[:] = 0
    half = in_segment * (n_negatives + SPARE)
    _propose(positions, 0, min(in_segment, n_positions), n_negatives, nodes, key, draws, 0)
    row = 0
    for b in range(n_batches):
        filled = 0
        for g in range(segments):
            begin = b * per_batch + g * in_segment
            end = min(begin + in_segment, n_positions)
            if begin >= end:
                break
            _propose(
                positions, end, min(end + in_segment, n_positions), n_negatives, nodes, key, draws, half - row
            )
            w.slots[g] = _draw(
                positions, begin, end, n_negatives, nodes, key, draws, row, w.sources[g], w.contexts[g],
                w.ends[g], w.candidates[g], draws.times, w.tallies[g],
            )  # fmt: skip
            pull_segment(points, time, scale, w, g, 0, draws.times)
            filled += 1
            row = half - row
        step = rate + (last_rate - rate) * (b / n_batches)
        move_nodes(points, time, w, 0, filled, b + 1, step / (sigma * sigma), 0)
