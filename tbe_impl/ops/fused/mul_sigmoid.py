"""Product x·y·σ(y).

z = x·y·σ(y).

Shapes: the inputs broadcast to one another.
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, of_one_rank, params


@register_operator_compute("CustomOpsMulSigmoid", op_mode="static", support_fusion=True)
def mul_sigmoid_compute(x, y, z, kernel_name="mul_sigmoid"):
    """Returns the graph of `mul_sigmoid`."""
    left, right = words.together(x, y)
    return dsl.cast_to(dsl.vmul(left, words.swish(right)), x.dtype)


@para_check.check_op_params(*params(2, 1))
def mul_sigmoid(x, y, z, kernel_name="mul_sigmoid"):
    """Builds the kernel."""
    build(mul_sigmoid_compute, {"x": x, "y": y}, [z], [], kernel_name, views=of_one_rank(x=x, y=y))
