"""Training targets of the heads for labelled boxes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from case_studies.detector.design import STRIDES, Design

IGNORED = 0.5
"""An anchor that overlaps a box by more than this but is not its best has no target."""
QUIET = 0.5
"""Weight of the objectness of an empty box; boxes with objects have 1."""


def targets(
    design: Design, boxes: Sequence[np.ndarray], kinds: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Per head an array of targets and an array of weights.

    Each box is assigned to the anchor with the most similar shape, at the cell that holds its
    centre.

    Args:
        design: design of the detector.
        boxes, kinds: labels per image, as in `data.Images`.

    Returns:
        Targets and weights of the three heads, alternating: float32 (images, height, width,
            anchors, 5 + classes).
    """
    anchors = np.asarray(design.anchors, np.float32)
    made = []
    for stride in STRIDES:
        cells = design.size // stride
        shape = (len(boxes), cells, cells, anchors.shape[1], 5 + design.classes)
        made += [np.zeros(shape, np.float32), np.zeros(shape, np.float32)]
        made[-1][..., 4] = QUIET
    for image, (corners, classes) in enumerate(zip(boxes, kinds, strict=True)):
        for box, kind in zip(corners, classes, strict=True):
            _put(made, image, box, int(kind), anchors)
    return made


def _put(
    made: list[np.ndarray], image: int, box: np.ndarray, kind: int, anchors: np.ndarray
) -> None:
    sides, centre = box[2:] - box[:2], (box[2:] + box[:2]) / 2
    alike = _anchor_iou(sides, anchors)
    best = divmod(int(alike.argmax()), anchors.shape[1])
    for head, stride in enumerate(STRIDES):
        wanted, weights = made[2 * head], made[2 * head + 1]
        x, y = np.minimum((centre / stride).astype(int), wanted.shape[1] - 1)
        for anchor in range(anchors.shape[1]):
            place = (image, y, x, anchor)
            if (head, anchor) == best:
                wanted[place] = 0
                wanted[place][:2] = centre / stride - (x, y)
                wanted[place][2:4] = np.log(sides / anchors[head, anchor])
                wanted[place][4] = wanted[place][5 + kind] = weights[place] = 1
            elif alike[head, anchor] > IGNORED and not wanted[place][4]:
                weights[place][4] = 0


def _anchor_iou(sides: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """Intersection over union of a box and each anchor with a common centre: (heads, anchors)."""
    common = np.minimum(sides, anchors).prod(-1)
    alike: np.ndarray = common / (sides.prod() + anchors.prod(-1) - common)
    return alike
