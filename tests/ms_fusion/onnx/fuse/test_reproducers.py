"""Reproducers isolate a deliberately broken kernel and function."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ms_fusion.onnx.fuse import functions
from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from ms_fusion.onnx.kernels import operator_lowering
from ms_fusion.ops import ONNX_OPERATORS, OPERATORS
from ms_fusion.ops.op_info import OnnxOperator
from tests.ms_fusion.onnx.fuse.models import Builder


@pytest.fixture
def net(tmp_path: Path) -> Path:
    b = Builder({"x": ("n", 64)})
    x = b.add("Mul", b.add("Add", "x", b.weight(64)), b.add("Sigmoid", "x"))
    return b.save(
        tmp_path / "net.onnx", b.add("Softmax", b.add("MatMul", x, b.weight(64, 48)), axis=-1)
    )


def gaps(place: Path) -> dict[str, float]:
    """The output of a reproducer: who computed it → error."""
    (script,) = place.glob("kernels/reproducers/*/reproduce.py")
    told = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])},
    )
    lines = (line.partition(": result 0 differs by ") for line in told.stdout.splitlines())
    return {who: float(gap.partition(",")[0]) for who, _, gap in lines}


def test_a_kernel_that_is_wrong(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoilt = OnnxOperator("Softmax", lambda call: call.in_form(op="Exp"))
    wrong = {**ONNX_OPERATORS, "Softmax": (OPERATORS["Softmax"], spoilt)}
    monkeypatch.setattr(operator_lowering, "ONNX_OPERATORS", wrong)
    ledger = auto_fuse(net, net.with_name("fused.onnx"), verify=True)
    assert any("seen alone: kernels/reproducers/" in note for note in ledger.notes)
    found = gaps(net.parent)
    assert found["ONNX Runtime"] < 1e-6
    assert found["the kernel"] > 1e-3


def test_a_function_that_is_wrong(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = functions.graph_of

    def spoilt(*given):
        graph = whole(*given)
        for node in graph:
            if node.op_type == "Softmax":
                node.op_type = "LogSoftmax"
        return graph

    for room in ("functions", "reproducers"):
        monkeypatch.setattr(f"ms_fusion.onnx.fuse.{room}.graph_of", spoilt)
    ledger = auto_fuse(net, net.with_name("fused.onnx"), verify=True)
    assert any(one.reason == "the model differs with it" for one in ledger.rejected)
    found = gaps(net.parent)
    assert found["ONNX Runtime"] > 1e-3
    assert found["the kernel"] < 1e-5


def test_a_right_model_gets_no_reproducer(net: Path) -> None:
    auto_fuse(net, net.with_name("fused.onnx"), verify=True)
    b = Builder({"x": (1, 1)})
    far = b.add(
        "Add", b.add("Mul", "x", b.constant([22.0], "float32")), b.constant([-18.0], "float32")
    )
    single = b.save(net.with_name("single.onnx"), b.add("Sigmoid", far))
    ledger = auto_fuse(single, single.with_name("fused.onnx"), verify=True)
    assert ledger.kernels, "ONNX Runtime's sigmoid is 0 there; ours is not"
    assert not (net.parent / "kernels" / "reproducers").exists()
