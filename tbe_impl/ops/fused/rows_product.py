"""Sums of element-wise products of rows.

total = Σ x·y over the last axis.

Shapes: x and y have the same shape; total has size 1 in the last axis.
dtypes: float16, float32; total float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsRowsProduct", op_mode="static", support_fusion=True)
def rows_product_compute(x, y, total, kernel_name="rows_product"):
    """Returns the graph of `rows_product`."""
    return dsl.reduce_sum(dsl.vmul(words.wide(x), words.wide(y)), axis=-1, keepdims=True)


@para_check.check_op_params(*params(2, 1))
def rows_product(x, y, total, kernel_name="rows_product"):
    """Builds the kernel."""
    build(rows_product_compute, {"x": x, "y": y}, [total], [], kernel_name)
