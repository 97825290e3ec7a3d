"""Compares two sets of detections."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Found(NamedTuple):
    """Detections of an image, best first.

    Attributes:
        boxes: float32 (number, 4): left, top, right, bottom in pixels.
        scores: float32 (number,).
        classes: int32 (number,).
    """

    boxes: np.ndarray
    scores: np.ndarray
    classes: np.ndarray


def overlaps(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Intersection over union of each box with each: (number, other number)."""
    low = np.maximum(one[:, None, :2], other[None, :, :2])
    high = np.minimum(one[:, None, 2:], other[None, :, 2:])
    common = np.clip(high - low, 0, None).prod(-1)
    areas = [np.clip(boxes[:, 2:] - boxes[:, :2], 0, None).prod(-1) for boxes in (one, other)]
    return common / np.maximum(areas[0][:, None] + areas[1][None] - common, 1e-9)


def count_matches(one: Found, other: Found, *, overlap: float, score: float = 1.0) -> int:
    """Number of detections of `one` with a unique partner in `other`, matched greedily, best first.

    Args:
        overlap: least overlap of partners; they share a class.
        score: largest difference of partners' scores.
    """
    if not len(one.scores) or not len(other.scores):
        return 0
    fits = (overlaps(one.boxes, other.boxes) >= overlap) & (one.classes[:, None] == other.classes)
    fits &= np.abs(one.scores[:, None] - other.scores) <= score
    free = np.ones(len(other.scores), bool)
    count = 0
    for row in fits:
        (partners,) = np.nonzero(row & free)
        if len(partners):
            free[partners[0]] = False
            count += 1
    return count
