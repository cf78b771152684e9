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

from heat_neo4j._kernels.random import below, mix, step, unit
from heat_neo4j._kernels.walks import walk

__all__ = [
    "BLOOM_BITS",
    "NO_NEGATIVE",
    "Negatives",
    "PairSet",
    "alias_table",
    "contains",
    "count_set_bits",
    "draw_negative",
    "has_negatives",
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
    """The noise distribution over nodes, as an alias table (Walker 1977), and what it must avoid.

    Attributes
    ----------
    threshold : float64 array of shape (N,)
        Keep the drawn slot when a uniform number is below this.
    alias : int32 array of shape (N,)
        The node to take otherwise.
    weights : float64 array of shape (N,)
        occurrences ** exponent, unnormalised.
    exists : bool array of shape (N,)
        Whether the node has any negative at all.
    words, row_words : uint64 array, int
        D, as in `PairSet`. (Not a `PairSet`: parallel kernels take flat tuples only.)
    """

    threshold: NDArray[np.float64]
    alias: NDArray[np.int32]
    weights: NDArray[np.float64]
    exists: NDArray[np.bool_]
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
def contains(pairs: Any, source: int, context: int) -> bool:
    """Tell whether (source, context) is in D (or, in a Bloom filter, looks so)."""
    word, mask = _locate(pairs.row_words, pairs.words.shape[0], source, context)
    return (pairs.words[word] & mask) == mask


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
    walker: Any, similarity: Any, first_walk: int, starts: Any, window: int, words: Any, row_words: int,
    occurrences: Any, parts: int,
) -> int:  # fmt: skip
    """Add the walks from `starts` (walk ids from `first_walk` on) to D and to `occurrences`.

    Each of `parts` workers owns a range of words and sets only its own bits, so nothing is lost to a race.

    Returns
    -------
    int
        How many pairs the walks hold, with multiplicity, both directions.
    """
    count = starts.shape[0]
    nodes = np.empty((count, walker.length), dtype=np.int32)
    lengths = np.empty(count, dtype=np.int64)
    for i in prange(count):
        lengths[i] = walk(walker, similarity, first_walk + i, starts[i], nodes[i])
    totals = np.zeros(parts, dtype=np.int64)
    share = (words.shape[0] + parts - 1) // parts
    for part in prange(parts):
        high = min((part + 1) * share, words.shape[0])
        totals[part] = _record_part(nodes, lengths, window, words, row_words, part * share, high)
    for i in range(count):
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
def alias_table(weights: Any) -> Any:
    """Return (threshold, alias) for drawing slot i with probability weights[i] / sum (Vose 1991)."""
    n = weights.shape[0]
    threshold = np.ones(n)
    alias = np.arange(n).astype(np.int32)
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
    return threshold, alias


@njit(cache=True, parallel=True)
def has_negatives(pairs: Any, weights: Any) -> Any:
    """Tell, for each node, whether any node of positive weight is outside its contexts."""
    n = weights.shape[0]
    result = np.zeros(n, dtype=np.bool_)
    for u in prange(n):
        for v in range(n):
            if v != u and weights[v] > 0.0 and not contains(pairs, u, v):
                result[u] = True
                break
    return result


@njit(cache=True)
def _draw_by_scan(negatives: Any, source: int, state: np.uint64) -> int:
    """Draw one negative exactly in one pass over all nodes (weighted reservoir)."""
    chosen = NO_NEGATIVE
    running = 0.0
    for v in range(negatives.weights.shape[0]):
        weight = negatives.weights[v]
        if v == source or weight == 0.0 or contains(negatives, source, v):
            continue
        running += weight
        state = step(state)
        if unit(state) * running < weight:
            chosen = v
    return chosen


@njit(cache=True, inline="always")
def draw_negative(negatives: Any, source: int, state: np.uint64) -> tuple[np.uint64, int]:
    """Draw from Gamma(source): by repeated tries, and exactly by a scan if they all fail."""
    n = negatives.alias.shape[0]
    for _ in range(_MAX_DRAWS):
        state = step(state)
        v = below(state, n)
        state = step(state)
        if unit(state) >= negatives.threshold[v]:
            v = np.int64(negatives.alias[v])
        if v != source and not contains(negatives, source, v):
            return state, v
    state = step(state)
    return state, _draw_by_scan(negatives, source, state)
