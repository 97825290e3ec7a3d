"""Defines NumPy formulas of element-wise operators; the inputs broadcast."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from tbe_impl.gelu_constants import CUBIC, SIGMOID_SCALE
from tbe_impl.ops.formula import Formula


def _power(x: Any, *, base: float = -1.0, scale: float = 1.0, shift: float = 0.0) -> Any:
    return np.exp((scale * x + shift) * (1.0 if base == -1 else math.log(base)))


def _logarithm(x: Any, *, base: float = -1.0, scale: float = 1.0, shift: float = 0.0) -> Any:
    return np.log(scale * x + shift) / (1.0 if base == -1 else math.log(base))


def sigmoid(x: Any) -> Any:
    """Returns 1 / (1 + e^(−x)), computed without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, small) / (1 + small)


def softplus(x: Any) -> Any:
    """Returns ln(1 + e^x), computed without overflow."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _gelu_gate(x: Any) -> Any:
    return sigmoid(SIGMOID_SCALE * (x + CUBIC * x**3))


def _gelu_grad(dy: Any, x: Any) -> Any:
    gate = _gelu_gate(x)
    return dy * (gate + x * gate * (1 - gate) * SIGMOID_SCALE * (1 + 3 * CUBIC * x * x))


def _silu_grad(dy: Any, x: Any) -> Any:
    gate = sigmoid(x)
    return dy * gate * (1 + x * (1 - gate))


def _huber(predict: Any, label: Any, *, delta: float = 1.0) -> Any:
    size = np.abs(predict - label)
    return np.where(size <= delta, 0.5 * size * size, delta * (size - 0.5 * delta))


def _smooth_l1(predict: Any, label: Any, *, sigma: float = 1.0) -> Any:
    size = np.abs(predict - label)
    return np.where(size < sigma, 0.5 * size * size / sigma, size - 0.5 * sigma)


def _truth(found: Any) -> Any:
    return np.asarray(found).astype(np.int8)


def _erf(x: Any) -> Any:
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def _total(xs: tuple[Any, ...]) -> Any:
    found = xs[0]
    for item in xs[1:]:
        found = found + item
    return found


_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772

_TARGETS = {0: np.float32, 1: np.float16, 3: np.int32}


def _cast(x: Any, *, dst_type: int) -> Any:
    """Returns x as float64, or truncated to int64 if dst_type is int32."""
    return np.trunc(x).astype(np.int64) if dst_type == 3 else np.asarray(x).astype(np.float64)


ELEMENTWISE: Mapping[str, Formula] = MappingProxyType(
    {
        "abs": Formula(lambda x: np.abs(x)),
        "exp": Formula(_power),
        "expm1": Formula(lambda x: np.expm1(x)),
        "log": Formula(_logarithm),
        "log1p": Formula(lambda x: np.log1p(x)),
        "sqrt": Formula(lambda x: np.sqrt(x)),
        "rsqrt": Formula(lambda x: 1 / np.sqrt(x)),
        "reciprocal": Formula(lambda x: 1 / x),
        "square": Formula(lambda x: x * x),
        "neg": Formula(lambda x: -x),
        "sign": Formula(lambda x: np.sign(x)),
        "floor": Formula(lambda x: np.floor(x)),
        "ceil": Formula(lambda x: np.ceil(x)),
        "round": Formula(lambda x: np.rint(x)),
        "logical_not": Formula(lambda x: _truth(x == 0)),
        "sin": Formula(lambda x: np.sin(x)),
        "cos": Formula(lambda x: np.cos(x)),
        "tan": Formula(lambda x: np.tan(x)),
        "asin": Formula(lambda x: np.arcsin(x)),
        "acos": Formula(lambda x: np.arccos(x)),
        "atan": Formula(lambda x: np.arctan(x)),
        "sinh": Formula(lambda x: np.sinh(x)),
        "cosh": Formula(lambda x: np.cosh(x)),
        "asinh": Formula(lambda x: np.arcsinh(x)),
        "acosh": Formula(lambda x: np.arccosh(x)),
        "atanh": Formula(lambda x: np.arctanh(x)),
        "erf": Formula(lambda x: _erf(x)),
        "erfc": Formula(lambda x: 1 - _erf(x)),
        "relu": Formula(lambda x: np.maximum(x, 0)),
        "relu6": Formula(lambda x: np.clip(x, 0, 6)),
        "leaky_relu": Formula(
            lambda x, *, negative_slope=0.0: np.where(x > 0, x, negative_slope * x)
        ),
        "elu": Formula(lambda x, *, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x))),
        "selu": Formula(lambda x: _SELU_SCALE * np.where(x > 0, x, _SELU_ALPHA * np.expm1(x))),
        "sigmoid": Formula(sigmoid),
        "log_sigmoid": Formula(lambda x: -softplus(-x)),
        "tanh": Formula(lambda x: np.tanh(x)),
        "softplus": Formula(softplus),
        "softplus_beta": Formula(
            lambda x, *, beta=1.0, threshold=20.0: np.where(
                beta * x > threshold, x, softplus(beta * x) / beta
            )
        ),
        "softsign": Formula(lambda x: x / (1 + np.abs(x))),
        "swish": Formula(lambda x, *, beta=1.0: x / (1 + np.exp(-beta * x)), {"scale": "beta"}),
        "hard_sigmoid": Formula(
            lambda x, *, alpha=1 / 6, beta=0.5: np.clip(alpha * x + beta, 0, 1)
        ),
        "hard_swish": Formula(lambda x: x * np.clip(x + 3, 0, 6) / 6),
        "gelu": Formula(lambda x: x * _gelu_gate(x)),
        "fast_gelu": Formula(lambda x: x * sigmoid(1.702 * x)),
        "mish": Formula(lambda x: x * np.tanh(softplus(x))),
        "relu_grad": Formula(lambda gradients, features: gradients * (features > 0)),
        "relu6_grad": Formula(
            lambda gradients, features: gradients * ((features > 0) & (features < 6))
        ),
        "sigmoid_grad": Formula(lambda y, dy: dy * y * (1 - y)),
        "tanh_grad": Formula(lambda y, dy: dy * (1 - y * y)),
        "sqrt_grad": Formula(lambda y, dy: dy * 0.5 / y),
        "rsqrt_grad": Formula(lambda y, dy: -0.5 * dy * y**3),
        "reciprocal_grad": Formula(lambda y, dy: -dy * y * y),
        "silu_grad": Formula(_silu_grad),
        "gelu_grad": Formula(_gelu_grad),
        "add": Formula(lambda x1, x2: x1 + x2),
        "sub": Formula(lambda x1, x2: x1 - x2),
        "mul": Formula(lambda x1, x2: x1 * x2),
        "div": Formula(lambda x1, x2: x1 / x2),
        "div_no_nan": Formula(lambda x1, x2: np.where(x2 == 0, 0, x1 / np.where(x2 == 0, 1, x2))),
        "maximum": Formula(lambda x1, x2: np.maximum(x1, x2)),
        "minimum": Formula(lambda x1, x2: np.minimum(x1, x2)),
        "pow": Formula(lambda x1, x2: x1**x2),
        "floor_div": Formula(lambda x1, x2: np.floor(x1 / x2)),
        "floor_mod": Formula(lambda x1, x2: x1 - np.floor(x1 / x2) * x2),
        "truncate_div": Formula(lambda x1, x2: np.trunc(x1 / x2)),
        "truncate_mod": Formula(lambda x1, x2: x1 - np.trunc(x1 / x2) * x2),
        "mod": Formula(lambda x1, x2: x1 - np.trunc(x1 / x2) * x2),
        "squared_difference": Formula(lambda x1, x2: (x1 - x2) ** 2),
        "atan2": Formula(lambda x1, x2: np.arctan2(x1, x2)),
        "equal": Formula(lambda x1, x2: _truth(x1 == x2)),
        "not_equal": Formula(lambda x1, x2: _truth(x1 != x2)),
        "less": Formula(lambda x1, x2: _truth(x1 < x2)),
        "less_equal": Formula(lambda x1, x2: _truth(x1 <= x2)),
        "greater": Formula(lambda x1, x2: _truth(x1 > x2)),
        "greater_equal": Formula(lambda x1, x2: _truth(x1 >= x2)),
        "logical_and": Formula(lambda x1, x2: _truth((x1 != 0) & (x2 != 0))),
        "logical_or": Formula(lambda x1, x2: _truth((x1 != 0) | (x2 != 0))),
        "xlogy": Formula(lambda x1, x2: x1 * np.log(x2)),
        "xdivy": Formula(lambda x1, x2: x1 / x2),
        "bias_add": Formula(lambda x, bias: x + bias),
        "add_n": Formula(lambda *xs: _total(xs)),
        "addcmul": Formula(lambda input_data, x1, x2, *, value=1.0: input_data + value * x1 * x2),
        "addcdiv": Formula(lambda input_data, x1, x2, *, value=1.0: input_data + value * x1 / x2),
        "axpy": Formula(lambda x1, x2, *, alpha: x1 + alpha * x2),
        "axpby": Formula(lambda x1, x2, *, alpha=1.0, beta=1.0: alpha * x1 + beta * x2),
        "adds": Formula(lambda x, *, value: x + value),
        "muls": Formula(lambda x, *, value: x * value),
        "lerp": Formula(lambda start, end, weight: start + weight * (end - start)),
        "clip_by_value": Formula(lambda x, low, high: np.minimum(np.maximum(x, low), high)),
        "select": Formula(lambda condition, x1, x2: np.where(condition != 0, x1, x2)),
        "masked_fill": Formula(lambda x, mask, value: np.where(mask != 0, value, x)),
        "cast": Formula(_cast),
        "huber_loss": Formula(_huber),
        "smooth_l1_loss": Formula(_smooth_l1),
    }
)
"""Maps the name of an operator to its formula."""
