"""DSL operations that change the dtype: casts and roundings to integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tbe_impl.dsl.array_semantics import Array, convert
from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.dsl.expr import call, cast, const
from tbe_impl.dsl.functions import FUNCTIONS
from tbe_impl.dsl.operation import DslOperation, check_tensor, elementwise_stage, with_name
from tbe_impl.dsl.operations.elementwise import OPERATIONS as ARITHMETIC
from tbe_impl.dsl.tensor import Tensor

_vadds, _vmins, _vmaxs = (
    next(word for word in ARITHMETIC if word.name == name) for name in ("vadds", "vmins", "vmaxs")
)


def cast_to(data: Tensor, dtype: str, f1628IntegerFlag: bool = True) -> Tensor:
    """Casts a tensor to `dtype`, or returns the tensor itself if it has that dtype already.

    A float-to-integer cast truncates towards 0, saturates, and maps NaN to 0. A cast to a narrower
    float rounds to nearest even.

    Args:
        data: any tensor.
        dtype: dtype of the result.
        f1628IntegerFlag: False declares that float16 values may have fractions. The cast from
            float16 to int8 or uint8 then subtracts 0.5 first.
    """
    tensor, name = check_tensor("cast_to", data, "data"), dtype_of(dtype).name
    if tensor.dtype == name:
        return tensor
    if tensor.dtype == "float16" and name in ("int8", "uint8") and not f1628IntegerFlag:
        tensor = _vadds(tensor, const(-0.5, "float16"))
    trunc = is_float(tensor.dtype) and not is_float(name)
    tag = f"elewise_single_{'trunc' if trunc else 'cast'}|not_auto_cast"
    return elementwise_stage("cast_to", tag, (tensor,), lambda x: cast(name, x), {"dtype": name})


def _cast(x: Array, dtype: str) -> Array:
    # the interpreter rounds floats itself, according to its rounding mode
    return x if is_float(dtype) else convert(x, dtype_of(dtype).numpy)


def _make_rounding(name: str, formula: str, tag: str, function: str) -> DslOperation:
    def build(raw_tensor: Tensor, dtype: str = "int32") -> Tensor:
        tensor, result = check_tensor(name, raw_tensor), dtype_of(dtype).name
        whole = not is_float(tensor.dtype)
        return elementwise_stage(
            name,
            f"elewise_single_{tag}",
            (tensor,),
            lambda x: cast(result, x if whole else call(function, x)),
            {"dtype": result},
        )

    def numpy(x: Array, dtype: str) -> Array:
        return _cast(x if x.dtype.kind in "iub" else FUNCTIONS[function].numpy(x), dtype)

    return DslOperation(
        name,
        with_name(build, name, f"Computes {formula} in the given dtype, by default int32."),
        numpy,
        "vconv",
    )


def cast_to_round(data: Tensor, dtype: str = "int32") -> Tensor:
    """Rounds to the nearest integer, ties away from 0, and converts the result to `dtype`."""
    return ROUND_HALF_UP(data, dtype)


def clip(data: Tensor, max_value: Any, min_value: Any) -> Tensor:
    """Returns max(min(data, max_value), min_value); the argument `max_value` comes first."""
    return _vmaxs(_vmins(data, max_value), min_value)


def _make_operation(name: str, function: Callable[..., Any]) -> DslOperation:
    return DslOperation(name, function)


def vsignbit(raw_tensor: Tensor) -> Tensor:
    """Returns the sign bit of each element, as 0 or 1 in the dtype of the tensor.

    The sign bit of −0 is 1. The result for a NaN is always 0.
    """
    from tbe_impl.dsl.expr import make_binary, select

    tensor = check_tensor("vsignbit", raw_tensor)

    def scalar(x: Any) -> Any:
        negative = x < 0
        if is_float(tensor.dtype):
            negative = make_binary("or", negative, call("rec", x) < 0)
        return select(negative, const(1, tensor.dtype), const(0, tensor.dtype))

    return elementwise_stage("vsignbit", "elewise_single_signbit", (tensor,), scalar)


def _signbit(x: Array) -> Array:
    if x.dtype.kind in "iub":
        return (x < 0).astype(x.dtype)
    return (np.signbit(x) & ~np.isnan(x)).astype(x.dtype)


ROUND_HALF_UP = _make_rounding(
    "round_half_up", "the integer nearest to x (ties away from 0)", "round_d", "round_away"
)

OPERATIONS = (
    DslOperation("cast_to", cast_to, _cast, "vconv"),
    _make_rounding("floor", "the greatest integer not above x", "floor", "floor"),
    _make_rounding("ceil", "the least integer not below x", "ceil", "ceil"),
    _make_rounding("round", "the integer nearest to x (ties to even)", "round", "rint"),
    _make_rounding("trunc", "the integer part of x (truncation)", "trunc", "trunc"),
    ROUND_HALF_UP,
    _make_rounding(
        "round_d", "the integer nearest to x (ties away from 0)", "round_d", "round_away"
    ),
    _make_operation("cast_to_round", cast_to_round),
    _make_operation("clip", clip),
    _make_operation("round_to", clip),
    DslOperation("vsignbit", vsignbit, _signbit),
)
