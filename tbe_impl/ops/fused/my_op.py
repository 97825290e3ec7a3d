"""Product (x − y)·x.

z = (x − y)·x.

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


@register_operator_compute("CustomOpsMyOp", op_mode="static", support_fusion=True)
def my_op_compute(x, y, z, kernel_name="my_op"):
    """Returns the graph of `my_op`."""
    left, right = words.together(x, y)
    return dsl.cast_to(dsl.vmul(dsl.vsub(left, right), left), x.dtype)


@para_check.check_op_params(*params(2, 1))
def my_op(x, y, z, kernel_name="my_op"):
    """Builds the kernel."""
    build(my_op_compute, {"x": x, "y": y}, [z], [], kernel_name, views=of_one_rank(x=x, y=y))
