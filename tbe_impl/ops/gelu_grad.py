"""Gradient of gelu in its tanh approximation.

dx = dy·(s + x·s·(1 − s)·2c·(1 + 0.134145·x²))
where s = 1 / (1 + e^(−2c(x + 0.044715·x³))) and c = √(2/π).

Shapes: all inputs and dx have the same shape.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or shapes or dtypes of the inputs differ.
"""

from tbe import dsl, tvm
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check, shape_util

FACTOR = 0.7978845608028654


@register_operator_compute("GeluGrad", op_mode="dynamic", support_fusion=True)
def gelu_grad_compute(dy, x, dx, kernel_name="gelu_grad"):
    """Returns the graph of `gelu_grad`."""
    square = dsl.vmul(x, x)
    inner = dsl.vmul(x, dsl.vadds(dsl.vmuls(square, 0.044715), 1.0))
    gate = dsl.vrec(dsl.vadds(dsl.vexp(dsl.vmuls(inner, -2.0 * FACTOR)), 1.0))
    slope = dsl.vmuls(dsl.vadds(dsl.vmuls(square, 0.134145), 1.0), 2.0 * FACTOR)
    rest = dsl.vmul(dsl.vmul(x, gate), dsl.vmul(dsl.vadds(dsl.vmuls(gate, -1.0), 1.0), slope))
    return dsl.vmul(dy, dsl.vadd(gate, rest))


@register_operator("GeluGrad")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def gelu_grad(dy, x, dx, kernel_name="gelu_grad"):
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
            res = gelu_grad_compute(data_dy, data_x, dx, kernel_name)
        tensors.append([data_dy, data_x, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
