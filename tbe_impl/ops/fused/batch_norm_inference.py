"""Batch normalisation with given statistics, and an activation.

y = activation((x − moving_mean) / √(moving_variance + eps)·gamma + beta) for each channel.

Shapes: x (N, C, …), or (N, …, C) in NHWC; all other tensors (C,).
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, of_channels, params


@register_operator_compute("CustomOpsBatchNormInference", op_mode="static", support_fusion=True)
def batch_norm_inference_compute(
    x,
    gamma,
    beta,
    moving_mean,
    moving_variance,
    y,
    eps=1e-05,
    activation="",
    data_format="NCHW",
    alpha=0.1,
    kernel_name="batch_norm_inference",
):
    """Returns the graph of `batch_norm_inference`."""
    rstd = dsl.vrsqrt(dsl.vadds(words.wide(moving_variance), eps))
    res = words.scaled(x, words.wide(moving_mean), rstd, gamma, beta)
    return dsl.cast_to(words.activated(res, activation, alpha), x.dtype)


@para_check.check_op_params(*params(5, 1, ("float", "str", "str", "float")))
def batch_norm_inference(
    x,
    gamma,
    beta,
    moving_mean,
    moving_variance,
    y,
    eps=1e-05,
    activation="",
    data_format="NCHW",
    alpha=0.1,
    kernel_name="batch_norm_inference",
):
    """Builds the kernel."""
    beside = of_channels(x, data_format)
    views = dict.fromkeys(("gamma", "beta", "moving_mean", "moving_variance"), beside)
    build(
        batch_norm_inference_compute,
        {
            "x": x,
            "gamma": gamma,
            "beta": beta,
            "moving_mean": moving_mean,
            "moving_variance": moving_variance,
        },
        [y],
        [eps, activation, data_format, alpha],
        kernel_name,
        views=views,
    )
