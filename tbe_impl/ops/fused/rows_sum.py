"""Sum over all axes but one: the gradient of a bias.

total = Σ grad over all axes but `kept`.

Shapes: total has the size of that axis.
dtypes: float16, float32; summed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsRowsSum", op_mode="static", support_fusion=True)
def rows_sum_compute(grad, total, kept=-1, kernel_name="rows_sum"):
    """Returns the graph of `rows_sum`."""
    rank = len(grad.shape)
    axes = [axis for axis in range(rank) if axis != kept % rank]
    return dsl.cast_to(words.total(words.wide(grad), axes, keepdims=False), grad.dtype)


@para_check.check_op_params(*params(1, 1, ("int",)))
def rows_sum(grad, total, kept=-1, kernel_name="rows_sum"):
    """Builds the kernel."""
    build(rows_sum_compute, {"grad": grad}, [total], [kept], kernel_name)
