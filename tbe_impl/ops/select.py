"""Selection by a condition.

y = x1 if condition is not 0, and x2 otherwise.

Shapes: condition, x1, x2 and y have the same shape.
dtypes: condition int8; x1 and x2 float16, float32, int32.
Raises:
    OperatorError: a dtype is unsupported, or shapes or dtypes of x1 and x2 differ.
"""

import te.lang.cce
from kernel_building import build_kernel
from te import tvm
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check, shape_util


@fusion_manager.register("select")
def select_compute(condition, x1, x2, y, kernel_name="select"):
    """Builds the DSL graph of `select` and returns the output tensor."""
    wide = te.lang.cce.cast_to(condition, "float16")
    zero = te.lang.cce.broadcast(tvm.const(0, "float16"), condition.shape)
    chosen = te.lang.cce.vcmp(wide, zero, "ne", "bool")
    dtype = x1.dtype
    if dtype == "int32":
        x1, x2 = te.lang.cce.cast_to(x1, "float32"), te.lang.cce.cast_to(x2, "float32")
    return te.lang.cce.cast_to(te.lang.cce.vsel(chosen, x1, x2), dtype)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def select(condition, x1, x2, y, kernel_name="select"):
    """Builds the kernel."""
    shape, dtype = x1.get("shape"), x1.get("dtype").lower()
    para_check.check_dtype(condition.get("dtype").lower(), ("int8",), param_name="condition")
    para_check.check_dtype(dtype, ("float16", "float32", "int32"), param_name="x1")
    shape_util.compare_tensor_dict_key(x1, x2, "dtype")
    shape_util.compare_tensor_dict_key(x1, x2, "shape")
    data_condition = tvm.placeholder(shape, name="data_condition", dtype="int8")
    data_x1 = tvm.placeholder(shape, name="data_x1", dtype=dtype)
    data_x2 = tvm.placeholder(shape, name="data_x2", dtype=dtype)
    build_kernel(
        kernel_name,
        [data_condition, data_x1, data_x2],
        select_compute(data_condition, data_x1, data_x2, y, kernel_name),
    )
