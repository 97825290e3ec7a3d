"""Gradient of the input of an activation after a product or a convolution.

made = grad·a'(source).
For relu and leaky_relu, source is the result; for silu, gelu and gelu_tanh it is the input.

Shapes: all tensors have the same shape.
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported.
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
    """Returns the graph of `activation_gradient`."""
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
