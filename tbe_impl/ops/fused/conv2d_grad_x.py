"""Gradient of a convolution for its input.

grad_x = conv(grad_y dilated by the strides, weight mirrored).
padding: one number; four numbers (above, below, left, right); same (also −1); or valid.

Shapes: x and grad_x (N, C, H, W), weight (O, C / groups, h, w), grad_y (N, O, H', W').
    Only the shape of x is read. On a device, images are in NC1HWC0 and weights in FRACTAL_Z.
dtypes: float16 inputs of the cube; summed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params

DTYPES = ("float16",)
"""What the cube multiplies."""
FORMATS = {"x": "5HD", "weight": "FracZ", "grad_y": "5HD", "grad_x": "5HD"}
"""How the cube wants tensors laid out."""


def conv2d_grad_x_compute(
    x,
    weight,
    grad_y,
    grad_x,
    filter_shape,
    stride,
    padding,
    dilation,
    groups,
    kernel_name="conv2d_grad_x",
):
    """Returns the graph of `conv2d_grad_x`."""
    places = words.sizes(x)[2:4]
    told = words.backwards(places, filter_shape, stride, padding, dilation, groups)
    size = [words.sizes(x)[0], filter_shape[1] * groups, *places]
    made = dsl.conv2d_backprop_input(weight, grad_y, list(filter_shape), size, told)
    return dsl.cast_to(made, x.dtype)


@para_check.check_op_params(
    *params(3, 1, (("int", "list_int"), ("int", "list_int", "str"), ("int", "list_int"), "int"))
)
def conv2d_grad_x(
    x,
    weight,
    grad_y,
    grad_x,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
    kernel_name="conv2d_grad_x",
):
    """Builds the kernel."""
    build(
        conv2d_grad_x_compute,
        {"x": x, "weight": weight, "grad_y": grad_y},
        [grad_x],
        [weight.get("ori_shape"), stride, padding, dilation, groups],
        kernel_name,
        dtypes=dict.fromkeys(("x", "weight", "grad_y"), DTYPES),
    )
