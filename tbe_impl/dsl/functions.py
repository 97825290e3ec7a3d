"""Defines the scalar functions that stage bodies can call, each with a NumPy implementation.

The CPU back end has a SIMD implementation of each function under the same name
(``codegen/include/vector_math.h``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from tbe_impl.dsl.array_semantics import divide
from tbe_impl.gelu_constants import CUBIC, SIGMOID_SCALE, SQRT_HALF


@dataclass(frozen=True)
class Function:
    """A scalar function.

    Attributes:
        name: the name in `tbe_impl.dsl.expr.Call`.
        numpy: the NumPy implementation, which takes arrays.
        arity: number of arguments.
        result: dtype of the result; ``same`` means the dtype of the first argument.
    """

    name: str
    numpy: Callable[..., Any]
    arity: int = 1
    result: str = "same"


def _sigmoid(x: Any) -> Any:
    positive = x >= 0
    small = np.exp(np.where(positive, -x, x))
    return np.where(positive, 1 / (1 + small), small / (1 + small))


def _vectorize_math(name: str) -> Callable[..., Any]:
    """Vectorises a function of Python's ``math`` module that NumPy lacks, such as erf."""
    scalar = getattr(math, name)
    return lambda x: np.vectorize(scalar, otypes=[np.float64])(x).astype(np.asarray(x).dtype)


def _ndtr(x: Any) -> Any:
    return 0.5 * _vectorize_math("erfc")(-SQRT_HALF * np.asarray(x, np.float64)).astype(
        np.asarray(x).dtype
    )


def _ndtr_tanh(x: Any) -> Any:
    wide = np.clip(np.asarray(x, np.float64), -100.0, 100.0)
    return _sigmoid(SIGMOID_SCALE * (wide + CUBIC * wide**3)).astype(np.asarray(x).dtype)


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        function.name: function
        for function in (
            Function("abs", np.abs),
            Function("neg", np.negative),
            Function("sqrt", np.sqrt),
            Function("rsqrt", lambda x: 1 / np.sqrt(x)),
            Function("rec", lambda x: divide(np.ones((), np.asarray(x).dtype), x)),
            Function("exp", np.exp),
            Function("exp2", np.exp2),
            Function("expm1", np.expm1),
            Function("log", np.log),
            Function("log2", np.log2),
            Function("log10", np.log10),
            Function("log1p", np.log1p),
            Function("tanh", np.tanh),
            Function("sigmoid", _sigmoid),
            Function("erf", _vectorize_math("erf")),
            Function("erfc", _vectorize_math("erfc")),
            Function("ndtr", _ndtr),
            Function("ndtr_tanh", _ndtr_tanh),
            Function("tanh_softplus", lambda x: np.tanh(np.logaddexp(x, np.zeros((), x.dtype)))),
            Function("sin", np.sin),
            Function("cos", np.cos),
            Function("tan", np.tan),
            Function("asin", np.arcsin),
            Function("acos", np.arccos),
            Function("atan", np.arctan),
            Function("atan2", np.arctan2, arity=2),
            Function("sinh", np.sinh),
            Function("cosh", np.cosh),
            Function("asinh", np.arcsinh),
            Function("acosh", np.arccosh),
            Function("atanh", np.arctanh),
            Function("floor", np.floor),
            Function("ceil", np.ceil),
            Function("rint", np.rint),
            Function("round_away", lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x)),
            Function("trunc", np.trunc),
            Function("sign", np.sign),
            Function("relu", lambda x: np.maximum(x, np.zeros((), x.dtype))),
            Function("fmod", np.fmod, arity=2),
            Function("isnan", np.isnan, result="bool"),
            Function("isinf", np.isinf, result="bool"),
            Function("isfinite", np.isfinite, result="bool"),
            Function("not", np.logical_not, result="bool"),
            Function("bitnot", np.invert),
            Function("gcd", np.gcd, arity=2),
            Function(
                "float_of_bits",
                lambda x: np.asarray(x).astype(np.uint32).view(np.float32),
                result="float32",
            ),
        )
    }
)
"""Maps a name to its scalar function."""
