"""Gradients of RMS normalisation of a sum.

grad_x = (g − n·mean(g·n))·rstd + grad_sum
grad_gamma = Σ grad_y·n
where n = sum·rstd and g = grad_y·gamma. residual has the gradient of x.

Shapes: gamma has the last axes of x; rstd has size 1 in these axes.
dtypes: float16, float32; computed in float32. rstd is float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsAddRMSNormGrad", op_mode="static", support_fusion=True)
def add_rms_norm_grad_compute(
    sum,
    gamma,
    rstd,
    grad_y,
    grad_sum,
    grad_x,
    grad_gamma,
    epsilon=1e-06,
    kernel_name="add_rms_norm_grad",
):
    """Returns the graph of `add_rms_norm_grad`."""
    axes, lead = words.axes_beside(sum, gamma)
    grad, factor = words.wide(grad_y), words.spread(rstd, sum)
    normal = dsl.vmul(words.wide(sum), factor)
    scaled = dsl.vmul(grad, words.spread(words.wide(gamma), sum))
    share = words.spread(words.mean(dsl.vmul(scaled, normal), axes), sum)
    of_x = dsl.vmul(dsl.vsub(scaled, dsl.vmul(normal, share)), factor)
    of_x = dsl.vadd(of_x, words.wide(grad_sum))
    of_gamma = words.total(dsl.vmul(grad, normal), lead, keepdims=False)
    return [dsl.cast_to(of_x, sum.dtype), dsl.cast_to(of_gamma, gamma.dtype)]


@para_check.check_op_params(*params(5, 2, ("float",)))
def add_rms_norm_grad(
    sum,
    gamma,
    rstd,
    grad_y,
    grad_sum,
    grad_x,
    grad_gamma,
    epsilon=1e-06,
    kernel_name="add_rms_norm_grad",
):
    """Builds the kernel."""
    build(
        add_rms_norm_grad_compute,
        {"sum": sum, "gamma": gamma, "rstd": rstd, "grad_y": grad_y, "grad_sum": grad_sum},
        [grad_x, grad_gamma],
        [epsilon],
        kernel_name,
    )
