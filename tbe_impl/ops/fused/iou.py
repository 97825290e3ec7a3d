"""Intersection over union of all pairs of boxes.

iou = common area / (area + other area − common area); 0 where the union is empty.
The sides of a box are left, top, right and bottom.

Shapes: boxes (N, 4), others (M, 4), iou (N, M).
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsIoU", op_mode="static", support_fusion=True)
def iou_compute(boxes, others, iou, kernel_name="iou"):
    """Returns the graph of `iou`."""
    return dsl.cast_to(words.overlap(*words.every_pair(boxes, others)), boxes.dtype)


@para_check.check_op_params(*params(2, 1))
def iou(boxes, others, iou, kernel_name="iou"):
    """Builds the kernel."""
    build(iou_compute, {"boxes": boxes, "others": others}, [iou], [], kernel_name)
