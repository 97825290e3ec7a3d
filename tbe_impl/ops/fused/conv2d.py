"""Convolution.

y = conv(x, weight).
padding: one number; four numbers (above, below, left, right); same (also −1); or valid.

Shapes: x (N, C, H, W), weight (O, C / groups, h, w). On a device, x and y are in NC1HWC0 and weight
    is in FRACTAL_Z.
dtypes: float16 inputs of the cube.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params

DTYPES = ("float16",)
"""What the cube multiplies."""
FORMATS = {"x": "5HD", "weight": "FracZ", "y": "5HD"}
"""How the cube wants tensors laid out; all others as they are."""


def conv2d_compute(
    x, weight, y, filter_shape, stride, padding, dilation, groups, kernel_name="conv2d"
):
    """Returns the graph of `conv2d`."""
    options = [stride, padding, dilation, groups]
    return words.convolution(x, weight, None, filter_shape, *options)


@para_check.check_op_params(
    *params(2, 1, (("int", "list_int"), ("int", "list_int", "str"), ("int", "list_int"), "int"))
)
def conv2d(x, weight, y, stride=1, padding=0, dilation=1, groups=1, kernel_name="conv2d"):
    """Builds the kernel."""
    build(
        conv2d_compute,
        {"x": x, "weight": weight},
        [y],
        [weight.get("ori_shape"), stride, padding, dilation, groups],
        kernel_name,
        dtypes=dict.fromkeys(("x", "weight"), DTYPES),
    )
