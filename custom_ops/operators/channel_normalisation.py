"""Defines functions that training and inference operators of batch normalisation share."""

from __future__ import annotations

from typing import Any

import numpy as np

from custom_ops.core.cell_call import check_choice
from custom_ops.core.row_helpers import broadcast_like, check_shape, sizes, widen
from custom_ops.operators import epilogues
from custom_ops.operators.epilogues import LEAK
from tbe_impl import dsl
from tbe_impl.errors import InputError

ATTRIBUTES = {"eps": 1e-5, "activation": "", "data_format": "NCHW", "alpha": LEAK}
"""Default values of the attributes that the training and the inference operator have."""


FUSED_ACTIVATIONS = ("relu", "leaky_relu", "silu")
"""Activations that can be fused after batch normalisation."""


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
    """Applies an activation to the normalised tensor z, or returns z if the name is empty.

    Raises:
        InputError: the activation is unknown.
    """
    check_choice("BatchNorm", "activation", activation, ("", *FUSED_ACTIVATIONS), ", ")
    return epilogues.apply(z, activation, alpha)


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

    The terms are the normalised x, the gradient of the activation's input, rstd = 1 / √(variance +
    eps), and gamma. The shapes of rstd and gamma broadcast to x.
    """
    given, slope, (_, shape) = widen(x), widen(grad), layout_of(x, data_format)
    middle, variance, factor, offset = (
        channel_weight(weight, given, shape, "weight") for weight in (middle, variance, gamma, beta)
    )
    rstd = dsl.vrsqrt(dsl.vadds(variance, eps))
    normal = dsl.vmul(dsl.vsub(given, broadcast_like(middle, given)), broadcast_like(rstd, given))
    if activation:
        z = dsl.vadd(dsl.vmul(normal, broadcast_like(factor, given)), broadcast_like(offset, given))
        slope = dsl.vmul(slope, epilogues.ACTIVATIONS[activation].slope(z, alpha))
    return normal, slope, rstd, factor
