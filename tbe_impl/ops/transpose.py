"""Permutation of axes.

y[i_perm[0], i_perm[1], …] = x[i_0, i_1, …].

Shapes: any; perm names each axis once.
dtypes: float16, float32, int32.
Raises:
    OperatorError: the dtype is unsupported.
    RuntimeError: perm is not a permutation of the axes.
"""

from kernel_building import build_kernel
from tbe import dsl, tvm
from tbe.common.utils import para_check


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.REQUIRED_ATTR_LIST_INT,
    para_check.KERNEL_NAME,
)
def transpose(x, y, perm, kernel_name="transpose"):
    """Builds the kernel."""
    shape, dtype = x.get("shape"), x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32", "int32"), param_name="x")
    if sorted(perm) != list(range(len(shape))):
        raise RuntimeError(f"perm has to name each of {len(shape)} axes once, but is {perm}")
    data = tvm.placeholder(shape, name="data", dtype=dtype)
    build_kernel(kernel_name, [data], dsl.transpose(data, perm))
