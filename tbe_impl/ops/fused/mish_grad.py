"""Gradient of Mish.

grad_x = grad_y·(n·(n + 2) + 4·x·w·(w + 1)) / (n + 2)², n = w·(w + 2), w = e^x.

Shapes: all tensors have the same shape.
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsMishGrad", op_mode="static", support_fusion=True)
def mish_grad_compute(x, grad_y, grad_x, kernel_name="mish_grad"):
    """Returns the graph of `mish_grad`."""
    given = words.limited(words.wide(x), 20.0)
    power = dsl.vexp(given)
    n = dsl.vmul(power, dsl.vadds(power, 2.0))
    two_more = dsl.vadds(n, 2.0)
    rest = dsl.vmul(dsl.vmuls(given, 4.0), dsl.vmul(power, dsl.vadds(power, 1.0)))
    top = dsl.vadd(dsl.vmul(n, two_more), rest)
    slope = dsl.vdiv(top, dsl.vmul(two_more, two_more))
    return dsl.cast_to(dsl.vmul(words.wide(grad_y), slope), x.dtype)


@para_check.check_op_params(*params(2, 1))
def mish_grad(x, grad_y, grad_x, kernel_name="mish_grad"):
    """Builds the kernel."""
    build(mish_grad_compute, {"x": x, "grad_y": grad_y}, [grad_x], [], kernel_name)
