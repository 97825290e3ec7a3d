"""Adam step with decoupled weight decay.

m' = m + (1 − beta1)·(grad − m)
v' = v + (1 − beta2)·(grad² − v)
var' = var − lr·(m' / (√v' + epsilon) + decay·var)

Shapes: var, m, v and grad have the same shape; the other inputs have one element.
dtypes: float16, float32; computed in float32.
Outputs: var', m', v'. The outputs may overwrite var, m and v.
Raises:
    OperatorError: the dtype is unsupported.
"""

from kernel_building import build_kernel, make_flat_placeholders
from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

SCALARS = ("lr", "beta1", "beta2", "epsilon", "decay")


def _less_from_one(value):
    return dsl.vadds(dsl.vmuls(value, -1.0), 1.0)


@register_operator_compute("ApplyAdamWeightDecay", op_mode="static", support_fusion=True)
def apply_adam_weight_decay_compute(
    var, m, v, lr, beta1, beta2, epsilon, decay, grad, kernel_name="apply_adam_weight_decay"
):
    """Builds the DSL graph of `apply_adam_weight_decay` and returns the three output tensors."""
    dtype, shape = var.dtype, var.shape
    var, m, v, grad = (dsl.cast_to(item, "float32") for item in (var, m, v, grad))
    lr, beta1, beta2, epsilon, decay = (
        dsl.cast_to(item, "float32") for item in (lr, beta1, beta2, epsilon, decay)
    )
    lr, rest1, rest2, epsilon, decay = (
        dsl.broadcast(item, shape)
        for item in (lr, _less_from_one(beta1), _less_from_one(beta2), epsilon, decay)
    )
    m_next = dsl.vadd(m, dsl.vmul(dsl.vsub(grad, m), rest1))
    v_next = dsl.vadd(v, dsl.vmul(dsl.vsub(dsl.vmul(grad, grad), v), rest2))
    change = dsl.vdiv(m_next, dsl.vadd(dsl.vsqrt(v_next), epsilon))
    change = dsl.vadd(change, dsl.vmul(decay, var))
    var_next = dsl.vsub(var, dsl.vmul(lr, change))
    return [dsl.cast_to(item, dtype) for item in (var_next, m_next, v_next)]


@para_check.check_op_params(
    *[para_check.REQUIRED_INPUT] * 9,
    *[para_check.REQUIRED_OUTPUT] * 3,
    para_check.KERNEL_NAME,
)
def apply_adam_weight_decay(
    var,
    m,
    v,
    lr,
    beta1,
    beta2,
    epsilon,
    decay,
    grad,
    var_out,
    m_out,
    v_out,
    kernel_name="apply_adam_weight_decay",
):
    """Builds the kernel."""
    inputs = {
        "var": var,
        "m": m,
        "v": v,
        "lr": lr,
        "beta1": beta1,
        "beta2": beta2,
        "epsilon": epsilon,
        "decay": decay,
        "grad": grad,
    }
    data = make_flat_placeholders(inputs, ("float16", "float32"), SCALARS)
    build_kernel(kernel_name, data, apply_adam_weight_decay_compute(*data, kernel_name))
