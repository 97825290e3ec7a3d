"""Drawn shapes are deterministic and inside the image, and their boxes are tight."""

import numpy as np

from case_studies.detector.data import KINDS, draw_images, mask
from case_studies.detector.matching import overlaps


def test_a_seed_is_the_same_images_and_another_is_not():
    one, again, other = (
        draw_images(3, 64, seed=1),
        draw_images(3, 64, seed=1),
        draw_images(3, 64, seed=2),
    )
    assert one.pixels.shape == (3, 3, 64, 64) and one.pixels.dtype == np.float32
    np.testing.assert_array_equal(one.pixels, again.pixels)
    assert not np.array_equal(one.pixels, other.pixels)
    assert one.pixels.min() >= 0 and one.pixels.max() <= 1


def test_boxes_lie_inside_and_apart():
    images = draw_images(20, 96, seed=3)
    assert {kind for kinds in images.kinds for kind in kinds} == set(range(len(KINDS)))
    for boxes, kinds in zip(images.boxes, images.kinds, strict=True):
        assert 1 <= len(boxes) == len(kinds) <= 4
        assert boxes.min() >= 0 and boxes.max() <= 96
        common = overlaps(boxes, boxes)
        np.testing.assert_allclose(common, np.eye(len(boxes)), atol=1e-6)


def test_a_shape_is_seen_against_the_ground_and_fills_its_box():
    for image in range(10):
        images = draw_images(1, 96, seed=100 + image)
        pixels = images.pixels[0]
        shapes = [
            mask(KINDS[kind], box, 96)
            for box, kind in zip(images.boxes[0], images.kinds[0], strict=True)
        ]
        ground = np.median(pixels[:, ~np.any(shapes, axis=0)], axis=1)
        for box, covered in zip(images.boxes[0], shapes, strict=True):
            assert np.ptp(pixels[:, covered], axis=1).max() == 0
            assert np.abs(pixels[:, covered].mean(axis=1) - ground).max() > 0.15
            rows, columns = np.nonzero(covered)
            tight = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
            np.testing.assert_allclose(box, tight, atol=3)


def test_shapes_of_one_box_differ():
    areas = {kind: mask(kind, (0, 0, 100, 100), 100).mean() for kind in KINDS}
    np.testing.assert_allclose(
        [areas[kind] for kind in ("disc", "square", "triangle")], [np.pi / 4, 1, 0.5], atol=0.01
    )
