"""Draws images with their detected boxes side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from case_studies.detector.data import KINDS
from case_studies.detector.matching import Found

SCALE, COLUMNS, GAP = 2, 4, 4
INK, PAPER = "black", "white"


def draw(pixels: np.ndarray, found: Sequence[Found], path: Path) -> None:
    """Writes a PNG of images with detections: box, kind, score.

    Args:
        pixels: float (images, 3, size, size), from 0 to 1.
        found: detections of each image.
        path: path of the file.
    """
    from PIL import Image

    tiles = [_tile(one, seen) for one, seen in zip(pixels, found, strict=True)]
    side = tiles[0].width + GAP
    columns = min(COLUMNS, len(tiles))
    sheet = Image.new("RGB", (columns * side + GAP, -(-len(tiles) // columns) * side + GAP), PAPER)
    for number, tile in enumerate(tiles):
        sheet.paste(tile, (GAP + number % columns * side, GAP + number // columns * side))
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(path)


def _tile(pixels: np.ndarray, found: Found):  # type: ignore[no-untyped-def]
    from PIL import Image, ImageDraw

    picture = Image.fromarray((pixels.transpose(1, 2, 0) * 255).astype(np.uint8))
    picture = picture.resize(
        (SCALE * picture.width, SCALE * picture.height), Image.Resampling.NEAREST
    )
    pen = ImageDraw.Draw(picture)
    for box, score, kind in zip(found.boxes, found.scores, found.classes, strict=True):
        left, top, right, bottom = (SCALE * float(one) for one in box)
        pen.rectangle((left, top, right, bottom), outline=INK, width=2)
        text = f"{KINDS[int(kind)]} {float(score):.2f}"
        at = (max(left, 0.0), max(top - 12, 0.0))
        pen.rectangle(pen.textbbox(at, text), fill=PAPER)
        pen.text(at, text, fill=INK)
    return picture
