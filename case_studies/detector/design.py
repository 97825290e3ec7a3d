"""Size of a detector and its anchor boxes."""

from __future__ import annotations

from dataclasses import dataclass

STRIDES = (8, 16, 32)
ANCHORS_OF = 416
ANCHORS = (
    ((10, 13), (16, 30), (33, 23)),
    ((30, 61), (62, 45), (59, 119)),
    ((116, 90), (156, 198), (373, 326)),
)
"""Width and height of three boxes for each stride, on images of 416×416."""


@dataclass(frozen=True)
class Design:
    """Size of a detector; the default is YOLOv3's.

    Attributes:
        size: side length of the images in pixels, a multiple of 32.
        width: channels after the first convolution; each of five stages doubles them.
        blocks: residual blocks in each stage.
        classes: number of classes.
    """

    size: int = 416
    width: int = 32
    blocks: tuple[int, ...] = (1, 2, 8, 8, 4)
    classes: int = 80

    @property
    def anchors(self) -> tuple[tuple[tuple[float, float], ...], ...]:
        """`ANCHORS` for images of this size."""
        share = self.size / ANCHORS_OF
        return tuple(
            tuple((wide * share, high * share) for wide, high in kinds) for kinds in ANCHORS
        )


YOLO_V3 = Design()
SMALL = Design(size=128, width=8, blocks=(1, 1, 2, 2, 1), classes=3)
"""A design that learns drawn shapes in a minute."""
