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

FLAG, NUMBER = ir.IntType(32), ir.IntType(64)


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
    api, builder = c.pyapi, c.builder
    native = cgutils.create_struct_proxy(kind)(c.context, builder)
    size = cgutils.alloca_once_value(builder, NUMBER(0))
    at = cgutils.alloca_once_value(builder, ir.Constant(api.cstring, None))
    memory = _called(
        api, FLAG, "PyObject_IsInstance", obj, api.get_c_object(f"Py{'Bytes' if kind == TEXT else 'ByteArray'}_Type")
    )
    with builder.if_else(builder.icmp_signed("==", memory, FLAG(1))) as (itself, otherwise):
        with itself:
            if kind == TEXT:
                _called(api, FLAG, "PyBytes_AsStringAndSize", obj, at, size)
            else:
                builder.store(_called(api, api.cstring, "PyByteArray_AsString", obj), at)
                builder.store(_called(api, NUMBER, "PyByteArray_Size", obj), size)
        with otherwise:
            if kind == TEXT:
                builder.store(_called(api, api.cstring, "PyUnicode_AsUTF8AndSize", obj, size), at)
            else:
                message = c.context.insert_const_string(builder.module, "a State is needed here")
                api.err_set_string("PyExc_TypeError", message)
    native.at, native.size = builder.ptrtoint(builder.load(at), NUMBER), builder.load(size)
    native.owner = builder.ptrtoint(obj, NUMBER)
    return NativeValue(native._getvalue(), is_error=cgutils.is_null(builder, builder.load(at)))


def _called(api: Any, returns: Any, name: str, *arguments: Any) -> Any:
    """What one of Python's C functions returns."""
    kind = ir.FunctionType(returns, [argument.type for argument in arguments])
    return api.builder.call(cgutils.get_or_insert_function(api.module, kind, name), arguments)


@intrinsic
def resized(typing_context: Any, owner: Any, size: Any) -> Any:
    """Where a bytearray lies after it has got another size; 0 where somebody holds on to it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        api = context.get_python_api(builder)
        obj = builder.inttoptr(arguments[0], api.pyobj)
        failed = _called(api, FLAG, "PyByteArray_Resize", obj, arguments[1])
        with builder.if_then(bad := builder.icmp_signed("!=", failed, FLAG(0)), likely=False):
            api.err_clear()
        address = builder.ptrtoint(_called(api, api.cstring, "PyByteArray_AsString", obj), NUMBER)
        return builder.select(bad, NUMBER(0), address)

    return types.uint64(types.uint64, types.int64), generate
