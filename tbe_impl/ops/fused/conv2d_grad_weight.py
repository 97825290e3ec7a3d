"""Gradient of a convolution for its weight.

grad_weight = Σ grad_y·x over images and positions.
padding: one number; four numbers (above, below, left, right); same (also −1); or valid.

Shapes: x (N, C, H, W), weight and grad_weight (O, C / groups, h, w), grad_y (N, O, H', W').
    Only the shape of weight is read. On a device, images are in NC1HWC0 and weights in FRACTAL_Z.
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
FORMATS = {"x": "5HD", "weight": "FracZ", "grad_y": "5HD", "grad_weight": "FracZ"}
"""How the cube wants tensors laid out."""


def conv2d_grad_weight_compute(
    x,
    weight,
    grad_y,
    grad_weight,
    filter_shape,
    stride,
    padding,
    dilation,
    groups,
    kernel_name="conv2d_grad_weight",
):
    """Returns the graph of `conv2d_grad_weight`."""
    places = words.sizes(x)[2:4]
    told = words.backwards(places, filter_shape, stride, padding, dilation, groups)
    made = dsl.conv2d_backprop_filter(x, grad_y, list(filter_shape), told)
    return dsl.cast_to(made, weight.dtype)


@para_check.check_op_params(
    *params(3, 1, (("int", "list_int"), ("int", "list_int", "str"), ("int", "list_int"), "int"))
)
def conv2d_grad_weight(
    x,
    weight,
    grad_y,
    grad_weight,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
    kernel_name="conv2d_grad_weight",
):
    """Builds the kernel."""
    build(
        conv2d_grad_weight_compute,
        {"x": x, "weight": weight, "grad_y": grad_y},
        [grad_weight],
        [weight.get("ori_shape"), stride, padding, dilation, groups],
        kernel_name,
        dtypes=dict.fromkeys(("x", "weight", "grad_y"), DTYPES),
    )
