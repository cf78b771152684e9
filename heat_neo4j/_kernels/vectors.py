"""exp and log in arithmetic alone, dot products and sums of rows: vector instructions for certain.

Rows are vectors of four. Loops over `exp` and `log` must be simple, their functions compiled with
``error_model="numpy"`` (a check for division by zero is a branch). Both are within a few units in the last
place, and the same bits on every processor.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from heat_neo4j._kernels.intrinsics import bits_of, float_of
from heat_neo4j._kernels.jit import njit

__all__ = ["LANES", "blend_rows", "dot_rows", "exp", "log", "padded_width"]

_LOWEST = -708.0  # exp of less is not a normal number
_PER_LN_2 = 1.0 / np.log(2.0)
_LN_2_HIGH = float.fromhex("0x1.62e42feep-1")  # ends in zeros: a multiple of it by an exponent is exact
_LN_2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_ROUNDED = 1.5 * 2.0**52  # added, it leaves the nearest integer in the low bits
_INTEGER = 2.0**52
_INTEGER_BITS = np.int64(0x4330000000000000)  # those of _INTEGER
_SQRT_HALF_BITS = np.int64(0x3FE6A09E667F3BCD)
_S52 = np.uint64(52)

LANES = 4
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_INDEX = ir.IntType(32)
_ALIGNMENT = 8  # rows begin anywhere


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


def padded_width(columns: int) -> int:
    """Return the next multiple of `LANES`."""
    return -(-columns // LANES) * LANES


def _row(context: Any, builder: Any, array_type: Any, array: Any, row: Any) -> tuple[Any, Any]:
    """Return the address and the length of a row."""
    struct = context.make_array(array_type)(context, builder, array)
    width = builder.extract_value(struct.shape, 1)
    return builder.gep(struct.data, [builder.mul(row, width)]), width


def _vectors(builder: Any, width: Any, *rows: Any) -> Any:
    """Loop over the width by fours; yield the addresses of what is next in each row."""
    zero, step = (ir.Constant(width.type, value) for value in (0, LANES))
    with cgutils.for_range_slice(builder, zero, width, step, intp=width.type) as (at, _):
        yield [builder.bitcast(builder.gep(row, [at]), _VECTOR.as_pointer()) for row in rows]


@intrinsic
def dot_rows(_typing: Any, x: Any, i: Any, y: Any, j: Any) -> Any:
    """Return the sum of x[i] * y[j], of two C-ordered float64 matrices.

    Four sums of every fourth product, a, b, c and e, are added as (a + b) + (c + e).
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one, width = _row(context, builder, signature.args[0], arguments[0], arguments[1])
        other, _ = _row(context, builder, signature.args[2], arguments[2], arguments[3])
        total = cgutils.alloca_once_value(builder, ir.Constant(_VECTOR, [0.0] * LANES))
        for left, right in _vectors(builder, width, one, other):
            product = builder.fmul(
                builder.load(left, align=_ALIGNMENT), builder.load(right, align=_ALIGNMENT)
            )
            builder.store(builder.fadd(builder.load(total), product), total)
        a, b, c, e = (
            builder.extract_element(builder.load(total), ir.Constant(_INDEX, lane)) for lane in range(LANES)
        )
        return builder.fadd(builder.fadd(a, b), builder.fadd(c, e))

    return types.float64(x, types.intp, y, types.intp), generate


@intrinsic
def blend_rows(_typing: Any, x: Any, i: Any, a: Any, b: Any, y: Any, j: Any) -> Any:
    """x[i] = a * x[i] + b * y[j], of two C-ordered float64 matrices; not of rows that overlap."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one, width = _row(context, builder, signature.args[0], arguments[0], arguments[1])
        other, _ = _row(context, builder, signature.args[4], arguments[4], arguments[5])
        factor, other_factor = _spread(builder, arguments[2]), _spread(builder, arguments[3])
        for left, right in _vectors(builder, width, one, other):
            scaled = builder.fmul(factor, builder.load(left, align=_ALIGNMENT))
            other_scaled = builder.fmul(other_factor, builder.load(right, align=_ALIGNMENT))
            builder.store(builder.fadd(scaled, other_scaled), left, align=_ALIGNMENT)
        return context.get_dummy_value()

    return types.void(x, types.intp, types.float64, types.float64, y, types.intp), generate


def _spread(builder: Any, factor: Any) -> Any:
    """Return a vector of one number."""
    vector = ir.Constant(_VECTOR, ir.Undefined)
    for lane in range(LANES):
        vector = builder.insert_element(vector, factor, ir.Constant(_INDEX, lane))
    return vector
