"""Of boxes that overlap the best one: with MindSpore's operators, image by image, or with one kernel."""

from __future__ import annotations

from typing import Any

from mindspore import float32, nn, ops

from custom_ops import NMS

CANDIDATES = 1000
"""Pairs of a box and a class that MindSpore's way looks at; it compares each with each."""


class Suppression(nn.Cell):
    """The best of boxes that overlap, class by class, as MindSpore users write it.

    MindSpore's operator knows one image and no classes: boxes of different classes are moved apart, so that they never overlap.

    Args:
        score_threshold: scores must be above it.
        iou_threshold: what overlaps by more falls away.
        most: results for each image.
        size: of the images' side.
    """

    def __init__(self, score_threshold: float, iou_threshold: float, most: int, size: int):
        super().__init__()
        self.threshold, self.most, self.apart = score_threshold, most, 4.0 * size
        self.suppress = ops.NMSWithMask(iou_threshold)

    def construct(self, boxes: Any, scores: Any) -> Any:
        """As `NMS`: boxes, scores, classes and places, best first, and how many there are."""
        found = []
        for image in range(boxes.shape[0]):
            found.append(self.of_one(boxes[image], scores[image]))
        return tuple([ops.stack(one) for one in zip(*found)])  # noqa: B905 - MindSpore reads it, and knows no strict

    def of_one(self, boxes: Any, scores: Any) -> Any:
        """Those of an image."""
        classes = scores.shape[1]
        room = min(CANDIDATES, scores.shape[0] * classes)
        best, places = ops.topk(ops.reshape(scores, (-1,)), room)
        kinds, rows = places % classes, places // classes
        own = ops.gather(boxes, rows, 0)
        moved = own + ops.expand_dims(kinds.astype(float32) * self.apart, 1)
        _, order, kept = self.suppress(ops.concat((moved, ops.expand_dims(best, 1)), 1))
        # what falls away sorts behind everything
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
    """Either of them.

    Args:
        size: of the images' side.
        fused: one kernel for all images, classes and boxes, instead of MindSpore's operators.
        score_threshold, iou_threshold, most: as `Suppression` has them.
    """
    if fused:
        return NMS(score_threshold, iou_threshold, most)
    return Suppression(score_threshold, iou_threshold, most, size)
