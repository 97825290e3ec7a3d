"""The largest elements of rows; an array gives their number."""

from tbe import dsl, tvm
from tbe.common.register import register_operator
from tbe.common.utils import shape_util


@register_operator("RankedDynamic")
def ranked_dynamic(x, count, y, places, kernel_name="ranked_dynamic"):
    """The largest elements of each row in order, doubled, and their positions."""
    schedules, tensors = [], []
    for data_in, count_in in dsl.classify([x, -1, count], "sort", {"op_mode": "topkv2"}):
        with dsl.compute():
            shape, number = shape_util.variable_shape([data_in, count_in], "sort")
            data = tvm.placeholder(shape, x["dtype"], "data")
            wanted = tvm.placeholder([len(number)], count["dtype"], "wanted")
            values, where = dsl.topk(
                data,
                number[0],
                sort_axis=-1,
                direction="descend",
                return_type="both",
                indices_dtype=places["dtype"],
            )
            ordered = dsl.sort(
                dsl.vmuls(values, -2.0), sort_axis=-1, direction="ascend", return_type="value"
            )
        tensors.append([data, wanted, ordered, where])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule([ordered, where]))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
