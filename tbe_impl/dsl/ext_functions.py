"""Functions of scalars that CANN has no word for, as words: tanh, erf, sin, pow, isnan …"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tbe_impl.dsl.array_semantics import divide
from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.elementwise import WHOLE
from tbe_impl.dsl.expr import binary, call, const
from tbe_impl.dsl.functions import FUNCTIONS
from tbe_impl.dsl.location import here
from tbe_impl.dsl.operation import Word, check_float, check_tensor, elementwise
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.errors import InputError


def _function(name: str, formula: str) -> Word:
    known = FUNCTIONS[name]
    result = None if known.result == "same" else known.result

    def build(*tensors: Tensor) -> Tensor:
        if len(tensors) != known.arity:
            raise InputError(
                f"{name} takes {known.arity} tensors",
                place=str(here()),
                expected=str(known.arity),
                got=str(len(tensors)),
            )
        given = [check_tensor(name, item) for item in tensors]
        if name not in WHOLE:
            check_float(name, given[0])
        return elementwise(
            name, f"elewise_ext_{name}", given, lambda *x: call(name, *x, dtype=result)
        )

    build.__name__ = name
    build.__doc__ = f"{formula}; the result has the shape of the tensor and {'its dtype' if result is None else 'is bool'}."
    return Word(name, build, known.numpy)


def _two(name: str, formula: str, scalar: Callable[..., Any], numpy: Callable[..., Any]) -> Word:
    def build(lhs: Tensor, rhs: Tensor) -> Tensor:
        return elementwise(name, f"elewise_ext_{name}", (lhs, rhs), scalar)

    build.__name__ = name
    build.__doc__ = f"{formula}; two tensors of one shape and dtype."
    return Word(name, build, numpy)


def _one(name: str, formula: str, scalar: Callable[..., Any], numpy: Callable[..., Any]) -> Word:
    def build(raw_tensor: Tensor) -> Tensor:
        return elementwise(name, f"elewise_ext_{name}", (check_tensor(name, raw_tensor),), scalar)

    build.__name__ = name
    build.__doc__ = f"{formula}; any dtype, which the result has too."
    return Word(name, build, numpy)


def _floor_divide(x: Any, y: Any) -> Any:
    if x.dtype.kind in "iu":
        return np.where(y == 0, 0, np.floor_divide(x, np.where(y == 0, 1, y))).astype(x.dtype)
    return np.floor(x / y)


WORDS = (
    _function("tanh", "tanh x"),
    _function("sigmoid", "1 / (1 + e^−x)"),
    _function("erf", "2/√π · the integral of e^−t² from 0 to x"),
    _function("erfc", "1 − erf x"),
    _function("ndtr", "½ · erfc(−x / √2), the normal distribution"),
    _function(
        "ndtr_tanh", "½ · (1 + tanh(√(2/π) · (x + 0.044715 · x³))), near to the normal distribution"
    ),
    _function("tanh_softplus", "tanh(ln(1 + e^x))"),
    _function("sin", "sin x"),
    _function("cos", "cos x"),
    _function("tan", "tan x"),
    _function("asin", "arcsin x"),
    _function("acos", "arccos x"),
    _function("atan", "arctan x"),
    _function("atan2", "The angle of the point (second, first)"),
    _function("sinh", "sinh x"),
    _function("cosh", "cosh x"),
    _function("asinh", "arsinh x"),
    _function("acosh", "arcosh x"),
    _function("atanh", "artanh x"),
    _function("exp2", "2^x"),
    _function("expm1", "e^x − 1"),
    _function("log1p", "ln (1 + x)"),
    _function("log2", "log₂ x"),
    _function("log10", "log₁₀ x"),
    _function("isnan", "Whether x is NaN"),
    _function("isinf", "Whether x is infinite"),
    _function("isfinite", "Whether x is a number"),
    _function("sign", "−1, 0 or 1; NaN stays"),
    _function("neg", "−x"),
    _function("rint", "The nearest whole number, halves to even"),
    _function("fmod", "x − trunc(x / y)·y"),
    _two("pow", "lhs to the power of rhs", lambda x, y: binary("pow", x, y), np.power),
    _two(
        "floor_divide",
        "floor(lhs / rhs), 0 where an integer is divided by 0",
        lambda x, y: call("floor", x / y) if is_float(x.dtype) else x // y,
        _floor_divide,
    ),
    _one("square", "x²", lambda x: x * x, np.square),
    _one(
        "reciprocal",
        "1 / x; of integers cut, and 0 for 0",
        lambda x: binary("div", const(1, x.dtype), x),
        lambda x: divide(np.ones((), x.dtype), x),
    ),
)
