"""Non-maximum suppression: with MindSpore's operators per image, or as one kernel."""

from __future__ import annotations

from typing import Any

from mindspore import float32, nn, ops

from custom_ops import NMS

CANDIDATES = 1000
"""Box and class pairs that the MindSpore version compares with each other."""


class Suppression(nn.Cell):
    """Per-class non-maximum suppression as MindSpore users write it.

    MindSpore's operator handles one image and no classes: boxes of different classes are shifted
    apart, so that they never overlap.

    Args:
        score_threshold: lower limit of the scores.
        iou_threshold: boxes with a larger overlap are suppressed.
        most: results for each image.
        size: side length of the images.
    """

    def __init__(self, score_threshold: float, iou_threshold: float, most: int, size: int):
        super().__init__()
        self.threshold, self.most, self.apart = score_threshold, most, 4.0 * size
        self.suppress = ops.NMSWithMask(iou_threshold)

    def construct(self, boxes: Any, scores: Any) -> Any:
        """As `NMS`: boxes, scores, classes and places, best first, and their number."""
        found = []
        for image in range(boxes.shape[0]):
            found.append(self.of_one(boxes[image], scores[image]))
        return tuple([ops.stack(one) for one in zip(*found)])  # noqa: B905 - MindSpore lacks strict

    def of_one(self, boxes: Any, scores: Any) -> Any:
        """The results of one image."""
        classes = scores.shape[1]
        room = min(CANDIDATES, scores.shape[0] * classes)
        best, places = ops.topk(ops.reshape(scores, (-1,)), room)
        kinds, rows = places % classes, places // classes
        own = ops.gather(boxes, rows, 0)
        moved = own + ops.expand_dims(kinds.astype(float32) * self.apart, 1)
        _, order, kept = self.suppress(ops.concat((moved, ops.expand_dims(best, 1)), 1))
        # suppressed boxes sort last
        left = ops.select(
            ops.logical_and(kept, ops.gather(best, order, 0) > self.threshold),
            ops.gather(best, order, 0),
            ops.zeros_like(best),
        )
        scores, first = ops.topk(left, min(self.most, room))
        first = ops.gather(order, first, 0)
        count = ops.sum((scores > 0).astype(float32))
        return (
            ops.gather(own, first, 0),
            scores,
            ops.gather(kinds, first, 0),
            ops.gather(rows, first, 0),
            count,
        )


def suppression(
    *,
    size: int,
    fused: bool,
    score_threshold: float = 0.3,
    iou_threshold: float = 0.45,
    most: int = 100,
) -> nn.Cell:
    """Builds either version.

    Args:
        size: side length of the images.
        fused: one kernel for all images, classes and boxes, instead of MindSpore's operators.
        score_threshold, iou_threshold, most: as in `Suppression`.
    """
    if fused:
        return NMS(score_threshold, iou_threshold, most)
    return Suppression(score_threshold, iou_threshold, most, size)
