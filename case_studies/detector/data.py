"""Synthetic images of shapes with their bounding boxes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

KINDS = ("disc", "square", "triangle")
COLOURS = ((0.85, 0.25, 0.2), (0.2, 0.75, 0.3), (0.25, 0.35, 0.9))
"""Colour of each kind, varied by `VARIED`: a minute of training suffices for distinct colours."""
VARIED, NOISE = 0.15, 0.05


class Images(NamedTuple):
    """Images and their labels.

    Attributes:
        pixels: float32 (images, 3, size, size), from 0 to 1.
        boxes: per image, float32 (shapes, 4): left, top, right, bottom in pixels.
        kinds: per image, int32 (shapes,): indices into `SETTING_TYPES`.
    """

    pixels: np.ndarray
    boxes: tuple[np.ndarray, ...]
    kinds: tuple[np.ndarray, ...]


def draw_images(count: int, size: int, *, seed: int, most: int = 4) -> Images:
    """Draws square images of red discs, green squares and blue triangles on grey noise.

    Args:
        count: number of images.
        size: side length in pixels.
        seed: the same seed gives the same images.
        most: largest number of shapes in an image; the smallest is one.

    Returns:
        The images; the shapes of an image do not overlap.
    """
    random = np.random.default_rng(seed)
    made = [_one(size, most, random) for _ in range(count)]
    pixels, boxes, kinds = zip(*made, strict=True)
    return Images(np.stack(pixels), boxes, kinds)


def _one(
    size: int, most: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    pixels = (random.uniform(0.2, 0.8) + NOISE * random.standard_normal((3, size, size))).astype(
        np.float32
    )
    boxes: list[tuple[float, ...]] = []
    kinds = []
    for _ in range(random.integers(1, most + 1)):
        box = _free_place(size, boxes, random)
        if box is None:
            continue
        kind = int(random.integers(len(KINDS)))
        covered = mask(KINDS[kind], box, size)
        colour = np.array(COLOURS[kind]) + random.uniform(-VARIED, VARIED, 3)
        pixels[:, covered] = colour[:, None]
        boxes.append(box)
        kinds.append(kind)
    return np.clip(pixels, 0, 1), np.array(boxes, np.float32), np.array(kinds, np.int32)


def mask(kind: str, box: tuple[float, ...], size: int) -> np.ndarray:
    """Pixels of an image that a shape covers: bool (size, size).

    Args:
        kind: one of `SETTING_TYPES`.
        box: bounding box, in pixels.
        size: side length of the image.
    """
    left, top, right, bottom = box
    at = np.arange(size) + 0.5
    # from -1 to 1 within the box
    x = (2 * (at - left) / (right - left) - 1)[None, :]
    y = (2 * (at - top) / (bottom - top) - 1)[:, None]
    if kind == "disc":
        return x * x + y * y <= 1
    if kind == "square":
        return (np.abs(x) <= 1) & (np.abs(y) <= 1)
    return (np.abs(y) <= 1) & (np.abs(x) <= (y + 1) / 2)


def _free_place(
    size: int, taken: list[tuple[float, ...]], random: np.random.Generator
) -> tuple[float, ...] | None:
    """A box that overlaps none; None after a few failed tries."""
    for _ in range(10):
        wide = random.uniform(0.12, 0.5) * size
        high = wide * random.uniform(0.8, 1.25)
        left, top = random.uniform(0, size - wide), random.uniform(0, max(size - high, 1.0))
        box = (left, top, left + wide, min(top + high, size))
        if all(box[0] > b[2] or b[0] > box[2] or box[1] > b[3] or b[1] > box[3] for b in taken):
            return box
    return None
