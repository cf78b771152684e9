"""Elementary functions from basic arithmetic: bitwise the same on every processor.

The functions of maths libraries differ in their last digit between libraries, versions and processors. Sums,
products, quotients and square roots are rounded the same everywhere (IEEE 754). Only these are used here,
without fused operations; results are within a few units in the last place. Functions accept infinity and
return NaN for NaN, except `exp` and `log`, which inner loops call, and sine and cosine.

Simple loops over `exp` and `log` are vectorised if compiled with ``error_model="numpy"``; a check for
division by zero would be a branch.
"""

from typing import Any

import numpy as np

from heat_neo4j._kernels.intrinsics import bits_of, float_of
from heat_neo4j._kernels.jit import njit

_LOWEST = -708.0  # below, exp is subnormal
_HIGHEST = 709.0  # above, exp can overflow
_PER_LN_2 = float.fromhex("0x1.71547652b82fep+0")
_LN_2 = float.fromhex("0x1.62e42fefa39efp-1")
_LN_2_HIGH = float.fromhex("0x1.62e42feep-1")  # trailing zeros make its product with an exponent exact
_LN_2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_PER_HALF_PI = float.fromhex("0x1.45f306dc9c883p-1")
_HALF_PI_HIGH = float.fromhex("0x1.921fb544p+0")  # trailing zeros, too
_HALF_PI_LOW = float.fromhex("0x1.0b4611a626331p-34")
_ROUNDED = 1.5 * 2.0**52  # adding it leaves the nearest integer in the low bits
_INTEGER = 2.0**52
_INTEGER_BITS = np.int64(0x4330000000000000)  # the bits of _INTEGER
_SQRT_HALF_BITS = np.int64(0x3FE6A09E667F3BCD)
_S52 = np.uint64(52)
_HIGH_BITS = np.int64(-2048)  # mask of all but the last 11 bits; the product with an exponent is exact
_SCALED = 1000.0
_SCALE = 2.0**1000
_HALF_EXP_HIGHEST = float.fromhex("0x1.d422d2be5dc9bp+1021")  # e^_HIGHEST / 2
_INFINITE = 800.0  # exp is infinite from here on
_NO_SQUARE = 2.0**60  # 1 + x^2 rounds to x^2 from here on


@njit(cache=True, inline="always", error_model="numpy")
def exp(x: Any) -> Any:
    """Return e^x for x <= 709; arguments below -708 are clipped.

    e^x = 2^n e^r with abs(r) <= ln(2) / 2; the first omitted term of the series is below 1e-17.
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
def _exponent_and_log(y: Any) -> Any:
    """Decompose y = 2^n m >= 1 with m in [sqrt(1/2), sqrt(2)); return n, and ln(m) as a sum of two numbers.

    ln(m) = 2 artanh((m - 1) / (m + 1)); the first omitted term of the series is below 1e-17.
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
    return float_of(n | _INTEGER_BITS) - _INTEGER, 2.0 * s, 2.0 * s * z * series


@njit(cache=True, inline="always", error_model="numpy")
def log(y: Any) -> Any:
    """Return ln(y) for finite y >= 1."""
    n, first, rest = _exponent_and_log(y)
    return n * _LN_2_HIGH + (first + (rest + n * _LN_2_LOW))


@njit(cache=True, error_model="numpy")
def log1p(x: float) -> float:
    """Return ln(1 + x) for x >= 0."""
    y = 1.0 + x
    if not y < np.inf:
        return y
    return log(y) + (x - (y - 1.0)) / y


@njit(cache=True, error_model="numpy")
def arccosh1p(z: float) -> float:
    """Return arcosh(1 + z) for z >= 0; infinite from 1e154 on."""
    return log1p(z + np.sqrt(z * (z + 2.0)))


@njit(cache=True, error_model="numpy")
def arcsinh(x: float) -> float:
    """Return arsinh(x) for x >= 0."""
    if x > _NO_SQUARE:
        return log1p(x) + _LN_2
    return log1p(x + x * x / (1.0 + np.sqrt(1.0 + x * x)))


