"""Computes layer normalisation, forward and backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from custom_ops.core.framework import ops
from custom_ops.core.function_spec import function_of_spec
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.row_helpers import (
    broadcast_like,
    check_shape,
    mean,
    resolve_axis,
    sizes,
    total,
    widen,
)
from custom_ops.core.weighted_cells import WeightedCell, make_parameter
from tbe_impl import dsl


def axes_of(x: Any, begin_norm_axis: int, begin_params_axis: int) -> tuple[list[int], int]:
    """Returns the normalised axes, and the axis of x where the axes of gamma and beta begin."""
    begin = resolve_axis(x, begin_norm_axis, "LayerNorm", argument="begin_norm_axis")
    params = resolve_axis(x, begin_params_axis, "LayerNorm", argument="begin_params_axis")
    return list(range(begin, len(x.shape))), params


def normalise(x: Any, axes: Sequence[int], epsilon: float) -> tuple[Any, Any, Any]:
    """Returns (x − mean)·rstd, mean and rstd, all in the accumulation dtype.

    rstd is 1 / √(variance + epsilon). The variance is computed in a second pass, as the mean of
    (x − mean)².
    """
    middle = mean(x, axes)
    distance = dsl.vsub(x, broadcast_like(middle, x))
    rstd = dsl.vrsqrt(dsl.vadds(mean(dsl.vmul(distance, distance), axes), epsilon))
    return dsl.vmul(distance, broadcast_like(rstd, x)), middle, rstd


def compute(
    x: Any,
    gamma: Any,
    beta: Any,
    *,
    begin_norm_axis: int = -1,
    begin_params_axis: int = -1,
    epsilon: float = 1e-7,
) -> tuple[Any, Any, Any]:
    """Returns the output y, the mean, and rstd = 1 / √(variance + epsilon)."""
    axes, params = axes_of(x, begin_norm_axis, begin_params_axis)
    check_shape(gamma, sizes(x)[params:], "LayerNorm", "gamma")
    check_shape(beta, sizes(x)[params:], "LayerNorm", "beta", gamma)
    normal, middle, rstd = normalise(widen(x), axes, epsilon)
    scaled = dsl.vmul(normal, broadcast_like(widen(gamma, x), x))
    return dsl.cast_to(dsl.vadd(scaled, broadcast_like(widen(beta, x), x)), x.dtype), middle, rstd


def gradients_of(
    x: Any, gamma: Any, middle: Any, rstd: Any, grad: Any, axes: Sequence[int], params: int
) -> tuple[Any, Any, Any]:
    """Returns the gradients of x (in the accumulation dtype), gamma and beta.

    The gradient of x is (g − mean g − n·mean(g·n))·rstd with n = (x − mean)·rstd and
    g = grad·gamma.
    """
    slope = widen(grad)
    factor = broadcast_like(rstd, x)
    normal = dsl.vmul(dsl.vsub(widen(x), broadcast_like(middle, x)), factor)
    scaled = dsl.vmul(slope, broadcast_like(widen(gamma, x), x))
    first = broadcast_like(mean(scaled, axes), x)
    second = broadcast_like(mean(dsl.vmul(scaled, normal), axes), x)
    rest = dsl.vsub(dsl.vsub(scaled, first), dsl.vmul(normal, second))
    lead = list(range(params))
    of_gamma = total(dsl.vmul(slope, normal), lead, keep=False)
    of_beta = total(slope, lead, keep=False)
    return (
        dsl.vmul(rest, factor),
        dsl.cast_to(of_gamma, gamma.dtype),
        dsl.cast_to(of_beta, gamma.dtype),
    )


def gradient(
    x: Any,
    gamma: Any,
    middle: Any,
    rstd: Any,
    grad: Any,
    *,
    begin_norm_axis: int = -1,
    begin_params_axis: int = -1,
    **_: Any,
) -> tuple[Any, Any, Any]:
    """Returns the gradients of x, gamma and beta."""
    axes, params = axes_of(x, begin_norm_axis, begin_params_axis)
    made = gradients_of(x, gamma, middle, rstd, grad, axes, params)
    return dsl.cast_to(made[0], x.dtype), made[1], made[2]


def statistics(
    x: Any, *_: Any, begin_norm_axis: int = -1, epsilon: float = 1e-7, **__: Any
) -> tuple[Any, Any]:
    """Returns the second and third result of `compute`: the mean and rstd of x."""
    axes = list(
        range(
            resolve_axis(x, begin_norm_axis, "LayerNorm", argument="begin_norm_axis"), len(x.shape)
        )
    )
    return normalise(widen(x), axes, epsilon)[1:]


def composite(
    x: Any,
    gamma: Any,
    beta: Any,
    begin_norm_axis: int = -1,
    begin_params_axis: int = -1,
    epsilon: float = 1e-7,
) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    axes = tuple(range(begin_norm_axis % x.ndim, x.ndim))
    distance = ops.sub(x, ops.mean(x, axes, True))
    variance = ops.mean(ops.mul(distance, distance), axes, True)
    normal = ops.mul(distance, ops.rsqrt(ops.add(variance, epsilon)))
    return ops.add(ops.mul(normal, gamma.astype(x.dtype)), beta.astype(x.dtype))


def formula(
    x: Any,
    gamma: Any,
    beta: Any,
    *,
    begin_norm_axis: int = -1,
    begin_params_axis: int = -1,
    epsilon: float = 1e-7,
) -> Any:
    """Computes y = (x − mean) / √(variance + epsilon)·gamma + beta."""
    axes = tuple(range(begin_norm_axis % x.ndim, x.ndim))
    distance = x - x.mean(axes, keepdims=True)
    return distance / np.sqrt(x.var(axes, keepdims=True) + epsilon) * gamma + beta


LAYER_NORM = OpSpec(
    name="LayerNorm",
    inputs=("x", "gamma", "beta"),
    outputs=("y", "mean", "rstd"),
    hidden=frozenset({"mean", "rstd"}),
    recompute_hidden=statistics,
    forward=compute,
    backward=gradient,
    saves=("x", "gamma", "mean", "rstd"),
    attributes={"begin_norm_axis": -1, "begin_params_axis": -1, "epsilon": 1e-7},
    composite=composite,
    formula=formula,
    samples=(
        ((6, 40), (40,), (40,)),
        ((2, 3, 5, 17), (17,), (17,)),
        ((5, 1024), (1024,), (1024,)),
        ((0, 4), (4,), (4,)),
        ((8,), (8,), (8,)),
    ),
    nan="row",
    doc="y = (x − mean) / √(variance + epsilon)·gamma + beta",
)


class LayerNormCell(WeightedCell):
    """Base class of layer normalisations with weights; arguments as for nn.LayerNorm.

    Attributes:
        own: `OpSpec` of the operator that the subclass runs.
    """

    own: OpSpec

    def __init__(
        self,
        normalized_shape: Sequence[int],
        begin_norm_axis: int = -1,
        begin_params_axis: int = -1,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        epsilon: float = 1e-7,
        dtype: Any = None,
        route: str = "",
    ):
        attributes = {
            "begin_norm_axis": begin_norm_axis,
            "begin_params_axis": begin_params_axis,
            "epsilon": epsilon,
        }
        weights = {
            "gamma": make_parameter(gamma_init, normalized_shape, dtype, "gamma"),
            "beta": make_parameter(beta_init, normalized_shape, dtype, "beta"),
        }
        super().__init__(self.own, attributes, weights, route)
        self.normalized_shape = tuple(normalized_shape)

    @classmethod
    def from_cells(cls, norm: Any, route: str = "") -> Any:
        """Builds the Cell from an `nn.LayerNorm`; both Cells use the same Parameters."""
        return cls(
            norm.normalized_shape,
            norm.begin_norm_axis,
            norm.begin_params_axis,
            norm.gamma,
            norm.beta,
            norm.epsilon,
            route=route,
        )


class LayerNorm(LayerNormCell):
    r"""Layer normalisation; replaces `mindspore.nn.LayerNorm`.

    .. math::
        y = \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \epsilon}} \cdot \gamma + \beta

    Sums accumulate in float32, or in float64 for float64 inputs. Forward and backward are one
    kernel each. Forward saves the mean and the reciprocal standard deviation of each row.

    Args:
        normalized_shape (Union(tuple[int], list[int])): shape of gamma and beta.
        begin_norm_axis (int): the first normalised axis. Default: ``-1``.
        begin_params_axis (int): the first axis of gamma and beta. Default: ``-1``.
        gamma_init, beta_init: initial values of gamma and beta. Default: ``'ones'``, ``'zeros'``.
        epsilon (float): added to the variance. Default: ``1e-7``.
        dtype: dtype of the weights. Default: ``mindspore.float32``.
        route (str): ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an
            empty string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64; its axes from `begin_params_axis`
          on have the shape `normalized_shape`.

    Outputs:
        Tensor of the shape and dtype of x.

    Raises:
        InputError: an axis is out of range, or the shape of x does not match gamma and beta.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import LayerNorm
        >>> LayerNorm((2,)).forward(np.float32([[1, 3]])).round(6)
        array([[-1.,  1.]], dtype=float32)
    """

    own = LAYER_NORM

    def construct(self, x: Any) -> Any:
        """Runs one fused kernel; on the composite route, runs MindSpore's basic operators."""
        return self.run(x, self.gamma, self.beta)


FUNCTION_SPECS = (
    function_of_spec(
        "layer_norm",
        LAYER_NORM,
        """Returns (x − mean) / √(variance + epsilon)·gamma + beta; see `custom_ops.LayerNorm`.

        Args:
            x: float16, bfloat16, float32 or float64.
            gamma, beta: tensors of the shape of the axes of x from `begin_params_axis` on.
            begin_norm_axis, begin_params_axis, epsilon, route: as in `custom_ops.LayerNorm`.

        Returns:
            Tensor of the shape and dtype of x.

        Raises:
            InputError: an axis is out of range, or gamma or beta does not match x.
        """,
    ),
)
