"""One round of non-maximum suppression: keeps the best score and suppresses overlapping ones.

The best score is the largest one. Ties go to the first box, then to the first class.
next_left is left with −∞ for the best score and for suppressed scores. A score is suppressed if its
box overlaps the best box by more than iou_threshold, and it has the same class or class_aware is
not set.
If no score is left, kept and kept_score are 0, kept_class and kept_place are −1, and is_kept is 0.

Shapes: boxes (images, boxes, 4): left, top, right, bottom;
    left and next_left (images, boxes, classes); box_places (boxes, 1); class_places (1, classes);
    kept (images, 1, 4); the other tensors (images, 1).
dtypes: boxes, kept and kept_score float16 or float32; kept_class and kept_place int32; the other
    tensors float32. Overlaps are computed in float32.
Raises:
    OperatorError: the dtype is unsupported.
    RuntimeError: an image has more than 2²⁴ scores.
"""

import math

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params

FAR = float(2**24)
"""Behind every place."""


@register_operator_compute("CustomOpsNMSRound", op_mode="static", support_fusion=True)
def nms_round_compute(
    boxes,
    box_places,
    class_places,
    left,
    next_left,
    kept,
    kept_score,
    kept_class,
    kept_place,
    is_kept,
    iou_threshold=0.5,
    class_aware=True,
    kernel_name="nms_round",
):
    """Returns the graph of `nms_round`; six tensors."""
    images, number, classes = words.sizes(left)
    box_at = words.spread(box_places, left)
    class_at = words.spread(class_places, left)
    at = dsl.vadd(dsl.vmuls(box_at, float(classes)), class_at)
    best = dsl.reduce_max(left, axis=[1, 2], keepdims=True, impl_mode="high_precision")
    place = dsl.vcmpsel(left, words.spread(best, left), "eq", at, FAR)
    place = dsl.reduce_min(place, axis=[1, 2], keepdims=True, impl_mode="high_precision")
    is_best = dsl.vcmpsel(at, words.spread(place, at), "eq", 1.0, 0.0)
    box, kind = (_taken(is_best, one, [1, 2]) for one in (box_at, class_at))

    own_boxes = dsl.broadcast(box_places, [images, number, 1])
    is_box = dsl.vcmpsel(own_boxes, words.spread(box, own_boxes), "eq", 1.0, 0.0)
    _, sides = dsl.split(words.wide(boxes), 2, [1] * 4)
    taken = [_taken(is_box, side, [1]) for side in sides]
    overlap = words.overlap(sides, [words.spread(side, sides[0]) for side in taken])

    gone = dsl.vcmpsel(words.spread(overlap, left), words.below(iou_threshold), "gt", 1.0, 0.0)
    if class_aware:
        same = dsl.vcmpsel(class_at, words.spread(kind, left), "eq", 1.0, 0.0)
        gone = dsl.vmul(gone, same)
    following = dsl.vcmpsel(dsl.vmax(gone, is_best), 0.5, "gt", -math.inf, left)

    there = dsl.vcmpsel(best, -math.inf, "gt", 1.0, 0.0)
    corners = [dsl.vcmpsel(there, 0.5, "gt", side, 0.0) for side in taken]
    score = dsl.vcmpsel(there, 0.5, "gt", best, 0.0)
    numbers = [dsl.vcmpsel(there, 0.5, "gt", one, -1.0) for one in (kind, box)]
    return [
        following,
        dsl.cast_to(dsl.concat(corners, 2), boxes.dtype),
        dsl.cast_to(score, boxes.dtype),
        *words.narrow(numbers, "int32"),
        there,
    ]


def _taken(is_one, x, axes):
    """The element of which `is_one` is 1, whatever the others are."""
    return dsl.reduce_sum(dsl.vcmpsel(is_one, 0.5, "gt", x, 0.0), axis=axes, keepdims=True)


@para_check.check_op_params(*params(4, 6, ("float", "bool")))
def nms_round(
    boxes,
    box_places,
    class_places,
    left,
    next_left,
    kept,
    kept_score,
    kept_class,
    kept_place,
    is_kept,
    iou_threshold=0.5,
    class_aware=True,
    kernel_name="nms_round",
):
    """Builds the kernel."""
    _, number, classes = left.get("shape")
    if number * classes > FAR:
        raise RuntimeError(f"float32 does not tell {number * classes} scores apart")
    sums = dict.fromkeys(("left", "box_places", "class_places"), ("float32",))
    build(
        nms_round_compute,
        {"boxes": boxes, "box_places": box_places, "class_places": class_places, "left": left},
        [next_left, kept, kept_score, kept_class, kept_place, is_kept],
        [iou_threshold, class_aware],
        kernel_name,
        views={"box_places": [1, number, 1], "class_places": [1, 1, classes]},
        dtypes=sums,
    )
