"""Computes RMS normalisation, forward and backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from custom_ops.core.framework import ops
from custom_ops.core.function_spec import function_of_spec
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.row_helpers import broadcast_like, check_shape, mean, sizes, total, widen
from custom_ops.core.weighted_cells import WeightedCell, make_parameter
from tbe_impl import dsl
from tbe_impl.errors import InputError


def axes_of(x: Any, gamma: Any, place: str = "RMSNorm") -> list[int]:
    """Returns the normalised axes: the last n axes of x, where n is the number of axes of gamma.

    Raises:
        InputError: the shape of gamma is not that of the last axes of x.
    """
    rank, of_gamma = len(x.shape), len(gamma.shape)
    if not 1 <= of_gamma <= rank:
        raise InputError(
            f"{place}: gamma has a wrong rank",
            place=place,
            expected=f"1 to {rank} axes for x of shape {sizes(x)}",
            got=str(sizes(gamma)),
        )
    check_shape(gamma, sizes(x)[rank - of_gamma :], place, "gamma")
    return list(range(rank - of_gamma, rank))


def scale(x: Any, gamma: Any, axes: Sequence[int], epsilon: float) -> tuple[Any, Any]:
    """Returns x·rstd·gamma and rstd = 1 / √(mean x² + epsilon), in the accumulation dtype."""
    rstd = dsl.vrsqrt(dsl.vadds(mean(dsl.vmul(x, x), axes), epsilon))
    return dsl.vmul(dsl.vmul(x, broadcast_like(rstd, x)), broadcast_like(widen(gamma, x), x)), rstd


def compute(x: Any, gamma: Any, *, epsilon: float = 1e-6) -> tuple[Any, Any]:
    """Returns the output y, and rstd = 1 / √(mean x² + epsilon)."""
    made, rstd = scale(widen(x), gamma, axes_of(x, gamma), epsilon)
    return dsl.cast_to(made, x.dtype), rstd


def gradients_of(x: Any, gamma: Any, rstd: Any, grad: Any, axes: Sequence[int]) -> tuple[Any, Any]:
    """Returns the gradients of x (in the accumulation dtype) and gamma.

    The gradient of x is (g − n·mean(g·n))·rstd with n = x·rstd and g = grad·gamma.
    """
    slope = widen(grad)
    factor = broadcast_like(rstd, x)
    normal = dsl.vmul(widen(x), factor)
    scaled = dsl.vmul(slope, broadcast_like(widen(gamma, x), x))
    share = broadcast_like(mean(dsl.vmul(scaled, normal), axes), x)
    of_gamma = total(dsl.vmul(slope, normal), list(range(axes[0])), keep=False)
    of_x = dsl.vmul(dsl.vsub(scaled, dsl.vmul(normal, share)), factor)
    return of_x, dsl.cast_to(of_gamma, gamma.dtype)


def gradient(x: Any, gamma: Any, rstd: Any, grad: Any, **_: Any) -> tuple[Any, Any]:
    """Returns the gradients of x and gamma."""
    of_x, of_gamma = gradients_of(x, gamma, rstd, grad, axes_of(x, gamma))
    return dsl.cast_to(of_x, x.dtype), of_gamma


def composite(x: Any, gamma: Any, epsilon: float = 1e-6) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
    square = ops.mean(ops.mul(x, x), axes, True)
    return ops.mul(ops.mul(x, ops.rsqrt(ops.add(square, epsilon))), gamma.astype(x.dtype))


def formula(x: Any, gamma: Any, *, epsilon: float = 1e-6) -> Any:
    """Computes y = x / √(mean x² + epsilon)·gamma."""
    axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
    return x / np.sqrt(np.mean(x * x, axes, keepdims=True) + epsilon) * gamma


RMS_NORM = OpSpec(
    name="RMSNorm",
    inputs=("x", "gamma"),
    outputs=("y", "rstd"),
    hidden=frozenset({"rstd"}),
    recompute_hidden=lambda x, gamma, *, epsilon: scale(
        widen(x), gamma, axes_of(x, gamma), epsilon
    )[1],
    forward=compute,
    backward=gradient,
    saves=("x", "gamma", "rstd"),
    attributes={"epsilon": 1e-6},
    composite=composite,
    formula=formula,
    samples=(
        ((6, 40), (40,)),
        ((2, 3, 5, 17), (5, 17)),
        ((5, 1024), (1024,)),
        ((0, 4), (4,)),
        ((8,), (8,)),
    ),
    nan="row",
    doc="y = x / √(mean x² + epsilon)·gamma",
)


class RMSNormCell(WeightedCell):
    """Base class of RMS normalisations with a weight.

    Attributes:
        own: `OpSpec` of the operator that the subclass runs.
    """

    own: OpSpec

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        epsilon: float = 1e-6,
        gamma_init: Any = "ones",
        dtype: Any = None,
        route: str = "",
    ):
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
        weights = {"gamma": make_parameter(gamma_init, shape, dtype, "gamma")}
        super().__init__(self.own, {"epsilon": epsilon}, weights, route)

    @classmethod
    def from_cells(cls, norm: Any, route: str = "") -> Any:
        """Builds the Cell from another RMS normalisation Cell; both Cells use the same Parameter.

        The given Cell must have an attribute ``gamma`` or ``weight``, and an attribute ``epsilon``
        or ``eps``.
        """
        gamma = norm.gamma if hasattr(norm, "gamma") else norm.weight
        epsilon = norm.epsilon if hasattr(norm, "epsilon") else norm.eps
        return cls(tuple(gamma.shape), epsilon, gamma, route=route)


class RMSNorm(RMSNormCell):
    r"""RMS normalisation over the last axes.

    .. math::
        y = \frac{x}{\sqrt{\mathrm{E}[x^2] + \epsilon}} \cdot \gamma

    Args:
        normalized_shape (Union(int, tuple[int])): shape of gamma and of the last axes of x.
        epsilon (float): added to the mean of the squares. Default: ``1e-6``.
        gamma_init: initial values of gamma. Default: ``'ones'``.
        dtype: dtype of gamma. Default: ``mindspore.float32``.
        route (str): ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an
            empty string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64; its last axes have the shape
          `normalized_shape`.

    Outputs:
        Tensor of the shape and dtype of x.

    Raises:
        InputError: the last axes of x do not have the shape of gamma.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import RMSNorm
        >>> RMSNorm(2).forward(np.float32([[3, 3]]))
        array([[0.99999994, 0.99999994]], dtype=float32)
    """

    own = RMS_NORM

    def construct(self, x: Any) -> Any:
        """Runs one fused kernel; on the composite route, runs MindSpore's basic operators."""
        return self.run(x, self.gamma)


FUNCTION_SPECS = (
    function_of_spec(
        "rms_norm",
        RMS_NORM,
        """Returns x / √(mean x² + epsilon)·gamma; see `custom_ops.RMSNorm`.

        Args:
            x: float16, bfloat16, float32 or float64.
            gamma: tensor of the shape of the last axes of x, which are normalised.
            epsilon, route: as in `custom_ops.RMSNorm`.

        Returns:
            Tensor of the shape and dtype of x.

        Raises:
            InputError: the last axes of x do not have the shape of gamma.
        """,
    ),
)
