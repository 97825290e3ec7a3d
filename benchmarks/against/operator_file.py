"""A TBE operator file, softmax over the last axis: the input of the cold build benchmark."""

from te import tvm
from te.lang import cce
from topi import generic


def row_softmax(x, y, kernel_name="row_softmax"):
    """y = exp(x − max) ÷ Σ exp(x − max) over the last axis."""
    shape = x["shape"]
    data = tvm.placeholder(shape, name="data", dtype=x["dtype"])
    shifted = cce.vsub(data, cce.broadcast(cce.reduce_max(data, -1, keepdims=True), shape))
    powers = cce.vexp(shifted)
    result = cce.vdiv(powers, cce.broadcast(cce.sum(powers, -1, keepdims=True), shape))
    with tvm.target.cce():
        schedule = generic.auto_schedule(result)
    cce.cce_build_code(schedule, {"name": kernel_name, "tensor_list": [data, result]})
