"""Decoding the training targets gives the labelled boxes."""

import numpy as np

from case_studies.detector.data import draw_images
from case_studies.detector.design import SMALL, STRIDES
from case_studies.detector.targets import QUIET, targets


def test_each_box_is_wanted_once_and_where_it_is():
    images = draw_images(6, SMALL.size, seed=5)
    made = targets(SMALL, images.boxes, images.kinds)
    seen = [[] for _ in range(6)]
    for head, stride in enumerate(STRIDES):
        wanted, weights = made[2 * head : 2 * head + 2]
        assert (
            wanted.shape == weights.shape == (6, SMALL.size // stride, SMALL.size // stride, 3, 8)
        )
        for image, y, x, anchor in zip(*np.nonzero(wanted[..., 4]), strict=True):
            numbers = wanted[image, y, x, anchor].astype(np.float64)
            centre = (numbers[:2] + np.array([x, y])) * stride
            half = np.exp(numbers[2:4]) * SMALL.anchors[head][anchor] / 2
            assert numbers[5:].sum() == 1 and (weights[image, y, x, anchor] == 1).all()
            seen[image].append((*centre - half, *centre + half, numbers[5:].argmax()))
    for boxes, kinds, found in zip(images.boxes, images.kinds, seen, strict=True):
        expected = sorted((*box, kind) for box, kind in zip(boxes.tolist(), kinds, strict=True))
        np.testing.assert_allclose(sorted(found), expected, rtol=1e-4, atol=1e-3)


def test_what_is_no_box_says_so_and_is_asked_for_nothing_else():
    images = draw_images(2, SMALL.size, seed=6)
    for wanted, weights in zip(
        *(targets(SMALL, images.boxes, images.kinds)[part::2] for part in (0, 1)), strict=True
    ):
        empty = wanted[..., 4] == 0
        assert set(np.unique(weights[empty][:, 4])) <= {0.0, np.float32(QUIET)}
        assert not np.delete(weights[empty], 4, axis=1).any() and not wanted[empty].any()
