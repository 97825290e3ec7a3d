"""Momentum step in one stage with two outputs.

accum' = momentum·accum + grad
var' = var − lr·(grad + momentum·accum') if use_nesterov, and var − lr·accum' otherwise

Shapes: var, accum and grad have the same shape; lr and momentum have one element.
dtypes: float16, float32.
Outputs: var', accum'. The outputs may overwrite var and accum.
Raises:
    OperatorError: the dtype is unsupported.
"""

from kernel_building import make_flat_placeholders
from te import tvm
from te.platform.cce_build import build_config
from te.utils import para_check, shape_util


def apply_momentum_compute(var, accum, lr, grad, momentum, use_nesterov):
    """Builds the DSL graph of `apply_momentum`.

    Returns the tensor accum', and the two output tensors of the last stage.
    """
    shape = var.shape
    accum_next = tvm.compute(
        shape,
        lambda *index: accum(*index) * momentum[0] + grad(*index),
        name="accum_next",
        tag="elewise_multiple_mla",
    )

    def outputs(*index):
        step = accum_next(*index)
        if use_nesterov:
            step = grad(*index) + step * momentum[0]
        return var(*index) - lr[0] * step, accum_next(*index)

    return accum_next, tvm.compute(shape, outputs, name="outputs", tag="elewise_multiple_out")


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_BOOL,
    para_check.KERNEL_NAME,
)
def apply_momentum(
    var,
    accum,
    lr,
    grad,
    momentum,
    var_out,
    accum_out,
    use_nesterov=False,
    kernel_name="apply_momentum",
):
    """Builds the kernel with an explicit schedule."""
    data = make_flat_placeholders(
        {"var": var, "accum": accum, "lr": lr, "grad": grad, "momentum": momentum},
        ("float16", "float32"),
        ("lr", "momentum"),
    )
    size = shape_util.get_shape_size(var.get("shape"))
    accum_next, res = apply_momentum_compute(*data, use_nesterov)
    with tvm.target.cce():
        schedule = tvm.create_schedule(res[0].op)
        axis = res[0].op.axis[0]
        schedule[accum_next].set_scope("local.UB")
        outer, inner = schedule[res[0]].split(axis, factor=min(size, 2048))
        schedule[accum_next].compute_at(schedule[res[0]], outer)
        schedule[accum_next].emit_insn(accum_next.op.axis[0], "vector_multiple")
        schedule[res[0]].emit_insn(inner, "dma_copy")
    with build_config:
        tvm.build(schedule, [*data, *res], "cce", name=kernel_name)
