"""Whole numbers of a quantised layer back in real ones: ``tvm.deq_cast`` and its like.

A scale of the device is a uint64: the bits of a float32 below, above them from bit 37 nine bits of an offset that int8 results get.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tbe_impl.dsl.expr import Expr, as_expr, binary, call, cast, const

_OFFSET_AT, _OFFSET_BITS = 37, 9


def deq_cast(x: Any, deq_scale: Any, dtype: str = "float16", do_relu: bool = False) -> Expr:
    """``x · scale``, without what is below 0 where `do_relu`; float16, or rounded to int16, or rounded, with the offset, to int8.

    Args:
        x: a whole number.
        deq_scale: a uint64 as above, or the scale itself.
        dtype: of the result; what it cannot hold becomes its nearest number.
    """
    scale = as_expr(deq_scale)
    value = _scaled(x, scale, bool(do_relu))
    if dtype.startswith("float"):
        return cast(dtype, value)
    value = call("rint", value)
    return cast(dtype, value + _offset(scale) if dtype == "int8" else value)


def conv_vdeq(x: Any, deq_scale: Any) -> Expr:
    """``x · scale`` rounded, with the offset; the operator casts it to int8."""
    scale = as_expr(deq_scale)
    return call("rint", _scaled(x, scale, relu=False)) + _offset(scale)


def _scaled(x: Any, scale: Expr, relu: bool) -> Expr:
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
    bits = binary("shr", scale, const(_OFFSET_AT, "uint64"))
    whole = cast("int32", binary("bitand", bits, const((1 << _OFFSET_BITS) - 1, "uint64")))
    sign = 1 << (_OFFSET_BITS - 1)
    return cast("float32", binary("bitxor", whole, const(sign, "int32")) - sign)


FUNCTIONS: Mapping[str, Any] = {
    "deq_cast": deq_cast,
    "vdeq_cast": deq_cast,
    "conv_vdeq": conv_vdeq,
}
"""What ``tvm`` has of them: ``v``, one scale for each channel, is where the operator reads its scale."""
