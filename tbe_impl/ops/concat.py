"""Concatenation along an axis.

y contains xs[0], xs[1], … one after the other along the axis concat_dim.

Shapes: the inputs have the same size on every axis other than concat_dim.
dtypes: float16, float32, int32.
Raises:
    OperatorError: the dtype is unsupported, or the inputs lack the axis.
"""

from kernel_building import build_kernel
from tbe import dsl, tvm
from tbe.common.utils import para_check, shape_util


@para_check.check_op_params(
    para_check.DYNAMIC_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.REQUIRED_ATTR_INT,
    para_check.KERNEL_NAME,
)
def concat(xs, y, concat_dim, kernel_name="concat"):
    """Builds the kernel."""
    dtype = xs[0].get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32", "int32"), param_name="xs")
    axis = shape_util.axis_check(len(xs[0].get("shape")), concat_dim)
    data = [
        tvm.placeholder(item.get("shape"), name=f"data_{index}", dtype=dtype)
        for index, item in enumerate(xs)
    ]
    build_kernel(kernel_name, data, dsl.concat(data, axis))
