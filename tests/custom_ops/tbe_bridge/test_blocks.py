"""Operators that CANN computes in blocks: attention, and the loss of a product."""

from __future__ import annotations

import numpy as np
import pytest

from custom_ops.core.gradient import gradient_of
from custom_ops.operators import attention_steps, linear_cross_entropy_steps
from tbe_impl.errors import InputError
from tests.cases import FULL, cases
from tests.custom_ops.core.test_operator_specs import close
from tests.custom_ops.operators.test_nms import detections
from tests.custom_ops.spec_cases import SPECS, arrays_of, as_tuple, in_float64, run_by

pytestmark = pytest.mark.mindspore
ms = pytest.importorskip("mindspore")

from custom_ops import ascend  # noqa: E402
from custom_ops.core.cell import VisibleOutputsCell  # noqa: E402
from custom_ops.core.primitive import primitive  # noqa: E402
from tests.custom_ops.tbe_bridge.test_sequences import (  # noqa: E402
    check,
    check_gradient,
    held_by,
    primitives,
    run_steps,
)
from tests.custom_ops.test_ascend import Called, Sloped  # noqa: E402

ATTENTION, MASKED = "ScaledDotProductAttention", "MaskedScaledDotProductAttention"
SHARED = ((2, 4, 17, 8), (2, 2, 70, 8), (2, 2, 70, 5))
CASES = [
    (ATTENTION, {"is_causal": True}, SHARED),
    (ATTENTION, {"scale": 0.3, "layout": "BSND"}, ((2, 17, 4, 8), (2, 70, 2, 8), (2, 70, 2, 5))),
    (MASKED, {"is_causal": True}, (*((1, 3, 70, 8),) * 3, (3, 70, 70))),
    (MASKED, {}, (*SHARED, (17, 1))),
    ("LinearCrossEntropy", {"label_smoothing": 0.1}, ((2, 35, 16), (11, 16), (2, 35))),
    *(
        (
            "LinearCrossEntropy",
            {"reduction": reduction, "ignore_index": 3},
            ((3, 30, 16), (11, 16), (3, 30)),
        )
        for reduction in ("none", "sum", "mean")
    ),
]
QUICK = (0, 3, 5)
"""Rows of `make test`: causal attention, attention with a mask, and the loss."""


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(attention_steps, "KEYS", 32)
    monkeypatch.setattr(linear_cross_entropy_steps, "ROWS", 32)


def check_forward(spec, given, arrays):
    wanted = as_tuple(spec.formula(*in_float64(spec, arrays), **given))
    check(spec, given, arrays, wanted, "Ascend310P3", "numpy")


@cases(
    "name, given, shapes",
    [
        case if number in QUICK else pytest.param(*case, marks=FULL)
        for number, case in enumerate(CASES)
    ],
)
def test_blocked_operators_and_gradients_agree(name, given, shapes):
    spec = SPECS[name]
    given = spec.with_defaults(given)
    check_forward(spec, given, arrays_of(spec, shapes, "float16"))
    check_gradient(spec, given, shapes, "Ascend310B1", "numpy")


def test_a_mask_that_is_added_and_a_query_without_keys():
    spec, rng = SPECS[MASKED], np.random.default_rng(4)
    given = spec.with_defaults({})
    shapes = (*((1, 2, 40, 8),) * 3, (40, 40))
    *arrays, _ = arrays_of(spec, shapes, "float16")
    mask = np.where(rng.random((40, 40)) < 0.3, -np.inf, rng.standard_normal((40, 40)))
    mask[7] = -np.inf
    arrays.append(mask.astype(np.float16))
    exact = [one.astype(np.float64) for one in arrays]
    (y, normaliser), gradient = run_by("numpy", spec, given, *exact), gradient_of(spec)
    assert not y[0, :, 7].any() and np.isneginf(normaliser[0, :, 7]).all()
    check(spec, given, arrays, (y,), "Ascend910A", "numpy")
    grad = rng.standard_normal(y.shape).astype(np.float16)
    saved = [y.astype(np.float16), normaliser.astype(np.float32)]
    wide = [one.astype(np.float64) for one in (*saved, grad)]
    wanted = run_by("numpy", gradient, given, *exact, *wide)
    check(gradient, given, [*arrays, *saved, grad], wanted, "Ascend910A", "numpy")


@pytest.fixture
def _on_ascend(monkeypatch):
    ascend._build_gradient_call.cache_clear()
    monkeypatch.setattr(ascend, "AscendPrimitive", primitives("Ascend910A", "numpy"))
    yield
    ascend._build_gradient_call.cache_clear()


@cases(
    "name, shapes",
    [(MASKED, (*SHARED, (2, 1, 17, 70))), ("BiasDropoutAdd", ((4, 8), (8,), (4, 8), (1,)))],
)
def test_gradients_through_the_cell(name, shapes, _on_ascend):
    """All inputs get their gradient; those without one get zeros."""
    spec = SPECS[name]
    tensors = [ms.Tensor(one) for one in arrays_of(spec, shapes, "float16")]
    ms.set_context(mode=ms.PYNATIVE_MODE)
    row, own = ascend.build_call(spec, {}), Called(primitive(spec, {}))
    if spec.hidden:
        row, own = (
            VisibleOutputsCell(row, len(spec.visible_outputs)),
            VisibleOutputsCell(own, len(spec.visible_outputs)),
        )
    for got, want in zip(Sloped(row)(*tensors), Sloped(own)(*tensors), strict=True):
        close(got.asnumpy(), want.asnumpy().astype(np.float64), "float16")


# `test_blocked_operators_and_gradients_agree` runs in `make test`, and test_sequences.py exports
# graphs
@FULL
@cases("name", [ATTENTION, "LinearCrossEntropy"])
def test_graphs_hold_the_steps_of_each_block(name, tmp_path, monkeypatch):
    spec, counts = SPECS[name], []
    cases = {ATTENTION: SHARED, "LinearCrossEntropy": ((2, 35, 16), (11, 16), (2, 35))}
    for size in (32, 128):
        monkeypatch.setattr(attention_steps, "KEYS", size)
        monkeypatch.setattr(linear_cross_entropy_steps, "ROWS", size)
        place = tmp_path / f"{name}_{size}"
        place.mkdir()
        held = held_by(ascend.build_call(spec, {}), spec, place, cases[name])
        counts.append(held.count(b"CustomOpsProductWithRows"))
    assert counts[0] > counts[1] > 0


@cases(
    "class_aware, dtype",
    [
        (True, "float16"),
        *(
            pytest.param(*one, marks=FULL)
            for one in [(True, "float32"), (False, "float16"), (False, "float32")]
        ),
    ],
)
def test_rounds_of_suppression(class_aware, dtype, full):
    """More rounds than boxes, equal scores, boxes with NaN and without area.

    ``make test`` compiles nothing.
    """
    backend = "cpu" if full else "numpy"
    spec = SPECS["NMS"]
    given = spec.with_defaults({"class_aware": class_aware, "max_output": 40})
    boxes, scores = (one[:, :20] for one in detections(3, dtype))
    wanted = spec.formula(boxes, scores, **given)
    found = run_steps(spec, given, [boxes, scores], "Ascend910B", backend)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, want, strict=True)


def test_no_room_for_results():
    with pytest.raises(InputError, match="max_output is wrong; expected a number from 1 on Ascend"):
        ascend.build_call(SPECS["NMS"], {"max_output": 0})
