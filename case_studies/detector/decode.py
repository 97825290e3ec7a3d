"""Decodes the heads' predictions: with MindSpore's operators, and as one kernel per head."""

from __future__ import annotations

from typing import Any

from mindspore import Tensor, float32, nn, ops

from case_studies.detector.design import STRIDES, Design
from custom_ops import BoxDecode


class Decode(nn.Cell):
    r"""Corners and scores of one head's boxes, in float32, as MindSpore users write it.

    .. math::
        c = stride \cdot (\sigma(t_{xy}) + grid), \quad s = anchor \cdot e^{t_{wh}}, \quad corners =
        c \mp s / 2

    The score of a class is sigmoid of the objectness times sigmoid of the class.
    """

    def __init__(self, anchors: Any, stride: int):
        super().__init__()
        self.anchors, self.stride = Tensor(anchors, float32), stride

    def construct(self, x: Any) -> Any:
        """Predictions to boxes (images, boxes, 4) and scores (images, boxes, classes)."""
        images, height, width, kinds, size = x.shape
        across = ops.reshape(ops.arange(width).astype(float32), (1, 1, width, 1))
        down = ops.reshape(ops.arange(height).astype(float32), (1, height, 1, 1))
        centre_x = (ops.sigmoid(x[..., 0]) + across) * self.stride
        centre_y = (ops.sigmoid(x[..., 1]) + down) * self.stride
        half_x = ops.exp(x[..., 2]) * self.anchors[:, 0] * 0.5
        half_y = ops.exp(x[..., 3]) * self.anchors[:, 1] * 0.5
        boxes = ops.stack(
            (centre_x - half_x, centre_y - half_y, centre_x + half_x, centre_y + half_y), -1
        )
        scores = ops.sigmoid(x[..., 4:5]) * ops.sigmoid(x[..., 5:])
        number = height * width * kinds
        return ops.reshape(boxes, (images, number, 4)), ops.reshape(
            scores, (images, number, size - 5)
        )


class Decoding(nn.Cell):
    """Concatenated boxes of all heads.

    Args:
        design: design of the detector.
        fused: one kernel per head, with sigmoids and exponentials in float16, instead of
            MindSpore's operators in float32.
    """

    def __init__(self, design: Design, *, fused: bool):
        super().__init__()
        heads = zip(design.anchors, STRIDES, strict=True)
        self.heads = nn.CellList(
            [
                BoxDecode(anchors, stride, "v3", float16_inside=True)
                if fused
                else Decode(anchors, stride)
                for anchors, stride in heads
            ]
        )

    def construct(self, fine: Any, middle: Any, coarse: Any) -> Any:
        """Predictions of the heads to (images, boxes, 4) and (images, boxes, classes)."""
        boxes, scores = self.heads[0](fine)
        more_boxes, more_scores = self.heads[1](middle)
        most_boxes, most_scores = self.heads[2](coarse)
        return ops.concat((boxes, more_boxes, most_boxes), 1), ops.concat(
            (scores, more_scores, most_scores), 1
        )
