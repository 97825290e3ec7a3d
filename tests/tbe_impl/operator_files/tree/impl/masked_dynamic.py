"""A dynamic operator of 2022: comparison bits, and a condition with int8 input, bool inside."""

from impl.every import clamp_dynamic
from tbe import dsl, tvm
from tbe.common.register import register_operator
from tbe.common.utils import para_check, shape_util


@register_operator("MaskedDynamic")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def masked_dynamic(condition, x, y, kernel_name="masked_dynamic"):
    """x, at most 1, where the condition holds and x is positive; else 0."""
    condition["dtype"] = "bool"
    schedules, tensors = [], []
    for variant in dsl.classify([condition, x], "elewise"):
        with dsl.compute():
            shapes = shape_util.variable_shape(variant)
            mask = tvm.placeholder(shapes[0], "bool", "mask")
            data = tvm.placeholder(shapes[1], x["dtype"], "data")
            zero = dsl.broadcast(tvm.const(0, x["dtype"]), shapes[1])
            positive = dsl.vsel(dsl.vcmp(data, zero, "gt", "bit"), data, zero)
            res = clamp_dynamic(dsl.vsel(mask, positive, zero))
        tensors.append([mask, data, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
