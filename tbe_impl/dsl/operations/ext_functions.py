"""Extension operations for scalar functions that CANN lacks: tanh, erf, sin, pow, isnan …"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tbe_impl.dsl.array_semantics import divide
from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import call, const, make_binary
from tbe_impl.dsl.functions import FUNCTIONS
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.operation import (
    DslOperation,
    check_float,
    check_tensor,
    elementwise_stage,
    with_name,
)
from tbe_impl.dsl.operations.elementwise import INTEGER_FUNCTIONS
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.errors import InputError


def _make_function(name: str, formula: str) -> DslOperation:
    known = FUNCTIONS[name]
    result = None if known.result == "same" else known.result

    def build(*tensors: Tensor) -> Tensor:
        if len(tensors) != known.arity:
            raise InputError(
                f"{name} takes {known.arity} tensors",
                place=str(user_location()),
                expected=str(known.arity),
                got=str(len(tensors)),
            )
        given = [check_tensor(name, item) for item in tensors]
        if name not in INTEGER_FUNCTIONS:
            check_float(name, given[0])
        return elementwise_stage(
            name, f"elewise_ext_{name}", given, lambda *x: call(name, *x, dtype=result)
        )

    return DslOperation(
        name,
        with_name(
            build,
            name,
            (
                f"Computes {formula} element by element. The result has the tensor's shape and "
                f"{'dtype' if result is None else 'the dtype bool'}."
            ),
        ),
        known.numpy,
    )


def _make_binary(
    name: str, formula: str, scalar: Callable[..., Any], numpy: Callable[..., Any]
) -> DslOperation:
    def build(lhs: Tensor, rhs: Tensor) -> Tensor:
        return elementwise_stage(name, f"elewise_ext_{name}", (lhs, rhs), scalar)

    return DslOperation(
        name,
        with_name(build, name, f"Computes {formula} for two tensors of one shape and dtype."),
        numpy,
    )


def _make_unary(
    name: str, formula: str, scalar: Callable[..., Any], numpy: Callable[..., Any]
) -> DslOperation:
    def build(raw_tensor: Tensor) -> Tensor:
        return elementwise_stage(
            name, f"elewise_ext_{name}", (check_tensor(name, raw_tensor),), scalar
        )

    return DslOperation(
        name,
        with_name(
            build, name, f"Computes {formula} for each element x; the result has the dtype of x."
        ),
        numpy,
    )


def _floor_divide(x: Any, y: Any) -> Any:
    if x.dtype.kind in "iu":
        return np.where(y == 0, 0, np.floor_divide(x, np.where(y == 0, 1, y))).astype(x.dtype)
    return np.floor(x / y)


OPERATIONS = (
    _make_function("tanh", "tanh x"),
    _make_function("sigmoid", "1 / (1 + e^−x)"),
    _make_function("erf", "2/√π · the integral of e^−t² from 0 to x"),
    _make_function("erfc", "1 − erf x"),
    _make_function("ndtr", "½ · erfc(−x / √2) (the normal cumulative distribution)"),
    _make_function(
        "ndtr_tanh", "½ · (1 + tanh(√(2/π) · (x + 0.044715 · x³))) (an approximation of ndtr)"
    ),
    _make_function("tanh_softplus", "tanh(ln(1 + e^x))"),
    _make_function("sin", "sin x"),
    _make_function("cos", "cos x"),
    _make_function("tan", "tan x"),
    _make_function("asin", "arcsin x"),
    _make_function("acos", "arccos x"),
    _make_function("atan", "arctan x"),
    _make_function("atan2", "the angle of the point (x, y), where y is the first argument"),
    _make_function("sinh", "sinh x"),
    _make_function("cosh", "cosh x"),
    _make_function("asinh", "arsinh x"),
    _make_function("acosh", "arcosh x"),
    _make_function("atanh", "artanh x"),
    _make_function("exp2", "2^x"),
    _make_function("expm1", "e^x − 1"),
    _make_function("log1p", "ln (1 + x)"),
    _make_function("log2", "log₂ x"),
    _make_function("log10", "log₁₀ x"),
    _make_function("isnan", "whether x is NaN"),
    _make_function("isinf", "whether x is infinite"),
    _make_function("isfinite", "whether x is finite"),
    _make_function("sign", "the sign of x (−1, 0 or 1; NaN for NaN)"),
    _make_function("neg", "−x"),
    _make_function("rint", "the nearest integer, ties to even"),
    _make_function("fmod", "x − trunc(x / y)·y"),
    _make_binary("pow", "lhs to the power of rhs", lambda x, y: make_binary("pow", x, y), np.power),
    _make_binary(
        "floor_divide",
        "floor(lhs / rhs) (0 if an integer is divided by 0)",
        lambda x, y: call("floor", x / y) if is_float(x.dtype) else x // y,
        _floor_divide,
    ),
    _make_unary("square", "x²", lambda x: x * x, np.square),
    _make_unary(
        "reciprocal",
        "1 / x (truncated for an integer x, and 0 for the integer 0)",
        lambda x: make_binary("div", const(1, x.dtype), x),
        lambda x: divide(np.ones((), x.dtype), x),
    ),
)
