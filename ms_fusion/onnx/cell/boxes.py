"""Emits MindSpore code for ONNX ``NonMaxSuppression`` of boxes in images."""

from __future__ import annotations

from typing import Any

import mindspore
from mindspore import ops

from custom_ops import NMS
from ms_fusion.onnx.cell.operator_use import OperatorUse


def non_max_suppression(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``NonMaxSuppression``.

    The expression applies `custom_ops.NMS` to each class of each image.
    """
    most = (use.integers("max_output_boxes_per_class", 2) or (0,))[0]
    overlap = (use.numbers("iou_threshold", 3) or (0.0,))[0]
    least = (use.numbers("score_threshold", 4) or (float("-inf"),))[0]
    boxes = use.value().shape[1]
    if most <= 0:
        raise use.refusal("MindSpore has no tensors without elements, and no box is asked for")
    if isinstance(boxes, int) and boxes >= 0:
        most = min(most, boxes)
    call = NMS(float(least), float(overlap), most)
    return (
        f"boxes.suppress_boxes({use.part('nms', call)}, {use.input_texts(0, 1)}, {most}, "
        f"{bool(use.attr('center_point_box', 0))})"
    )


def suppress_boxes(call: Any, boxes: Any, scores: Any, most: int, by_middle: bool) -> Any:
    """Returns the kept boxes as rows of indices (image, class, box), best box first within a class.

    Args:
        call: Cell of the operator `custom_ops.NMS`, which suppresses boxes of one image and class.
        boxes: tensor (images, boxes, 4); each box is given by two opposite corners, or by its
            center and size.
        scores: tensor (images, classes, boxes).
        most: maximum number of kept boxes for each class of each image.
        by_middle: whether boxes are given by center and size.
    """
    images, classes, count = scores.shape
    one, other = boxes[:, :, :2], boxes[:, :, 2:]
    if by_middle:
        one, other = one - other / 2, one + other / 2
    corners = ops.concat((ops.minimum(one, other), ops.maximum(one, other)), 2)
    spread = ops.broadcast_to(ops.expand_dims(corners, 1), (images, classes, count, 4))
    found = call(ops.reshape(spread, (-1, count, 4)), ops.reshape(scores, (-1, count, 1)))
    places = ops.cast(found[3], mindspore.int64)
    rows = ops.expand_dims(ops.arange(images * classes), 1)
    table = ops.stack(
        (
            ops.broadcast_to(rows // classes, places.shape),
            ops.broadcast_to(rows % classes, places.shape),
            places,
        ),
        2,
    )
    kept = ops.nonzero(ops.reshape(places, (-1,)) >= 0)
    return ops.gather(ops.reshape(table, (-1, 3)), ops.reshape(kept, (-1,)), 0)
