"""Initializers that are also inputs: defaults, or weights in old files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from ms_fusion.onnx.native.child import NativeWorkers
from tests.cases import cases
from tests.ms_fusion.onnx.fuse.models import Builder


def listed(path: Path, ir_version: int) -> Path:
    """Sigmoid(x · (c0 · 3)) · c1, reshaped to c2; all three are also inputs."""
    b = Builder({"x": ("n", 16)})
    scale, factor, shape = (
        b.constant(np.full(16, 2, np.float32)),
        b.constant(2.0, "float32"),
        b.constant([-1, 8], "int64"),
    )
    b.inputs += [
        onnx.helper.make_tensor_value_info(one.name, one.data_type, one.dims) for one in b.weights
    ]
    three = b.add("Constant", value_float=3.0)
    x = b.add("Sigmoid", b.add("Mul", "x", b.add("Mul", scale, three)))
    model = b.model(b.add("Reshape", b.add("Mul", x, factor), shape))
    model.ir_version = ir_version
    onnx.save(model, path)
    return path


@cases("target", ["any", "ort"])
@cases("fed", [[], ["c0"], ["c1"], ["c2"], ["c0", "c1", "c2"]], sample=6)
def test_a_default_may_be_fed_after_fusion(
    fed: list[str], target: str, native: NativeWorkers, tmp_path: Path
) -> None:
    source, output = listed(tmp_path / "net.onnx", 8), tmp_path / "fused.onnx"
    ledger = auto_fuse(source, output, verify=True, target=target, force=True, assume={"n": 4096})
    assert target == "ort" or ledger.kernels
    assert any("inputs that have a default (3: c0, c1, c2)" in note for note in ledger.notes)
    graph = onnx.load(output).graph
    assert [one.name for one in graph.input] == ["x", "c0", "c1", "c2"]
    assert {"c0", "c1", "c2"} <= {one.name for one in graph.initializer}
    other = {
        "c0": np.linspace(-1, 1, 16, dtype=np.float32),
        "c1": np.array(-5, np.float32),
        "c2": np.array([4, -1]),
    }
    x = np.random.default_rng(1).standard_normal((6, 16)).astype(np.float32)
    given = {"x": x} | {name: other[name] for name in fed}
    expected, found = (native.run(path, given).outputs.values() for path in (source, output))
    for one, two in zip(expected, found, strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-6)


def test_in_an_old_file_they_are_weights(native: NativeWorkers, tmp_path: Path) -> None:
    source, output = listed(tmp_path / "net.onnx", 3), tmp_path / "fused.onnx"
    ledger = auto_fuse(source, output, verify=True, assume={"n": 4096})
    assert ledger.kernels
    assert ledger.output_max_abs == 0
    model = onnx.load(output)
    onnx.checker.check_model(model)
    assert [one.name for one in model.graph.input] == ["x"]


def test_clean_up_that_is_left_away_keeps_defaults(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answers = iter([False])
    monkeypatch.setattr(
        "ms_fusion.onnx.fuse.auto_fuse.is_within_tolerance", lambda found: next(answers, True)
    )
    source, output = listed(tmp_path / "net.onnx", 8), tmp_path / "fused.onnx"
    ledger = auto_fuse(source, output, verify=True)
    assert any("clean-up would change" in note for note in ledger.notes)
    graph = onnx.load(output).graph
    assert {"c0", "c1", "c2"} <= {one.name for one in graph.initializer}
