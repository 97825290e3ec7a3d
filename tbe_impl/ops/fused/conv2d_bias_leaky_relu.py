"""Convolution with a bias and leaky relu.

y = z where z > 0, else alpha·z; z = conv(x, weight) + bias.
padding: one number; four numbers (above, below, left, right); same (also −1); or valid.

Shapes: x (N, C, H, W), weight (O, C / groups, h, w), bias (O,). On a device, x and y are in
    NC1HWC0 and weight is in FRACTAL_Z.
dtypes: float16 inputs of the cube.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params

DTYPES = ("float16",)
"""What the cube multiplies."""
FORMATS = {"x": "5HD", "weight": "FracZ", "y": "5HD"}
"""How the cube wants tensors laid out; all others as they are."""


def conv2d_bias_leaky_relu_compute(
    x,
    weight,
    bias,
    y,
    filter_shape,
    stride,
    padding,
    dilation,
    groups,
    alpha,
    kernel_name="conv2d_bias_leaky_relu",
):
    """Returns the graph of `conv2d_bias_leaky_relu`."""
    options = [stride, padding, dilation, groups]
    res = words.convolution(x, weight, bias, filter_shape, *options)
    return dsl.cast_to(words.activated(words.wide(res), "leaky_relu", alpha), x.dtype)


@para_check.check_op_params(
    *params(
        3, 1, (("int", "list_int"), ("int", "list_int", "str"), ("int", "list_int"), "int", "float")
    )
)
def conv2d_bias_leaky_relu(
    x,
    weight,
    bias,
    y,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
    alpha=0.1,
    kernel_name="conv2d_bias_leaky_relu",
):
    """Builds the kernel."""
    build(
        conv2d_bias_leaky_relu_compute,
        {"x": x, "weight": weight, "bias": bias},
        [y],
        [weight.get("ori_shape"), stride, padding, dilation, groups, alpha],
        kernel_name,
        dtypes=dict.fromkeys(("x", "weight", "bias"), DTYPES),
    )
