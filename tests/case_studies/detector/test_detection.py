"""Network, decoding and suppression agree between MindSpore's operators and the fused version."""

import numpy as np
import pytest

ms = pytest.importorskip("mindspore")

import ms_fusion as mf  # noqa: E402
from case_studies.detector.darknet import Detector, detector  # noqa: E402
from case_studies.detector.data import draw_images  # noqa: E402
from case_studies.detector.decode import Decoding  # noqa: E402
from case_studies.detector.design import ANCHORS, STRIDES, Design  # noqa: E402
from case_studies.detector.detection import Detection, collect_detections  # noqa: E402
from case_studies.detector.matching import count_matches  # noqa: E402
from case_studies.detector.suppression import suppression  # noqa: E402
from custom_ops.operators.nms import formula as nms_formula  # noqa: E402
from tests.cases import FULL, cases  # noqa: E402

pytestmark = pytest.mark.mindspore
TINY = Design(size=64, width=4, blocks=(1, 1, 1, 1, 1), classes=3)
TOLD = {"score_threshold": 0.008, "most": 20}


MODES = [ms.PYNATIVE_MODE, pytest.param(ms.GRAPH_MODE, marks=FULL)]
"""``make test`` uses PyNative: compiling graphs takes most of the time."""
MODE_NAMES = ["PyNative", "graph"]


@FULL
def test_the_detector_has_the_size_of_yolo_v3():
    """61,949,149 weights, 75 convolutions, 52 of them in Darknet-53: as published."""
    net = Detector(Design())
    assert sum(one.size for one in net.trainable_params()) == 61_949_149
    counts = [
        sum(isinstance(cell, ms.nn.Conv2d) for _, cell in part.cells_and_names())
        for part in (net, net.darknet)
    ]
    assert counts == [75, 52]


def test_weights_are_the_same_each_time():
    one, again, other = (detector(TINY, seed=seed).get_parameters() for seed in (1, 1, 2))
    differs = False
    for a, b, c in zip(one, again, other, strict=True):
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())
        differs = differs or not np.array_equal(a.asnumpy(), c.asnumpy())
    assert differs


def decoded(predictions, design):
    """Boxes and scores in float64."""
    boxes, scores = [], []
    for x, anchors, stride in zip(predictions, design.anchors, STRIDES, strict=True):
        x = x.astype(np.float64)
        share = 1 / (1 + np.exp(-x))
        grid = np.stack(np.meshgrid(np.arange(x.shape[2]), np.arange(x.shape[1])), -1)[:, :, None]
        centre, half = (share[..., :2] + grid) * stride, np.exp(x[..., 2:4]) * np.array(anchors) / 2
        boxes.append(np.concatenate((centre - half, centre + half), -1).reshape(len(x), -1, 4))
        scores.append((share[..., 5:] * share[..., 4:5]).reshape(len(x), -1, x.shape[-1] - 5))
    return np.concatenate(boxes, 1), np.concatenate(scores, 1)


@cases("mode", MODES, ids=MODE_NAMES)
@cases("fused, tolerance", [pytest.param(False, 1e-5, marks=FULL), (True, 2e-3)])
def test_boxes_and_scores_are_those_of_float64(fused, tolerance, mode):
    ms.set_context(mode=mode)
    random = np.random.default_rng(4)
    given = [
        random.standard_normal(
            (2, TINY.size // stride, TINY.size // stride, len(ANCHORS[0]), 8)
        ).astype(np.float32)
        for stride in STRIDES
    ]
    made = Decoding(TINY, fused=fused)(*map(ms.Tensor, given))
    for one, expected in zip(made, decoded(given, TINY), strict=True):
        np.testing.assert_allclose(
            one.asnumpy(), expected, rtol=tolerance, atol=tolerance * TINY.size / 4
        )


@cases("mode", MODES, ids=MODE_NAMES)
@cases("fused", [False, True])
def test_what_is_left_is_what_the_definition_leaves(fused, mode):
    ms.set_context(mode=mode)
    random = np.random.default_rng(7)
    corner, side = random.uniform(0, 40, (2, 60, 2)), random.uniform(5, 24, (2, 60, 2))
    boxes = np.concatenate((corner, corner + side), -1).astype(np.float32)
    scores = random.uniform(0, 1, (2, 60, 3)).astype(np.float32) ** 6
    net = suppression(size=64, fused=fused, score_threshold=0.3, most=40)
    made = [one.asnumpy() for one in net(ms.Tensor(boxes), ms.Tensor(scores))]
    expected = nms_formula(boxes, scores, score_threshold=0.3, iou_threshold=0.45, max_output=40)
    assert expected[4].min() > 10 and expected[4].max() < 40
    np.testing.assert_array_equal(made[4].astype(int), expected[4])
    for image, count in enumerate(expected[4]):
        for one, other in zip(made[:4], expected[:4], strict=True):
            np.testing.assert_array_equal(one[image, :count], other[image, :count])


@FULL
def test_the_fused_detection_finds_the_same_boxes():
    ms.set_context(mode=ms.GRAPH_MODE)
    images = ms.Tensor(draw_images(2, TINY.size, seed=8).pixels)
    before = collect_detections(Detection(detector(TINY), TINY, fused=False, **TOLD)(images))
    with mf.fusion(generator="ms_fusion"):
        after = collect_detections(Detection(detector(TINY), TINY, fused=True, **TOLD)(images))
    for one, other in zip(before, after, strict=True):
        assert len(one.scores) > 5
        assert count_matches(one, other, overlap=0.99, score=2e-3) >= len(one.scores) - 1
