"""Element-wise Huber loss.

loss = e²/2 where |e| ≤ delta, else delta·(|e| − delta/2), with e = predict − label.

Shapes: all inputs and loss have the same shape.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or shapes or dtypes of the inputs differ.
"""

from tbe import dsl, tvm
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check, shape_util


@register_operator_compute("HuberLoss", op_mode="dynamic", support_fusion=True)
def huber_loss_compute(predict, label, loss, delta=1.0, kernel_name="huber_loss"):
    """Returns the graph of `huber_loss`."""
    size = dsl.vabs(dsl.vsub(predict, label))
    inside = dsl.vmins(size, delta)
    return dsl.vadd(
        dsl.vmuls(dsl.vmul(inside, inside), 0.5), dsl.vmuls(dsl.vsub(size, inside), delta)
    )


@register_operator("HuberLoss")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def huber_loss(predict, label, loss, delta=1.0, kernel_name="huber_loss"):
    """Builds the kernel for static shapes and for dynamic shapes (sizes of -1)."""
    para_check.check_shape(predict.get("shape"), param_name="predict")
    dtype = predict.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="predict")
    shape_util.compare_tensor_dict_key(predict, label, "shape")
    shape_util.compare_tensor_dict_key(predict, label, "dtype")
    schedules, tensors = [], []
    for variant in dsl.classify([predict, label], "elewise"):
        with dsl.compute():
            shapes = shape_util.variable_shape(variant)
            data_predict = tvm.placeholder(shapes[0], name="data_predict", dtype=dtype)
            data_label = tvm.placeholder(shapes[1], name="data_label", dtype=dtype)
            res = huber_loss_compute(data_predict, data_label, loss, delta, kernel_name)
        tensors.append([data_predict, data_label, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
