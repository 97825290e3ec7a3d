"""Vocabulary of random networks and tables: MindSpore text, NumPy formula, input range."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import special

NAMES = {"np": np, "special": special, "sigmoid": special.expit}
ALWAYS: Callable[[Any], bool] = lambda x: True  # noqa: E731
ABOVE: Callable[[Any], bool] = lambda x: x.min() > 0.2  # noqa: E731
AWAY: Callable[[Any], bool] = lambda x: np.abs(x).min() > 0.2  # noqa: E731
SMALL: Callable[[Any], bool] = lambda x: x.max() < 3  # noqa: E731
INSIDE: Callable[[Any], bool] = lambda x: np.abs(x).max() < 0.9  # noqa: E731
SQUARE: Callable[[Any], bool] = lambda x: x.ndim >= 2  # noqa: E731


def beside(*places: float) -> Callable[[Any], bool]:
    """No value lies at a kink or a step of the function."""
    return lambda x: min(np.abs(x - place).min() for place in places) > 0.01


def several(x: Any) -> bool:
    """Rows of more than one, which differ."""
    return x.shape[-1] > 1 and np.ptp(x, -1).min() > 0.2


UNARY: tuple[tuple[str, str, Callable[[Any], bool]], ...] = (
    ("ops.neg({0})", "-{0}", ALWAYS),
    ("ops.abs({0})", "np.abs({0})", AWAY),
    ("ops.square({0})", "np.square({0})", ALWAYS),
    ("ops.exp({0})", "np.exp({0})", SMALL),
    ("ops.log({0})", "np.log({0})", ABOVE),
    ("ops.sqrt({0})", "np.sqrt({0})", ABOVE),
    ("ops.rsqrt({0})", "1 / np.sqrt({0})", ABOVE),
    ("ops.reciprocal({0})", "1 / {0}", AWAY),
    ("ops.tanh({0})", "np.tanh({0})", ALWAYS),
    ("ops.sigmoid({0})", "sigmoid({0})", ALWAYS),
    ("ops.relu({0})", "np.maximum({0}, 0)", ALWAYS),
    ("ops.silu({0})", "{0} * sigmoid({0})", ALWAYS),
    ("ops.sin({0})", "np.sin({0})", ALWAYS),
    ("ops.cos({0})", "np.cos({0})", ALWAYS),
    ("ops.erf({0})", "special.erf({0})", ALWAYS),
    ("ops.softmax({0}, -1)", "special.softmax({0}, -1)", ALWAYS),
    ("ops.log_softmax({0}, -1)", "special.log_softmax({0}, -1)", ALWAYS),
    ("{0} * 0.5", "{0} * 0.5", ALWAYS),
    ("{0} + 1.5", "{0} + 1.5", ALWAYS),
    ("2.0 - {0}", "2.0 - {0}", ALWAYS),
    ("{0} / 4.0", "{0} / 4.0", ALWAYS),
    ("ops.pow({0}, 2.0)", "{0} ** 2.0", ALWAYS),
    ("ops.cast(ops.cast({0}, H), F)", "{0}", ALWAYS),
)
MORE_UNARY: tuple[tuple[str, str, Callable[[Any], bool]], ...] = (
    ("ops.tan({0})", "np.tan({0})", INSIDE),
    ("ops.asin({0})", "np.arcsin({0})", INSIDE),
    ("ops.acos({0})", "np.arccos({0})", INSIDE),
    ("ops.atan({0})", "np.arctan({0})", ALWAYS),
    ("ops.sinh({0})", "np.sinh({0})", lambda x: np.abs(x).max() < 3),
    ("ops.cosh({0})", "np.cosh({0})", lambda x: np.abs(x).max() < 3),
    ("ops.asinh({0})", "np.arcsinh({0})", ALWAYS),
    ("ops.acosh({0})", "np.arccosh({0})", lambda x: x.min() > 1.2),
    ("ops.atanh({0})", "np.arctanh({0})", INSIDE),
    ("ops.expm1({0})", "np.expm1({0})", SMALL),
    ("ops.log1p({0})", "np.log1p({0})", lambda x: x.min() > -0.5),
    ("ops.erfc({0})", "special.erfc({0})", SMALL),
    ("ops.gelu({0}, 'none')", "{0} * special.ndtr({0})", ALWAYS),
    (
        "ops.gelu({0}, 'tanh')",
        "0.5 * {0} * (1 + np.tanh(np.sqrt(2 / np.pi) * ({0} + 0.044715 * {0} ** 3)))",
        ALWAYS,
    ),
    ("ops.fast_gelu({0})", "{0} * sigmoid(1.702 * {0})", ALWAYS),
    ("ops.softplus({0})", "np.logaddexp({0}, 0)", AWAY),
    ("ops.mish({0})", "{0} * np.tanh(np.logaddexp({0}, 0))", AWAY),
    ("ops.relu6({0})", "np.clip({0}, 0, 6)", beside(0, 6)),
    ("ops.hardswish({0})", "{0} * np.clip({0} / 6 + 0.5, 0, 1)", beside(-3, 3)),
    ("ops.hardsigmoid({0})", "np.clip({0} / 6 + 0.5, 0, 1)", beside(-3, 3)),
    ("ops.elu({0})", "np.where({0} > 0, {0}, np.expm1(np.minimum({0}, 0)))", AWAY),
    ("ops.celu({0}, 2.0)", "np.where({0} > 0, {0}, 2 * np.expm1(np.minimum({0}, 0) / 2))", AWAY),
    (
        "ops.selu({0})",
        "1.0507009873554805 * np.where({0} > 0, {0}, 1.6732632423543772 * "
        "np.expm1(np.minimum({0}, 0)))",
        AWAY,
    ),
    ("ops.leaky_relu({0}, 0.25)", "np.where({0} > 0, {0}, 0.25 * {0})", AWAY),
    ("ops.logsigmoid({0})", "-np.logaddexp(-{0}, 0)", lambda x: x.max() < 5),
    ("ops.Softsign()({0})", "{0} / (1 + np.abs({0}))", AWAY),
    ("ops.softshrink({0}, 0.25)", "{0} - np.clip({0}, -0.25, 0.25)", beside(-0.25, 0.25)),
    ("ops.hardshrink({0}, 0.25)", "np.where(np.abs({0}) > 0.25, {0}, 0)", beside(-0.25, 0.25)),
    ("ops.clamp({0}, -1.0, 1.5)", "np.clip({0}, -1, 1.5)", beside(-1, 1.5)),
    ("ops.trunc({0}) * {0}", "np.trunc({0}) * {0}", beside(*range(-60, 61))),
    ("ops.tril({0}, 1)", "np.tril({0}, 1)", SQUARE),
    ("ops.triu({0}, -1)", "np.triu({0}, -1)", SQUARE),
    ("ops.flip({0}, (0,))", "np.flip({0}, 0)", ALWAYS),
    ("ops.cumsum({0}, -1)", "np.cumsum({0}, -1)", ALWAYS),
    ("ops.std({0}, -1)", "np.std({0}, -1)", several),
    ("ops.norm({0}, dim=-1)", "np.sqrt(np.sum(np.square({0}), -1))", AWAY),
    ("ops.logsumexp({0}, -1)", "special.logsumexp({0}, -1)", SMALL),
    ("ops.L2Loss()({0})", "np.sum(np.square({0})) / 2", ALWAYS),
    ("ops.prod({0}, -1, True)", "np.prod({0}, -1, keepdims=True)", AWAY),
)
"""Added later: seeds below `random_networks.OLD` draw unchanged networks."""

BINARY: tuple[tuple[str, str, Callable[[Any, Any], bool]], ...] = (
    ("ops.add({0}, {1})", "{0} + {1}", lambda x, y: True),
    ("ops.sub({0}, {1})", "{0} - {1}", lambda x, y: True),
    ("ops.mul({0}, {1})", "{0} * {1}", lambda x, y: True),
    ("ops.div({0}, {1})", "{0} / {1}", lambda x, y: AWAY(y)),
    ("ops.maximum({0}, {1})", "np.maximum({0}, {1})", lambda x, y: True),
    ("ops.minimum({0}, {1})", "np.minimum({0}, {1})", lambda x, y: True),
    ("ops.pow({0}, {1})", "{0} ** {1}", lambda x, y: ABOVE(x)),
)


def apart(x: Any, y: Any) -> bool:
    """No two elements are nearly equal."""
    return bool(np.abs(x - y).min() > 0.01)


def alike(x: Any, y: Any) -> bool:
    """Of one shape, which losses require."""
    return x.shape == y.shape and apart(x, y)


MORE_BINARY: tuple[tuple[str, str, Callable[[Any, Any], bool]], ...] = (
    ("ops.xlogy({0}, {1})", "special.xlogy({0}, {1})", lambda x, y: ABOVE(y)),
    ("ops.xdivy({0}, {1})", "{0} / {1}", lambda x, y: AWAY(x) and AWAY(y)),
    ("ops.fmax({0}, {1})", "np.fmax({0}, {1})", apart),
    ("ops.logaddexp({0}, {1})", "np.logaddexp({0}, {1})", lambda x, y: SMALL(x) and SMALL(y)),
    ("ops.atan2({0}, {1})", "np.arctan2({0}, {1})", lambda x, y: AWAY(x) and AWAY(y)),
    ("ops.SquaredDifference()({0}, {1})", "np.square({0} - {1})", lambda x, y: True),
    ("ops.addcmul({0}, {1}, {0}, 0.5)", "{0} + 0.5 * {1} * {0}", lambda x, y: True),
    ("ops.addcdiv({0}, {0}, {1}, 0.5)", "{0} + 0.5 * {0} / {1}", lambda x, y: AWAY(y)),
    ("ops.lerp({0}, {1}, 0.25)", "{0} + 0.25 * ({1} - {0})", lambda x, y: x.shape == y.shape),
    (
        "ops.masked_fill({0}, {1} > 0.3, 0.5)",
        "np.where({1} > 0.3, 0.5, {0})",
        lambda x, y: x.shape == y.shape and beside(0.3)(y),
    ),
    (
        "ops.smooth_l1_loss({0}, {1}, 0.5, 'mean')",
        "np.mean(np.where(np.abs({0} - {1}) < 0.5, np.square({0} - {1}), np.abs({0} - {1}) - "
        "0.25))",
        alike,
    ),
    (
        "ops.smooth_l1_loss({0}, {1}, 2.0, 'none')",
        "np.where(np.abs({0} - {1}) < 2, np.square({0} - {1}) / 4, np.abs({0} - {1}) - 1)",
        alike,
    ),
    ("ops.mse_loss({0}, {1})", "np.mean(np.square({0} - {1}))", alike),
    (
        "ops.kl_div({0}, ops.stop_gradient(ops.softmax({1}, -1)), 'none')",
        "special.softmax({1}, -1) * (special.log_softmax({1}, -1) - {0})",
        alike,
    ),
    (
        "ops.kl_div({0}, ops.stop_gradient(ops.softmax({1}, -1)), 'batchmean')",
        "np.sum(special.softmax({1}, -1) * (special.log_softmax({1}, -1) - {0})) / {0}.shape[0]",
        alike,
    ),
)

EXACT: Mapping[str, str] = {
    "number": "def number(value):\n    return ms.Tensor(value, F)",
    "log_softmax": """
