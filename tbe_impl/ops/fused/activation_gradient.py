"""The gradient of what an activation behind a product or a convolution was given.

made = grad·a'(source); of relu and leaky_relu source is the result, of silu, gelu and gelu_tanh what they were given.

Shapes: all the same. dtypes: float16, float32; computed in float32. Errors: another dtype: the error of `para_check`.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsActivationGradient", op_mode="static", support_fusion=True)
def activation_gradient_compute(
    source, grad, made, activation="silu", alpha=0.1, kernel_name="activation_gradient"
):
    """The graph of `activation_gradient`."""
    given, slope = words.wide(source), words.wide(grad)
    if activation in ("gelu", "gelu_tanh"):
        found = dsl.vmul(slope, words.gelu_slope(given, activation == "gelu_tanh"))
    else:
        found = dsl.vmul(slope, words.activated_slope(given, activation, alpha))
    return dsl.cast_to(found, grad.dtype)


@para_check.check_op_params(*params(2, 1, ("str", "float")))
def activation_gradient(
    source, grad, made, activation="silu", alpha=0.1, kernel_name="activation_gradient"
):
    """Builds the kernel."""
    inputs = {"source": source, "grad": grad}
    build(activation_gradient_compute, inputs, [made], [activation, alpha], kernel_name)
