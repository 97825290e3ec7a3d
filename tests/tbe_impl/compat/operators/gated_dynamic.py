"""Dynamic style: ``register_operator``, ``classify`` with broadcasting, ``platform_adapter``."""

# ruff: noqa: I001 -- written as operators in the wild are

from impl.util.platform_adapter import OpPatternMode
from impl.util.platform_adapter import classify
from impl.util.platform_adapter import para_check
from impl.util.platform_adapter import register_operator
from impl.util.platform_adapter import register_operator_compute
from impl.util.platform_adapter import shape_util
from impl.util.platform_adapter import tbe
from impl.util.platform_adapter import tbe_platform
from impl.util.platform_adapter import tvm


@register_operator_compute("Gated", op_mode="dynamic", support_fusion=True)
def gated_compute(x, gate, y, kernel_name="gated"):
    shapes = shape_util.unify_broadcast_shapes(
        [shape_util.shape_to_list(x.shape), shape_util.shape_to_list(gate.shape)]
    )
    if x.dtype == "float32" and not tbe_platform.api_check_support("tbe.dsl.vexp", "float32"):
        raise RuntimeError("no exponential of float32")
    x, gate = tbe.broadcast(x, shapes[-1]), tbe.broadcast(gate, shapes[-1])
    return tbe.vdiv(x, tbe.vadds(tbe.vexp(tbe.vmuls(gate, -1.0)), 1.0))


@register_operator("Gated")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def gated_dynamic(x, gate, y, kernel_name="gated"):
    dtype = x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="x")
    para_check.check_elewise_shape_range([x, gate], support_broadcast=True)
    schedules, tensors = [], []
    for one, other in classify([x, gate], OpPatternMode.ELEWISE_WITH_BROADCAST):
        with tbe.compute():
            shape_x, shape_gate = shape_util.variable_shape([one, other])
            data_x = tvm.placeholder(shape_x, dtype, "data_x")
            data_gate = tvm.placeholder(shape_gate, dtype, "data_gate")
            res = gated_compute(data_x, data_gate, y, kernel_name)
            tensors.append([data_x, data_gate, res])
        with tvm.target.cce():
            schedules.append(tbe.auto_schedule(res))
    tbe.build(schedules, {"name": kernel_name, "tensor_list": tensors})
