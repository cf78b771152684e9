"""The set D of pairs in the walks, and sampling of negatives outside D.

D is a bit set. If N^2 bits fit the budget, each pair has its own bit and the set is exact. Otherwise D is a
Bloom filter with all bits of a pair in one 64-bit word (Putze, Sanders, Singler: "Cache-, hash- and
space-efficient Bloom filters", JEA 2009), which has false positives. In both cases a pair is a (word, mask),
and is present if all bits of the mask are set.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.intrinsics import atomic_add, atomic_or, prefetch
from heat_neo4j._kernels.jit import njit
from heat_neo4j._kernels.random import advance, alias_slots, draw_slot, mix, step, stream
from heat_neo4j._kernels.worksharing import next_index

RING = 128  # capacity of the buffer of draws; a power of 2
_PROPOSED = 32  # draws made at a time
_WALK_AHEAD = 4  # prefetch distance, in nodes of a walk
_BLOOM_BITS = 4  # bits per pair
# Consecutive rejected draws before one from D is accepted. Nodes with low acceptance rates use lists, so this
# happens only with a nearly full Bloom filter.
MAX_DRAWS = 200
_S6 = np.uint64(6)
_S32 = np.uint64(32)
_LOW_6 = np.uint64(63)
_LOW_32 = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)


class PairSet(NamedTuple):
    """The set D."""

    words: NDArray[np.uint64]  # the bits
    row_words: int  # words per source node of an exact set; 0 for a Bloom filter


class Negatives(NamedTuple):
    """The noise distribution over nodes, and D, which it must avoid."""

    slots: NDArray[np.uint64]  # (N,): alias table over all nodes, by occurrences ** exponent
    exists: NDArray[np.bool_]  # (N,): whether the node has any negative
    listed_from: NDArray[np.int64]  # (N + 1,): start of each node's list; empty if rejection is efficient
    listed: NDArray[np.int32]  # the listed negatives: all, or a sample
    listed_slots: NDArray[np.uint64]  # the alias table of each list
    words: NDArray[np.uint64]  # as in `PairSet`; parallel kernels accept only flat tuples
    row_words: int


@njit(cache=True, inline="always")
def locate(row_words: int, n_words: int, source: int, context: int) -> tuple[Any, Any]:
    """Return the index of a pair's word, and the mask of its bits."""
    if row_words > 0:
        bit = np.uint64(context)
        return source * row_words + np.int64(bit >> _S6), _ONE << (bit & _LOW_6)
    low = np.uint64(min(source, context))
    high = np.uint64(max(source, context))
    hashed = mix((low << _S32) ^ high)
    word = np.int64(((hashed >> _S32) * np.uint64(n_words)) >> _S32)
    mask = _ZERO
    hashed = mix(hashed)
    for _ in range(_BLOOM_BITS):
        mask |= _ONE << (hashed & _LOW_6)
        hashed >>= _S6
    return word, mask


@njit(cache=True, inline="always")
def has_pair(words: Any, row_words: Any, source: Any, context: Any) -> Any:
    """Return whether a pair is in D; like `contains`, but without the cost of unpacking the tuple."""
    word, mask = locate(row_words, words.shape[0], source, context)
    return (words[word] & mask) == mask


@njit(cache=True, inline="always")
def contains(pairs: Any, source: int, context: int) -> Any:
    """Return whether (source, context) is in D; a Bloom filter has false positives."""
    return has_pair(pairs.words, pairs.row_words, source, context)


@njit(cache=True, inline="always")
def _record(words: Any, row_words: Any, source: Any, context: Any) -> None:
    word, mask = locate(row_words, words.shape[0], source, context)
    if words[word] & mask != mask:
        atomic_or(words, word, mask)


@njit(cache=True)
def _record_walk(nodes: Any, length: int, window: int, words: Any, row_words: int) -> int:
    """Add the pairs of a walk to D; return their number, with multiplicity, in both directions."""
    total = 0
    for a in range(length):
        u = nodes[a]
        ahead = a + _WALK_AHEAD
        if ahead < length:
            for b in range(ahead + 1, min(ahead + window + 1, length)):
                prefetch(words, locate(row_words, words.shape[0], nodes[ahead], nodes[b])[0])
        for b in range(a + 1, min(a + window + 1, length)):
            v = nodes[b]
            if u == v:
                continue
            total += 2
            _record(words, row_words, u, v)
            if row_words > 0:  # a Bloom filter is symmetric
                _record(words, row_words, v, u)
    return total


@njit(cache=True, nogil=True)
def record_walks(
    nodes: Any, lengths: Any, window: int, words: Any, row_words: int, occurrences: Any, total: Any,
    shared: Any, thread: int, n_threads: int,
) -> None:  # fmt: skip
    """Add walks to D and to `occurrences`, and their number of pairs to total[0]. Run by a team.

    Pairs count with multiplicity, in both directions. Setting bits and adding integers commute, so the result
    does not depend on the threads.
    """
    n_pairs = 0
    i = next_index(shared)
    while i < lengths.shape[0]:
        n_pairs += _record_walk(nodes[i], lengths[i], window, words, row_words)
        for a in range(lengths[i]):
            atomic_add(occurrences, nodes[i, a], 1)
        i = next_index(shared)
    atomic_add(total, 0, n_pairs)


