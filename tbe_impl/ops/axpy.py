"""Sum of a tensor and a scaled tensor, with a hand-written schedule.

y = x1 + alpha·x2.

Shapes: x1, x2 and y have the same shape.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or the shapes differ.
"""

from te import tvm
from te.platform.cce_build import build_config
from te.utils import para_check, shape_util

TILE = 4096


def axpy_compute(x1, x2, alpha):
    """Builds the DSL graph of `axpy`; returns the scaled tensor and the sum."""
    factor = tvm.const(alpha, x1.dtype)
    scaled = tvm.compute(x1.shape, lambda *index: x2(*index) * factor, name="scaled")
    return scaled, tvm.compute(x1.shape, lambda *index: x1(*index) + scaled(*index), name="res")


def _schedule(data_x1, data_x2, scaled, res):
    """Returns a schedule that computes tile by tile in the unified buffer.

    The schedule copies the tiles of the inputs to the unified buffer, and the results back.
    """
    schedule = tvm.create_schedule(res.op)
    x1_ub = schedule.cache_read(data_x1, "local.UB", [res])
    x2_ub = schedule.cache_read(data_x2, "local.UB", [scaled])
    res_ub = schedule.cache_write(res, "local.UB")
    schedule[scaled].set_scope("local.UB")
    outer, inner = schedule[res].split(res.op.axis[0], factor=TILE)
    for tensor in (x1_ub, x2_ub, scaled, res_ub):
        schedule[tensor].compute_at(schedule[res], outer)
    for tensor in (x1_ub, x2_ub):
        schedule[tensor].double_buffer()
        schedule[tensor].emit_insn(tensor.op.axis[0], "dma_copy")
    schedule[scaled].emit_insn(scaled.op.axis[0], "vector_muls")
    schedule[res_ub].emit_insn(res_ub.op.axis[0], "vector_add")
    schedule[res].emit_insn(inner, "dma_copy")
    return schedule


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.REQUIRED_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def axpy(x1, x2, y, alpha, kernel_name="axpy"):
    """Builds the kernel."""
    dtype = x1.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="x1")
    shape_util.compare_tensor_dict_key(x1, x2, "shape")
    size = shape_util.get_shape_size(x1.get("shape"))
    data_x1 = tvm.placeholder((size,), name="data_x1", dtype=dtype)
    data_x2 = tvm.placeholder((size,), name="data_x2", dtype=dtype)
    scaled, res = axpy_compute(data_x1, data_x2, alpha)
    with tvm.target.cce():
        schedule = _schedule(data_x1, data_x2, scaled, res)
    with build_config:
        tvm.build(schedule, [data_x1, data_x2, res], "cce", name=kernel_name)
