"""Gradient of a convolution for its weights.

grad_weight = Σ grad_y·x over images and places. padding: a number; above, below, left, right; same (−1 is that too) or valid.

Shapes: x (N, C, H, W), weight (O, C / groups, h, w), grad_y (N, O, H', W'), grad_weight like weight; on a device images in NC1HWC0,
weights in FRACTAL_Z. weight gives its shape only. dtypes: float16, which the cube multiplies; summed in float32. Errors:
another dtype: the error of `para_check`.
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
    """The graph of `conv2d_grad_weight`."""
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
