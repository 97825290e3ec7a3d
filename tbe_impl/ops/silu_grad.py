"""Gradient of silu.

dx = dy·s·(1 + x·(1 − s)) where s = 1 / (1 + e^(−x)).

Shapes: all inputs and dx have the same shape.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or shapes or dtypes of the inputs differ.
"""

from tbe import dsl, tvm
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check, shape_util


@register_operator_compute("SiluGrad", op_mode="dynamic", support_fusion=True)
def silu_grad_compute(dy, x, dx, kernel_name="silu_grad"):
    """Returns the graph of `silu_grad`."""
    sigmoid = dsl.vrec(dsl.vadds(dsl.vexp(dsl.vmuls(x, -1.0)), 1.0))
    rest = dsl.vadds(dsl.vmuls(sigmoid, -1.0), 1.0)
    return dsl.vmul(dy, dsl.vmul(sigmoid, dsl.vadds(dsl.vmul(x, rest), 1.0)))


@register_operator("SiluGrad")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def silu_grad(dy, x, dx, kernel_name="silu_grad"):
    """Builds the kernel for static shapes and for dynamic shapes (sizes of -1)."""
    para_check.check_shape(dy.get("shape"), param_name="dy")
    dtype = dy.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="dy")
    shape_util.compare_tensor_dict_key(dy, x, "shape")
    shape_util.compare_tensor_dict_key(dy, x, "dtype")
    schedules, tensors = [], []
    for variant in dsl.classify([dy, x], "elewise"):
        with dsl.compute():
            shapes = shape_util.variable_shape(variant)
            data_dy = tvm.placeholder(shapes[0], name="data_dy", dtype=dtype)
            data_x = tvm.placeholder(shapes[1], name="data_x", dtype=dtype)
            res = silu_grad_compute(data_dy, data_x, dx, kernel_name)
        tensors.append([data_dy, data_x, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
