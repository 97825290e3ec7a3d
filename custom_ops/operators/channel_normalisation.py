"""Defines what the training operator and the inference operator of batch normalisation share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from custom_ops.core.cell_call import check_choice
from custom_ops.core.row_helpers import broadcast_like, check_shape, sizes, widen
from custom_ops.operators.epilogues import LEAK
from tbe_impl import dsl
from tbe_impl.errors import InputError

ATTRIBUTES = {"eps": 1e-5, "activation": "", "data_format": "NCHW", "alpha": LEAK}
"""Default attributes of the training and the inference operator."""


@dataclass(frozen=True)
class NormActivation:
    """An activation fused after a normalisation.

    Attributes:
        apply: function of a DSL tensor and alpha; returns the activation. Alpha is the slope of
            leaky_relu below 0.
        slope: function of a DSL tensor and alpha; returns the derivative.
        formula: function of an array and alpha; returns the activation in NumPy.
    """

    apply: Callable[[Any, float], Any]
    slope: Callable[[Any, float], Any]
    formula: Callable[[Any, float], Any]


def _silu_slope(z: Any, _: float) -> Any:
    share = dsl.ext.sigmoid(z)
    rest = dsl.vadds(dsl.vmuls(share, -1.0), 1.0)
    return dsl.vmul(share, dsl.vadds(dsl.vmul(z, rest), 1.0))


ACTIVATIONS = MappingProxyType(
    {
        "relu": NormActivation(
            lambda z, _: dsl.vrelu(z),
            lambda z, _: dsl.vcmpsel(z, 0.0, "gt", 1.0, 0.0),
            lambda z, _: np.maximum(z, 0),
        ),
        "leaky_relu": NormActivation(
            dsl.vlrelu,
            lambda z, alpha: dsl.vcmpsel(z, 0.0, "gt", 1.0, alpha),
            lambda z, alpha: np.where(z > 0, z, alpha * z),
        ),
        "silu": NormActivation(
            lambda z, _: dsl.vmul(z, dsl.ext.sigmoid(z)),
            _silu_slope,
            lambda z, _: z / (1 + np.exp(-z)),
        ),
    }
)
"""Activation name → its functions, without the empty name, which means no activation."""


def layout_of(x: Any, data_format: str) -> tuple[list[int], list[int]]:
    """Returns the normalised axes, and the shape that lets a per-channel weight broadcast to x.

    Raises:
        InputError: x has fewer than two axes, or the data format is unknown.
    """
    shape = sizes(x)
    if len(shape) < 2 or data_format not in ("NCHW", "NHWC"):
        raise InputError(
            "BatchNorm: x has no channels",
            place="BatchNorm",
            expected="two axes or more, in NCHW or NHWC",
            got=f"{tuple(shape)} in {data_format}",
        )
    channels = 1 if data_format == "NCHW" else len(shape) - 1
    axes = [axis for axis in range(len(shape)) if axis != channels]
    return axes, [size if axis == channels else 1 for axis, size in enumerate(shape)]


def channel_weight(weight: Any, x: Any, shape: list[int], argument: str) -> Any:
    """Returns a per-channel weight in the accumulation dtype, in a shape that broadcasts to x."""
    check_shape(weight, [int(np.prod(shape))], "BatchNorm", argument)
    return dsl.ext.reshape(widen(weight, x), shape)


def scale_and_shift(x: Any, middle: Any, variance: Any, gamma: Any, beta: Any, eps: float) -> Any:
    """Normalises x as x·factor + offset; factor and offset are computed once per channel."""
    factor = dsl.vmul(dsl.vrsqrt(dsl.vadds(variance, eps)), gamma)
    offset = dsl.vsub(beta, dsl.vmul(middle, factor))
    return dsl.vadd(dsl.vmul(x, broadcast_like(factor, x)), broadcast_like(offset, x))


def apply_activation(z: Any, activation: str, alpha: float) -> Any:
    """Applies an activation to the normalised tensor z; an empty name returns z unchanged.

    Raises:
        InputError: the activation is unknown.
    """
    if not activation:
        return z
    check_choice("BatchNorm", "activation", activation, ACTIVATIONS, ", ")
    return ACTIVATIONS[activation].apply(z, alpha)


def backward_terms(
    x: Any,
    gamma: Any,
    beta: Any,
    middle: Any,
    variance: Any,
    grad: Any,
    eps: float,
    activation: str,
    data_format: str,
    alpha: float,
) -> tuple[Any, Any, Any, Any]:
    """Returns the terms that the gradients of x, gamma and beta share.

    The terms are the normalised x, the gradient of the activation's input,
    rstd = 1 / √(variance + eps), and gamma. The last two have a shape that broadcasts to x.
    """
    given, slope, (_, shape) = widen(x), widen(grad), layout_of(x, data_format)
    middle, variance, factor, offset = (
        channel_weight(weight, given, shape, "weight") for weight in (middle, variance, gamma, beta)
    )
    rstd = dsl.vrsqrt(dsl.vadds(variance, eps))
    normal = dsl.vmul(dsl.vsub(given, broadcast_like(middle, given)), broadcast_like(rstd, given))
    if activation:
        z = dsl.vadd(dsl.vmul(normal, broadcast_like(factor, given)), broadcast_like(offset, given))
        slope = dsl.vmul(slope, ACTIVATIONS[activation].slope(z, alpha))
    return normal, slope, rstd, factor
