"""Defines the BatchNorm Cell with a fused activation, for training and inference."""

from __future__ import annotations

from typing import Any

import numpy as np

from custom_ops.core.cell import FusedCell
from custom_ops.core.cell_call import OperatorCell, check_choice
from custom_ops.core.framework import ops
from custom_ops.core.function_spec import function_of_spec
from custom_ops.core.weighted_cells import as_array, make_parameter
from custom_ops.operators.batch_norm_inference import BATCH_NORM_INFERENCE
from custom_ops.operators.batch_norm_training import BATCH_NORM_TRAINING
from custom_ops.operators.channel_normalisation import FUSED_ACTIVATIONS
from custom_ops.operators.epilogues import LEAK
from tbe_impl.errors import InputError


class BatchNorm(OperatorCell):
    r"""Batch normalisation with a fused activation; replaces nn.BatchNorm1d and nn.BatchNorm2d.

    .. math::
        y = f\left(
        \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \epsilon}} \cdot \gamma + \beta
        \right)

    Training uses the mean and variance of the batch. It also updates the moving mean and variance
    as MindSpore does: moving = momentum·moving + (1 − momentum)·batch. In this update the batch
    variance is scaled by n / (n − 1), with n the number of elements per channel.

    Args:
        num_features (int): number of channels.
        eps (float): added to the variance. Default: ``1e-5``.
        momentum (float): weight of the old moving mean and variance in an update. Default: ``0.9``.
        affine (bool): whether gamma and beta are trained. Default: ``True``.
        gamma_init, beta_init, moving_mean_init, moving_var_init: initial values. Default:
            ``'ones'``, ``'zeros'``, ``'zeros'``, ``'ones'``.
        use_batch_statistics (bool, optional): ``True`` uses the statistics of the batch, ``False``
            the moving statistics. ``None`` means ``True`` in training and ``False`` otherwise.
            Default: ``None``.
        data_format (str): ``NCHW`` (channels are axis 1, for any number of spatial axes) or
            ``NHWC`` (channels are the last axis). Default: ``'NCHW'``.
        dtype: dtype of the weights. Default: ``mindspore.float32``.
        activation (str): ``relu``, ``leaky_relu``, ``silu``, or empty for none. Default: ``''``.
        alpha (float): slope of ``leaky_relu`` for negative inputs. Default: ``0.1``.
        route (str): ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an
            empty string for the default route.

    Inputs:
        - **x** (Tensor) - (N, C), (N, C, L), (N, C, H, W) …; float16, bfloat16, float32 or float64.

    Outputs:
        Tensor of the shape and dtype of x.

    Raises:
        InputError: x has no channel axis, the number of channels is not `num_features`, the
            activation is unknown, or the momentum is out of range.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

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
        check_choice("BatchNorm", "activation", activation, ("", *FUSED_ACTIVATIONS), ", ")
        if not 0 <= momentum <= 1:
            raise InputError(
                "BatchNorm: momentum is out of range",
                place="BatchNorm",
                expected="0 to 1",
                got=repr(momentum),
            )
        chosen = {
            "eps": float(eps),
            "activation": activation,
            "data_format": data_format,
            "alpha": float(alpha),
        }
        object.__setattr__(self, "spec", BATCH_NORM_INFERENCE)
        object.__setattr__(self, "attributes", chosen)
        self.momentum, self.use_batch_statistics = float(momentum), use_batch_statistics
        self.channel_axis = 1 if data_format == "NCHW" else -1
        shape = (num_features,)
        self.moving_mean = make_parameter(moving_mean_init, shape, dtype, "mean", trained=False)
        self.moving_variance = make_parameter(
            moving_var_init, shape, dtype, "variance", trained=False
        )
        self.gamma = make_parameter(gamma_init, shape, dtype, "gamma", trained=affine)
        self.beta = make_parameter(beta_init, shape, dtype, "beta", trained=affine)
        self.of_batch = FusedCell(BATCH_NORM_TRAINING, chosen, route)
        self.of_moving = FusedCell(BATCH_NORM_INFERENCE, chosen, route)

    @classmethod
    def from_cells(
        cls, norm: Any, activation: str = "", alpha: float = LEAK, route: str = ""
    ) -> Any:
        """Builds the Cell from an nn.BatchNorm1d or nn.BatchNorm2d.

        Both Cells use the same Parameters.
        """
        made = cls(
            norm.num_features,
            norm.eps,
            1.0 - norm.momentum,
            norm.gamma.requires_grad,
            norm.gamma,
            norm.beta,
            norm.moving_mean,
            norm.moving_variance,
            norm.use_batch_statistics,
            norm.format,
            activation=activation,
            alpha=alpha,
            route=route,
        )
        made.set_train(norm.training)
        return made

    def construct(self, x: Any) -> Any:
        """Returns the output; with batch statistics, also updates the moving mean and variance."""
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
        """Returns the output; with batch statistics, also updates the moving mean and variance.

        The first array is x. The next two arrays, if given, replace gamma and beta. Without batch
        statistics, two further arrays may replace the moving mean and variance.
        """
        use_batch = (
            self.training if self.use_batch_statistics is None else self.use_batch_statistics
        )
        object.__setattr__(self, "spec", BATCH_NORM_TRAINING if use_batch else BATCH_NORM_INFERENCE)
        own = (
            (self.gamma, self.beta)
            if use_batch
            else (self.gamma, self.beta, self.moving_mean, self.moving_variance)
        )
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
        """Returns the gradients of x, gamma and beta."""
        if arrays:
            self.forward(*arrays)
        if self.spec is BATCH_NORM_TRAINING and hasattr(self, "_seen"):
            _, (_, middle, variance) = self._seen
            grad = (grad, np.zeros_like(middle), np.zeros_like(variance))
        return super().backward(grad)


FUNCTION_SPECS = (
    function_of_spec(
        "batch_norm",
        BATCH_NORM_INFERENCE,
        """Returns activation((x − mean) / √(variance + eps)·gamma + beta).

        See `custom_ops.BatchNorm`.

        Args:
            x: as in `custom_ops.BatchNorm`.
            gamma, beta: tensors with one value per channel.
            moving_mean, moving_variance: moving statistics, one value per channel, which get no
                gradient. If both are None, the mean and variance of the batch are used, and the
                result is (y, mean, variance).
            eps, activation, alpha, data_format, route: as in `custom_ops.BatchNorm`.

        Returns:
            Tensor of the shape and dtype of x, or the tuple (y, mean, variance).

        Raises:
            InputError: x has no channel axis, the number of channels does not match, or the
                activation is unknown.
        """,
        without=BATCH_NORM_TRAINING,
        attributes=("eps", "activation", "alpha", "data_format"),
    ),
)
