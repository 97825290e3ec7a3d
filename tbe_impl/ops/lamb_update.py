"""LAMB step: the direction of Adam, scaled by the layer's trust ratio.

m' = beta1·m + (1 − beta1)·grad
v' = beta2·v + (1 − beta2)·grad²
u = m' / (√v' + epsilon) + weight_decay·var
var' = var − lr·(‖var‖ / ‖u‖)·u; the norms are taken over all elements.

Shapes: var, m, v and grad have the same shape.
dtypes: float32.
Outputs: var', m', v'. The outputs may overwrite var, m and v.
Raises:
    OperatorError: the dtype is unsupported.
"""

from kernel_building import build_kernel, make_flat_placeholders
from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("LambUpdate", op_mode="static", support_fusion=True)
def lamb_update_compute(
    var, m, v, grad, lr, beta1, beta2, epsilon, weight_decay, kernel_name="lamb_update"
):
    """Builds the DSL graph of `lamb_update` and returns the three output tensors."""
    m_next = dsl.vadd(dsl.vmuls(m, beta1), dsl.vmuls(grad, 1.0 - beta1))
    square = dsl.vmul(grad, grad)
    v_next = dsl.vadd(dsl.vmuls(v, beta2), dsl.vmuls(square, 1.0 - beta2))
    direction = dsl.vdiv(m_next, dsl.vadds(dsl.vsqrt(v_next), epsilon))
    direction = dsl.vadd(direction, dsl.vmuls(var, weight_decay))
    length = dsl.vsqrt(dsl.reduce_sum(dsl.vmul(var, var), axis=0, keepdims=True))
    other = dsl.vsqrt(dsl.reduce_sum(dsl.vmul(direction, direction), axis=0, keepdims=True))
    trust = dsl.broadcast(dsl.vmuls(dsl.vdiv(length, other), lr), var.shape)
    return [dsl.vsub(var, dsl.vmul(trust, direction)), m_next, v_next]


@para_check.check_op_params(
    *[para_check.REQUIRED_INPUT] * 4,
    *[para_check.REQUIRED_OUTPUT] * 3,
    *[para_check.OPTION_ATTR_FLOAT] * 5,
    para_check.KERNEL_NAME,
)
def lamb_update(
    var,
    m,
    v,
    grad,
    var_out,
    m_out,
    v_out,
    lr=0.001,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-6,
    weight_decay=0.01,
    kernel_name="lamb_update",
):
    """Builds the kernel."""
    data = make_flat_placeholders({"var": var, "m": m, "v": v, "grad": grad}, ("float32",))
    build_kernel(
        kernel_name,
        data,
        lamb_update_compute(*data, lr, beta1, beta2, epsilon, weight_decay, kernel_name),
    )
