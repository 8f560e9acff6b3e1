"""What kernels do with memory beyond arrays: ask for it ahead of time, go by addresses, read bits as numbers."""

from __future__ import annotations

import sys
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from modlm.ground.arrays import intrinsic


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask for array[index], wherever the index points, without waiting for it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, arguments[0])
        place = cgutils.get_item_pointer(context, builder, kind, view, [arguments[1]], wraparound=False)
        place = builder.bitcast(place, cgutils.voidptr_t)
        number = ir.IntType(32)
        form = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [place.type], form)
        builder.call(function, [place, number(0), number(3), number(1)])  # a read, to all cache levels, of data
        return context.get_dummy_value()

    return types.void(array, types.uint64), generate


@intrinsic
def eight_bytes(typing_context: Any, data: Any, position: Any) -> Any:
    """The bytes at position .. position + 7, first byte lowest."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, arguments[0])
        place = cgutils.get_item_pointer(context, builder, kind, view, [arguments[1]], wraparound=False)
        loaded = builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()))
        loaded.align = 1
        return loaded if sys.byteorder == "little" else builder.bswap(loaded)

    return types.uint64(data, types.uint64), generate


@intrinsic
def pointer(typing_context: Any, address: Any) -> Any:
    """The address as a pointer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.uint64), generate


@intrinsic
def single(typing_context: Any, bits: Any) -> Any:
    """The float32 that these 32 bits are."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.uint32), generate


@intrinsic
def double(typing_context: Any, bits: Any) -> Any:
    """The float64 that these 64 bits are."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.uint64), generate


@intrinsic
def borrowed(typing_context: Any, array: Any) -> Any:
    """The same array, not held on to: numba counts no references to it, which costs as much as reading from it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        return view._getvalue()

    return array(array), generate


@intrinsic
def lowest_one(typing_context: Any, word: Any) -> Any:
    """The place of the lowest set bit of a number that is not 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate
