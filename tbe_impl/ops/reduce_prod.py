"""Product over axes.

y = Π x over `axes`.

Shapes: x has at least one axis. Without keep_dims, y lacks the reduced axes;
    after a full reduction y has one element.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or x lacks one of `axes`.
"""

import te.lang.cce
from te import tvm
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check, shape_util
from topi import generic


@fusion_manager.register("reduce_prod")
def reduce_prod_compute(x, y, axes, keep_dims, kernel_name="reduce_prod"):
    """Returns the graph of `reduce_prod`."""
    return te.lang.cce.reduce_prod(x, axis=axes, keepdims=keep_dims)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    (para_check.REQUIRED_ATTR_INT, para_check.REQUIRED_ATTR_LIST_INT),
    para_check.OPTION_ATTR_BOOL,
    para_check.KERNEL_NAME,
)
def reduce_prod(x, y, axes, keep_dims=False, kernel_name="reduce_prod"):
    """Builds the kernel."""
    shape = x.get("shape")
    para_check.check_shape(shape, param_name="x", min_rank=1)
    dtype = x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="x")
    listed = shape_util.axis_check(len(shape), axes) if axes != [] else list(range(len(shape)))
    data = tvm.placeholder(shape, name="data", dtype=dtype)
    res = reduce_prod_compute(data, y, listed, keep_dims, kernel_name)
    with tvm.target.cce():
        schedule = generic.auto_schedule(res)
    te.lang.cce.cce_build_code(schedule, {"name": kernel_name, "tensor_list": [data, res]})
