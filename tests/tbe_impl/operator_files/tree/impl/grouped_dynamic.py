"""Segment sums of rows; an array gives the number of segments."""

from tbe import dsl, tvm
from tbe.common.register import register_operator
from tbe.common.utils import shape_util


@register_operator("GroupedDynamic")
def grouped_dynamic(x, ids, count, y, kernel_name="grouped_dynamic"):
    """Half of the largest row of each segment."""
    schedules, tensors = [], []
    for first, second, third in dsl.classify([x, ids, count], "segment"):
        with dsl.compute():
            rows, places, number = shape_util.variable_shape(
                [first, second, third], op_mode="segment"
            )
            data = tvm.placeholder(rows, x["dtype"], "data")
            segments = tvm.placeholder(places, ids["dtype"], "segments")
            counted = tvm.placeholder([1], count["dtype"], "counted")
            res = dsl.vmuls(
                dsl.segment(data, segments, number, -1.0, "segmentensor_max", False), 0.5
            )
        tensors.append([data, segments, counted, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
