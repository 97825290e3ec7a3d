"""Scores with which non-maximum suppression starts.

left = scores where they are above score_threshold, else −∞. A NaN score gives −∞.

Shapes: scores and left (images, boxes, classes).
dtypes: scores float16, float32; left float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

import math

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsNMSStart", op_mode="static", support_fusion=True)
def nms_start_compute(scores, left, score_threshold=0.05, kernel_name="nms_start"):
    """Returns the graph of `nms_start`."""
    given = words.wide(scores)
    return dsl.vcmpsel(given, words.below(score_threshold), "gt", given, -math.inf)


@para_check.check_op_params(*params(1, 1, ("float",)))
def nms_start(scores, left, score_threshold=0.05, kernel_name="nms_start"):
    """Builds the kernel."""
    build(nms_start_compute, {"scores": scores}, [left], [score_threshold], kernel_name)
