"""How much boxes overlap, each with each.

iou = common area / (area + other area − common area), 0 where nothing is covered; a box is left, top, right, bottom.

Shapes: boxes (N, 4), others (M, 4), iou (N, M). dtypes: float16, float32; computed in float32. Errors: another dtype:
the error of `para_check`.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsIoU", op_mode="static", support_fusion=True)
def iou_compute(boxes, others, iou, kernel_name="iou"):
    """The graph of `iou`."""
    shape = [words.sizes(boxes)[0], words.sizes(others)[0]]
    _, own = dsl.split(words.wide(boxes), 1, [1] * 4)
    _, their = dsl.split(dsl.transpose(words.wide(others), [1, 0]), 0, [1] * 4)
    left, top, right, bottom = (dsl.broadcast(side, shape) for side in own)
    other_left, other_top, other_right, other_bottom = (
        dsl.broadcast(side, shape) for side in their
    )
    area = words.area(left, top, right, bottom)
    other_area = words.area(other_left, other_top, other_right, other_bottom)
    common = words.area(
        dsl.vmax(left, other_left),
        dsl.vmax(top, other_top),
        dsl.vmin(right, other_right),
        dsl.vmin(bottom, other_bottom),
    )
    union = dsl.vsub(dsl.vadd(area, other_area), common)
    return dsl.cast_to(dsl.vdiv(common, dsl.vcmpsel(union, 0.0, "eq", 1.0, union)), boxes.dtype)


@para_check.check_op_params(*params(2, 1))
def iou(boxes, others, iou, kernel_name="iou"):
    """Builds the kernel."""
    build(iou_compute, {"boxes": boxes, "others": others}, [iou], [], kernel_name)
