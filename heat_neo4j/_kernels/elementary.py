"""exp and log in arithmetic alone, so that a loop over them becomes vector instructions.

The loop must be simple, its function compiled with ``error_model="numpy"`` (a check for division by zero is
a branch). Both are within a few units in the last place, and the same bits on every processor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heat_neo4j._kernels.intrinsics import bits_of, float_of
from heat_neo4j._kernels.jit import njit

__all__ = ["exp", "log"]

_LOWEST = -708.0  # exp of less is not a normal number
_PER_LN_2 = 1.0 / np.log(2.0)
_LN_2_HIGH = float.fromhex("0x1.62e42feep-1")  # ends in zeros: a multiple of it by an exponent is exact
_LN_2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_ROUNDED = 1.5 * 2.0**52  # added, it leaves the nearest integer in the low bits
_INTEGER = 2.0**52
_INTEGER_BITS = np.int64(0x4330000000000000)  # those of _INTEGER
_SQRT_HALF_BITS = np.int64(0x3FE6A09E667F3BCD)
_S52 = np.uint64(52)


@njit(cache=True, inline="always", error_model="numpy")
def exp(x: Any) -> Any:
    """Return e^x for x <= 0; e^-708 for less.

    e^x = 2^n e^r, abs(r) <= ln(2) / 2: the first term of the series left out is below 1e-17.
    """
    x = max(x, _LOWEST)
    shifted = x * _PER_LN_2 + _ROUNDED
    n = shifted - _ROUNDED
    r = (x - n * _LN_2_HIGH) - n * _LN_2_LOW
    y = 1 / 479001600 + r * (1 / 6227020800)
    y = 1 / 39916800 + r * y
    y = 1 / 3628800 + r * y
    y = 1 / 362880 + r * y
    y = 1 / 40320 + r * y
    y = 1 / 5040 + r * y
    y = 1 / 720 + r * y
    y = 1 / 120 + r * y
    y = 1 / 24 + r * y
    y = 1 / 6 + r * y
    y = 1 / 2 + r * y
    y = 1.0 + r * y
    y = 1.0 + r * y
    return float_of(bits_of(y) + (bits_of(shifted) << 52))


@njit(cache=True, inline="always", error_model="numpy")
def log(y: Any) -> Any:
    """Return ln(y) for y >= 1.

    y = 2^n m with m in [sqrt(1/2), sqrt(2)), and ln(m) = 2 artanh((m - 1) / (m + 1)): the first term of the
    series left out is below 1e-17.
    """
    bits = bits_of(y)
    n = np.int64(np.uint64(bits - _SQRT_HALF_BITS) >> _S52)
    f = float_of(bits - (n << 52)) - 1.0
    s = f / (2.0 + f)
    z = s * s
    series = 1 / 19 + z * (1 / 21)
    series = 1 / 17 + z * series
    series = 1 / 15 + z * series
    series = 1 / 13 + z * series
    series = 1 / 11 + z * series
    series = 1 / 9 + z * series
    series = 1 / 7 + z * series
    series = 1 / 5 + z * series
    series = 1 / 3 + z * series
    power = float_of(n | _INTEGER_BITS) - _INTEGER
    return power * _LN_2_HIGH + (2.0 * s + (2.0 * s * z * series + power * _LN_2_LOW))
