"""The oldest style: shape and dtype instead of descriptions, ``topi.cce.util`` for checks."""

import te.lang.cce
from te import tvm
from topi import generic
from topi.cce import util

SHAPE_SIZE_LIMIT = 200000000


@util.check_input_type((list, tuple), str, str, bool, bool)
def scaled_2019(shape, dtype, kernel_name="scaled", need_build=False, need_print=False):
    util.check_kernel_name(kernel_name)
    util.check_shape_rule(shape, max_shape_num=SHAPE_SIZE_LIMIT)
    util.check_dtype_rule(dtype.lower(), ["float16", "float32", "int32"])
    data = tvm.placeholder(shape, name="data", dtype=dtype.lower())
    with tvm.target.cce():
        res = te.lang.cce.vadds(te.lang.cce.vmuls(data, 3), 1)
        sch = generic.auto_schedule(res)
    config = {
        "print_ir": need_print,
        "need_build": need_build,
        "name": kernel_name,
        "tensor_list": [data, res],
    }
    te.lang.cce.cce_build_code(sch, config)
