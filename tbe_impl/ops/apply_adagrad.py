"""Adagrad step; an extra stage makes the kernel write accum' before var'.

accum' = accum + grad²
var' = var − lr·grad / √accum'

Shapes: var, accum and grad have the same shape; lr has one element.
dtypes: float32.
Outputs: var', accum'. The outputs may overwrite var and accum.
Raises:
    OperatorError: the dtype is unsupported.
"""

from kernel_building import make_flat_placeholders
from te import tvm
from te.platform.cce_build import build_config
from te.utils import para_check


def apply_adagrad_compute(var, accum, lr, grad):
    """Builds the DSL graph of `apply_adagrad`; returns var' and accum'.

    The last stage copies the new values to var'. Its second operand accum' is phony: the stage does
    not read accum', but the kernel has to write accum' before var'.
    """
    shape = var.shape
    accum_next = tvm.compute(
        shape,
        lambda *index: accum(*index) + grad(*index) * grad(*index),
        name="accum_next",
        tag="elewise_multiple_mla",
    )
    root = tvm.compute(
        shape, lambda *index: tvm.sqrt(accum_next(*index)), name="root", tag="elewise_single_sqrt"
    )
    var_step = tvm.compute(
        shape,
        lambda *index: var(*index) - lr[0] * grad(*index) / root(*index),
        name="var_step",
        tag="elewise_binary_sub",
    )
    var_next = tvm.compute(
        shape,
        lambda *index: var_step(*index) + accum_next(*index),
        name="var_next",
        tag="elewise_binary_phony",
    )
    return var_next, accum_next


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def apply_adagrad(var, accum, lr, grad, var_out, accum_out, kernel_name="apply_adagrad"):
    """Builds the kernel with the default schedule."""
    data = make_flat_placeholders(
        {"var": var, "accum": accum, "lr": lr, "grad": grad}, ("float32",), ("lr",)
    )
    res = apply_adagrad_compute(*data)
    with tvm.target.cce():
        schedule = tvm.create_schedule([item.op for item in res])
    with build_config:
        tvm.build(schedule, [*data, *res], "cce", name=kernel_name)
