"""Dot products and sums of rows in explicit vectors of four or 16, so that every compiler vectorises them."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 4
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_INDEX = ir.IntType(32)
_ALIGNMENT = 8  # rows need no vector alignment
SHORT_LANES = 16
_SHORT_VECTOR = ir.VectorType(ir.FloatType(), SHORT_LANES)
_SHORT_ALIGNMENT = 4


def padded_width(columns: int, lanes: int = LANES) -> int:
    """Return the next multiple of `lanes`."""
    return -(-columns // lanes) * lanes


def _row(context: Any, builder: Any, array_type: Any, array: Any, row: Any) -> tuple[Any, Any]:
    """Return the address and the length of a row."""
    struct = context.make_array(array_type)(context, builder, array)
    width = builder.extract_value(struct.shape, 1)
    return builder.gep(struct.data, [builder.mul(row, width)]), width


def _vectors(builder: Any, width: Any, *rows: Any, kind: Any = _VECTOR) -> Any:
    """Loop over the width by vectors; yield the addresses of the next vector of each row."""
    zero, step = (ir.Constant(width.type, value) for value in (0, kind.count))
    with cgutils.for_range_slice(builder, zero, width, step, intp=width.type) as (at, _):
        yield [builder.bitcast(builder.gep(row, [at]), kind.as_pointer()) for row in rows]


@intrinsic
def dot_rows(_typing: Any, x: Any, i: Any, y: Any, j: Any) -> Any:
    """Return the dot product of rows x[i] and y[j] of two C-ordered float64 matrices.

    The four partial sums a, b, c and e of every fourth product are added as (a + b) + (c + e).
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
def dot_short_rows(_typing: Any, x: Any, i: Any, y: Any, j: Any) -> Any:
    """Return the dot product of rows x[i] and y[j] of two C-ordered float32 matrices.

    Their width is a multiple of `SHORT_LANES`. Partial sums of every 16th product are added in order.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one, width = _row(context, builder, signature.args[0], arguments[0], arguments[1])
        other, _ = _row(context, builder, signature.args[2], arguments[2], arguments[3])
        nothing = ir.Constant(_SHORT_VECTOR, [0.0] * SHORT_LANES)
        total = cgutils.alloca_once_value(builder, nothing)
        for left, right in _vectors(builder, width, one, other, kind=_SHORT_VECTOR):
            values = [builder.load(each, align=_SHORT_ALIGNMENT) for each in (left, right)]
            builder.store(builder.fadd(builder.load(total), builder.fmul(*values)), total)
        sums = builder.load(total)
        result = builder.extract_element(sums, ir.Constant(_INDEX, 0))
        for lane in range(1, SHORT_LANES):
            result = builder.fadd(result, builder.extract_element(sums, ir.Constant(_INDEX, lane)))
        return result

    return types.float32(x, types.intp, y, types.intp), generate


@intrinsic
def blend_rows(_typing: Any, x: Any, i: Any, a: Any, b: Any, y: Any, j: Any) -> Any:
    """x[i] = a * x[i] + b * y[j], for C-ordered float64 matrices; the rows must not overlap."""

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
    """Broadcast a number to a vector."""
    vector = ir.Constant(_VECTOR, ir.Undefined)
    for lane in range(LANES):
        vector = builder.insert_element(vector, factor, ir.Constant(_INDEX, lane))
    return vector
