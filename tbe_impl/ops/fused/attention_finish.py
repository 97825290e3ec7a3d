"""Result of streaming softmax of attention after the last key.

y = sums / total
normaliser = most + ln total
For a query without any key, y = 0 and normaliser = −∞.

Shapes: sums and y (…, W); most and total (…, 1); normaliser (…).
dtypes: float32; y float16 for the cube.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params

DTYPES = ("float32",)
"""What is summed up."""


@register_operator_compute("CustomOpsAttentionFinish", op_mode="static", support_fusion=True)
def attention_finish_compute(sums, most, total, y, normaliser, kernel_name="attention_finish"):
    """Returns the graph of `attention_finish`."""
    # the largest key adds 1, so that a smaller sum is that of a query without any
    total = dsl.vmaxs(total, 0.5)
    res = dsl.vmul(sums, words.spread(dsl.vrec(total), sums))
    return [dsl.cast_to(res, "float16"), dsl.vadd(most, dsl.vlog(total))]


@para_check.check_op_params(*params(3, 2))
def attention_finish(sums, most, total, y, normaliser, kernel_name="attention_finish"):
    """Builds the kernel."""
    given = {"sums": sums, "most": most, "total": total}
    build(
        attention_finish_compute,
        given,
        [y, normaliser],
        [],
        kernel_name,
        dtypes=dict.fromkeys(given, DTYPES),
    )
