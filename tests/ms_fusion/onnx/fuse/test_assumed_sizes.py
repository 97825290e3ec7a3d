"""Assumed sizes propagate to values computed from them inside the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ms_fusion.onnx.fuse import kernel_functions
from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from ms_fusion.onnx.fuse.ort.operator_trials import trial_sizes
from ms_fusion.onnx.fuse.timing import GroupChains
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.readers.onnx_file import open_model
from ms_fusion.readers.onnx_graph import project
from tests.cases import cases
from tests.ms_fusion.onnx.fuse.models import Builder

N, T, D = 8, 64, 6


def of_shapes(b: Builder) -> str:
    """Rows of all batches together, computed from the shape."""
    shape = b.add("Shape", "x")
    first, second = (b.add("Gather", shape, b.constant([at], "int64"), axis=0) for at in (0, 1))
    wanted = b.add("Concat", b.add("Mul", first, second), b.constant([D], "int64"), axis=0)
    return str(b.add("Reshape", "x", wanted))


CASES = {
    "the rest": lambda b: b.add("Reshape", "x", b.constant([-1, D], "int64")),
    "of a shape": of_shapes,
}


@cases("name", CASES)
def test_computed_sizes_follow_from_assumed_ones(
    name: str,
    native: NativeWorkers,
    tmp_path: Path,
    timed: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows: list[GroupChains] = []
    monkeypatch.setattr(
        kernel_functions, "measure_chains", lambda row, _: rows.append(row) or (2.0, 1.0)
    )
    b = Builder({"x": ("n", "t", D)})
    flat = CASES[name](b)
    source = b.save(
        tmp_path / "model.onnx", b.add("Sigmoid", b.add("Tanh", b.add("Mul", flat, flat)))
    )
    ledger = auto_fuse(
        source, assume={"n": N, "t": T}, dry_run=True, fusion_rules="Cluster", verify=True
    )
    (kernel,) = ledger.kernels
    assert {size for row in rows for one in row.fused.outputs for size in one.shape} == {N * T, D}
    assert [value.shape for value in kernel.outputs] == [(N * T, D)]
    assert ledger.environment["saved bytes"] > 3 * 4 * N * T * D
    assert {"n is assumed to be 8", "t is assumed to be 64"} <= set(ledger.notes)
    assert not any("unk__" in note for note in ledger.notes), "a name that no model has"
    for target in ("ort", "ort-kernels"):
        told = auto_fuse(source, target=target, assume={"n": N, "t": T}, dry_run=True)
        assert told.before.bytes_moved == ledger.before.bytes_moved
    model = open_model(source)
    native.infer_shapes(model)
    projection = project(model)
    sizes = trial_sizes(model, projection, {"n": N, "t": T}, native)
    assert {sizes[symbol] for symbol in projection.symbols} == {N, T, N * T}


def test_what_nobody_tells_is_one(timed: None, tmp_path: Path) -> None:
    b = Builder({"x": ("n", "t", D)})
    flat = b.add("Reshape", "x", b.constant([-1, 3], "int64"))
    source = b.save(tmp_path / "model.onnx", b.add("Sigmoid", b.add("Tanh", flat)))
    ledger = auto_fuse(source, dry_run=True)
    values = [value.shape for one in ledger.kernels for value in one.outputs]
    assert "n is assumed to be 1" in ledger.notes
    assert all(shape == (2, 3) for shape in values)
    b = Builder({"x": ("n", D)})
    found = [b.add("Cast", b.add("NonZero", one), to=1) for one in ("x", b.add("Relu", "x"))]
    source = b.save(tmp_path / "model.onnx", *(b.add("Sigmoid", b.add("Tanh", y)) for y in found))
    ledger = auto_fuse(source, dry_run=True, verify=True)
    assert ledger.kernels and all(one.time_us is None for one in ledger.kernels), "not timed"
    assert [note for note in ledger.notes if "unk__" in note] == [
        "sizes that do not follow from those of the inputs are assumed to be 1 (2): unk__0, unk__1"
    ]


@cases("size", [None, -1, "?"], ids=repr)
def test_sizes_without_a_name_can_be_assumed(size: Any, tmp_path: Path) -> None:
    b = Builder({"x": (size, size, D)})
    source = b.save(tmp_path / "model.onnx", b.add("Sigmoid", b.add("Tanh", "x")))
    ledger = auto_fuse(source, dry_run=True, assume={"x.0": 5, "x.1": 7})
    assert [value.shape for one in ledger.kernels for value in one.outputs] == [(5, 7, D)]
    assert {"x.0 is assumed to be 5", "x.1 is assumed to be 7"} <= set(ledger.notes)
