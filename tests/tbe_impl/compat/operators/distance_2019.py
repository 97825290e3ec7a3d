"""The oldest style with two shapes and an axis: builds only on request."""

import te.lang.cce
from te import tvm
from topi import generic
from topi.cce import util


@util.check_input_type((list, tuple), (list, tuple), str, int, str, bool, bool)
def distance_2019(
    shape_x, shape_y, dtype, axis, kernel_name="distance", need_build=False, need_print=False
):
    """Root of the sum of squared differences along an axis."""
    for shape in (shape_x, shape_y):
        util.check_shape_rule(shape)
    util.check_dtype_rule(dtype.lower(), ["float16", "float32"])
    shape_x, shape_y, shape_max = util.produce_shapes(shape_x, shape_y)
    util.check_tensor_shape_size(shape_max)
    data_x = tvm.placeholder(shape_x, name="data_x", dtype=dtype.lower())
    data_y = tvm.placeholder(shape_y, name="data_y", dtype=dtype.lower())
    with tvm.target.cce():
        wide_x = te.lang.cce.broadcast(data_x, shape_max)
        wide_y = te.lang.cce.broadcast(data_y, shape_max)
        apart = te.lang.cce.vsub(wide_x, wide_y)
        total = te.lang.cce.sum(te.lang.cce.vmul(apart, apart), axis=axis)
        res = te.lang.cce.vsqrt(total)
        sch = generic.auto_schedule(res)
    if need_build:
        config = {"print_ir": need_print, "name": kernel_name, "tensor_list": [data_x, data_y, res]}
        te.lang.cce.cce_build_code(sch, config)
