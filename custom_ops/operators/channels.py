"""What normalisations of channels share: the layout, the activation behind, and the way back to both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from custom_ops.core.row_helpers import check_shape, sizes, spread, wide
from custom_ops.operators.epilogues import LEAK
from tbe_impl import dsl
from tbe_impl.errors import InputError

ATTRIBUTES = {"eps": 1e-5, "activation": "", "data_format": "NCHW", "alpha": LEAK}
"""Of both operators."""


@dataclass(frozen=True)
class Activation:
    """What follows.

    Attributes:
        apply: to a tensor; all of them with what a leaky one lets through.
        slope: its derivative there.
        formula: the same on arrays.
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
        "relu": Activation(
            lambda z, _: dsl.vrelu(z),
            lambda z, _: dsl.vcmpsel(z, 0.0, "gt", 1.0, 0.0),
            lambda z, _: np.maximum(z, 0),
        ),
        "leaky_relu": Activation(
            dsl.vlrelu,
            lambda z, alpha: dsl.vcmpsel(z, 0.0, "gt", 1.0, alpha),
            lambda z, alpha: np.where(z > 0, z, alpha * z),
        ),
        "silu": Activation(
            lambda z, _: dsl.vmul(z, dsl.ext.sigmoid(z)),
            _silu_slope,
            lambda z, _: z / (1 + np.exp(-z)),
        ),
    }
)
"""By name; empty for none."""


def layout_of(x: Any, data_format: str) -> tuple[list[int], list[int]]:
    """The axes that are normalised, and the shape of a weight of each channel beside x.

    Raises:
        InputError: it has no channels.
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


def of_channels(weight: Any, x: Any, shape: list[int], argument: str) -> Any:
    """A weight of each channel beside x, in the dtype of sums."""
    check_shape(weight, [int(np.prod(shape))], "BatchNorm", argument)
    return dsl.ext.reshape(wide(weight, x), shape)


def scaled(x: Any, middle: Any, variance: Any, gamma: Any, beta: Any, eps: float) -> Any:
    """x·factor + offset, which are computed once for each channel."""
    factor = dsl.vmul(dsl.vrsqrt(dsl.vadds(variance, eps)), gamma)
    offset = dsl.vsub(beta, dsl.vmul(middle, factor))
    return dsl.vadd(dsl.vmul(x, spread(factor, x)), spread(offset, x))


def activated(z: Any, activation: str, alpha: float) -> Any:
    """What follows a normalisation.

    Raises:
        InputError: there is no such activation.
    """
    if not activation:
        return z
    if activation not in ACTIVATIONS:
        raise InputError(
            "BatchNorm: unknown activation",
            place="BatchNorm",
            expected=", ".join(ACTIVATIONS),
            got=repr(activation),
        )
    return ACTIVATIONS[activation].apply(z, alpha)


def slopes(
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
    """Normalised x, the gradient of what the activation is given, and rstd and gamma of each channel."""
    given, slope, (_, shape) = wide(x), wide(grad), layout_of(x, data_format)
    middle, variance, factor, offset = (
        of_channels(weight, given, shape, "weight") for weight in (middle, variance, gamma, beta)
    )
    rstd = dsl.vrsqrt(dsl.vadds(variance, eps))
    normal = dsl.vmul(dsl.vsub(given, spread(middle, given)), spread(rstd, given))
    if activation:
        z = dsl.vadd(dsl.vmul(normal, spread(factor, given)), spread(offset, given))
        slope = dsl.vmul(slope, ACTIVATIONS[activation].slope(z, alpha))
    return normal, slope, rstd, factor
