"""Strings and states as compiled code takes them from Python without a copy: by address and size.

A call into compiled code with arrays spends more on looking at them than a word costs. A string gives the UTF-8 that
Python keeps of it, bytes give themselves, a `bytearray` its memory, which `resized` may move.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import NativeValue, make_attribute_wrapper, models, register_model, unbox

from modlm.ground.arrays import intrinsic

FLAG = ir.IntType(32)


class ObjectType(types.Type):
    """A Python object, seen as memory."""


TEXT, STATE = ObjectType("modlm.text"), ObjectType("modlm.state")
"""A str or bytes; a bytearray."""


@register_model(ObjectType)
class ObjectModel(models.StructModel):
    """Where its bytes are, how many, and the object itself."""

    def __init__(self, manager: Any, kind: Any) -> None:
        places = [("at", types.uint64), ("size", types.int64), ("owner", types.uint64)]
        super().__init__(manager, kind, places)  # type: ignore[no-untyped-call]


for _name in ("at", "size", "owner"):
    make_attribute_wrapper(ObjectType, _name, _name)


@unbox(ObjectType)  # type: ignore[untyped-decorator]
def unbox_object(kind: Any, obj: Any, c: Any) -> Any:
    """Its memory; a TypeError where it is something else, a UnicodeEncodeError for half a surrogate pair."""
    api, builder, number = c.pyapi, c.builder, ir.IntType(64)
    native = cgutils.create_struct_proxy(kind)(c.context, builder)
    size = cgutils.alloca_once_value(builder, number(0))
    at = cgutils.alloca_once_value(builder, ir.Constant(api.cstring, None))
    if kind == TEXT:
        is_bytes = _is_instance(c, obj, "PyBytes_Type")
        with builder.if_else(is_bytes) as (of_bytes, of_string):
            with of_bytes:
                builder.call(_function(api, FLAG, "PyBytes_AsStringAndSize", 3, [at.type, size.type]), [obj, at, size])
            with of_string:
                builder.store(
                    builder.call(_function(api, api.cstring, "PyUnicode_AsUTF8AndSize", 2, [size.type]), [obj, size]),
                    at,
                )
    else:
        with builder.if_else(_is_instance(c, obj, "PyByteArray_Type")) as (right, wrong):
            with right:
                builder.store(builder.call(_function(api, api.cstring, "PyByteArray_AsString", 1), [obj]), at)
                builder.store(builder.call(_function(api, number, "PyByteArray_Size", 1), [obj]), size)
            with wrong:
                message = c.context.insert_const_string(builder.module, "a State is needed here")
                api.err_set_string("PyExc_TypeError", message)
    native.at, native.size = builder.ptrtoint(builder.load(at), number), builder.load(size)
    native.owner = builder.ptrtoint(obj, number)
    return NativeValue(native._getvalue(), is_error=cgutils.is_null(builder, builder.load(at)))


def _function(api: Any, returns: Any, name: str, arguments: int, others: list[Any] | None = None) -> Any:
    """One of Python's C functions; its first argument is an object."""
    kinds = [api.pyobj, *(others or [])]
    assert len(kinds) == arguments
    return cgutils.get_or_insert_function(api.module, ir.FunctionType(returns, kinds), name)


def _is_instance(c: Any, obj: Any, name: str) -> Any:
    check = _function(c.pyapi, FLAG, "PyObject_IsInstance", 2, [c.pyapi.pyobj])
    return c.builder.icmp_signed("==", c.builder.call(check, [obj, c.pyapi.get_c_object(name)]), FLAG(1))


@intrinsic
def resized(typing_context: Any, owner: Any, size: Any) -> Any:
    """Where a bytearray lies after it has got another size; 0 where somebody holds on to it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        api, number = context.get_python_api(builder), ir.IntType(64)
        obj = builder.inttoptr(arguments[0], api.pyobj)
        failed = builder.call(_function(api, FLAG, "PyByteArray_Resize", 2, [number]), [obj, arguments[1]])
        bad = builder.icmp_signed("!=", failed, FLAG(0))
        with builder.if_then(bad, likely=False):
            api.err_clear()
        address = builder.ptrtoint(builder.call(_function(api, api.cstring, "PyByteArray_AsString", 1), [obj]), number)
        return builder.select(bad, number(0), address)

    return types.uint64(types.uint64, types.int64), generate
