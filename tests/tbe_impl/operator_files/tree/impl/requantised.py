"""Requantises integers: one scale per column, with an offset for 8-bit results."""

from te import platform as tbe_platform
from te import tvm
from te.platform.fusion_manager import fusion_manager
from topi.cce import util


@fusion_manager.register("requantised")
def requantised_compute(x, scale, y, relu, kernel_name):
    """clip(round(max(x·scale, 0)) + offset)."""
    shape = [size.value for size in x.shape]
    dtype = y["dtype"]
    if dtype == "int8" and not relu:
        back = lambda i, j: tvm.conv_vdeq(x(i, j), scale(j)).astype("int8")  # noqa: E731
    else:
        back = lambda i, j: tvm.vdeq_cast(x(i, j), scale(j), dtype, do_relu=relu)  # noqa: E731
    return tvm.compute(shape, back, name="back", tag="requant_vector")


def requantised(x, scale, y, relu=False, kernel_name="requantised"):
    """The entry point."""
    util.check_shape_rule(x["shape"])
    data = tvm.placeholder(x["shape"], x["dtype"], "data")
    factors = tvm.placeholder(scale["shape"], scale["dtype"], "factors")
    res = requantised_compute(data, factors, y, relu, kernel_name)
    sch = tvm.create_schedule(res.op)
    with tbe_platform.build_config:
        tvm.build(sch, [data, factors, res], "cce", name=kernel_name)
