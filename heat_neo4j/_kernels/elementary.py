"""Elementary functions in arithmetic alone: the same bits on every processor and with every maths library.

A maths library's functions differ in their last digit from one library, version and processor to the next;
sums, products, quotients and square roots are rounded alike by all. Only those are used here, never fused;
every result is within a few units in the last place. Functions take infinity and give NaN for NaN, but for
`exp` and `log`, which inner loops call, and sine and cosine.

Loops over `exp` and `log` become vector instructions if they are simple, and their functions compiled with
``error_model="numpy"`` (a check for division by zero is a branch).
"""

from typing import Any

import numpy as np

from heat_neo4j._kernels.intrinsics import bits_of, float_of
from heat_neo4j._kernels.jit import njit

_LOWEST = -708.0  # exp of less is not a normal number
_HIGHEST = 709.0  # exp of more may be infinite
_PER_LN_2 = float.fromhex("0x1.71547652b82fep+0")
_LN_2 = float.fromhex("0x1.62e42fefa39efp-1")
_LN_2_HIGH = float.fromhex("0x1.62e42feep-1")  # ends in zeros: a multiple of it by an exponent is exact
_LN_2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_PER_HALF_PI = float.fromhex("0x1.45f306dc9c883p-1")
_HALF_PI_HIGH = float.fromhex("0x1.921fb544p+0")  # ends in zeros, too
_HALF_PI_LOW = float.fromhex("0x1.0b4611a626331p-34")
_ROUNDED = 1.5 * 2.0**52  # added, it leaves the nearest integer in the low bits
_INTEGER = 2.0**52
_INTEGER_BITS = np.int64(0x4330000000000000)  # those of _INTEGER
_SQRT_HALF_BITS = np.int64(0x3FE6A09E667F3BCD)
_S52 = np.uint64(52)
_HIGH_BITS = np.int64(-2048)  # all but the last 11: an exponent times so short a number is exact
_SCALED = 1000.0
_SCALE = 2.0**1000
_HALF_EXP_HIGHEST = float.fromhex("0x1.d422d2be5dc9bp+1021")  # e^_HIGHEST / 2
_INFINITE = 800.0  # from here on at the latest exp is
_NO_SQUARE = 2.0**60  # from here on 1 + x^2 is x^2


@njit(cache=True, inline="always", error_model="numpy")
def exp(x: Any) -> Any:
    """Return e^x for x <= 709; e^-708 for less than that.

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
def _exponent_and_log(y: Any) -> Any:
    """Return n and ln(m), as a sum of two, of y = 2^n m >= 1, with m in [sqrt(1/2), sqrt(2)).

    ln(m) = 2 artanh((m - 1) / (m + 1)): the first term of the series left out is below 1e-17.
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
    """Return arcosh(1 + z) for z >= 0; infinity from 1e154 on."""
    return log1p(z + np.sqrt(z * (z + 2.0)))


@njit(cache=True, error_model="numpy")
def arcsinh(x: float) -> float:
    """Return arsinh(x) for x >= 0."""
    if x > _NO_SQUARE:
        return log1p(x) + _LN_2
    return log1p(x + x * x / (1.0 + np.sqrt(1.0 + x * x)))


@njit(cache=True, inline="always", error_model="numpy")
def _half_exp(x: Any) -> Any:
    """Return e^x / 2 for x >= 0; infinity where that is too large."""
    return 0.5 * exp(x) if x <= _HIGHEST else _HALF_EXP_HIGHEST * exp(min(x, _INFINITE) - _HIGHEST)


@njit(cache=True, error_model="numpy")
def cosh(x: float) -> float:
    """Return cosh(x)."""
    half = _half_exp(abs(x))
    return half + 0.25 / half


@njit(cache=True, error_model="numpy")
def sinh(x: float) -> float:
    """Return sinh(x); up to 1 by its series, of which the first term left out is below 1e-17."""
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
    """Return sin(x + quarters pi/2), by the series of sine or cosine up to pi/4."""
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
    """Return sin(x) to 2^-53 for finite x up to some full circles."""
    return _sine(x, 0)


@njit(cache=True, error_model="numpy")
def cos(x: float) -> float:
    """Return cos(x) to 2^-53 for finite x up to some full circles."""
    return _sine(x, 1)


@njit(cache=True, inline="always")
def _two_to(n: Any) -> Any:
    """Return 2^n of an integer from -1022 to 1023."""
    return float_of((n + 1023) << 52)


@njit(cache=True, error_model="numpy")
def power(x: float, exponent: float) -> float:
    """Return x^exponent for x >= 0 and exponents from -1 to 1; exact for 0 and 1, a root for 1/2.

    x = 2^n m: the product of n and the exponent is made of two, so that no digit is lost for large n.
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
