"""Transposes axes, by the classifier that merges them on the device."""

from tbe import dsl as tbe
from tbe import tvm
from tbe.common.register import register_operator
from tbe.common.utils import shape_util
from tbe.dsl import classify


@register_operator("Turned")
def turned_dynamic(x, y, perm, kernel_name="turned_dynamic"):
    """The entry point."""
    schedules, tensors = [], []
    for source, order in classify([x], "transpose", {"axes": perm}):
        with tbe.compute():
            data = tvm.placeholder(
                shape_util.variable_shape([source], "transpose"), x["dtype"], "data"
            )
            res = tbe.transpose(data, order)
            with tvm.target.cce():
                schedules.append(tbe.auto_schedule(res))
            tensors.append([data, res])
    tbe.build(schedules, {"name": kernel_name, "tensor_list": tensors})
