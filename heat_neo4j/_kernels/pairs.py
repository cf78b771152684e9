"""Which pairs the walks contain (D), and negatives drawn from outside it.

D is a set of bits. While N^2 bits fit the budget each pair has a bit of its own and the set is exact;
beyond, it is a Bloom filter whose bits for one pair lie in one 64-bit word (Putze, Sanders, Singler:
"Cache-, hash- and space-efficient Bloom filters", JEA 2009), which may call a pair present that is not.
Either way a pair is (word, mask): present if all bits of the mask are set.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from heat_neo4j._kernels.random import draw_slot, mix, step, unit

__all__ = [
    "BLOOM_BITS",
    "NO_NEGATIVE",
    "Negatives",
    "PairSet",
    "alias_slots",
    "contains",
    "count_set_bits",
    "draw_negatives",
    "list_negatives",
    "open_weights",
    "record_walks",
]

NO_NEGATIVE = -1
BLOOM_BITS = 4
_MAX_DRAWS = 200
_S6 = np.uint64(6)
_S32 = np.uint64(32)
_LOW_6 = np.uint64(63)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_UNITS = 2.0**32


class PairSet(NamedTuple):
    """The set D.

    Attributes
    ----------
    words : uint64 array
        The bits.
    row_words : int
        Words per source node of an exact set; 0 for a Bloom filter.
    """

    words: NDArray[np.uint64]
    row_words: int


class Negatives(NamedTuple):
    """The noise distribution over nodes, and what it must avoid.

    Attributes
    ----------
    slots : uint64 array of shape (N,)
        Alias table over all nodes, see `alias_slots`.
    weights : float64 array of shape (N,)
        occurrences ** exponent, unnormalised.
    exists : bool array of shape (N,)
        Whether the node has any negative at all.
    listed_from : int64 array of shape (N + 1,)
        Where the list of a node's negatives begins; it is empty where few draws have to be repeated.
    listed, listed_slots : int32 array, uint64 array
        The listed negatives, and an alias table over each list.
    words, row_words : uint64 array, int
        D, as in `PairSet`. (Not a `PairSet`: parallel kernels take flat tuples only.)
    """

    slots: NDArray[np.uint64]
    weights: NDArray[np.float64]
    exists: NDArray[np.bool_]
    listed_from: NDArray[np.int64]
    listed: NDArray[np.int32]
    listed_slots: NDArray[np.uint64]
    words: NDArray[np.uint64]
    row_words: int


@njit(cache=True, inline="always")
def _locate(row_words: int, n_words: int, source: int, context: int) -> tuple[Any, Any]:
    """Return the word and the mask of a pair."""
    if row_words > 0:
        bit = np.uint64(context)
        return source * row_words + np.int64(bit >> _S6), _ONE << (bit & _LOW_6)
    hashed = mix((np.uint64(source) << _S32) ^ np.uint64(context))
    word = np.int64(((hashed >> _S32) * np.uint64(n_words)) >> _S32)
    mask = _ZERO
    hashed = mix(hashed)
    for _ in range(BLOOM_BITS):
        mask |= _ONE << (hashed & _LOW_6)
        hashed >>= _S6
    return word, mask


@njit(cache=True, inline="always")
def _has(words: Any, row_words: Any, source: Any, context: Any) -> Any:
    word, mask = _locate(row_words, words.shape[0], source, context)
    return (words[word] & mask) == mask


@njit(cache=True, inline="always")
def contains(pairs: Any, source: int, context: int) -> Any:
    """Tell whether (source, context) is in D (or, in a Bloom filter, looks so)."""
    return _has(pairs.words, pairs.row_words, source, context)


@njit(cache=True)
def _record_part(
    nodes: Any, lengths: Any, window: int, words: Any, row_words: int, low: int, high: int
) -> int:
    """Set the bits of words [low, high) for all pairs of some walks; return how many pairs there are."""
    total = 0
    for i in range(lengths.shape[0]):
        for a in range(lengths[i]):
            u = nodes[i, a]
            for b in range(a + 1, min(a + window + 1, lengths[i])):
                v = nodes[i, b]
                if u == v:
                    continue
                total += 2
                word, mask = _locate(row_words, words.shape[0], u, v)
                if low <= word < high:
                    words[word] |= mask
                word, mask = _locate(row_words, words.shape[0], v, u)
                if low <= word < high:
                    words[word] |= mask
    return total


@njit(cache=True, parallel=True)
def record_walks(
    nodes: Any, lengths: Any, window: int, words: Any, row_words: int, occurrences: Any, parts: int
) -> int:
    """Add walks to D and to `occurrences`.

    Each of `parts` workers owns a range of words and sets only its own bits, so nothing is lost to a race.

    Returns
    -------
    int
        How many pairs the walks hold, with multiplicity, both directions.
    """
    totals = np.zeros(parts, dtype=np.int64)
    share = (words.shape[0] + parts - 1) // parts
    for part in prange(parts):
        high = min((part + 1) * share, words.shape[0])
        totals[part] = _record_part(nodes, lengths, window, words, row_words, part * share, high)
    for i in range(lengths.shape[0]):
        for a in range(lengths[i]):
            occurrences[nodes[i, a]] += 1
    return totals[0]


@njit(cache=True)
def count_set_bits(words: Any) -> int:
    """Return the number of bits set."""
    total = 0
    for i in range(words.shape[0]):
        word = words[i]
        while word != _ZERO:
            word &= word - _ONE
            total += 1
    return total


@njit(cache=True)
def alias_slots(weights: Any) -> Any:
    """Return the alias table, for `draw_slot`, that draws i with probability weights[i] / sum (Vose 1991)."""
    n = weights.shape[0]
    threshold = np.ones(n)
    alias = np.arange(n)
    scaled = weights * (n / weights.sum())
    small = np.empty(n, dtype=np.int64)
    large = np.empty(n, dtype=np.int64)
    n_small = 0
    n_large = 0
    for i in range(n):
        if scaled[i] < 1.0:
            small[n_small] = i
            n_small += 1
        else:
            large[n_large] = i
            n_large += 1
    while n_small > 0 and n_large > 0:
        n_small -= 1
        lower = small[n_small]
        upper = large[n_large - 1]
        threshold[lower] = scaled[lower]
        alias[lower] = upper
        scaled[upper] -= 1.0 - scaled[lower]
        if scaled[upper] < 1.0:
            n_large -= 1
            small[n_small] = upper
            n_small += 1
    slots = np.empty(n, dtype=np.uint64)
    for i in range(n):
        slots[i] = (np.uint64(min(threshold[i] * _UNITS, _UNITS - 1.0)) << _S32) | np.uint64(alias[i])
    return slots


@njit(cache=True, parallel=True)
def open_weights(pairs: Any, weights: Any) -> Any:
    """Return, for each node, how many nodes of positive weight are outside its contexts, and their weight."""
    n = weights.shape[0]
    counts = np.zeros(n, dtype=np.int64)
    totals = np.zeros(n)
    for u in prange(n):
        count = 0
        total = 0.0
        for v in range(n):
            if v != u and weights[v] > 0.0 and not contains(pairs, u, v):
                count += 1
                total += weights[v]
        counts[u] = count
        totals[u] = total
    return counts, totals


@njit(cache=True)
def _list_row(pairs: Any, weights: Any, u: int, listed: Any, listed_slots: Any) -> None:
    """Fill the list of one node."""
    size = 0
    for v in range(weights.shape[0]):
        if v != u and weights[v] > 0.0 and not contains(pairs, u, v):
            listed[size] = v
            size += 1
    slots = alias_slots(weights[listed])
    for i in range(size):  # assigning to a slice takes seconds to compile
        listed_slots[i] = slots[i]


@njit(cache=True, parallel=True)
def list_negatives(pairs: Any, weights: Any, listed_from: Any, listed: Any, listed_slots: Any) -> None:
    """Fill the lists of all nodes to which `listed_from` gives room (exactly as much as they need)."""
    for u in prange(weights.shape[0]):
        a = listed_from[u]
        b = listed_from[u + 1]
        if b > a:
            # prange counts in uint64: without the cast all below is compiled twice.
            _list_row(pairs, weights, np.int64(u), listed[a:b], listed_slots[a:b])


@njit(cache=True)
def _draw_by_scan(weights: Any, words: Any, row_words: int, source: int, state: np.uint64) -> int:
    """Draw one negative exactly in one pass over all nodes (weighted reservoir)."""
    chosen = NO_NEGATIVE
    running = 0.0
    for v in range(weights.shape[0]):
        weight = weights[v]
        if v == source or weight == 0.0 or _has(words, row_words, source, v):
            continue
        running += weight
        state = step(state)
        if unit(state) * running < weight:
            chosen = v
    return chosen


@njit(cache=True, inline="always")
def draw_negatives(
    slots: Any, weights: Any, listed_from: Any, listed: Any, listed_slots: Any, words: Any, row_words: Any,
    source: Any, state: Any, out: Any, first: Any, count: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """Put `count` draws from Gamma(source) into `out` from place `first` on; return the state and the end.

    There are fewer than asked for only where Gamma(source) is empty; what then stands behind the end has no
    meaning. Takes the arrays of `Negatives` one by one: in a hot loop, looking into the tuple costs as much
    as a draw.
    """
    begin = listed_from[source]
    size = listed_from[source + 1] - begin
    used = first
    end = first + count
    failed: Any = 0
    while used < end:
        state = step(state)
        if size > 0:
            out[used] = listed[begin + draw_slot(listed_slots, begin, size, state)]
            used += 1
            continue
        # Kept or not without a branch: which of the two is chance, so half of the guesses would be wrong.
        v = draw_slot(slots, 0, slots.shape[0], state)
        kept = np.int64(v != source) & np.int64(not _has(words, row_words, source, v))
        out[used] = v
        used += kept
        failed = (failed + 1) * (1 - kept)
        if failed == _MAX_DRAWS:
            failed = 0
            state = step(state)
            v = _draw_by_scan(weights, words, row_words, source, state)
            if v < 0:
                return state, used
            out[used] = v
            used += 1
    return state, used
