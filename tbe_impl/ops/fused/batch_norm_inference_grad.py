"""Gradients of batch normalisation with given statistics, and an activation.

grad_x = g·rstd·gamma
grad_gamma = Σ g·n
grad_beta = Σ g
where n = (x − moving_mean)·rstd and g = grad_y·activation'(n·gamma + beta).

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


@register_operator_compute("CustomOpsBatchNormInferenceGrad", op_mode="static", support_fusion=True)
def batch_norm_inference_grad_compute(
    x,
    gamma,
    beta,
    moving_mean,
    moving_variance,
    grad_y,
    grad_x,
    grad_gamma,
    grad_beta,
    eps=1e-05,
    activation="",
    data_format="NCHW",
    alpha=0.1,
    kernel_name="batch_norm_inference_grad",
):
    """Returns the graph of `batch_norm_inference_grad`."""
    axes = words.axes_of_batch(x, data_format)
    rstd = dsl.vrsqrt(dsl.vadds(words.wide(moving_variance), eps))
    normal, grad = words.before_activation(
        x, words.wide(moving_mean), rstd, gamma, beta, grad_y, activation, alpha
    )
    of_x = dsl.vmul(grad, words.spread(dsl.vmul(rstd, words.wide(gamma)), x))
    of_gamma, of_beta = words.total(dsl.vmul(grad, normal), axes), words.total(grad, axes)
    return [dsl.cast_to(of_x, x.dtype), *words.narrow([of_gamma, of_beta], gamma.dtype)]


@para_check.check_op_params(*params(6, 3, ("float", "str", "str", "float")))
def batch_norm_inference_grad(
    x,
    gamma,
    beta,
    moving_mean,
    moving_variance,
    grad_y,
    grad_x,
    grad_gamma,
    grad_beta,
    eps=1e-05,
    activation="",
    data_format="NCHW",
    alpha=0.1,
    kernel_name="batch_norm_inference_grad",
):
    """Builds the kernel."""
    beside = of_channels(x, data_format)
    views = dict.fromkeys(("gamma", "beta", "moving_mean", "moving_variance"), beside)
    build(
        batch_norm_inference_grad_compute,
        {
            "x": x,
            "gamma": gamma,
            "beta": beta,
            "moving_mean": moving_mean,
            "moving_variance": moving_variance,
            "grad_y": grad_y,
        },
        [grad_x, grad_gamma, grad_beta],
        [eps, activation, data_format, alpha],
        kernel_name,
        views=views,
    )
