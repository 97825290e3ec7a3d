"""RMSProp step.

ms' = rho·ms + (1 − rho)·grad²
mom' = momentum·mom + lr·grad / √(ms' + epsilon)
var' = var − mom'

Shapes: var, ms, mom and grad have the same shape; lr has one element.
dtypes: float32.
Outputs: var', ms', mom'. The outputs may overwrite var, ms and mom.
Raises:
    OperatorError: the dtype is unsupported.
"""

from kernel_building import build_kernel, make_flat_placeholders
from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("ApplyRmsProp", op_mode="static", support_fusion=True)
def apply_rms_prop_compute(
    var, ms, mom, lr, grad, rho, momentum, epsilon, kernel_name="apply_rms_prop"
):
    """Builds the DSL graph of `apply_rms_prop` and returns the three output tensors."""
    square = dsl.vmul(grad, grad)
    ms_next = dsl.vadd(dsl.vmuls(ms, rho), dsl.vmuls(square, 1.0 - rho))
    root = dsl.vsqrt(dsl.vadds(ms_next, epsilon))
    step = dsl.vdiv(dsl.vmul(dsl.broadcast(lr, var.shape), grad), root)
    mom_next = dsl.vadd(dsl.vmuls(mom, momentum), step)
    return [dsl.vsub(var, mom_next), ms_next, mom_next]


@para_check.check_op_params(
    *[para_check.REQUIRED_INPUT] * 5,
    *[para_check.REQUIRED_OUTPUT] * 3,
    *[para_check.REQUIRED_ATTR_FLOAT] * 3,
    para_check.KERNEL_NAME,
)
def apply_rms_prop(
    var,
    ms,
    mom,
    lr,
    grad,
    var_out,
    ms_out,
    mom_out,
    rho,
    momentum,
    epsilon,
    kernel_name="apply_rms_prop",
):
    """Builds the kernel."""
    data = make_flat_placeholders(
        {"var": var, "ms": ms, "mom": mom, "lr": lr, "grad": grad}, ("float32",), ("lr",)
    )
    build_kernel(
        kernel_name, data, apply_rms_prop_compute(*data, rho, momentum, epsilon, kernel_name)
    )
