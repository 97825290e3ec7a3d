"""Adam step.

m' = m + (1 − beta1)·(grad − m)
v' = v + (1 − beta2)·(grad² − v)
var' = var − lr·√(1 − beta2_power) / (1 − beta1_power)·m' / (√v' + epsilon)

Shapes: var, m, v and grad have the same shape; the other inputs have one element.
dtypes: float16, float32; computed in float32.
Outputs: var', m', v'. The outputs may overwrite var, m and v.
Raises:
    OperatorError: the dtype is unsupported.
"""

import te.lang.cce
from kernel_building import build_kernel, make_flat_placeholders
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check

SCALARS = ("beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon")


def _less_from_one(value):
    return te.lang.cce.vadds(te.lang.cce.vmuls(value, -1.0), 1.0)


@fusion_manager.register("apply_adam")
def apply_adam_compute(
    var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, kernel_name="apply_adam"
):
    """Builds the DSL graph of `apply_adam` and returns the three output tensors."""
    dtype, shape = var.dtype, var.shape
    var, m, v, grad = (te.lang.cce.cast_to(item, "float32") for item in (var, m, v, grad))
    beta1_power, beta2_power, lr, beta1, beta2, epsilon = (
        te.lang.cce.cast_to(item, "float32")
        for item in (beta1_power, beta2_power, lr, beta1, beta2, epsilon)
    )
    root = te.lang.cce.vsqrt(_less_from_one(beta2_power))
    rate = te.lang.cce.vdiv(te.lang.cce.vmul(lr, root), _less_from_one(beta1_power))
    wide = [
        te.lang.cce.broadcast(item, shape)
        for item in (rate, _less_from_one(beta1), _less_from_one(beta2), epsilon)
    ]
    m_next = te.lang.cce.vadd(m, te.lang.cce.vmul(te.lang.cce.vsub(grad, m), wide[1]))
    square = te.lang.cce.vsub(te.lang.cce.vmul(grad, grad), v)
    v_next = te.lang.cce.vadd(v, te.lang.cce.vmul(square, wide[2]))
    divisor = te.lang.cce.vadd(te.lang.cce.vsqrt(v_next), wide[3])
    step = te.lang.cce.vdiv(te.lang.cce.vmul(wide[0], m_next), divisor)
    var_next = te.lang.cce.vsub(var, step)
    return [te.lang.cce.cast_to(item, dtype) for item in (var_next, m_next, v_next)]


@para_check.check_op_params(
    *[para_check.REQUIRED_INPUT] * 10,
    *[para_check.REQUIRED_OUTPUT] * 3,
    para_check.KERNEL_NAME,
)
def apply_adam(
    var,
    m,
    v,
    beta1_power,
    beta2_power,
    lr,
    beta1,
    beta2,
    epsilon,
    grad,
    var_out,
    m_out,
    v_out,
    kernel_name="apply_adam",
):
    """Builds the kernel."""
    inputs = {
        "var": var,
        "m": m,
        "v": v,
        "beta1_power": beta1_power,
        "beta2_power": beta2_power,
        "lr": lr,
        "beta1": beta1,
        "beta2": beta2,
        "epsilon": epsilon,
        "grad": grad,
    }
    data = make_flat_placeholders(inputs, ("float16", "float32"), SCALARS)
    build_kernel(kernel_name, data, apply_adam_compute(*data, kernel_name))