@njit(cache=True, inline="always", error_model="numpy")
def _half_exp(x: Any) -> Any:
    """Return e^x / 2 for x >= 0; infinity on overflow."""
    return 0.5 * exp(x) if x <= _HIGHEST else _HALF_EXP_HIGHEST * exp(min(x, _INFINITE) - _HIGHEST)


@njit(cache=True, error_model="numpy")
def cosh(x: float) -> float:
    """Return cosh(x)."""
    half = _half_exp(abs(x))
    return half + 0.25 / half


@njit(cache=True, error_model="numpy")
def sinh(x: float) -> float:
    """Return sinh(x); for abs(x) <= 1 by its series, with the first omitted term below 1e-17."""
    size = abs(x)
    if size > 1.0:
        half = _half_exp(size)
        result = half - 0.25 / half
        return result if x > 0.0 else -result
    z = x * x
    y = 1 / 1307674368000 + z * (1 / 355687428096000)
    y = 1 / 6227020800 + z * y
    y = 1 / 39916800 + z * y
    y = 1 / 362880 + z * y
    y = 1 / 5040 + z * y
    y = 1 / 120 + z * y
    y = 1 / 6 + z * y
    return x + x * (z * y)


@njit(cache=True, inline="always", error_model="numpy")
def _sine(x: Any, quarters: Any) -> Any:
    """Return sin(x + quarters pi/2), by the series of sine or cosine on [-pi/4, pi/4]."""
    n = (x * _PER_HALF_PI + _ROUNDED) - _ROUNDED
    r = (x - n * _HALF_PI_HIGH) - n * _HALF_PI_LOW
    z = r * r
    quarter = np.int64(n) + quarters
    if quarter & 1:
        y = -1 / 87178291200 + z * (1 / 20922789888000)
        y = 1 / 479001600 + z * y
        y = -1 / 3628800 + z * y
        y = 1 / 40320 + z * y
        y = -1 / 720 + z * y
        y = 1 / 24 + z * y
        y = 1.0 - z * (1 / 2 - z * y)
    else:
        y = 1 / 6227020800 - z * (1 / 1307674368000)
        y = -1 / 39916800 + z * y
        y = 1 / 362880 + z * y
        y = -1 / 5040 + z * y
        y = 1 / 120 + z * y
        y = -1 / 6 + z * y
        y = r + r * (z * y)
    return -y if quarter & 2 else y


@njit(cache=True, error_model="numpy")
def sin(x: float) -> float:
    """Return sin(x) to 2^-53 for finite x up to a few full circles."""
    return _sine(x, 0)


@njit(cache=True, error_model="numpy")
def cos(x: float) -> float:
    """Return cos(x) to 2^-53 for finite x up to a few full circles."""
    return _sine(x, 1)


@njit(cache=True, inline="always")
def _two_to(n: Any) -> Any:
    """Return 2^n for an integer n from -1022 to 1023."""
    return float_of((n + 1023) << 52)


@njit(cache=True, error_model="numpy")
def power(x: float, exponent: float) -> float:
    """Return x^exponent for x >= 0 and exponents from -1 to 1; exact for 0 and 1, a square root for 1/2.

    With x = 2^n m, the product of n and the exponent is split in two, to keep full precision for large n.
    """
    size = abs(exponent)
    if size == 0.5:
        result = np.sqrt(x)
    elif size == 0.0:
        result = 1.0
    elif size == 1.0 or not 0.0 < x < np.inf:
        result = x
    else:
        shift = 0.0
        while x < 1.0:
            x *= _SCALE
            shift += _SCALED
        n, first, rest = _exponent_and_log(x)
        n -= shift
        high = float_of(bits_of(size) & _HIGH_BITS)
        whole = (n * high + _ROUNDED) - _ROUNDED
        part = (n * high - whole) + n * (size - high)
        half = np.int64(whole) >> 1
        result = exp(part * _LN_2 + size * (first + rest)) * _two_to(half) * _two_to(np.int64(whole) - half)
    return 1.0 / result if exponent < 0.0 else result
