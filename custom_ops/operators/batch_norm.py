"""Batch normalisation followed by an activation: with the statistics of the batch, and with given ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from custom_ops.called import Called
from custom_ops.cell import FusedCell
from custom_ops.framework import ops
from custom_ops.operators import epilogues
from custom_ops.operators.epilogues import LEAK
from custom_ops.rows import check_shape, mean, share_of, sizes, spread, total, wide
from custom_ops.specs import OpSpec
from custom_ops.weights import as_array, parameter
from tbe_impl import dsl
from tbe_impl.errors import InputError


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


ACTIVATIONS = MappingProxyType({
    "relu": Activation(
        lambda z, _: dsl.vrelu(z), lambda z, _: dsl.vcmpsel(z, 0.0, "gt", 1.0, 0.0), lambda z, _: np.maximum(z, 0)
    ),
    "leaky_relu": Activation(
        dsl.vlrelu, lambda z, alpha: dsl.vcmpsel(z, 0.0, "gt", 1.0, alpha), lambda z, alpha: np.where(z > 0, z, alpha * z)
    ),
    "silu": Activation(lambda z, _: dsl.vmul(z, dsl.ext.sigmoid(z)), _silu_slope, lambda z, _: z / (1 + np.exp(-z))),
})  # fmt: skip
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


def _of_channels(weight: Any, x: Any, shape: list[int], argument: str) -> Any:
    """A weight of each channel beside x, in the dtype of sums."""
    check_shape(weight, [int(np.prod(shape))], "BatchNorm", argument)
    return dsl.ext.reshape(wide(weight, x), shape)


def _scaled(x: Any, middle: Any, variance: Any, gamma: Any, beta: Any, eps: float) -> Any:
    """x·factor + offset, which are computed once for each channel."""
    factor = dsl.vmul(dsl.vrsqrt(dsl.vadds(variance, eps)), gamma)
    offset = dsl.vsub(beta, dsl.vmul(middle, factor))
    return dsl.vadd(dsl.vmul(x, spread(factor, x)), spread(offset, x))


def _activated(z: Any, activation: str, alpha: float) -> Any:
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
    """activation((x − mean) / √(variance + eps)·gamma + beta)."""
    given, (_, shape) = wide(x), layout_of(x, data_format)
    middle = _of_channels(moving_mean, given, shape, "moving_mean")
    variance = _of_channels(moving_variance, given, shape, "moving_variance")
    factor = _of_channels(gamma, given, shape, "gamma")
    offset = _of_channels(beta, given, shape, "beta")
    check_shape(beta, sizes(gamma), "BatchNorm", "beta", gamma)
    z = _scaled(given, middle, variance, factor, offset, eps)
    return dsl.cast_to(_activated(z, activation, alpha), x.dtype)


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
    """The same with mean and variance of the batch; y, mean and variance."""
    given, (axes, shape) = wide(x), layout_of(x, data_format)
    middle = mean(given, axes)
    distance = dsl.vsub(given, spread(middle, given))
    variance = mean(dsl.vmul(distance, distance), axes)
    factor = _of_channels(gamma, given, shape, "gamma")
    offset = _of_channels(beta, given, shape, "beta")
    check_shape(beta, sizes(gamma), "BatchNorm", "beta", gamma)
    z = _scaled(given, middle, variance, factor, offset, eps)
    made = dsl.cast_to(_activated(z, activation, alpha), x.dtype)
    channels = sizes(gamma)
    return made, dsl.ext.reshape(middle, channels), dsl.ext.reshape(variance, channels)


def _slopes(
    x: Any, gamma: Any, beta: Any, middle: Any, variance: Any, grad: Any,
    eps: float, activation: str, data_format: str, alpha: float,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Normalised x, the gradient of what the activation is given, and rstd and gamma of each channel."""
    given, slope, (_, shape) = wide(x), wide(grad), layout_of(x, data_format)
    middle, variance, factor, offset = (
        _of_channels(weight, given, shape, "weight") for weight in (middle, variance, gamma, beta)
    )
    rstd = dsl.vrsqrt(dsl.vadds(variance, eps))
    normal = dsl.vmul(dsl.vsub(given, spread(middle, given)), spread(rstd, given))
    if activation:
        z = dsl.vadd(dsl.vmul(normal, spread(factor, given)), spread(offset, given))
        slope = dsl.vmul(slope, ACTIVATIONS[activation].slope(z, alpha))
    return normal, slope, rstd, factor


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
    """Gradients of x, gamma and beta."""
    normal, slope, rstd, factor = _slopes(
        x, gamma, beta, moving_mean, moving_variance, grad, eps, activation, data_format, alpha
    )
    of_x = dsl.vmul(slope, spread(dsl.vmul(rstd, factor), slope))
    axes, _ = layout_of(x, data_format)
    sums = total(dsl.vmul(slope, normal), axes, keep=False), total(slope, axes, keep=False)
    return (
        dsl.cast_to(of_x, x.dtype),
        *(dsl.cast_to(one, gamma.dtype) for one in sums),
    )


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
    """Gradients of x, gamma and beta; mean and variance depend on x too."""
    normal, slope, rstd, factor = _slopes(
        x, gamma, beta, middle, variance, grad, eps, activation, data_format, alpha
    )
    axes, shape = layout_of(x, data_format)
    share = share_of(normal, axes)
    of_gamma, of_beta = total(dsl.vmul(slope, normal), axes), total(slope, axes)
    scale = dsl.vmul(rstd, factor)
    # x − mean is normal / rstd
    further = dsl.vmuls(
        dsl.vdiv(_of_channels(grad_variance, normal, shape, "grad"), rstd), 2 * share
    )
    by_normal = dsl.vsub(further, dsl.vmuls(dsl.vmul(scale, of_gamma), share))
    level = _of_channels(grad_mean, normal, shape, "grad")
    constant = dsl.vmuls(dsl.vsub(level, dsl.vmul(scale, of_beta)), share)
    of_x = dsl.vadd(
        dsl.vmul(slope, spread(scale, slope)), dsl.vmul(normal, spread(by_normal, slope))
    )
    of_x = dsl.vadd(of_x, spread(constant, slope))
    return (
        dsl.cast_to(of_x, x.dtype),
        *(
            dsl.cast_to(dsl.ext.reshape(one, sizes(gamma)), gamma.dtype)
            for one in (of_gamma, of_beta)
        ),
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
    """The same from basic operators of MindSpore."""
    shape = (1, -1) + (1,) * (x.ndim - 2)
    if data_format == "NHWC":
        shape = (-1,)
    factor = ops.mul(ops.rsqrt(ops.add(moving_variance, eps)), gamma)
    offset = ops.sub(beta, ops.mul(moving_mean, factor))
    factor, offset = ops.reshape(factor, shape), ops.reshape(offset, shape)
    z = ops.add(ops.mul(x, factor.astype(x.dtype)), offset.astype(x.dtype))
    return epilogues.composite(z, activation, alpha)


def train_composite(
    x: Any,
    gamma: Any,
    beta: Any,
    eps: float = 1e-5,
    activation: str = "",
    data_format: str = "NCHW",
    alpha: float = 0.1,
) -> Any:
    """The same from basic operators of MindSpore."""
    shape = (1, -1) + (1,) * (x.ndim - 2)
    axes = (0,) + tuple(range(2, x.ndim))  # noqa: RUF005 - MindSpore reads it, and knows no star
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


def infer_formula(
    x: Any, gamma: Any, beta: Any, moving_mean: Any, moving_variance: Any,
    *, eps: float = 1e-5, activation: str = "", data_format: str = "NCHW", alpha: float = LEAK,
) -> Any:  # fmt: skip
    """activation((x − mean) / √(variance + eps)·gamma + beta)."""
    channels = x if data_format == "NHWC" else np.moveaxis(x, 1, -1)
    z = (channels - moving_mean) / np.sqrt(moving_variance + eps) * gamma + beta
    z = z if data_format == "NHWC" else np.moveaxis(z, -1, 1)
    return ACTIVATIONS[activation].formula(z, alpha) if activation else z


def train_formula(x: Any, gamma: Any, beta: Any, **more: Any) -> Any:
    """The same with mean and variance of the batch, which are outputs too; those of nothing are 0."""
    channels = x if more.get("data_format") == "NHWC" else np.moveaxis(x, 1, -1)
    axes = tuple(range(x.ndim - 1))
    middle, variance = (channels.mean(axes), channels.var(axes)) if x.size else np.zeros((2, channels.shape[-1]))  # fmt: skip
    return infer_formula(x, gamma, beta, middle, variance, **more), middle, variance


_ATTRIBUTES = {"eps": 1e-5, "activation": "", "data_format": "NCHW", "alpha": LEAK}

BATCH_NORM_INFERENCE = OpSpec(
    name="BatchNormInference",
    inputs=("x", "gamma", "beta", "moving_mean", "moving_variance"),
    undifferentiable=frozenset({"moving_mean", "moving_variance"}),
    forward=infer,
    backward=infer_gradient,
    saves=("x", "gamma", "beta", "moving_mean", "moving_variance"),
    attributes=_ATTRIBUTES,
    composite=infer_composite,
    formula=infer_formula,
    samples=(((3, 4, 5, 6), *((4,),) * 4), ((5, 3), *((3,),) * 4), ((2, 3, 33), *((3,),) * 4)),
    ranges={"moving_variance": (0.5, 2.0)},
    tbe="fused/batch_norm_inference",
    tbe_gradient="fused/batch_norm_inference_grad",
    doc="y = activation((x − mean) / √(variance + eps)·gamma + beta)",
)

BATCH_NORM_TRAINING = OpSpec(
    name="BatchNormTraining",
    inputs=("x", "gamma", "beta"),
    outputs=("y", "mean", "variance"),
    forward=train,
    backward=train_gradient,
    saves=("x", "gamma", "beta", "mean", "variance"),
    attributes=_ATTRIBUTES,
    composite=train_composite,
    formula=train_formula,
    samples=(((3, 4, 5, 6), (4,), (4,)), ((5, 3), (3,), (3,)), ((2, 3, 33), (3,), (3,))),
    nan="undefined",
    tbe="fused/batch_norm_training",
    tbe_gradient="fused/batch_norm_training_grad",
    doc="y = activation((x − mean) / √(variance + eps)·gamma + beta) with the batch's own mean and variance",
)


class BatchNorm(Called):
    r"""Batch normalisation with an activation, in the place of `mindspore.nn.BatchNorm1d` and `BatchNorm2d`.

    .. math::
        y = f\left(\frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \epsilon}} \cdot \gamma + \beta\right)

    In training mean and variance are those of the batch, and the moving ones follow as MindSpore's do:
    moving = momentum·moving + (1 − momentum)·batch, the variance by n / (n − 1).

    Args:
        num_features (int): number of channels.
        eps (float): added to the variance. Default: ``1e-5``.
        momentum (float): share of the old moving values. Default: ``0.9``.
        affine (bool): whether gamma and beta are trained. Default: ``True``.
        gamma_init, beta_init, moving_mean_init, moving_var_init: initial values. Default: ``'ones'``, ``'zeros'``,
            ``'zeros'``, ``'ones'``.
        use_batch_statistics (bool, optional): always, never, or (``None``) in training. Default: ``None``.
        data_format (str): ``NCHW``, also for fewer or more axes of places, or ``NHWC``. Default: ``'NCHW'``.
        dtype: of the weights. Default: ``mindspore.float32``.
        activation (str): ``relu``, ``leaky_relu``, ``silu`` or empty for none. Default: ``''``.
        alpha (float): what ``leaky_relu`` lets through. Default: ``0.1``.
        route (str): ``native``, ``composite``, or empty for the default.

    Inputs:
        - **x** (Tensor) - (N, C), (N, C, L), (N, C, H, W) …; float16, bfloat16, float32 or float64.

    Outputs:
        Tensor of the same shape and dtype.

    Raises:
        InputError: no channels, another number of them, or an unknown activation.

    Supported Platforms:
        ``CPU`` (``Ascend``: written, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import BatchNorm
        >>> BatchNorm(1, eps=0.0, activation="relu").forward(np.float32([[-1], [2]]))
        array([[0.],
               [2.]], dtype=float32)
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None,
        data_format: str = "NCHW",
        dtype: Any = None,
        activation: str = "",
        alpha: float = LEAK,
        route: str = "",
    ):
        super().__init__()
        if activation and activation not in ACTIVATIONS:
            raise InputError(
                "BatchNorm: unknown activation",
                place="BatchNorm",
                expected=", ".join(ACTIVATIONS),
                got=repr(activation),
            )
        if not 0 <= momentum <= 1:
            raise InputError(
                "BatchNorm: momentum is out of range",
                place="BatchNorm",
                expected="0 to 1",
                got=repr(momentum),
            )
        chosen = {
            "eps": float(eps), "activation": activation, "data_format": data_format, "alpha": float(alpha)
        }  # fmt: skip
        object.__setattr__(self, "spec", BATCH_NORM_INFERENCE)
        object.__setattr__(self, "attributes", chosen)
        self.momentum, self.use_batch_statistics = float(momentum), use_batch_statistics
        self.channel_axis = 1 if data_format == "NCHW" else -1
        shape = (num_features,)
        self.moving_mean = parameter(moving_mean_init, shape, dtype, "mean", trained=False)
        self.moving_variance = parameter(moving_var_init, shape, dtype, "variance", trained=False)
        self.gamma = parameter(gamma_init, shape, dtype, "gamma", trained=affine)
        self.beta = parameter(beta_init, shape, dtype, "beta", trained=affine)
        self.of_batch = FusedCell(BATCH_NORM_TRAINING, chosen, route)
        self.of_moving = FusedCell(BATCH_NORM_INFERENCE, chosen, route)

    @classmethod
    def from_cells(
        cls, norm: Any, activation: str = "", alpha: float = LEAK, route: str = ""
    ) -> Any:
        """One with the weights of an `nn.BatchNorm1d` or `BatchNorm2d`: the same Parameters."""
        made = cls(
            norm.num_features, norm.eps, 1.0 - norm.momentum, norm.gamma.requires_grad, norm.gamma, norm.beta,
            norm.moving_mean, norm.moving_variance, norm.use_batch_statistics, norm.format, activation=activation, alpha=alpha, route=route,
        )  # fmt: skip
        made.set_train(norm.training)
        return made

    def construct(self, x: Any) -> Any:
        """One kernel, or basic operators; in training the moving values follow."""
        use_batch = self.use_batch_statistics
        if use_batch is None:
            use_batch = self.training
        if not use_batch:
            return self.of_moving(x, self.gamma, self.beta, self.moving_mean, self.moving_variance)
        y, middle, variance = self.of_batch(x, self.gamma, self.beta)
        number = x.size // x.shape[self.channel_axis]
        middle, variance = ops.stop_gradient(middle), ops.stop_gradient(variance)
        share, unbiased = 1.0 - self.momentum, number / max(number - 1, 1)
        old = self.moving_mean * self.momentum
        ops.assign(self.moving_mean, old + (middle * share).astype(old.dtype))
        old = self.moving_variance * self.momentum
        ops.assign(self.moving_variance, old + (variance * (share * unbiased)).astype(old.dtype))
        return y

    def forward(self, *arrays: Any) -> Any:
        """y; with the batch's statistics the moving values follow. Arrays after x are gamma, beta (and mean, variance)."""
        use_batch = (
            self.training if self.use_batch_statistics is None else self.use_batch_statistics
        )
        object.__setattr__(self, "spec", BATCH_NORM_TRAINING if use_batch else BATCH_NORM_INFERENCE)
        own = (self.gamma, self.beta) if use_batch else (self.gamma, self.beta, self.moving_mean, self.moving_variance)  # fmt: skip
        given = (*arrays, *map(as_array, own[len(arrays) - 1 :]))
        if not use_batch:
            return super().forward(*given)
        y, middle, variance = super().forward(*given)
        number = y.size // max(y.shape[self.channel_axis], 1)
        scaled = (middle, variance * (number / max(number - 1, 1)))
        for weight, new in zip((self.moving_mean, self.moving_variance), scaled, strict=True):
            old = as_array(weight)
            values = (old * self.momentum + new * (1 - self.momentum)).astype(old.dtype)
            if isinstance(weight, np.ndarray):
                weight[...] = values
            else:
                weight.set_data(type(weight.value())(values))
        return y

    def backward(self, grad: Any, *arrays: Any) -> Any:
        """The gradients of x, gamma and beta."""
        if arrays:
            self.forward(*arrays)
        if self.spec is BATCH_NORM_TRAINING and hasattr(self, "_seen"):
            _, (_, middle, variance) = self._seen
            grad = (grad, np.zeros_like(middle), np.zeros_like(variance))
        return super().backward(grad)
