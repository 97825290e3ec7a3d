"""Distance of two tensors, whole and in parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ms_fusion.graph import Value
from ms_fusion.onnx.fuse import verification
from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from ms_fusion.onnx.fuse.verification import difference, sample
from tests.cases import cases
from tests.ms_fusion.onnx.fuse.models import Builder

BASE = np.array([1.0, -2.0, 100.0, 0.5, np.nan, np.inf, -np.inf, 3.0, -4.0, 5.0], np.float32)


def changed(place: int, value: float) -> np.ndarray:
    made = BASE.copy()
    made[place] = value
    return made


PIECES = {"whole": 1 << 20, "threes": 3, "one by one": 1}


@cases("piece", PIECES)
@cases(
    "found, largest, agrees",
    [
        (BASE, 0.0, True),
        (changed(0, 1.0009), 0.0009, True),  # 1e-4 of 1, and 1e-5 of the largest value, 100
        (changed(0, 1.002), 0.002, False),
        (changed(9, 6.0), 1.0, False),
        (changed(2, 100.005), 0.0, True),  # reports the element nearest to its limit
        (changed(4, 0.0), np.inf, False),
        (changed(7, np.nan), np.inf, False),
        (changed(5, -np.inf), np.inf, False),
        (changed(8, np.inf), np.inf, False),
        (BASE.astype(np.float64), np.inf, False),
    ],
)
def test_the_element_nearest_to_its_limit_decides(
    piece: str, found: np.ndarray, largest: float, agrees: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "PIECE", PIECES[piece])
    told = difference("y", BASE, found)
    assert told.agrees == agrees
    assert told.largest == pytest.approx(largest, abs=1e-5)


@cases("piece", PIECES)
@cases("array", [np.zeros(0, np.float32), np.full(4, np.nan, np.float32), np.float32(2.0)])
def test_nothing_finite_agrees_with_itself(
    piece: str, array: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "PIECE", PIECES[piece])
    assert difference("y", np.asarray(array), np.asarray(array)).agrees


@cases("shape", [(), (0, 4), (3, 5), (1025, 1024)])
def test_samples_are_the_same_each_time_and_rows_differ(shape: tuple[int, ...]) -> None:
    value = Value("x", shape, "float32", "input")
    found = sample(value, {})
    assert (found.shape, found.dtype.name) == (shape, "float32")
    np.testing.assert_array_equal(found, sample(value, {}))
    if len(shape) == 2 and shape[0]:
        assert not np.array_equal(found[0], found[-1])


def test_a_group_of_gigabytes_is_not_tried(tmp_path: Path) -> None:
    b = Builder({"x": (1 << 14, 1 << 14)})
    source = b.save(tmp_path / "model.onnx", b.add("Sigmoid", b.add("Tanh", "x")))
    ledger = auto_fuse(source, tmp_path / "fused.onnx")
    assert not ledger.kernels
    assert any(
        "too large to be tried; expected at most 1024 MiB" in one.reason for one in ledger.rejected
    ), ledger.rejected
