"""Gather of rows by index.

y[i, …] = x[indices[i], …].

Shapes: x (N, …); indices have any shape.
dtypes: x float16, float32, int32; indices int32. Every index is a valid row number of x.
Raises:
    OperatorError: a dtype is unsupported.
"""

from kernel_building import build_kernel
from tbe import dsl, tvm
from tbe.common.utils import para_check


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def gather(x, indices, y, kernel_name="gather"):
    """Builds the kernel."""
    dtype = x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32", "int32"), param_name="x")
    para_check.check_dtype(indices.get("dtype").lower(), ("int32",), param_name="indices")
    data = tvm.placeholder(x.get("shape"), name="data", dtype=dtype)
    rows = tvm.placeholder(indices.get("shape"), name="rows", dtype="int32")
    build_kernel(kernel_name, [data, rows], dsl.gather(data, rows, 0))
