"""Division by the Euclidean norm.

y = x / √max(Σ x², eps); Σ over `axis`.

Shapes: x has at least one axis; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or x lacks the axis.
"""

from tbe import dsl, tvm
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check, shape_util


@register_operator_compute("L2Normalize", op_mode="dynamic", support_fusion=True)
def l2_normalize_compute(x, y, axis, eps=0.0001, kernel_name="l2_normalize"):
    """Returns the graph of `l2_normalize`; `axis` is a list."""
    wide = dsl.cast_to(x, "float32")
    total = dsl.reduce_sum(dsl.vmul(wide, wide), axis=axis, keepdims=True)
    length = dsl.broadcast(dsl.vsqrt(dsl.vmaxs(total, eps)), x.shape)
    return dsl.cast_to(dsl.vdiv(wide, length), x.dtype)


@register_operator("L2Normalize")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    (para_check.OPTION_ATTR_INT, para_check.OPTION_ATTR_LIST_INT),
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def l2_normalize(x, y, axis=-1, eps=0.0001, kernel_name="l2_normalize"):
    """Builds the kernel for static shapes and for dynamic shapes (sizes of -1)."""
    dtype = x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="x")
    listed = shape_util.wrap_axes_to_positive(
        [axis] if isinstance(axis, int) else axis, len(x.get("shape"))
    )
    schedules, tensors = [], []
    for *variant, reduced in dsl.classify([x, listed], "norm"):
        with dsl.compute():
            shapes = shape_util.variable_shape(variant, op_mode="norm")
            data_x = tvm.placeholder(shapes[0], name="data_x", dtype=dtype)
            res = l2_normalize_compute(data_x, y, reduced, eps, kernel_name)
        tensors.append([data_x, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
