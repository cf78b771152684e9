"""Intrinsics from LLVM and POSIX: bit casts, atomic array access, prefetches, and thread synchronisation."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_LINE = 64  # bytes of a cache line

# Numba calls the functions below at compile time, first with types, then with LLVM values.


def _same_bits(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.bitcast(arguments[0], context.get_value_type(signature.return_type))


@intrinsic
def bits_of(_typing: Any, x: Any) -> Any:
    """Return the 64 bits of a float as an integer."""
    return types.int64(types.float64), _same_bits


@intrinsic
def float_of(_typing: Any, bits: Any) -> Any:
    """Return the float with the given 64 bits."""
    return types.float64(types.int64), _same_bits


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Return the address of array[index], the first two arguments."""
    array_type = signature.args[0]
    array = context.make_array(array_type)(context, builder, arguments[0])
    return cgutils.get_item_pointer(context, builder, array_type, array, [arguments[1]])


@intrinsic
def atomic_add(_typing: Any, array: Any, index: Any, value: Any) -> Any:
    """Add to array[index] of an int64 array, and return the previous value; sequentially consistent."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments)
        return builder.atomic_rmw("add", pointer, arguments[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), generate


@intrinsic
def atomic_or(_typing: Any, array: Any, index: Any, bits: Any) -> Any:
    """Set bits of array[index] of a uint64 array; relaxed order, as the result does not depend on it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments)
        builder.atomic_rmw("or", pointer, arguments[2], "monotonic")
        return context.get_dummy_value()

    return types.void(array, types.intp, types.uint64), generate


@intrinsic
def atomic_load(_typing: Any, array: Any, index: Any) -> Any:
    """Return array[index] of an int64 array; sequentially consistent."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments)
        return builder.load_atomic(pointer, "seq_cst", 8)

    return types.int64(array, types.intp), generate


@intrinsic
def compare_and_swap(_typing: Any, array: Any, index: Any, expected: Any, value: Any) -> Any:
    """Set array[index] of an int64 array if it equals `expected`; return the previous value."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments)
        result = builder.cmpxchg(pointer, arguments[2], arguments[3], "seq_cst", "seq_cst")
        return builder.extract_value(result, 0)

    return types.int64(array, types.intp, types.int64, types.int64), generate


def _fetch(*, to_write: bool) -> Any:
    """Return a code generator that prefetches one cache line of an array, or two of a matrix row."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type = signature.args[0]
        struct = context.make_array(array_type)(context, builder, arguments[0])
        index, bytes_ahead = arguments[1], [0]
        if array_type.ndim == 2:
            index = builder.mul(index, builder.extract_value(struct.shape, 1))
            bytes_ahead.append(_LINE)
        byte = ir.IntType(8).as_pointer()
        word = ir.IntType(32)
        fetch = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        )
        address = builder.bitcast(builder.gep(struct.data, [index]), byte)
        for ahead in bytes_ahead:
            line = builder.gep(address, [ir.Constant(word, ahead)])
            builder.call(fetch, [line, *(ir.Constant(word, how) for how in (int(to_write), 3, 1))])
        return context.get_dummy_value()

    return generate


@intrinsic
def prefetch(_typing: Any, array: Any, index: Any) -> Any:
    """Prefetch array[index] into the caches, or the row of a matrix."""
    return types.void(array, types.intp), _fetch(to_write=False)


@intrinsic
def prefetch_to_write(_typing: Any, array: Any, index: Any) -> Any:
    """Prefetch for writing: also invalidates the copies in other processors' caches."""
    return types.void(array, types.intp), _fetch(to_write=True)


def _system_call(name: str) -> Any:
    """Return a code generator that calls a function of the C library."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        integer = ir.IntType(32)
        kind = ir.FunctionType(integer, [integer] * len(arguments))
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        builder.call(function, [builder.trunc(each, integer) for each in arguments])
        return context.get_dummy_value()

    return generate


@intrinsic
def sched_yield(_typing: Any) -> Any:
    """Yield the processor to another runnable thread."""
    return types.void(), _system_call("sched_yield")


@intrinsic
def usleep(_typing: Any, microseconds: Any) -> Any:
    """Sleep for at least so many microseconds."""
    return types.void(types.int64), _system_call("usleep")
