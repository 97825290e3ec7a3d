"""Defines formulas of MindSpore's activation operators and their gradients.

A formula applies to NumPy arrays and to traced tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

Array = np.ndarray


def _clip(x: Array, low: float, high: float) -> Any:
    return np.minimum(np.maximum(x, low), high)


def _relu6_gradient(dy: Array, x: Array) -> Any:
    return np.where((x > 0) & (x < 6), dy, 0 * dy)


def _hard_sigmoid(x: Array) -> Any:
    return _clip(x / 6 + 0.5, 0, 1)


def _hard_sigmoid_gradient(dy: Array, x: Array) -> Any:
    return np.where((x > -3) & (x < 3), dy / 6, 0 * dy)


def _hard_swish(x: Array) -> Any:
    """x · hard_sigmoid(x); 0 for x ≤ −3, since the product would be NaN at −∞."""
    return np.where(x <= -3, 0 * _clip(x, -3, 0), x * _hard_sigmoid(x))


def _hard_swish_gradient(dy: Array, x: Array) -> Any:
    inner = np.where(x >= 3, dy, dy * (x / 3 + 0.5))
    return np.where(x <= -3, 0 * dy, inner)


def _elu(x: Array, *_: Array) -> Any:
    """Elu with alpha 1, the only value that MindSpore supports."""
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def _elu_gradient(dy: Array, y: Array) -> Any:
    return np.where(y > 0, dy, dy * (y + 1))


def sigmoid(x: Array) -> Any:
    """1 / (1 + e^−x)."""
    return 1 / (1 + np.exp(-x))


def softplus(x: Array) -> Any:
    """ln(1 + e^x)."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _selu(x: Array) -> Any:
    alpha, scale = 1.67326324, 1.05070098
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _fast_gelu_gradient(dy: Array, x: Array) -> Any:
    gate = sigmoid(1.702 * x)
    return dy * (gate + _clip(1.702 * x, -100, 100) * gate * (1 - gate))


def _gelu_gate(x: Array) -> Any:
    return sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))


def gelu_gradient(
    dy: Array, x: Array, *_: Array, gate_of: Callable[[Any], Any] = _gelu_gate
) -> Any:
    """Gradient of GeLU in its tanh form.

    x is clipped to ±20, since x² may overflow. Beyond ±20 the slope is 0 or 1.

    Args:
        dy: gradient of the result y of GeLU.
        x: input of GeLU.
        gate_of: computes y / x from x; a caller may pass a DSL operation instead of the formula.
    """
    inner = _clip(x, -20, 20)
    gate = gate_of(inner)
    slope = 1.5957691216057308 * (1 + 0.134145 * inner * inner)
    return dy * (gate + inner * slope * gate * (1 - gate))


ACTIVATIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "ReLU": lambda x: np.maximum(x, 0),
        "ReLU6": lambda x: _clip(x, 0, 6),
        "ReLU6Grad": _relu6_gradient,
        "HSigmoid": _hard_sigmoid,
        "HSigmoidGrad": _hard_sigmoid_gradient,
        "HSwish": _hard_swish,
        "HSwishGrad": _hard_swish_gradient,
        "Elu": _elu,
        "EluGrad": _elu_gradient,
        "SeLU": _selu,
        "Softsign": lambda x: x / (1 + np.abs(x)),
        "FastGeLU": lambda x: x * sigmoid(1.702 * x),
        "FastGeLUGrad": _fast_gelu_gradient,
        "GeLUGrad": gelu_gradient,
        "SoftplusGrad": lambda dy, x: dy * sigmoid(x),
        "Mish": lambda x: x * np.tanh(softplus(x)),
    }
)
"""Operator type → formula.

A gradient operator takes (gradient of y, x), where y is the result for x. EluGrad takes (gradient
of y, y).
"""
