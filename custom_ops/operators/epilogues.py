"""Defines activations that can be fused into a matrix product, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.pointwise import widen_inputs
from custom_ops.core.row_helpers import total
from custom_ops.onednn import epilogues as onednn_epilogues
from custom_ops.operators.gelu import composite as gelu_composite
from custom_ops.operators.gelu import gelu, gelu_slope
from custom_ops.operators.swish import swish_slope
from custom_ops.tbe_bridge.tbe_sequence import TbeStep
from tbe_impl import dsl
from tbe_impl.dsl.functions import FUNCTIONS
from tbe_impl.gelu_constants import CUBIC, SIGMOID_SCALE

LEAK = 0.1
"""Default slope of leaky ReLU for negative inputs, as in the YOLO and Darknet nets."""
SLOPE_FROM_RESULT = ("relu", "leaky_relu")
"""Activations whose derivative is computed from their result.

The derivatives of all other activations are computed from their input.
"""


@dataclass(frozen=True)
class FusedActivation:
    """An activation that is fused as epilogue of a product, a convolution or a normalisation.

    The NumPy formula of the activation is in `custom_ops.onednn.epilogues.ACTIVATIONS`. The three
    functions `apply`, `slope` and `composite` take a tensor and alpha, the slope of leaky_relu for
    negative inputs.

    Attributes:
        apply: computes the activation of a DSL tensor.
        slope: computes the derivative of the activation at a DSL tensor.
        composite: computes the activation with MindSpore's basic operators.
    """

    apply: Callable[[Any, float], Any]
    slope: Callable[[Any, float], Any]
    composite: Callable[[Any, float], Any]


def _silu_slope(z: Any, _: float) -> Any:
    share = dsl.ext.sigmoid(z)
    rest = dsl.vadds(dsl.vmuls(share, -1.0), 1.0)
    return dsl.vmul(share, dsl.vadds(dsl.vmul(z, rest), 1.0))


# MindSpore parses these functions, which it cannot do with several lambdas of one statement.


def _compose_relu(z: Any, _: float) -> Any:
    return ops.relu(z)


def _compose_leaky_relu(z: Any, alpha: float) -> Any:
    return ops.leaky_relu(z, alpha)


def _compose_silu(z: Any, _: float) -> Any:
    return ops.mul(z, ops.sigmoid(z))


def _compose_gelu(z: Any, _: float) -> Any:
    return gelu_composite(z, approximate=False)


def _compose_gelu_tanh(z: Any, _: float) -> Any:
    # this equals the tanh formula, but MindSpore's sigmoid is more accurate than its tanh
    inner = ops.mul(z, ops.add(ops.mul(ops.mul(z, z), CUBIC * SIGMOID_SCALE), SIGMOID_SCALE))
    return ops.mul(z, ops.sigmoid(inner))


ACTIVATIONS = MappingProxyType(
    {
        "relu": FusedActivation(
            lambda z, _: dsl.vrelu(z),
            lambda z, _: dsl.vcmpsel(z, 0.0, "gt", 1.0, 0.0),
            _compose_relu,
        ),
        "leaky_relu": FusedActivation(
            dsl.vlrelu,
            lambda z, alpha: dsl.vcmpsel(z, 0.0, "gt", 1.0, alpha),
            _compose_leaky_relu,
        ),
        "silu": FusedActivation(
            lambda z, _: dsl.vmul(z, dsl.ext.sigmoid(z)),
            _silu_slope,
            _compose_silu,
        ),
        "gelu": FusedActivation(
            lambda z, _: gelu(z, False),
            lambda z, _: gelu_slope(z, False),
            _compose_gelu,
        ),
        "gelu_tanh": FusedActivation(
            lambda z, _: gelu(z, True), lambda z, _: gelu_slope(z, True), _compose_gelu_tanh
        ),
    }
)
"""Dict from the name of an activation to its functions."""


def multiply_by_slope(activation: str, source: Any, grad: Any, alpha: float = LEAK) -> Any:
    """Returns grad times the derivative of the activation, in the accumulation dtype.

    The derivative is computed from `source`. For an activation in `SLOPE_FROM_RESULT`, `source` is
    the activation's result; for any other activation, `source` is the activation's input.
    """
    if activation == "relu":
        return dsl.vcmpsel(source, 0.0, "gt", grad, 0.0)
    if activation == "leaky_relu":
        return dsl.vcmpsel(source, 0.0, "gt", grad, dsl.vmuls(grad, alpha))
    if activation == "silu":
        return dsl.vmul(grad, swish_slope(source))
    if not activation:
        return dsl.vmuls(grad, 1.0)
    return dsl.vmul(grad, gelu_slope(source, activation == "gelu_tanh"))


def apply(z: Any, activation: str, alpha: float = LEAK) -> Any:
    """Applies the activation to a DSL tensor; an empty name means no activation."""
    return ACTIVATIONS[activation].apply(z, alpha) if activation else z


def formula(z: Any, activation: str, alpha: float = LEAK) -> Any:
    """Applies the activation to a NumPy array; an empty name means no activation."""
    return onednn_epilogues.ACTIVATIONS[activation].formula(z, alpha) if activation else z


def composite(z: Any, activation: str, alpha: float = LEAK) -> Any:
    """Applies the activation with MindSpore's operators; an empty name means no activation."""
    return ACTIVATIONS[activation].composite(z, alpha) if activation else z


def _gradient(source: Any, grad: Any, *, activation: str, alpha: float) -> Any:
    (a, g) = widen_inputs(source, grad)
    return dsl.cast_to(multiply_by_slope(activation, a, g, alpha), grad.dtype)


def _gradient_and_sum(source: Any, grad: Any, *, activation: str) -> tuple[Any, Any]:
    a, g = widen_inputs(source, grad)
    made = multiply_by_slope(activation, a, g)
    return dsl.cast_to(made, grad.dtype), dsl.cast_to(dsl.reduce_sum(made, [0]), grad.dtype)


def _sum(grad: Any, *, kept: int) -> Any:
    (g,) = widen_inputs(grad)
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
    doc="ActivationGradient of a matrix, and its sum over the rows (the gradient of a bias).",
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
    doc="The sum over all axes but one, which is the gradient of a bias.",
)


def activation_steps(activation: str, again: TbeStep, **alpha: float) -> tuple[TbeStep, ...]:
    """Returns the CANN operators that compute the tensor ``made``, the activation input's gradient.

    If there is no activation, the function returns an empty tuple.

    Args:
        activation: a key of `custom_ops.onednn.epilogues.ACTIVATIONS`, or empty.
        again: operator that recomputes the tensor ``z``, the activation's input. If the derivative
            is computed from ``y``, the result of the activation, then the returned tuple does not
            contain `again`.
        alpha: slope of leaky ReLU for negative inputs.
    """
    if not activation:
        return ()
    is_enough = activation in SLOPE_FROM_RESULT
    reads = ("y" if is_enough else "z", "grad_y")
    slope = TbeStep(ACTIVATION_GRADIENT, reads, ("made",), {"activation": activation, **alpha})
    return (slope,) if is_enough else (again, slope)
