"""Gradients of layer normalisation.

grad_x = (g − mean g − n·mean(g·n))·rstd
grad_gamma = Σ grad_y·n
grad_beta = Σ grad_y
where n = (x − mean)·rstd and g = grad_y·gamma.

Shapes: gamma and beta have the axes of x from begin_params_axis on; mean and rstd have size 1
    from begin_norm_axis on.
dtypes: float16, float32; computed in float32. mean and rstd are float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsLayerNormGrad", op_mode="static", support_fusion=True)
def layer_norm_grad_compute(
    x,
    gamma,
    mean,
    rstd,
    grad_y,
    grad_x,
    grad_gamma,
    grad_beta,
    begin_norm_axis=-1,
    begin_params_axis=-1,
    epsilon=1e-07,
    kernel_name="layer_norm_grad",
):
    """Returns the graph of `layer_norm_grad`."""
    axes = words.axes_from(x, begin_norm_axis)
    lead = words.axes_to(x, begin_params_axis)
    grad, factor = words.wide(grad_y), words.spread(rstd, x)
    normal = dsl.vmul(dsl.vsub(words.wide(x), words.spread(mean, x)), factor)
    scaled = dsl.vmul(grad, words.spread(words.wide(gamma), x))
    of_x = words.normalised_slope(normal, rstd, scaled, axes)
    of_gamma = words.total(dsl.vmul(grad, normal), lead, keepdims=False)
    of_beta = words.total(grad, lead, keepdims=False)
    return [dsl.cast_to(of_x, x.dtype), *words.narrow([of_gamma, of_beta], gamma.dtype)]


@para_check.check_op_params(*params(5, 3, ("int", "int", "float")))
def layer_norm_grad(
    x,
    gamma,
    mean,
    rstd,
    grad_y,
    grad_x,
    grad_gamma,
    grad_beta,
    begin_norm_axis=-1,
    begin_params_axis=-1,
    epsilon=1e-07,
    kernel_name="layer_norm_grad",
):
    """Builds the kernel."""
    build(
        layer_norm_grad_compute,
        {"x": x, "gamma": gamma, "mean": mean, "rstd": rstd, "grad_y": grad_y},
        [grad_x, grad_gamma, grad_beta],
        [begin_norm_axis, begin_params_axis, epsilon],
        kernel_name,
    )