@njit(cache=True, nogil=True)
def open_weights(
    pairs: Any, weights: Any, nodes: Any, counts: Any, totals: Any, shared: Any, thread: int, n_threads: int
) -> None:
    """Count each node's negatives of positive weight, and sum their weights. Run by a team.

    `counts` and `totals`, arrays as long as `nodes`, receive the results.
    """
    n = weights.shape[0]
    i = next_index(shared)
    while i < nodes.shape[0]:
        u = nodes[i]
        count = 0
        total = 0.0
        for v in range(n):
            if v != u and weights[v] > 0.0 and not contains(pairs, u, v):
                count += 1
                total += weights[v]
        counts[i] = count
        totals[i] = total
        i = next_index(shared)


@njit(cache=True)
def _list_row(
    pairs: Any, weights: Any, u: int, count: int, key: np.uint64, listed: Any, listed_slots: Any
) -> None:
    """Fill the list of a node with its `count` negatives, or with a weighted sample if they do not fit."""
    negatives = np.empty(count, dtype=np.int32)
    size = 0
    for v in range(weights.shape[0]):
        if v != u and weights[v] > 0.0 and not contains(pairs, u, v):
            negatives[size] = v
            size += 1
    slots = alias_slots(weights[negatives])
    room = listed.shape[0]
    if room == count:
        for i in range(room):  # assigning to a slice takes seconds to compile
            listed[i] = negatives[i]
            listed_slots[i] = slots[i]
        return
    state = stream(key, u)
    for i in range(room):
        state = step(state)
        listed[i] = negatives[draw_slot(slots, 0, count, state)]
        listed_slots[i] = (_LOW_32 << _S32) | np.uint64(i)  # uniform, as the sample is weighted already


@njit(cache=True, nogil=True)
def list_negatives(
    pairs: Any, weights: Any, nodes: Any, counts: Any, key: np.uint64, listed_from: Any, listed: Any,
    listed_slots: Any, shared: Any, thread: int, n_threads: int,
) -> None:  # fmt: skip
    """Fill the lists of `nodes`, which have `counts` negatives each. Run by a team.

    `key` seeds the random streams of lists that only hold a sample. `listed_from` gives the start of each
    list in `listed` and `listed_slots`, which are filled.
    """
    i = next_index(shared)
    while i < nodes.shape[0]:
        u = nodes[i]
        a, b = listed_from[u], listed_from[u + 1]
        _list_row(pairs, weights, u, counts[i], key, listed[a:b], listed_slots[a:b])
        i = next_index(shared)


@njit(cache=True, inline="always")
def _propose(slots: Any, state: Any, proposed: Any, proposals: Any) -> Any:
    """Draw the next proposals of a stream into the ring; return the total number drawn so far.

    Drawing many in advance overlaps their memory accesses.
    """
    for i in range(proposed, proposed + _PROPOSED):
        proposals[i & (RING - 1)] = draw_slot(slots, 0, slots.shape[0], advance(state, i + 1))
    return proposed + _PROPOSED


@njit(cache=True, inline="always")
def draw_negatives(
    slots: Any, listed_from: Any, listed: Any, listed_slots: Any, words: Any, row_words: Any,
    source: Any, state: Any, drawn: Any, proposed: Any, proposals: Any, out: Any, first: Any, count: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """Write `count` draws from Gamma(source), which must not be empty, to `out` from index `first` on.

    Takes the arrays of `Negatives` separately, because unpacking the tuple in a hot loop costs as much as a
    draw. `drawn` numbers of the stream `state` have been used, and `proposed` written to the ring
    `proposals`, which belongs to this stream; both start at 0. Returns `drawn` and `proposed` for the next
    call.
    """
    begin = listed_from[source]
    size = listed_from[source + 1] - begin
    used = first
    end = first + count
    if size == 0:
        soon = drawn + min(count, RING // 2)
        while proposed < soon:
            proposed = _propose(slots, state, proposed, proposals)
        for i in range(drawn, soon):
            prefetch(words, locate(row_words, words.shape[0], source, proposals[i & (RING - 1)])[0])
    failed: Any = 0
    while used < end:
        if size > 0:
            drawn += 1
            out[used] = listed[begin + draw_slot(listed_slots, begin, size, advance(state, drawn))]
            used += 1
            continue
        while proposed <= drawn:  # earlier numbers may have gone to a list instead
            proposed = _propose(slots, state, proposed, proposals)
        # Branch-free: acceptance is random, so a branch would be mispredicted half of the time.
        v = proposals[drawn & (RING - 1)]
        drawn += 1
        new = np.int64(not has_pair(words, row_words, source, v)) | np.int64(failed == MAX_DRAWS)
        suits = np.int64(v != source) & new
        out[used] = v
        used += suits
        failed = min(failed + 1, MAX_DRAWS) * (1 - suits)
    return drawn, proposed
