"""Splitting of a tensor into equal parts.

ys[k] = part k of num_split parts of x along the axis split_dim.

Shapes: num_split divides the size of the axis split_dim.
dtypes: float16, float32, int32.
Raises:
    OperatorError: the dtype is unsupported, or x lacks the axis.
    RuntimeError: num_split does not divide the size of the axis.
"""

from kernel_building import build_kernel
from tbe import dsl, tvm
from tbe.common.utils import para_check, shape_util


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.DYNAMIC_OUTPUT,
    para_check.REQUIRED_ATTR_INT,
    para_check.REQUIRED_ATTR_INT,
    para_check.KERNEL_NAME,
)
def split(x, ys, split_dim, num_split, kernel_name="split"):
    """Builds the kernel."""
    shape, dtype = x.get("shape"), x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32", "int32"), param_name="x")
    axis = shape_util.axis_check(len(shape), split_dim)
    if shape[axis] % num_split:
        raise RuntimeError(f"axis {axis} of size {shape[axis]} does not divide by {num_split}")
    data = tvm.placeholder(shape, name="data", dtype=dtype)
    _, res = dsl.split(data, axis, [shape[axis] // num_split] * num_split)
    build_kernel(kernel_name, [data], res)
