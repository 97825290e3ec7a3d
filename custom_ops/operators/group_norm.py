"""Computes group normalisation, forward and backward."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from custom_ops.core.framework import ops
from custom_ops.core.function_spec import function_of_spec
from custom_ops.core.operator_spec import OpSpec, TbeComputation
from custom_ops.core.row_helpers import (
    broadcast_like,
    check_shape,
    divide_by_sizes,
    sizes,
    total,
    widen,
)
from custom_ops.core.weighted_cells import WeightedCell, make_parameter
from custom_ops.operators.layer_norm import normalise
from tbe_impl import dsl
from tbe_impl.errors import InputError

GROUP_AXES = [-2, -1]
"""Normalised axes of the result of `reshape_to_groups`."""


def reshape_to_groups(x: Any, groups: int, *, merge: bool = True) -> Any:
    """Reshapes x to (samples · groups, channels per group, positions).

    The outer loop then runs over groups, so that the elements of a group stay in the cache. If
    `merge` is false, samples and groups stay two separate axes. CANN needs separate axes to
    broadcast the weights.

    Raises:
        InputError: x has fewer than two axes, or `groups` is less than 1 or does not divide the
            number of channels.
    """
    shape = sizes(x)
    if groups < 1:
        raise InputError(
            "GroupNorm: num_groups is out of range",
            place="GroupNorm",
            expected="1 or more",
            got=repr(groups),
        )
    if len(shape) < 2 or shape[1] % groups:
        raise InputError(
            "GroupNorm: the channels of x make no such groups",
            place="GroupNorm",
            expected=f"(N, C, …) with C a multiple of {groups}",
            got=str(tuple(shape)),
        )
    places = math.prod(shape[2:])
    lead = [shape[0] * groups] if merge else [shape[0], groups]
    return dsl.ext.reshape(x, [*lead, shape[1] // groups, places])


def channel_weight(weight: Any, x: Any, groups: int) -> Any:
    """Casts a per-channel weight to the accumulation dtype, and broadcasts it to the shape of x.

    x has to be the result of `reshape_to_groups` with the same number of groups.
    """
    count, *_, channels, _ = sizes(x)
    check_shape(weight, [channels * groups], "GroupNorm", "gamma and beta")
    own = widen(weight, x)
    if x.ndim > 3:
        return broadcast_like(dsl.ext.reshape(own, [1, groups, channels, 1]), x)
    column = dsl.compute(
        [count, channels, 1], lambda i, c, _: own((i % groups) * channels + c), "of_channels"
    )
    return broadcast_like(column, x)


def reshape_group_values(value: Any, x: Any, groups: int) -> Any:
    """Reshapes a tensor of one value per group to (N, groups, 1, 1)."""
    return dsl.ext.reshape(value, [sizes(x)[0], groups, 1, 1])


def compute(
    x: Any, gamma: Any, beta: Any, *, num_groups: int = 1, eps: float = 1e-5, merge: bool = True
) -> tuple[Any, Any, Any]:
    """Returns the output y, and the mean and rstd = 1 / √(variance + eps) of each group."""
    check_shape(beta, sizes(gamma), "GroupNorm", "beta", gamma)
    given = reshape_to_groups(widen(x), num_groups, merge=merge)
    normal, middle, rstd = normalise(given, GROUP_AXES, eps)
    scaled = dsl.vmul(normal, channel_weight(gamma, given, num_groups))
    made = dsl.cast_to(dsl.vadd(scaled, channel_weight(beta, given, num_groups)), x.dtype)
    return dsl.ext.reshape(made, sizes(x)), *(
        reshape_group_values(one, x, num_groups) for one in (middle, rstd)
    )


def gradient(
    x: Any,
    gamma: Any,
    middle: Any,
    rstd: Any,
    grad: Any,
    *,
    num_groups: int = 1,
    merge: bool = True,
    **_: Any,
) -> tuple[Any, Any, Any]:
    """Computes the gradients of x, gamma and beta from two sums per channel."""
    given, slope = (reshape_to_groups(widen(one), num_groups, merge=merge) for one in (x, grad))
    *lead, channels, places = sizes(given)
    middle, rstd = (
        broadcast_like(dsl.ext.reshape(one, [*lead, 1, 1]), given) for one in (middle, rstd)
    )
    normal = dsl.vmul(dsl.vsub(given, middle), rstd)
    sums = total(slope, [-1]), total(dsl.vmul(slope, normal), [-1])
    share = divide_by_sizes(1, channels, places, dtype=given.dtype)
    first, second = (
        broadcast_like(
            dsl.vmuls(total(dsl.vmul(one, channel_weight(gamma, one, num_groups)), [-2]), share),
            given,
        )
        for one in sums
    )
    rest = dsl.vsub(dsl.vmul(slope, channel_weight(gamma, given, num_groups)), first)
    of_x = dsl.cast_to(dsl.vmul(dsl.vsub(rest, dsl.vmul(normal, second)), rstd), x.dtype)
    of_beta, of_gamma = (
        dsl.cast_to(total(dsl.ext.reshape(one, sizes(x)[:2]), [0], keep=False), gamma.dtype)
        if merge
        else dsl.ext.reshape(dsl.cast_to(total(one, [0]), gamma.dtype), sizes(gamma))
        for one in sums
    )
    return dsl.ext.reshape(of_x, sizes(x)), of_gamma, of_beta


def composite(x: Any, gamma: Any, beta: Any, num_groups: int = 1, eps: float = 1e-5) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    grouped = ops.reshape(x, (x.shape[0], num_groups, -1))
    distance = ops.sub(grouped, ops.mean(grouped, -1, True))
    variance = ops.mean(ops.mul(distance, distance), -1, True)
    normal = ops.reshape(ops.mul(distance, ops.rsqrt(ops.add(variance, eps))), x.shape)
    shape = (1, -1) + (1,) * (x.ndim - 2)
    factor = ops.reshape(gamma.astype(x.dtype), shape)
    return ops.add(ops.mul(normal, factor), ops.reshape(beta.astype(x.dtype), shape))


def formula(x: Any, gamma: Any, beta: Any, *, num_groups: int = 1, eps: float = 1e-5) -> Any:
    """Computes (x − mean) / √(variance + eps)·gamma + beta with mean and variance of each group."""
    grouped = x.reshape(x.shape[0], num_groups, x.shape[1] // num_groups, -1)
    distance = grouped - grouped.mean((2, 3), keepdims=True)
    normal = distance / np.sqrt(grouped.var((2, 3), keepdims=True) + eps)
    shape = (1, -1) + (1,) * (x.ndim - 2)
    return normal.reshape(x.shape) * gamma.reshape(shape) + beta.reshape(shape)


GROUP_NORM = OpSpec(
    name="GroupNorm",
    inputs=("x", "gamma", "beta"),
    outputs=("y", "mean", "rstd"),
    hidden=frozenset({"mean", "rstd"}),
    recompute_hidden=lambda x, gamma, *, num_groups, eps: tuple(
        reshape_group_values(one, x, num_groups)
        for one in normalise(reshape_to_groups(widen(x), num_groups), GROUP_AXES, eps)[1:]
    ),
    forward=compute,
    backward=gradient,
    saves=("x", "gamma", "mean", "rstd"),
    attributes={"num_groups": 1, "eps": 1e-5},
    composite=composite,
    formula=formula,
    samples=(((2, 4, 5, 6), (4,), (4,)), ((3, 6, 8), (6,), (6,)), ((3, 8), (8,), (8,))),
    nan="row",
    tbe=TbeComputation(partial(compute, merge=False)),
    tbe_gradient=TbeComputation(partial(gradient, merge=False)),
    doc="y = (x − mean) / √(variance + eps)·gamma + beta over groups of channels",
)


class GroupNorm(WeightedCell):
    r"""Group normalisation; replaces `mindspore.nn.GroupNorm`.

    .. math::
        y = \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \epsilon}} \cdot \gamma + \beta

    Mean and variance are computed over each group of channels of each sample.

    Args:
        num_groups (int): number of groups.
        num_channels (int): number of channels, a multiple of `num_groups`.
        eps (float): added to the variance. Default: ``1e-5``.
        affine (bool): whether gamma and beta are trained. Default: ``True``.
        gamma_init, beta_init: initial values of gamma and beta. Default: ``'ones'``, ``'zeros'``.
        dtype: dtype of the weights. Default: ``mindspore.float32``.
        route (str): ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an
            empty string for the default route.

    Inputs:
        - **x** (Tensor) - (N, C, …), float16, bfloat16, float32 or float64.

    Outputs:
        Tensor of the shape and dtype of x.

    Raises:
        InputError: `num_groups` does not divide the number of channels.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import GroupNorm
        >>> GroupNorm(2, 2).forward(np.ones((1, 2, 4), np.float32)).max()
        0.0
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        dtype: Any = None,
        route: str = "",
    ):
        if num_groups < 1 or num_channels % num_groups:
            raise InputError(
                "GroupNorm: the channels make no such groups",
                place="GroupNorm",
                expected="num_channels a multiple of num_groups",
                got=f"{num_channels} and {num_groups}",
            )
        shape = (num_channels,)
        weights = {
            "gamma": make_parameter(gamma_init, shape, dtype, "gamma", trained=affine),
            "beta": make_parameter(beta_init, shape, dtype, "beta", trained=affine),
        }
        super().__init__(GROUP_NORM, {"num_groups": num_groups, "eps": eps}, weights, route)

    @classmethod
    def from_cells(cls, norm: Any, route: str = "") -> Any:
        """Builds the Cell from an `nn.GroupNorm`; both Cells use the same Parameters."""
        channels = norm.gamma.shape[0]
        return cls(
            norm.num_groups, channels, norm.eps, norm.affine, norm.gamma, norm.beta, route=route
        )

    def construct(self, x: Any) -> Any:
        """Runs one fused kernel; on the composite route, runs MindSpore's basic operators."""
        return self.run(x, self.gamma, self.beta)


FUNCTION_SPECS = (
    function_of_spec(
        "group_norm",
        GROUP_NORM,
        """Returns (x − mean) / √(variance + eps)·gamma + beta, with statistics of channel groups.

        See `custom_ops.GroupNorm`.

        Args:
            x: (N, C, …); float16, bfloat16, float32 or float64.
            num_groups: number of groups; it divides C.
            gamma, beta: tensors of shape (C,).
            eps, route: as in `custom_ops.GroupNorm`.

        Returns:
            Tensor of the shape and dtype of x.

        Raises:
            InputError: `num_groups` does not divide C, or gamma or beta has another shape.
        """,
        required=("num_groups",),
    ),
)
