"""Box decoding: both versions, with float16 intermediates, up to suppression."""

from __future__ import annotations

import numpy as np
import pytest

from custom_ops import NMS, BoxDecode
from custom_ops.operators.box_decode import formula
from tbe_impl.errors import InputError
from tests.cases import FULL, cases

ANCHORS = ((10, 13), (16, 30), (33, 23))


def predictions(seed=0):
    return np.random.default_rng(seed).standard_normal((2, 7, 5, 3, 9)).astype(np.float32)


@pytest.mark.usefixtures("compiled_in_full")
@cases("version", ["v3", "v5"])
@cases("float16_inside", [True, False])
def test_boxes_and_scores_agree_with_the_formula(float16_inside, version):
    x = predictions()
    values = {
        "anchors": ANCHORS,
        "stride": 16,
        "version": version,
        "float16_inside": float16_inside,
    }
    boxes, scores = BoxDecode(**values).forward(x)
    want = formula(x.astype(np.float64), **values)
    tolerance = 2.0**-11 if float16_inside else 3e-7
    assert boxes.dtype == scores.dtype == np.float32
    # centre and half size have separate errors
    np.testing.assert_allclose(boxes, want[0], rtol=tolerance, atol=tolerance * 150)
    np.testing.assert_allclose(scores, want[1], rtol=2.1 * tolerance)
    assert float16_inside == (not np.allclose(boxes, want[0], rtol=1e-6, atol=1e-5))


@pytest.mark.mindspore
@pytest.mark.usefixtures("compiled_in_full")
@cases("version", ["v3", pytest.param("v5", marks=FULL)])
@cases("mode", [pytest.param("graph", marks=FULL), "pynative"])
def test_inside_mindspore(mode, version, full):
    """``make test`` uses basic operators only: this kernel takes seconds to compile."""
    ms = pytest.importorskip("mindspore")
    ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
    x = predictions()
    want = BoxDecode(ANCHORS, 16, version).forward(x)
    found = BoxDecode(ANCHORS, 16, version, False, route="composite")(ms.Tensor(x))
    for right, one in zip(want, found, strict=True):
        np.testing.assert_allclose(one.asnumpy(), right, rtol=2e-3, atol=0.1)
    if not full:
        return
    native = BoxDecode(ANCHORS, 16, version)(ms.Tensor(x))
    for right, one in zip(want, native, strict=True):
        np.testing.assert_array_equal(one.asnumpy(), right)
    found = NMS(max_output=10)(*native)
    assert (found[4].asnumpy() > 0).all()


def test_what_does_not_fit():
    with pytest.raises(
        InputError,
        match=r"BoxDecode: x has a wrong shape; expected \(images, height, width, 3 anchors, 5 \+ "
        r"classes\), got \(2, 7, 5, 2, 9\)",
    ):
        BoxDecode(ANCHORS, 16).forward(predictions()[:, :, :, :2])
    with pytest.raises(InputError, match="BoxDecode: unknown version; expected v3 or v5, got 'v9'"):
        BoxDecode(ANCHORS, 16, "v9").forward(predictions())
    for anchor in ((1, 2, 3), 5, ("a", 1)):
        with pytest.raises(
            InputError,
            match="BoxDecode: an anchor is not a pair of numbers; expected width and height, got",
        ):
            BoxDecode([(8, 16), anchor], 16)
    with pytest.raises(
        InputError, match="BoxDecode: stride is not a number; expected a number, got 'a'"
    ):
        BoxDecode(ANCHORS, "a")
