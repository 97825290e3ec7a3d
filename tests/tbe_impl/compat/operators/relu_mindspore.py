"""A custom operator as MindSpore users write it, with its registration in the same file."""

# ruff: noqa: UP010 -- written as operators in the wild are

from __future__ import absolute_import

import te.lang.cce
from mindspore.ops.op_info_register import DataType, TBERegOp, op_info_register
from tbe.tvm.topi import generic
from tbe.tvm.topi.cce import util
from te import tvm

relu_mindspore_op_info = (
    TBERegOp("ReluMindspore")
    .fusion_type("OPAQUE")
    .partial_flag(True)
    .input(0, "x", None, "required", None)
    .output(0, "y", True, "required", "all")
    .dtype_format(DataType.F16_Default, DataType.F16_Default)
    .dtype_format(DataType.F32_5HD, DataType.F32_5HD)
    .get_op_info()
)


@op_info_register(relu_mindspore_op_info)
def relu_mindspore(x, y, kernel_name="relu_mindspore"):
    util.check_shape_rule(x["shape"])
    data = tvm.placeholder(x["shape"], name="x", dtype=x["dtype"])
    with tvm.target.cce():
        res = te.lang.cce.vrelu(te.lang.cce.vmuls(data, 0.5))
        sch = generic.auto_schedule(res)
    te.lang.cce.cce_build_code(sch, {"name": kernel_name, "tensor_list": [data, res]})
