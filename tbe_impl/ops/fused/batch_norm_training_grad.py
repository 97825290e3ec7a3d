"""Gradients of batch normalisation with the statistics of the batch, and an activation.

grad_gamma = Σ g·n
grad_beta = Σ g
grad_x = g·rstd·gamma
    + (n·(2·grad_variance / rstd − rstd·gamma·Σ g·n) + grad_mean − rstd·gamma·Σ g) / M
where n = (x − mean)·rstd, g = grad_y·activation'(n·gamma + beta), and a channel has M elements.

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


@register_operator_compute("CustomOpsBatchNormTrainingGrad", op_mode="static", support_fusion=True)
def batch_norm_training_grad_compute(
    x,
    gamma,
    beta,
    mean,
    variance,
    grad_y,
    grad_mean,
    grad_variance,
    grad_x,
    grad_gamma,
    grad_beta,
    eps=1e-05,
    activation="",
    data_format="NCHW",
    alpha=0.1,
    kernel_name="batch_norm_training_grad",
):
    """Returns the graph of `batch_norm_training_grad`."""
    axes = words.axes_of_batch(x, data_format)
    rstd = dsl.vrsqrt(dsl.vadds(words.wide(variance), eps))
    normal, grad = words.before_activation(
        x, words.wide(mean), rstd, gamma, beta, grad_y, activation, alpha
    )
    of_gamma, of_beta = words.total(dsl.vmul(grad, normal), axes), words.total(grad, axes)
    factor, share = dsl.vmul(rstd, words.wide(gamma)), 1.0 / words.count(x, axes)
    by_normal = dsl.vmuls(dsl.vdiv(words.wide(grad_variance), rstd), 2.0)
    by_normal = dsl.vmuls(dsl.vsub(by_normal, dsl.vmul(factor, of_gamma)), share)
    level = dsl.vmuls(dsl.vsub(words.wide(grad_mean), dsl.vmul(factor, of_beta)), share)
    of_x = dsl.vmul(grad, words.spread(factor, x))
    of_x = dsl.vadd(of_x, dsl.vmul(normal, words.spread(by_normal, x)))
    of_x = dsl.vadd(of_x, words.spread(level, x))
    return [dsl.cast_to(of_x, x.dtype), *words.narrow([of_gamma, of_beta], gamma.dtype)]


@para_check.check_op_params(*params(8, 3, ("float", "str", "str", "float")))
def batch_norm_training_grad(
    x,
    gamma,
    beta,
    mean,
    variance,
    grad_y,
    grad_mean,
    grad_variance,
    grad_x,
    grad_gamma,
    grad_beta,
    eps=1e-05,
    activation="",
    data_format="NCHW",
    alpha=0.1,
    kernel_name="batch_norm_training_grad",
):
    """Builds the kernel."""
    beside = of_channels(x, data_format)
    views = dict.fromkeys(
        ("gamma", "beta", "mean", "variance", "grad_mean", "grad_variance"), beside
    )
    build(
        batch_norm_training_grad_compute,
        {
            "x": x,
            "gamma": gamma,
            "beta": beta,
            "mean": mean,
            "variance": variance,
            "grad_y": grad_y,
            "grad_mean": grad_mean,
            "grad_variance": grad_variance,
        },
        [grad_x, grad_gamma, grad_beta],
        [eps, activation, data_format, alpha],
        kernel_name,
        views=views,
    )
