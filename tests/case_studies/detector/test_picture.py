"""Boxes are drawn at their coordinates."""

import numpy as np
import pytest

from case_studies.detector.matching import Found
from case_studies.detector.picture import GAP, SCALE, draw

Image = pytest.importorskip("PIL.Image")


def test_a_box_is_drawn_where_it_is(tmp_path):
    pixels = np.full((2, 3, 64, 64), 0.5, np.float32)
    one = Found(np.float32([[20, 24, 44, 56]]), np.float32([0.9]), np.int32([1]))
    none = Found(np.zeros((0, 4), np.float32), np.zeros(0, np.float32), np.zeros(0, np.int32))
    draw(pixels, [one, none], tmp_path / "place" / "picture.png")
    sheet = np.asarray(Image.open(tmp_path / "place" / "picture.png"))
    assert sheet.shape == (SCALE * 64 + 2 * GAP, 2 * (SCALE * 64 + GAP) + GAP, 3)
    first = sheet[GAP:-GAP, GAP : GAP + SCALE * 64]
    dark = (first == 0).all(-1)
    rows, columns = np.nonzero(dark[SCALE * 24 :])
    assert (columns.min(), columns.max()) == (SCALE * 20, SCALE * 44) and rows.max() == SCALE * 32
    assert not (sheet[GAP:-GAP, SCALE * 64 + 2 * GAP : -GAP] == 0).any()
