"""Computes batch normalisation with given statistics, followed by an activation."""

from __future__ import annotations

from typing import Any

import numpy as np

from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.row_helpers import broadcast_like, check_shape, sizes, total, widen
from custom_ops.operators import epilogues
from custom_ops.operators.channel_normalisation import (
    ATTRIBUTES,
    apply_activation,
    backward_terms,
    channel_weight,
    layout_of,
    scale_and_shift,
)
from custom_ops.operators.epilogues import LEAK
from tbe_impl import dsl


def infer(
    x: Any,
    gamma: Any,
    beta: Any,
    moving_mean: Any,
    moving_variance: Any,
    *,
    eps: float = 1e-5,
    activation: str = "",
    data_format: str = "NCHW",
    alpha: float = 0.1,
) -> Any:
    """Computes activation((x − mean) / √(variance + eps)·gamma + beta)."""
    given, (_, shape) = widen(x), layout_of(x, data_format)
    middle = channel_weight(moving_mean, given, shape, "moving_mean")
    variance = channel_weight(moving_variance, given, shape, "moving_variance")
    factor = channel_weight(gamma, given, shape, "gamma")
    offset = channel_weight(beta, given, shape, "beta")
    check_shape(beta, sizes(gamma), "BatchNorm", "beta", gamma)
    z = scale_and_shift(given, middle, variance, factor, offset, eps)
    return dsl.cast_to(apply_activation(z, activation, alpha), x.dtype)


def infer_gradient(
    x: Any,
    gamma: Any,
    beta: Any,
    moving_mean: Any,
    moving_variance: Any,
    grad: Any,
    *,
    eps: float = 1e-5,
    activation: str = "",
    data_format: str = "NCHW",
    alpha: float = 0.1,
) -> tuple[Any, Any, Any]:
    """Returns the gradients of x, gamma and beta."""
    normal, slope, rstd, factor = backward_terms(
        x, gamma, beta, moving_mean, moving_variance, grad, eps, activation, data_format, alpha
    )
    of_x = dsl.vmul(slope, broadcast_like(dsl.vmul(rstd, factor), slope))
    axes, _ = layout_of(x, data_format)
    sums = total(dsl.vmul(slope, normal), axes, keep=False), total(slope, axes, keep=False)
    return (
        dsl.cast_to(of_x, x.dtype),
        *(dsl.cast_to(one, gamma.dtype) for one in sums),
    )


def infer_composite(
    x: Any,
    gamma: Any,
    beta: Any,
    moving_mean: Any,
    moving_variance: Any,
    eps: float = 1e-5,
    activation: str = "",
    data_format: str = "NCHW",
    alpha: float = 0.1,
) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    shape = (1, -1) + (1,) * (x.ndim - 2)
    if data_format == "NHWC":
        shape = (-1,)
    factor = ops.mul(ops.rsqrt(ops.add(moving_variance, eps)), gamma)
    offset = ops.sub(beta, ops.mul(moving_mean, factor))
    factor, offset = ops.reshape(factor, shape), ops.reshape(offset, shape)
    z = ops.add(ops.mul(x, factor.astype(x.dtype)), offset.astype(x.dtype))
    return epilogues.composite(z, activation, alpha)


def infer_formula(
    x: Any,
    gamma: Any,
    beta: Any,
    moving_mean: Any,
    moving_variance: Any,
    *,
    eps: float = 1e-5,
    activation: str = "",
    data_format: str = "NCHW",
    alpha: float = LEAK,
) -> Any:
    """Computes activation((x − mean) / √(variance + eps)·gamma + beta)."""
    channels = x if data_format == "NHWC" else np.moveaxis(x, 1, -1)
    z = (channels - moving_mean) / np.sqrt(moving_variance + eps) * gamma + beta
    z = z if data_format == "NHWC" else np.moveaxis(z, -1, 1)
    return epilogues.formula(z, activation, alpha)


BATCH_NORM_INFERENCE = OpSpec(
    name="BatchNormInference",
    inputs=("x", "gamma", "beta", "moving_mean", "moving_variance"),
    undifferentiable=frozenset({"moving_mean", "moving_variance"}),
    forward=infer,
    backward=infer_gradient,
    saves=("x", "gamma", "beta", "moving_mean", "moving_variance"),
    attributes=ATTRIBUTES,
    composite=infer_composite,
    formula=infer_formula,
    samples=(((3, 4, 5, 6), *((4,),) * 4), ((5, 3), *((3,),) * 4), ((2, 3, 33), *((3,),) * 4)),
    ranges={"moving_variance": (0.5, 2.0)},
    doc="y = activation((x − mean) / √(variance + eps)·gamma + beta)",
)
