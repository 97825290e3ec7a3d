"""Gradients of RMS normalisation.

grad_x = (g − n·mean(g·n))·rstd
grad_gamma = Σ grad_y·n
where n = x·rstd and g = grad_y·gamma.

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


@register_operator_compute("CustomOpsRMSNormGrad", op_mode="static", support_fusion=True)
def rms_norm_grad_compute(
    x, gamma, rstd, grad_y, grad_x, grad_gamma, epsilon=1e-06, kernel_name="rms_norm_grad"
):
    """Returns the graph of `rms_norm_grad`."""
    axes, lead = words.axes_beside(x, gamma)
    grad, factor = words.wide(grad_y), words.spread(rstd, x)
    normal = dsl.vmul(words.wide(x), factor)
    scaled = dsl.vmul(grad, words.spread(words.wide(gamma), x))
    share = words.spread(words.mean(dsl.vmul(scaled, normal), axes), x)
    of_x = dsl.vmul(dsl.vsub(scaled, dsl.vmul(normal, share)), factor)
    of_gamma = words.total(dsl.vmul(grad, normal), lead, keepdims=False)
    return [dsl.cast_to(of_x, x.dtype), dsl.cast_to(of_gamma, gamma.dtype)]


@para_check.check_op_params(*params(4, 2, ("float",)))
def rms_norm_grad(
    x, gamma, rstd, grad_y, grad_x, grad_gamma, epsilon=1e-06, kernel_name="rms_norm_grad"
):
    """Builds the kernel."""
    build(
        rms_norm_grad_compute,
        {"x": x, "gamma": gamma, "rstd": rstd, "grad_y": grad_y},
        [grad_x, grad_gamma],
        [epsilon],
        kernel_name,
    )
