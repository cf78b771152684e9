"""Counter-based random numbers: one stream per (key, index), independent of threads.

SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014): the state
advances by a constant and each output is a bijective mix of the state. So a stream is a pure function of its
key and index and needs no memory.
"""

from typing import Any

import numpy as np

from heat_neo4j._kernels.jit import njit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S27 = np.uint64(27)
_S30 = np.uint64(30)
_S31 = np.uint64(31)
_S32 = np.uint64(32)
_S11 = np.uint64(11)
_LOW_32 = np.uint64(0xFFFFFFFF)
_TO_UNIT = 2.0**-53
_UNITS = 2.0**32


@njit(cache=True, inline="always")
def mix(x: np.uint64) -> np.uint64:
    """Mix the bits of `x`: the finaliser of SplitMix64, a bijection."""
    x = (x ^ (x >> _S30)) * _MIX_1
    x = (x ^ (x >> _S27)) * _MIX_2
    return x ^ (x >> _S31)


@njit(cache=True, inline="always")
def stream(key: np.uint64, index: int) -> np.uint64:
    """Return the starting state of stream `index` under `key`."""
    return mix(key ^ mix(np.uint64(index) * _GOLDEN + _GOLDEN))


@njit(cache=True, inline="always")
def step(state: np.uint64) -> np.uint64:
    """Return the next state of a stream; read it with `unit` or `draw_slot`."""
    return state + _GOLDEN


@njit(cache=True, inline="always")
def advance(state: np.uint64, steps: int) -> np.uint64:
    """Return the state after `steps` more steps."""
    return state + np.uint64(steps) * _GOLDEN


@njit(cache=True, inline="always")
def unit(state: np.uint64) -> float:
    """Return the uniform number in [0, 1) of `state`."""
    return np.float64(mix(state) >> _S11) * _TO_UNIT


@njit(cache=True, inline="always")
def first_above(cumulative: Any, first: int, last: int, target: float) -> Any:
    """Return the first k in [first, last) with cumulative[k] > target, or last - 1."""
    low, high = first, last - 1
    while low < high:
        middle = (low + high) >> 1
        if cumulative[middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, inline="always")
def draw_cumulative(cumulative: Any, first: int, last: int, state: np.uint64) -> Any:
    """Return a random k in [first, last), given cumulative weights."""
    return first_above(cumulative, first, last, unit(state) * cumulative[last - 1])


@njit(cache=True, inline="always")
def slot_position(size: int, state: np.uint64) -> Any:
    """Return the slot of an alias table that `draw_slot` reads."""
    return np.int64(((mix(state) >> _S32) * np.uint64(size)) >> _S32)


@njit(cache=True, inline="always")
def draw_slot(slots: Any, first: int, size: int, state: np.uint64) -> Any:
    """Return a random position in [0, size), size < 2**32, by the alias table in slots[first : first + size].

    A slot packs its threshold, a multiple of 2**-32 (high half), and its alias (low half), so a draw takes
    one random number and one memory access (Walker 1977).
    """
    bits = mix(state)
    position = ((bits >> _S32) * np.uint64(size)) >> _S32
    slot = slots[first + np.int64(position)]
    alias = slot & _LOW_32
    keep = np.uint64((bits & _LOW_32) < (slot >> _S32))
    return np.int64(alias ^ ((alias ^ position) * keep))  # branch-free, as a branch would be mispredicted


@njit(cache=True)
def alias_slots(weights: Any) -> Any:
    """Return the alias table for `draw_slot` with probabilities weights[i] / sum (Vose 1991)."""
    n = weights.shape[0]
    if n == 0:
        return np.empty(0, dtype=np.uint64)
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


@njit(cache=True)
def slot_weights(slots: Any) -> Any:
    """Return the probabilities of an alias table, times n, to about 2**-32."""
    weights = np.zeros(slots.shape[0])
    for i in range(slots.shape[0]):
        kept = np.float64(slots[i] >> _S32) / _UNITS
        weights[i] += kept
        weights[np.int64(slots[i] & _LOW_32)] += 1.0 - kept
    return weights
