"""Equal parts along an axis, as dynamic operators of 2022 split them."""

import tbe
from tbe import tvm
from tbe.common.register import register_operator
from tbe.common.utils import shape_util
from tbe.dsl import classify


@register_operator("Parts")
def parts_dynamic(x, y, split_dim, num_split, kernel_name="parts"):
    """y[k] = part k of x."""
    schedules, tensors = [], []
    for source, axis, sizes in classify(
        [x, split_dim], "split", {"avg_split": True, "num_split": num_split}
    ):
        with tbe.dsl.compute():
            shape, sizes = shape_util.variable_shape([source, sizes], "split")
            data = tvm.placeholder(shape, dtype=x["dtype"], name="data")
            res = tbe.dsl.split(data, axis, sizes)
            tensors.append([data, *res])
        with tvm.target.cce():
            schedules.append(tbe.dsl.auto_schedule(res))
    tbe.dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
