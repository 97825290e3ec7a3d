"""Gradient of relu.

z = gradients where features > 0, else 0.

Shapes: all inputs and z have the same shape.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or shapes or dtypes of the inputs differ.
"""

from tbe import dsl, tvm
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check, shape_util


@register_operator_compute("ReluGrad", op_mode="dynamic", support_fusion=True)
def relu_grad_compute(gradients, features, z, kernel_name="relu_grad"):
    """Returns the graph of `relu_grad`."""
    zero = dsl.broadcast(tvm.const(0, features.dtype), features.shape)
    return dsl.vcmpsel(features, zero, "gt", gradients, zero)


@register_operator("ReluGrad")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def relu_grad(gradients, features, z, kernel_name="relu_grad"):
    """Builds the kernel for static shapes and for dynamic shapes (sizes of -1)."""
    para_check.check_shape(gradients.get("shape"), param_name="gradients")
    dtype = gradients.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="gradients")
    shape_util.compare_tensor_dict_key(gradients, features, "shape")
    shape_util.compare_tensor_dict_key(gradients, features, "dtype")
    schedules, tensors = [], []
    for variant in dsl.classify([gradients, features], "elewise"):
        with dsl.compute():
            shapes = shape_util.variable_shape(variant)
            data_gradients = tvm.placeholder(shapes[0], name="data_gradients", dtype=dtype)
            data_features = tvm.placeholder(shapes[1], name="data_features", dtype=dtype)
            res = relu_grad_compute(data_gradients, data_features, z, kernel_name)
        tensors.append([data_gradients, data_features, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
