"""Which pairs the walks contain (D), and negatives drawn from outside it.

D is a set of bits. While N^2 bits fit the budget each pair has a bit of its own and the set is exact;
beyond, it is a Bloom filter whose bits for one pair lie in one 64-bit word (Putze, Sanders, Singler:
"Cache-, hash- and space-efficient Bloom filters", JEA 2009), which may call a pair present that is not.
Either way a pair is (word, mask): present if all bits of the mask are set.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.intrinsics import atomic_add, atomic_or, prefetch
from heat_neo4j._kernels.jit import njit
from heat_neo4j._kernels.random import advance, alias_slots, draw_slot, mix, step, stream
from heat_neo4j._kernels.worksharing import next_index

RING = 128  # draws that are kept ahead of their use; a power of 2
_PROPOSED = 32  # draws that are made at a time
_WALK_AHEAD = 4  # nodes of a walk by which memory is fetched ahead of its use
_BLOOM_BITS = 4  # of each pair
# Draws in a row that may fail before one from inside D is taken. Nodes of which this is to be expected have
# lists; only a Bloom filter that is nearly full makes it happen.
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
    exists: NDArray[np.bool_]  # (N,): whether the node has any negative at all
    listed_from: NDArray[np.int64]  # (N + 1,): where a node's list begins; empty where few draws are repeated
    listed: NDArray[np.int32]  # the listed negatives, all or a sample of them
    listed_slots: NDArray[np.uint64]  # an alias table over each list
    words: NDArray[np.uint64]  # as in `PairSet`; parallel kernels take flat tuples only
    row_words: int


@njit(cache=True, inline="always")
def locate(row_words: int, n_words: int, source: int, context: int) -> tuple[Any, Any]:
    """Return the word that tells of a pair, and the mask of its bits there."""
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
    """Tell whether a pair is in D, as `contains` does without looking into the tuple, which costs time."""
    word, mask = locate(row_words, words.shape[0], source, context)
    return (words[word] & mask) == mask


@njit(cache=True, inline="always")
def contains(pairs: Any, source: int, context: int) -> Any:
    """Tell whether (source, context) is in D (or, in a Bloom filter, looks so)."""
    return has_pair(pairs.words, pairs.row_words, source, context)


@njit(cache=True, inline="always")
def _record(words: Any, row_words: Any, source: Any, context: Any) -> None:
    word, mask = locate(row_words, words.shape[0], source, context)
    if words[word] & mask != mask:
        atomic_or(words, word, mask)


@njit(cache=True)
def _record_walk(nodes: Any, length: int, window: int, words: Any, row_words: int) -> int:
    """Add the pairs of a walk to D; return how many there are, with multiplicity, both directions."""
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
            if row_words > 0:  # a Bloom filter does not tell directions apart
                _record(words, row_words, v, u)
    return total


@njit(cache=True, nogil=True)
def record_walks(
    nodes: Any, lengths: Any, window: int, words: Any, row_words: int, occurrences: Any, total: Any,
    shared: Any, thread: int, n_threads: int,
) -> None:  # fmt: skip
    """Add walks to D and to `occurrences`, and to total[0] how many pairs they hold. Run by a team.

    Pairs count with multiplicity, both directions. Setting bits and adding integers give the same result in
    every order.
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
    """Count, for some nodes, the nodes of positive weight outside their contexts, and add up their weight.

    Run by a team; `counts` and `totals`, arrays as long as `nodes`, receive them.
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
    """Fill the list of a node that has `count` negatives: with all of them, or with as many draws as fit."""
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
        listed_slots[i] = (_LOW_32 << _S32) | np.uint64(i)  # each is as likely: the draw had the weights


@njit(cache=True, nogil=True)
def list_negatives(
    pairs: Any, weights: Any, nodes: Any, counts: Any, key: np.uint64, listed_from: Any, listed: Any,
    listed_slots: Any, shared: Any, thread: int, n_threads: int,
) -> None:  # fmt: skip
    """Fill the lists of some `nodes`, of which each has `counts` negatives. Run by a team.

    `key` is of the random streams of lists that have no room for all. `listed_from` says where each list is
    in `listed` and `listed_slots`, which are filled.
    """
    i = next_index(shared)
    while i < nodes.shape[0]:
        u = nodes[i]
        a, b = listed_from[u], listed_from[u + 1]
        _list_row(pairs, weights, u, counts[i], key, listed[a:b], listed_slots[a:b])
        i = next_index(shared)


@njit(cache=True, inline="always")
def _propose(slots: Any, state: Any, proposed: Any, proposals: Any) -> Any:
    """Draw the next proposals of a stream into the ring; return how many the stream has given by now.

    Many at a time, and before they are needed: they wait for memory together, not one after the other.
    """
    for i in range(proposed, proposed + _PROPOSED):
        proposals[i & (RING - 1)] = draw_slot(slots, 0, slots.shape[0], advance(state, i + 1))
    return proposed + _PROPOSED


@njit(cache=True, inline="always")
def draw_negatives(
    slots: Any, listed_from: Any, listed: Any, listed_slots: Any, words: Any, row_words: Any,
    source: Any, state: Any, drawn: Any, proposed: Any, proposals: Any, out: Any, first: Any, count: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """Put `count` draws from Gamma(source), which must not be empty, into `out` from place `first` on.

    Takes the arrays of `Negatives` one by one: in a hot loop, looking into the tuple costs as much as a
    draw. Of the stream `state`, `drawn` numbers are used up, and `proposed`, both 0 at first, are or were in
    the ring `proposals` of this stream alone. Return `drawn` and `proposed` for the next call.
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
        while proposed <= drawn:  # some of those before were not drawn, but taken from a list
            proposed = _propose(slots, state, proposed, proposals)
        # Kept or not without a branch: which of the two is chance, so half of the guesses would be wrong.
        v = proposals[drawn & (RING - 1)]
        drawn += 1
        new = np.int64(not has_pair(words, row_words, source, v)) | np.int64(failed == MAX_DRAWS)
        suits = np.int64(v != source) & new
        out[used] = v
        used += suits
        failed = min(failed + 1, MAX_DRAWS) * (1 - suits)
    return drawn, proposed
