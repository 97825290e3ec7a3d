"""Dynamic style with reductions: ``norm`` with axes as an attribute, names from ``tbe``."""

import tbe.dsl as dsl
from tbe import tvm
from tbe.common.context import get_context
from tbe.common.register import register_operator
from tbe.common.utils import para_check, shape_util
from tbe.common.utils.errormgr import error_manager_vector


@register_operator("MeanNorm")
def mean_norm_dynamic(x, y, axes=-1, kernel_name="mean_norm"):
    dtype = x.get("dtype").lower()
    if dtype not in ("float16", "float32"):
        error_manager_vector.raise_err_input_dtype_not_supported(
            "MeanNorm", "x", ["float16", "float32"], dtype
        )
    para_check.check_shape(x.get("shape"), min_rank=1, param_name="x")
    get_context().add_compile_info("axes_idx", 0)
    axes = [axes] if isinstance(axes, int) else list(axes)
    schedules, tensors = [], []
    for described, reduced in dsl.classify([x, axes], "norm", {"reduce_axes_type": "single"}):
        with dsl.compute():
            (shape,) = shape_util.variable_shape([described], op_mode="norm")
            data = tvm.placeholder(shape, dtype=dtype, name="data")
            wide = dsl.cast_to(data, "float32")
            count = 1
            for axis in reduced:
                count = count * shape_util.shape_to_list(wide.shape)[axis]
            total = dsl.reduce_sum(wide, axis=reduced, keepdims=True)
            inverse = (
                1.0 / count
                if isinstance(count, int)
                else tvm.const(1.0, "float32") / count.astype("float32")
            )
            mean = dsl.broadcast(dsl.vmuls(total, inverse), wide.shape)
            res = dsl.cast_to(dsl.vsub(wide, mean), dtype)
            tensors.append([data, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
