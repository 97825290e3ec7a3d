"""Dequantizes integers of a quantized layer: ``tvm.deq_cast`` and related functions.

A device scale is a uint64. The lowest 32 bits are the scale in float32. The bits 37 to 45 are the
signed offset that is added to int8 results.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tbe_impl.dsl.expr import Expr, as_expr, call, cast, const, make_binary

_OFFSET_AT, _OFFSET_BITS = 37, 9


def deq_cast(x: Any, deq_scale: Any, dtype: str = "float16", do_relu: bool = False) -> Expr:
    """Returns ``x · scale`` in `dtype`.

    For int16 and int8, the product is rounded. For int8, the offset is then added.

    Args:
        x: an integer expression.
        deq_scale: a device scale (a uint64 that contains a float32 scale and an offset), or a
            number. A number is a scale without an offset.
        dtype: dtype of the result; the conversion saturates.
        do_relu: whether to replace negative values by 0.
    """
    scale = as_expr(deq_scale)
    value = _dequantize(x, scale, bool(do_relu))
    if dtype.startswith("float"):
        return cast(dtype, value)
    value = call("rint", value)
    return cast(dtype, value + _offset(scale) if dtype == "int8" else value)


def conv_vdeq(x: Any, deq_scale: Any) -> Expr:
    """Returns ``round(x · scale) + offset``; `deq_scale` contains the scale and the offset.

    The operator casts the result to int8.
    """
    scale = as_expr(deq_scale)
    return call("rint", _dequantize(x, scale, relu=False)) + _offset(scale)


def _dequantize(x: Any, scale: Expr, relu: bool) -> Expr:
    factor = (
        call("float_of_bits", scale, dtype="float32")
        if scale.dtype == "uint64"
        else cast("float32", scale)
    )
    value = cast("float32", as_expr(x)) * factor
    return call("relu", value) if relu else value


def _offset(scale: Expr) -> Expr:
    if scale.dtype != "uint64":
        return const(0.0, "float32")
    bits = make_binary("shr", scale, const(_OFFSET_AT, "uint64"))
    whole = cast("int32", make_binary("bitand", bits, const((1 << _OFFSET_BITS) - 1, "uint64")))
    sign = 1 << (_OFFSET_BITS - 1)
    return cast("float32", make_binary("bitxor", whole, const(sign, "int32")) - sign)


FUNCTIONS: Mapping[str, Any] = {
    "deq_cast": deq_cast,
    "vdeq_cast": deq_cast,
    "conv_vdeq": conv_vdeq,
}
"""Maps a name in ``tvm`` to its function.

Operators call ``vdeq_cast`` with one scale per channel.
"""
