"""Maximum over axes.

y = max x over `axes`.

Shapes: x has at least one axis. Without keep_dims, y lacks the reduced axes;
    after a full reduction y has one element.
dtypes: float16, float32, int32.
Raises:
    OperatorError: the dtype is unsupported, or x lacks one of `axes`.
"""

from tbe import dsl, tvm
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check, shape_util


@register_operator_compute("ReduceMax", op_mode="dynamic", support_fusion=True)
def reduce_max_compute(x, y, axes, keep_dims, kernel_name="reduce_max"):
    """Returns the graph of `reduce_max`."""
    return dsl.reduce_max(x, axis=axes, keepdims=keep_dims)


@register_operator("ReduceMax")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    (para_check.REQUIRED_ATTR_INT, para_check.REQUIRED_ATTR_LIST_INT),
    para_check.OPTION_ATTR_BOOL,
    para_check.KERNEL_NAME,
)
def reduce_max(x, y, axes, keep_dims=False, kernel_name="reduce_max"):
    """Builds the kernel for static shapes and for dynamic shapes (sizes of -1)."""
    dtype = x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32", "int32"), param_name="x")
    rank = len(x.get("shape"))
    listed = shape_util.wrap_axes_to_positive([axes] if isinstance(axes, int) else axes, rank)
    described = {**x, "rel_pos_to_reduce": "before"}
    reduced = {"value": listed or list(range(rank)), "rel_pos_to_reduce": "axis"}
    schedules, tensors = [], []
    for one, axis in dsl.classify([described, reduced], "reduce", {"keepdims": keep_dims is True}):
        with dsl.compute():
            shape = shape_util.variable_shape([one, axis], op_mode="reduce")[0]
            data = tvm.placeholder(shape, name="data", dtype=dtype)
            res = reduce_max_compute(data, y, axis.get("value"), keep_dims, kernel_name)
        tensors.append([data, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
