"""Repetition of a tensor along its axes.

y[i] = x[i mod size] along each axis; an axis of y has size·multiples elements.

Shapes: any; multiples has one number for each axis.
dtypes: float16, float32, int32.
Raises:
    OperatorError: the dtype is unsupported.
    RuntimeError: the length of multiples is not the rank of x.
"""

import te.lang.cce
from kernel_building import build_kernel
from te import tvm
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check, shape_util


@fusion_manager.register("tile")
def tile_compute(x, y, multiples, kernel_name="tile"):
    """Builds the DSL graph of `tile` and returns the output tensor.

    The caller inserts an axis of size 1 before each axis of x. These axes are broadcast.
    """
    shape = []
    for size, count in zip(shape_util.shape_to_list(x.shape)[1::2], multiples, strict=True):
        shape += [count, size]
    return te.lang.cce.broadcast(x, shape)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.REQUIRED_ATTR_LIST_INT,
    para_check.KERNEL_NAME,
)
def tile(x, y, multiples, kernel_name="tile"):
    """Builds the kernel."""
    shape, dtype = x.get("shape"), x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32", "int32"), param_name="x")
    if len(multiples) != len(shape):
        raise RuntimeError(f"multiples has to have {len(shape)} numbers, but has {len(multiples)}")
    paired = [size for each in shape for size in (1, each)]
    data = tvm.placeholder(paired, name="data", dtype=dtype)
    build_kernel(kernel_name, [data], tile_compute(data, y, multiples, kernel_name))
