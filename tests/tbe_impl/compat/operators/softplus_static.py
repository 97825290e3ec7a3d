"""Static style of 2020: ``te.lang.cce``, ``fusion_manager``, everything from ``op_utils``."""

# ruff: noqa: F403, F405 -- written as operators in the wild are

from functools import reduce as reduce_ins

import te.lang.cce as tbe
from te import tvm
from te.platform import cce_conf
from te.platform.fusion_manager import fusion_manager
from te.utils.op_utils import *
from topi import generic


@fusion_manager.register("softplus_static")
def softplus_static_compute(x, y, kernel_name="softplus_static"):
    dtype = x.dtype
    if dtype == "float16" and cce_conf.api_check_support("te.lang.cce.vexp", "float32"):
        x = tbe.cast_to(x, "float32")
    positive = tbe.vmaxs(x, tvm.const(0, x.dtype))
    shrunk = tbe.vlog(tbe.vadds(tbe.vexp(tbe.vmuls(tbe.vabs(x), -1.0)), 1.0), priority_flag=1)
    res = tbe.vadd(positive, shrunk)
    return tbe.cast_to(res, dtype) if dtype == "float16" else res


@check_op_params(REQUIRED_INPUT, REQUIRED_OUTPUT, KERNEL_NAME)
def softplus_static(x, y, kernel_name="softplus_static"):
    shape, dtype = x.get("shape"), x.get("dtype").lower()
    check_shape(shape, param_name="x")
    check_dtype(dtype, ("float16", "float32"), param_name="x")
    data = tvm.placeholder((reduce_ins(lambda a, b: a * b, shape),), name="data", dtype=dtype)
    res = softplus_static_compute(data, y, kernel_name)
    with tvm.target.cce():
        sch = generic.auto_schedule(res)
    tbe.cce_build_code(sch, {"name": kernel_name, "tensor_list": (data, res)})