def log_softmax(x, axis):
    level = x - ops.stop_gradient(ops.amax(x, axis, keepdims=True))
    return level - ops.log(ops.sum(ops.exp(level), dim=axis, keepdim=True))
""",
    "gelu": """
def gelu(x, way):
    if way == "tanh":
        cubic = x + number(0.044715) * x * x * x
        return 0.5 * x * (1 + ops.tanh(number(0.7978845608028654) * cubic))
    return 0.5 * x * (1 + ops.erf(x * number(0.7071067811865476)))
""",
    "fast_gelu": "def fast_gelu(x):\n    return x * ops.sigmoid(number(1.702) * x)",
    "softplus": "def softplus(x):\n    return ops.relu(x) + ops.log1p(ops.exp(-ops.abs(x)))",
    "mish": "def mish(x):\n    return x * ops.tanh(ops.relu(x) + ops.log1p(ops.exp(-ops.abs(x))))",
    "relu6": "def relu6(x):\n    return ops.clamp(x, 0.0, 6.0)",
    "softshrink": "def softshrink(x, width):\n    return x - ops.clamp(x, -width, width)",
    "hardshrink": "def hardshrink(x, width):\n    return x * ops.cast(ops.abs(x) > width, x.dtype)",
    "celu": "def celu(x, alpha):\n"
    "    return ops.relu(x) + alpha * ops.expm1(-ops.relu(-x) / alpha)",
    "selu": """
def selu(x):
    below = number(1.6732632423543772) * ops.expm1(-ops.relu(-x))
    return number(1.0507009873554805) * (ops.relu(x) + below)
""",
    "addcmul": "def addcmul(x, y, z, factor):\n    return x + factor * y * z",
    "addcdiv": "def addcdiv(x, y, z, factor):\n    return x + factor * y / z",
    "masked_fill": "def masked_fill(x, mask, value):\n"
    "    return ops.select(mask, ops.zeros_like(x) + value, x)",
    "lerp": "def lerp(x, y, weight):\n    return x + weight * (y - x)",
    "mse_loss": "def mse_loss(x, y):\n    return ops.mean(ops.square(x - y))",
    "std": "def std(x, axis):\n    off = x - ops.mean(x, axis, True)\n"
    "    return ops.sqrt(ops.mean(off * off, axis))",
}
"""Functions that MindSpore always computes in float32, among operators that support float64."""

NOT_FLOAT64 = tuple("number fast_gelu relu6 softshrink hardshrink lerp".split())
"""Refused by MindSpore in float64: `EXACT` replaces them."""
