"""Computes batch normalisation with batch statistics, followed by an activation."""

from __future__ import annotations

from typing import Any

import numpy as np

from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.row_helpers import (
    broadcast_like,
    check_shape,
    mean,
    reciprocal_count,
    sizes,
    total,
    widen,
)
from custom_ops.operators import epilogues
from custom_ops.operators.batch_norm_inference import infer_formula
from custom_ops.operators.channel_normalisation import (
    ATTRIBUTES,
    apply_activation,
    backward_terms,
    channel_weight,
    layout_of,
    scale_and_shift,
)
from tbe_impl import dsl


def train(
    x: Any,
    gamma: Any,
    beta: Any,
    *,
    eps: float = 1e-5,
    activation: str = "",
    data_format: str = "NCHW",
    alpha: float = 0.1,
) -> tuple[Any, Any, Any]:
    """Returns the normalised output y, and the mean and variance of the batch."""
    given, (axes, shape) = widen(x), layout_of(x, data_format)
    middle = mean(given, axes)
    distance = dsl.vsub(given, broadcast_like(middle, given))
    variance = mean(dsl.vmul(distance, distance), axes)
    factor = channel_weight(gamma, given, shape, "gamma")
    offset = channel_weight(beta, given, shape, "beta")
    check_shape(beta, sizes(gamma), "BatchNorm", "beta", gamma)
    z = scale_and_shift(given, middle, variance, factor, offset, eps)
    made = dsl.cast_to(apply_activation(z, activation, alpha), x.dtype)
    channels = sizes(gamma)
    return made, dsl.ext.reshape(middle, channels), dsl.ext.reshape(variance, channels)


def train_gradient(
    x: Any,
    gamma: Any,
    beta: Any,
    middle: Any,
    variance: Any,
    grad: Any,
    grad_mean: Any,
    grad_variance: Any,
    *,
    eps: float = 1e-5,
    activation: str = "",
    data_format: str = "NCHW",
    alpha: float = 0.1,
) -> tuple[Any, Any, Any]:
    """Returns the gradients of x, gamma and beta.

    The gradient of x includes the path through the mean and variance of the batch.
    """
    normal, slope, rstd, factor = backward_terms(
        x, gamma, beta, middle, variance, grad, eps, activation, data_format, alpha
    )
    axes, shape = layout_of(x, data_format)
    share = reciprocal_count(normal, axes)
    of_gamma, of_beta = total(dsl.vmul(slope, normal), axes), total(slope, axes)
    scale = dsl.vmul(rstd, factor)
    # uses x − mean = normal / rstd
    further = dsl.vmuls(
        dsl.vdiv(channel_weight(grad_variance, normal, shape, "grad"), rstd), 2 * share
    )
    by_normal = dsl.vsub(further, dsl.vmuls(dsl.vmul(scale, of_gamma), share))
    level = channel_weight(grad_mean, normal, shape, "grad")
    constant = dsl.vmuls(dsl.vsub(level, dsl.vmul(scale, of_beta)), share)
    of_x = dsl.vadd(
        dsl.vmul(slope, broadcast_like(scale, slope)),
        dsl.vmul(normal, broadcast_like(by_normal, slope)),
    )
    of_x = dsl.vadd(of_x, broadcast_like(constant, slope))
    return (
        dsl.cast_to(of_x, x.dtype),
        *(
            dsl.cast_to(dsl.ext.reshape(one, sizes(gamma)), gamma.dtype)
            for one in (of_gamma, of_beta)
        ),
    )


def train_composite(
    x: Any,
    gamma: Any,
    beta: Any,
    eps: float = 1e-5,
    activation: str = "",
    data_format: str = "NCHW",
    alpha: float = 0.1,
) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    shape = (1, -1) + (1,) * (x.ndim - 2)
    axes = (0,) + tuple(range(2, x.ndim))  # noqa: RUF005 - MindSpore's parser rejects `*`
    if data_format == "NHWC":
        shape = (-1,)
        axes = tuple(range(x.ndim - 1))
    middle = ops.mean(x, axes)
    distance = ops.sub(x, ops.reshape(middle, shape))
    variance = ops.mean(ops.mul(distance, distance), axes)
    normal = ops.mul(distance, ops.reshape(ops.rsqrt(ops.add(variance, eps)), shape))
    scaled = ops.mul(normal, ops.reshape(gamma, shape).astype(x.dtype))
    made = ops.add(scaled, ops.reshape(beta, shape).astype(x.dtype))
    return epilogues.composite(made, activation, alpha), middle, variance


def train_formula(x: Any, gamma: Any, beta: Any, **more: Any) -> Any:
    """Returns the normalised output y, and the mean and variance of the batch.

    The mean and variance of an empty batch are 0.
    """
    channels = x if more.get("data_format") == "NHWC" else np.moveaxis(x, 1, -1)
    axes = tuple(range(x.ndim - 1))
    middle, variance = (
        (channels.mean(axes), channels.var(axes)) if x.size else np.zeros((2, channels.shape[-1]))
    )
    return infer_formula(x, gamma, beta, middle, variance, **more), middle, variance


BATCH_NORM_TRAINING = OpSpec(
    name="BatchNormTraining",
    inputs=("x", "gamma", "beta"),
    outputs=("y", "mean", "variance"),
    forward=train,
    backward=train_gradient,
    saves=("x", "gamma", "beta", "mean", "variance"),
    attributes=ATTRIBUTES,
    composite=train_composite,
    formula=train_formula,
    samples=(((3, 4, 5, 6), (4,), (4,)), ((5, 3), (3,), (3,)), ((2, 3, 33), (3,), (3,))),
    nan="undefined",
    doc="y = activation((x − mean) / √(variance + eps)·gamma + beta) with batch mean and variance",
)
