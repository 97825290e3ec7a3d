"""Fill by a mask.

y = value if mask is not 0, and x otherwise.

Shapes: x, mask and y have the same shape; value has one element.
dtypes: mask int8; x and value float16, float32.
Raises:
    OperatorError: a dtype is unsupported.
"""

from kernel_building import build_kernel
from tbe import dsl, tvm
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check, shape_util


@register_operator_compute("MaskedFill", op_mode="static", support_fusion=True)
def masked_fill_compute(x, mask, value, y, kernel_name="masked_fill"):
    """Builds the DSL graph of `masked_fill` and returns the output tensor."""
    wide = dsl.cast_to(mask, "float16")
    zero = dsl.broadcast(tvm.const(0, "float16"), x.shape)
    chosen = dsl.vcmp(wide, zero, "ne")
    return dsl.vsel(chosen, dsl.broadcast(value, x.shape), x)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def masked_fill(x, mask, value, y, kernel_name="masked_fill"):
    """Builds the kernel."""
    dtype = x.get("dtype").lower()
    para_check.check_dtype(mask.get("dtype").lower(), ("int8",), param_name="mask")
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="x")
    size = shape_util.get_shape_size(x.get("shape"))
    data_x = tvm.placeholder((size,), name="data_x", dtype=dtype)
    data_mask = tvm.placeholder((size,), name="data_mask", dtype="int8")
    data_value = tvm.placeholder((1,), name="data_value", dtype=dtype)
    build_kernel(
        kernel_name,
        [data_x, data_mask, data_value],
        masked_fill_compute(data_x, data_mask, data_value, y, kernel_name),
    )
