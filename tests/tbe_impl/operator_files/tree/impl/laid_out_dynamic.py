"""Converts an image to channel blocks or back, in a layout that the caller describes."""

from tbe import dsl as tbe
from tbe import tvm
from tbe.common.context.op_context import OpContext
from tbe.common.context.op_info import OpInfo
from tbe.common.register import register_operator
from tbe.common.utils import shape_util
from tbe.dsl import classify


@register_operator("LaidOut")
def laid_out_dynamic(x, dst_shape, axes_map, pad_value=0, kernel_name="laid_out_dynamic"):
    """The entry point."""
    with OpContext("dynamic") as context:
        info = OpInfo("LaidOut", "LaidOut")
        info.inputs = [x]
        context.add_op_info(info)
        assert info.op_type == "LaidOut" and info.outputs is None
        schedules, tensors = [], []
        for source, target, axes in classify([x, dst_shape, axes_map], "transdata"):
            with tbe.compute():
                shapes = shape_util.variable_shape([source, target, axes], op_mode="transdata")
                data = tvm.placeholder(shapes[0], source["dtype"], "data")
                res = tbe.transdata(data, shapes[1], axes, pad_value)
                with tvm.target.cce():
                    schedules.append(tbe.auto_schedule(res))
                tensors.append([data, res])
        tbe.build(schedules, {"name": kernel_name, "tensor_list": tensors})
