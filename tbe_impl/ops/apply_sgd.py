"""Stochastic gradient descent step with momentum and weight decay.

g = grad + weight_decay·var
accum' = momentum·accum + (1 − dampening)·g
var' = var − lr·(g + momentum·accum') if nesterov, and var − lr·accum' otherwise

Shapes: var, accum and grad have the same shape; lr and momentum have one element.
dtypes: float16, float32.
Outputs: var', accum'. The outputs may overwrite var and accum.
Raises:
    OperatorError: the dtype is unsupported, or the shapes of var, accum and grad differ.
"""

import te.lang.cce
from kernel_building import build_kernel, make_flat_placeholders
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check, shape_util


@fusion_manager.register("apply_sgd")
def apply_sgd_compute(
    var, accum, grad, lr, momentum, weight_decay, dampening, nesterov, kernel_name="apply_sgd"
):
    """Builds the DSL graph of `apply_sgd` and returns the two output tensors."""
    if weight_decay:
        grad = te.lang.cce.vadd(grad, te.lang.cce.vmuls(var, weight_decay))
    lr = te.lang.cce.broadcast(lr, var.shape)
    momentum = te.lang.cce.broadcast(momentum, var.shape)
    fresh = te.lang.cce.vmuls(grad, 1.0 - dampening) if dampening else grad
    accum_next = te.lang.cce.vadd(te.lang.cce.vmul(accum, momentum), fresh)
    step = accum_next
    if nesterov:
        step = te.lang.cce.vadd(grad, te.lang.cce.vmul(accum_next, momentum))
    return [te.lang.cce.vsub(var, te.lang.cce.vmul(lr, step)), accum_next]


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.OPTION_ATTR_BOOL,
    para_check.KERNEL_NAME,
)
def apply_sgd(
    var,
    accum,
    grad,
    lr,
    momentum,
    var_out,
    accum_out,
    weight_decay=0.0,
    dampening=0.0,
    nesterov=False,
    kernel_name="apply_sgd",
):
    """Builds the kernel."""
    for other in (accum, grad):
        shape_util.compare_tensor_dict_key(var, other, "shape")
    data = make_flat_placeholders(
        {"var": var, "accum": accum, "grad": grad, "lr": lr, "momentum": momentum},
        ("float16", "float32"),
        ("lr", "momentum"),
    )
    build_kernel(
        kernel_name,
        data,
        apply_sgd_compute(*data, weight_decay, dampening, nesterov, kernel_name),
    )
