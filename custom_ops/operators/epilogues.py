"""Activations that follow a product: their derivative as a kernel, their composites, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.pointwise import wide
from custom_ops.core.row_helpers import total
from custom_ops.operators.gelu import formula as gelu_formula
from custom_ops.operators.gelu import gelu_slope
from custom_ops.operators.swish import swish_slope
from custom_ops.tbe_bridge.steps import TbeStep
from tbe_impl import dsl
from tbe_impl.dsl.functions import FUNCTIONS

LEAK = 0.1
"""What a leaky relu after a convolution lets through where nothing else is said: that of the YOLO and Darknet nets."""
OF_RESULT = ("relu", "leaky_relu")
"""Activations whose derivative is seen from their result; those of the others needs what they were given."""


def slope_times(activation: str, source: Any, grad: Any, alpha: float = LEAK) -> Any:
    """grad times the derivative, of tensors in the dtype that is computed in."""
    if activation == "relu":
        return dsl.vcmpsel(source, 0.0, "gt", grad, 0.0)
    if activation == "leaky_relu":
        return dsl.vcmpsel(source, 0.0, "gt", grad, dsl.vmuls(grad, alpha))
    if activation == "silu":
        return dsl.vmul(grad, swish_slope(source))
    if not activation:
        return dsl.vmuls(grad, 1.0)
    return dsl.vmul(grad, gelu_slope(source, activation == "gelu_tanh"))


def formula(z: Any, activation: str, alpha: float = LEAK) -> Any:
    """The activation of an array."""
    if activation == "relu":
        return np.maximum(z, 0)
    if activation == "leaky_relu":
        return np.where(z > 0, z, alpha * z)
    if activation == "silu":
        return z * FUNCTIONS["sigmoid"].numpy(z)
    return gelu_formula(z, activation == "gelu_tanh") if activation else z


def composite(z: Any, activation: str, alpha: float = 0.1) -> Any:
    """The activation from basic operators of MindSpore."""
    if activation == "relu":
        return ops.relu(z)
    if activation == "leaky_relu":
        return ops.leaky_relu(z, alpha)
    if activation == "silu":
        return ops.mul(z, ops.sigmoid(z))
    if activation == "gelu":
        return ops.mul(ops.mul(z, 0.5), ops.add(ops.erf(ops.mul(z, 0.7071067811865476)), 1.0))
    if activation == "gelu_tanh":
        # the same as with tanh; of MindSpore sigmoid is nearer to the truth
        inner = ops.mul(z, ops.add(ops.mul(ops.mul(z, z), 0.07135481282), 1.5957691216))
        return ops.mul(z, ops.sigmoid(inner))
    return z


def _gradient(source: Any, grad: Any, *, activation: str, alpha: float) -> Any:
    (a, g) = wide(source, grad)
    return dsl.cast_to(slope_times(activation, a, g, alpha), grad.dtype)


def _gradient_and_sum(source: Any, grad: Any, *, activation: str) -> tuple[Any, Any]:
    a, g = wide(source, grad)
    made = slope_times(activation, a, g)
    return dsl.cast_to(made, grad.dtype), dsl.cast_to(dsl.reduce_sum(made, [0]), grad.dtype)


def _sum(grad: Any, *, kept: int) -> Any:
    (g,) = wide(grad)
    axes = [axis for axis in range(g.ndim) if axis != kept % g.ndim]
    return dsl.cast_to(total(g, axes, keep=False), grad.dtype)


def _slope_formula(source: Any, grad: Any, *, activation: str, **_: Any) -> Any:
    assert activation == "silu", activation
    share = FUNCTIONS["sigmoid"].numpy(source)
    return grad * share * (1 + source * (1 - share))


def _spec(name: str, inputs: Sequence[str], outputs: Sequence[str], **more: Any) -> OpSpec:
    return OpSpec(name, tuple(inputs), tuple(outputs), undifferentiable=frozenset(inputs), **more)


ACTIVATION_GRADIENT = _spec(
    "ActivationGradient",
    ("source", "grad"),
    ("made",),
    forward=_gradient,
    attributes={"activation": "silu", "alpha": LEAK},
    formula=_slope_formula,
    samples=(((4, 8), (4, 8)), ((0, 3), (0, 3))),
    tbe="fused/activation_gradient",
    doc="grad times the derivative of an activation.",
)
ACTIVATION_GRADIENT_AND_SUM = _spec(
    "ActivationGradientAndSum",
    ("source", "grad"),
    ("made", "total"),
    forward=_gradient_and_sum,
    attributes={"activation": "silu"},
    formula=lambda source, grad, activation: (
        _slope_formula(source, grad, activation=activation),
        _slope_formula(source, grad, activation=activation).sum(0),
    ),
    samples=(((4, 8), (4, 8)), ((0, 3), (0, 3)), ((70, 33), (70, 33))),
    doc="The same of rows, and its sum over them: the gradient of a bias.",
)
ROWS_SUM = _spec(
    "RowsSum",
    ("grad",),
    ("total",),
    forward=_sum,
    attributes={"kept": -1},
    variants=({"kept": 1},),
    formula=lambda grad, kept: np.moveaxis(grad, kept, -1).reshape(-1, grad.shape[kept]).sum(0),
    samples=(((4, 8),), ((0, 3),), ((70, 33),)),
    tbe="fused/rows_sum",
    doc="The sum over all axes but one: the gradient of a bias.",
)


def activation_steps(activation: str, again: TbeStep, **alpha: float) -> tuple[TbeStep, ...]:
    """On Ascend the steps to ``made``, the gradient of what an activation behind a product or a convolution was given; none
    without an activation.

    Args:
        activation: a key of `custom_ops.onednn.epilogues.ACTIVATIONS`, or empty.
        again: computes ``z``, what the activation was given; left out where y is enough.
        alpha: that of leaky relu.
    """
    if not activation:
        return ()
    is_enough = activation in OF_RESULT
    reads = ("y" if is_enough else "z", "grad_y")
    slope = TbeStep(ACTIVATION_GRADIENT, reads, ("made",), {"activation": activation, **alpha})
    return (slope,) if is_enough else (again, slope)
