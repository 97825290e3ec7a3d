"""Layer normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.row_helpers import axis_of, check_shape, mean, sizes, spread, total, wide
from custom_ops.core.weighted_cells import WeightedCell, parameter
from tbe_impl import dsl


def axes_of(x: Any, begin_norm_axis: int, begin_params_axis: int) -> tuple[list[int], int]:
    """The axes that are normalised, and the first axis of gamma."""
    begin = axis_of(x, begin_norm_axis, "LayerNorm", argument="begin_norm_axis")
    params = axis_of(x, begin_params_axis, "LayerNorm", argument="begin_params_axis")
    return list(range(begin, len(x.shape))), params


def normalise(x: Any, axes: Sequence[int], epsilon: float) -> tuple[Any, Any, Any]:
    """(x − mean)·rstd, mean and rstd over axes of a tensor that is wide; the squares are those of the distances."""
    middle = mean(x, axes)
    distance = dsl.vsub(x, spread(middle, x))
    rstd = dsl.vrsqrt(dsl.vadds(mean(dsl.vmul(distance, distance), axes), epsilon))
    return dsl.vmul(distance, spread(rstd, x)), middle, rstd


def compute(
    x: Any,
    gamma: Any,
    beta: Any,
    *,
    begin_norm_axis: int = -1,
    begin_params_axis: int = -1,
    epsilon: float = 1e-7,
) -> tuple[Any, Any, Any]:
    """y, mean and rstd."""
    axes, params = axes_of(x, begin_norm_axis, begin_params_axis)
    check_shape(gamma, sizes(x)[params:], "LayerNorm", "gamma")
    check_shape(beta, sizes(x)[params:], "LayerNorm", "beta", gamma)
    normal, middle, rstd = normalise(wide(x), axes, epsilon)
    scaled = dsl.vmul(normal, spread(wide(gamma, x), x))
    return dsl.cast_to(dsl.vadd(scaled, spread(wide(beta, x), x)), x.dtype), middle, rstd


def gradients_of(
    x: Any, gamma: Any, middle: Any, rstd: Any, grad: Any, axes: Sequence[int], params: int
) -> tuple[Any, Any, Any]:
    """Gradients of x (wide), gamma and beta; with n = (x − mean)·rstd and g = grad·gamma: (g − mean g − n·mean(g·n))·rstd."""
    slope = wide(grad)
    factor = spread(rstd, x)
    normal = dsl.vmul(dsl.vsub(wide(x), spread(middle, x)), factor)
    scaled = dsl.vmul(slope, spread(wide(gamma, x), x))
    first = spread(mean(scaled, axes), x)
    second = spread(mean(dsl.vmul(scaled, normal), axes), x)
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
    """Gradients of x, gamma and beta."""
    axes, params = axes_of(x, begin_norm_axis, begin_params_axis)
    made = gradients_of(x, gamma, middle, rstd, grad, axes, params)
    return dsl.cast_to(made[0], x.dtype), made[1], made[2]


def statistics(
    x: Any, *_: Any, begin_norm_axis: int = -1, epsilon: float = 1e-7, **__: Any
) -> tuple[Any, Any]:
    """mean and rstd, as `compute` makes them."""
    axes = list(
        range(axis_of(x, begin_norm_axis, "LayerNorm", argument="begin_norm_axis"), len(x.shape))
    )
    return normalise(wide(x), axes, epsilon)[1:]


def composite(
    x: Any,
    gamma: Any,
    beta: Any,
    begin_norm_axis: int = -1,
    begin_params_axis: int = -1,
    epsilon: float = 1e-7,
) -> Any:
    """The same from basic operators of MindSpore."""
    begin = begin_norm_axis % x.ndim
    axes = tuple(range(begin, x.ndim))
    middle = ops.mean(x, axes, True)
    distance = ops.sub(x, middle)
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
    """y = (x − mean) / √(variance + epsilon)·gamma + beta."""
    axes = tuple(range(begin_norm_axis % x.ndim, x.ndim))
    distance = x - x.mean(axes, keepdims=True)
    return distance / np.sqrt(x.var(axes, keepdims=True) + epsilon) * gamma + beta


LAYER_NORM = OpSpec(
    name="LayerNorm",
    inputs=("x", "gamma", "beta"),
    outputs=("y", "mean", "rstd"),
    hidden=frozenset({"mean", "rstd"}),
    hidden_again=statistics,
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
    tbe="fused/layer_norm",
    tbe_gradient="fused/layer_norm_grad",
    doc="y = (x − mean) / √(variance + epsilon)·gamma + beta",
)


class LayerNormCell(WeightedCell):
    """Layer normalisation with its weights; arguments as nn.LayerNorm has them.

    Attributes:
        own: the operator.
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
            "gamma": parameter(gamma_init, normalized_shape, dtype, "gamma"),
            "beta": parameter(beta_init, normalized_shape, dtype, "beta"),
        }
        super().__init__(self.own, attributes, weights, route)
        self.normalized_shape = tuple(normalized_shape)

    @classmethod
    def from_cells(cls, norm: Any, route: str = "") -> Any:
        """One with the weights of an `nn.LayerNorm`: the same Parameters."""
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
    r"""Layer normalisation, in the place of `mindspore.nn.LayerNorm`.

    .. math::
        y = \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \epsilon}} \cdot \gamma + \beta

    Sums are kept in float32 (of float64 in float64). One kernel forward, one backward; what is saved is the mean and the
    reciprocal standard deviation of each row.

    Args:
        normalized_shape (Union(tuple[int], list[int])): shape of gamma and beta.
        begin_norm_axis (int): the first axis that is normalised. Default: ``-1``.
        begin_params_axis (int): the first axis of gamma and beta. Default: ``-1``.
        gamma_init, beta_init: initial weights. Default: ``'ones'``, ``'zeros'``.
        epsilon (float): added to the variance. Default: ``1e-7``.
        dtype: of the weights. Default: ``mindspore.float32``.
        route (str): ``native``, ``composite``, or empty for the default.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64; from `begin_params_axis` on it has `normalized_shape`.

    Outputs:
        Tensor of the same shape and dtype.

    Raises:
        InputError: an axis that x lacks, or x of another shape than the weights.

    Supported Platforms:
        ``CPU`` (``Ascend``: written, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import LayerNorm
        >>> LayerNorm((2,)).forward(np.float32([[1, 3]])).round(6)
        array([[-1.,  1.]], dtype=float32)
    """

    own = LAYER_NORM

    def construct(self, x: Any) -> Any:
        """One kernel, or basic operators."""
        return self.run(x, self.gamma, self.beta)
