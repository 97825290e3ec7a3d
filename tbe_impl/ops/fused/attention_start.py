"""Initial values of streaming softmax of attention, before the first key.

most = −∞, total = 0, sums = 0.

Shapes: q (…, D) and v (…, K, W), of which only the shapes are read; most and total (…, 1);
    sums (…, W).
dtypes: q and v float16, float32; the other tensors float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

import math

from tbe import dsl, tvm
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsAttentionStart", op_mode="static", support_fusion=True)
def attention_start_compute(q, v, most, total, sums, kernel_name="attention_start"):
    """Returns the graph of `attention_start`."""
    *lead, _ = words.sizes(q)
    ends = ((-math.inf, 1), (0.0, 1), (0.0, words.sizes(v)[-1]))
    return [dsl.broadcast(tvm.const(one, "float32"), [*lead, size]) for one, size in ends]


@para_check.check_op_params(*params(2, 3))
def attention_start(q, v, most, total, sums, kernel_name="attention_start"):
    """Builds the kernel."""
    build(attention_start_compute, {"q": q, "v": v}, [most, total, sums], [], kernel_name)
