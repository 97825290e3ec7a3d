"""Assumed sizes propagate to values computed from them inside the model."""

from __future__ import annotations

from pathlib import Path

from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
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
def test_computed_sizes_follow_from_assumed_ones(name: str, tmp_path: Path) -> None:
    b = Builder({"x": ("n", "t", D)})
    flat = CASES[name](b)
    source = b.save(
        tmp_path / "model.onnx", b.add("Sigmoid", b.add("Tanh", b.add("Mul", flat, flat)))
    )
    ledger = auto_fuse(source, assume={"n": N, "t": T}, dry_run=True, fusion_rules="Cluster")
    (kernel,) = ledger.kernels
    assert [value.shape for value in kernel.outputs] == [(N * T, D)]
    assert ledger.environment["saved bytes"] > 3 * 4 * N * T * D
    assert {"n is assumed to be 8", "t is assumed to be 64"} <= set(ledger.notes)
    assert not any("unk__" in note for note in ledger.notes), "a name that no model has"


def test_what_nobody_tells_is_one(tmp_path: Path) -> None:
    b = Builder({"x": ("n", "t", D)})
    flat = b.add("Reshape", "x", b.constant([-1, 3], "int64"))
    source = b.save(tmp_path / "model.onnx", b.add("Sigmoid", b.add("Tanh", flat)))
    ledger = auto_fuse(source, dry_run=True)
    values = [value.shape for one in ledger.kernels for value in one.outputs]
    assert "n is assumed to be 1" in ledger.notes
    assert all(shape == (2, 3) for shape in values)


def test_sizes_without_a_name_can_be_assumed(tmp_path: Path) -> None:
    b = Builder({"x": (None, D)})
    source = b.save(tmp_path / "model.onnx", b.add("Sigmoid", b.add("Tanh", "x")))
    ledger = auto_fuse(source, dry_run=True, assume={"x.0": 5})
    assert [value.shape for one in ledger.kernels for value in one.outputs] == [(5, D)]
    assert "x.0 is assumed to be 5" in ledger.notes
