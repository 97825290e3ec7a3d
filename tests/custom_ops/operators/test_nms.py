"""Suppression and overlaps against a direct definition.

Covers ties, NaN, boxes without area, few and many results.
"""

from __future__ import annotations

import numpy as np
import pytest

from custom_ops import NMS, IoU
from custom_ops.operators.nms import formula
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.errors import InputError
from tests.cases import cases


def detections(seed: int, dtype: str, classes: int = 3, number: int = 80):
    """Boxes on a coarse grid, so that many overlaps are equal.

    Scores have few values, so that many are equal.
    """
    rng = np.random.default_rng(seed)
    low = rng.integers(0, 8, (2, number, 2))
    boxes = np.concatenate([low, low + rng.integers(-1, 5, (2, number, 2))], -1).astype(np.float64)
    boxes[:, ::9] = boxes[:, 1:2]
    scores = rng.integers(0, 9, (2, number, classes)) / 8
    scores[:, ::7, 0] = np.nan
    boxes[0, 5, 2] = np.nan
    return [one.astype(dtype_of(dtype).numpy) for one in (boxes, scores)]


@cases("dtype", ["float16", "bfloat16", "float32", "float64"], sample=8)
@cases("class_aware", [True, False])
@cases("seed", range(6))
def test_results_equal_the_direct_definition(seed, class_aware, dtype):
    boxes, scores = detections(seed, dtype)
    for values in (
        {"max_output": 40},
        {"max_output": 3, "score_threshold": 0.5},
        {"max_output": 300, "score_threshold": -1.0, "iou_threshold": 0.2},
        {"max_output": 50, "iou_threshold": 0.0},
        {"max_output": 50, "iou_threshold": 1.0},
        {"max_output": 0},
        {"max_output": 5, "score_threshold": 2.0},
    ):
        got = NMS(class_aware=class_aware, **values).forward(boxes, scores)
        wide = boxes.astype(np.float64), scores.astype(np.float64)
        want = formula(*wide, class_aware=class_aware, **values)
        for one, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(one.astype(np.float64), other.astype(np.float64))


def test_of_equal_scores_the_lower_box_then_the_lower_class():
    boxes = np.repeat(np.float32([[[0, 0, 1, 1], [5, 5, 6, 6]]]), 2, 1)
    _, _, classes, indices, counts = NMS(max_output=6).forward(
        boxes, np.ones((1, 4, 2), np.float32)
    )
    np.testing.assert_array_equal(indices, [[0, 0, 2, 2, -1, -1]])
    np.testing.assert_array_equal(classes, [[0, 1, 0, 1, -1, -1]])
    np.testing.assert_array_equal(counts, [4])


@pytest.mark.mindspore
@cases("class_aware", [True, False], sample=2)
@cases("route", ["native", "composite"])
@cases("mode", ["graph", "pynative"])
def test_inside_mindspore(mode, route, class_aware):
    ms = pytest.importorskip("mindspore")
    ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
    boxes, scores = detections(0, "float32")
    cell = NMS(0.5, 0.3, 9, class_aware, route)
    for one, other in zip(
        cell(ms.Tensor(boxes), ms.Tensor(scores)), cell.forward(boxes, scores), strict=True
    ):
        np.testing.assert_array_equal(one.asnumpy(), other)


@pytest.mark.mindspore
@cases("route", ["native", "composite"])
def test_boxes_that_overlap_as_much_as_the_threshold_stay(route):
    ms = pytest.importorskip("mindspore")
    boxes = np.float32([[[0, 0, 2, 1], [0, 0, 1, 1], [0, 0, 2, 1]]])  # half, and the same
    scores = np.float32([[[0.9], [0.8], [0.7]]])
    cell = NMS(iou_threshold=0.5, max_output=3, route=route)
    for found in (cell(ms.Tensor(boxes), ms.Tensor(scores))[3], cell.forward(boxes, scores)[3]):
        assert np.asarray(found).tolist() == [[0, 1, -1]]


@cases(
    "shapes, dtypes, words",
    [
        (
            ((2, 5, 3), (2, 5, 1)),
            ("float32",) * 2,
            "NMS: boxes has a wrong shape; expected (images, boxes, 4)",
        ),
        (
            ((2, 5, 4), (2, 5)),
            ("float32",) * 2,
            "NMS: scores has a wrong shape; expected (images, boxes, classes)",
        ),
        (((2, 5, 4), (2, 6, 1)), ("float32",) * 2, "NMS: scores do not fit boxes"),
        (
            ((2, 5, 4), (2, 5, 1)),
            ("float32", "float16"),
            "NMS: boxes and scores are of one float dtype",
        ),
    ],
)
def test_what_does_not_fit(shapes, dtypes, words):
    with pytest.raises(InputError) as caught:
        NMS().forward(
            *(np.zeros(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True))
        )
    assert words in str(caught.value)


def test_a_number_of_results_that_is_none():
    with pytest.raises(InputError, match="max_output is wrong; expected a number from 0, got -1"):
        NMS(max_output=-1)


def test_overlaps_at_the_edges():
    boxes = np.float32([[0, 0, 2, 2], [1, 1, 1, 1], [3, 3, 1, 1], [np.nan, 0, 1, 1]])
    found = IoU().forward(boxes, boxes)
    assert found[0, 0] == 1
    assert not found[:3, 1:3].any()
    assert np.isnan(found[3]).all()
    with pytest.raises(InputError, match=r"IoU: others has a wrong shape; expected \(number, 4\)"):
        IoU().forward(boxes, boxes[0])


@pytest.mark.mindspore
def test_the_functions(full):
    """``make test`` decodes boxes by basic operators: that kernel takes seconds to compile."""
    ms = pytest.importorskip("mindspore")
    from custom_ops import functional

    boxes, scores = detections(0, "float32")
    for route in ("native", "composite"):
        found = functional.nms(ms.Tensor(boxes), ms.Tensor(scores), max_output=7, route=route)
        np.testing.assert_array_equal(
            found[3].asnumpy(), NMS(max_output=7).forward(boxes, scores)[3]
        )
        overlaps = functional.iou(ms.Tensor(boxes[1]), ms.Tensor(boxes[1]), route=route).asnumpy()
        np.testing.assert_allclose(overlaps, IoU().forward(boxes[1], boxes[1]), rtol=1e-6)
    zeros = ms.Tensor(np.zeros((1, 2, 2, 1, 6), np.float32))
    route = "native" if full else "composite"
    made, _ = functional.box_decode(zeros, [(8, 8)], 8, route=route)
    np.testing.assert_array_equal(made.asnumpy()[0, 3], [8, 8, 16, 16])
