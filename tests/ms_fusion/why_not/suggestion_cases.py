"""Test cases of suggestions: one small chain per operator, with its float64 formula.

Plain NumPy, no MindSpore: `suggestion_child` puts the texts into nets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
erf = np.vectorize(math.erf)
erfc = np.vectorize(math.erfc)


def sigmoid(a: Array) -> Array:
    return 1 / (1 + np.exp(-a))


def softmax(a: Array) -> Array:
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(a: Array, gamma: Array, beta: Array) -> Array:
    centred = a - a.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-7) * gamma + beta


def fast_gelu(a: Array) -> Array:
    return a * np.exp(0.851 * (a - np.abs(a))) / (1 + np.exp(-1.702 * np.abs(a)))


@dataclass(frozen=True)
class Case:
    """``r = code`` of `a` (result of Maximum of two inputs), `b` and `c` (inputs); then Minimum or
    Select.

    Attributes:
        op: the operator of `code`.
        code: MindSpore expression; ``primitives.X`` are MindSpore's primitive classes.
        meaning: the same in NumPy, on float64.
        low, high: range of the inputs.
        truth: whether the result is boolean.
    """

    op: str
    code: str
    meaning: Callable[[Array, Array, Array], Array]
    low: float = -3.0
    high: float = 3.0
    truth: bool = False


SHAPE = (24, 40)

CLUSTERED = [
    Case("Div", "a / b", lambda a, b, c: a / b, 0.5),
    Case("NotEqual", "a != b", lambda a, b, c: a != b, truth=True),
    Case("Greater", "a > b", lambda a, b, c: a > b, truth=True),
    Case("GreaterEqual", "a >= b", lambda a, b, c: a >= b, truth=True),
    Case(
        "LogicalAnd", "ops.logical_and(a < b, a < c)", lambda a, b, c: (a < b) & (a < c), truth=True
    ),
    Case(
        "LogicalOr", "ops.logical_or(a < b, a < c)", lambda a, b, c: (a < b) | (a < c), truth=True
    ),
    Case("Sin", "ops.sin(a)", lambda a, b, c: np.sin(a)),
    Case("Cos", "ops.cos(a)", lambda a, b, c: np.cos(a)),
    Case("Atan", "ops.atan(a)", lambda a, b, c: np.arctan(a)),
    Case("Erf", "ops.erf(a)", lambda a, b, c: erf(a)),
    Case("Floor", "ops.floor(a)", lambda a, b, c: np.floor(a)),
    Case("FloorDiv", "a // b", lambda a, b, c: np.floor(a / b), 0.5),
    Case("FloorMod", "a % b", lambda a, b, c: np.mod(a, b), 0.5),
    Case("IsNan", "ops.isnan(a)", lambda a, b, c: np.isnan(a), truth=True),
    Case("IsInf", "ops.isinf(a)", lambda a, b, c: np.isinf(a), truth=True),
    Case("IsFinite", "ops.isfinite(a)", lambda a, b, c: np.isfinite(a), truth=True),
    Case("Sign", "ops.sign(a)", lambda a, b, c: np.sign(a)),
    Case("Tile", "ops.tile(a, (2, 1))", lambda a, b, c: np.tile(a, (2, 1))),
    Case(
        "BroadcastTo",
        "ops.broadcast_to(a, (3, 24, 40))",
        lambda a, b, c: np.broadcast_to(a, (3, 24, 40)),
    ),
    Case(
        "ReduceMin", "primitives.ReduceMin(True)(a, (1,))", lambda a, b, c: a.min(1, keepdims=True)
    ),
]
"""For `--enable_cluster_ops`."""

EXPANDED = [
    Case("Sigmoid", "ops.sigmoid(a)", lambda a, b, c: sigmoid(a)),
    Case("SigmoidGrad", "gradients.SigmoidGrad()(b, a)", lambda a, b, c: a * b * (1 - b), 0.1, 0.9),
    Case("ReluGrad", "gradients.ReluGrad()(a, b)", lambda a, b, c: np.where(b > 0, a, 0)),
    Case("SquaredDifference", "primitives.SquaredDifference()(a, b)", lambda a, b, c: (a - b) ** 2),
    Case(
        "ReduceMean",
        "primitives.ReduceMean(True)(a, (1,))",
        lambda a, b, c: a.mean(1, keepdims=True),
        0.0,
    ),
    Case("Softmax", "ops.softmax(a, -1)", lambda a, b, c: softmax(a)),
    Case("LogSoftmax", "ops.log_softmax(a, -1)", lambda a, b, c: np.log(softmax(a))),
    Case(
        "LayerNorm",
        "primitives.LayerNorm(-1, -1, 1e-7)(a, b[0], c[0])[0]",
        lambda a, b, c: layer_norm(a, b[0], c[0]),
    ),
    Case("Erf", "ops.erf(a)", lambda a, b, c: erf(a)),
    Case("Erfc", "ops.erfc(a)", lambda a, b, c: erfc(a)),
    Case("HSigmoid", "primitives.HSigmoid()(a)", lambda a, b, c: np.clip(a / 6 + 0.5, 0, 1)),
    Case("HSwish", "primitives.HSwish()(a)", lambda a, b, c: a * np.clip(a / 6 + 0.5, 0, 1)),
    Case("Sinh", "ops.sinh(a)", lambda a, b, c: np.sinh(a)),
    Case("Cosh", "ops.cosh(a)", lambda a, b, c: np.cosh(a)),
    Case("FastGeLU", "primitives.FastGeLU()(a)", lambda a, b, c: fast_gelu(a)),
    Case(
        "SquareSumAll",
        "primitives.SquareSumAll()(a, b)[0]",
        lambda a, b, c: (a * a).sum(),
        0.0,
        1.0,
    ),
]
"""For `--enable_expand_ops`."""

COMPOSITES = [
    Case("ReLU6", "ops.relu6(a)", lambda a, b, c: np.clip(a, 0, 6), -9.0, 9.0),
    Case("AddExt", "mint.add(a, b)", lambda a, b, c: a + b),
    Case("SubExt", "mint.sub(a, b)", lambda a, b, c: a - b),
    Case("Softsign", "ops.softsign(a)", lambda a, b, c: a / (1 + np.abs(a))),
    Case("Addcmul", "ops.addcmul(a, b, c, 0.5)", lambda a, b, c: a + 0.5 * b * c),
    Case("Lerp", "ops.lerp(a, b, 0.25)", lambda a, b, c: a + 0.25 * (b - a)),
    Case("Hypot", "ops.hypot(a, b)", lambda a, b, c: np.hypot(a, b)),
    Case("MaskedFill", "ops.masked_fill(a, b < c, 0.5)", lambda a, b, c: np.where(b < c, 0.5, a)),
    Case("Ceil", "ops.ceil(a)", lambda a, b, c: np.ceil(a)),
]
"""For the lines of `Advice.rewriting` in `ms_fusion.ops`."""

REWRITTEN = {
    "ReLU6": {"x": "a"},
    "AddExt": {"x": "a", "y": "b"},
    "SubExt": {"x": "a", "y": "b"},
    "Softsign": {"x": "a"},
    "Addcmul": {"x": "a", "y": "b", "z": "c", "value": "0.5"},
    "Lerp": {"x": "a", "y": "b", "weight": "0.25"},
    "Hypot": {"x": "a", "y": "b"},
    "MaskedFill": {"mask": "(b < c)", "value": "0.5", "x": "a"},
    "Ceil": {"x": "a"},
}
"""Values of the names in the suggested line."""
