"""Stacks two tensors of dynamic sizes along a new first axis."""

from tbe import dsl, tvm
from tbe.common.register import register_operator
from tbe.common.utils import shape_util


@register_operator("PairedDynamic")
def paired_dynamic(xs, y, kernel_name="paired_dynamic"):
    """y[k] is the tensor number k."""
    schedules, tensors = [], []
    for listed, axis in dsl.classify([xs], "concat", {"axis": 0}):
        with dsl.compute():
            shapes = shape_util.variable_shape([listed], "concat")
            data = [tvm.placeholder(shape, xs[0]["dtype"], "data") for shape in shapes]
            res = dsl.concat(data, axis)
        tensors.append([*data, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
