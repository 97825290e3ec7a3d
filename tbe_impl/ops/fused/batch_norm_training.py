"""Batch normalisation with the statistics of the batch, and an activation.

y = activation((x − mean) / √(variance + eps)·gamma + beta).
mean and variance are taken per channel.

Shapes: x (N, C, …), or (N, …, C) in NHWC; all other tensors (C,).
dtypes: float16, float32; computed in float32. mean and variance are float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, of_channels, params


@register_operator_compute("CustomOpsBatchNormTraining", op_mode="static", support_fusion=True)
def batch_norm_training_compute(
    x,
    gamma,
    beta,
    y,
    mean,
    variance,
    eps=1e-05,
    activation="",
    data_format="NCHW",
    alpha=0.1,
    kernel_name="batch_norm_training",
):
    """Returns the graph of `batch_norm_training`."""
    given, axes = words.wide(x), words.axes_of_batch(x, data_format)
    middle = words.mean(given, axes)
    distance = dsl.vsub(given, words.spread(middle, x))
    square = words.mean(dsl.vmul(distance, distance), axes)
    rstd = dsl.vrsqrt(dsl.vadds(square, eps))
    res = words.scaled(x, middle, rstd, gamma, beta)
    return [dsl.cast_to(words.activated(res, activation, alpha), x.dtype), middle, square]


@para_check.check_op_params(*params(3, 3, ("float", "str", "str", "float")))
def batch_norm_training(
    x,
    gamma,
    beta,
    y,
    mean,
    variance,
    eps=1e-05,
    activation="",
    data_format="NCHW",
    alpha=0.1,
    kernel_name="batch_norm_training",
):
    """Builds the kernel."""
    beside = of_channels(x, data_format)
    views = dict.fromkeys(("gamma", "beta"), beside)
    build(
        batch_norm_training_compute,
        {"x": x, "gamma": gamma, "beta": beta},
        [y, mean, variance],
        [eps, activation, data_format, alpha],
        kernel_name,
        views=views,
    )
