"""Nets with `custom_ops` kernels, patched nets and ONNX models keep those under `enable()`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ms_fusion as mf
from tests.cases import FULL, cases
from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS, run
from tests.ms_fusion.onnx.fuse.models import Builder


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("carried")
    b = Builder({"x": ("n", 16)})
    gate = b.add("Sigmoid", b.add("Add", "x", b.weight(16)))
    b.save(place / "plain.onnx", b.add("Mul", b.add("Tanh", "x"), gate))
    assert len(mf.auto_fuse(place / "plain.onnx", place / "gate.onnx").kernels) == 1
    return run(PROGRAMS / "carried_kernels.py", place / "work").result


@FULL
@pytest.mark.mindspore
@cases("name", ["gated", "patched"])
def test_training_keeps_losses_and_kernels_under_fusion(seen: dict[str, Any], name: str) -> None:
    losses, calls = seen["losses"][f"{name} auto"]
    wanted, wanted_calls = seen["losses"][f"{name} off"]
    np.testing.assert_allclose(losses, wanted, rtol=2e-5)
    assert calls == wanted_calls > 0
    assert seen["changed"] > 0


@FULL
@pytest.mark.mindspore
def test_the_ledger_says_who_fused_what(seen: dict[str, Any]) -> None:
    operators = ["Tanh", "Add", "Sigmoid", "Mul"]
    for where in ("training", "apart"):
        found = {
            by: (name, made_of)
            for name, by, made_of in seen[where]["carried"]
            if not name.endswith("_grad")
        }
        assert found["custom_ops"] == ("LayerNorm", [])
        name, made_of = found["auto_fuse"]
        assert sorted(made_of) == sorted(operators)
        assert seen[where]["generators"] == ["ms_fusion"]
        for text in seen[where]["texts"]:
            assert "auto_fuse" in text and "custom_ops" in text and name in text
    gradients = [one for one in seen["training"]["carried"] if one[0].endswith("_grad")]
    assert sorted(by for _, by, _ in gradients) == ["auto_fuse", "custom_ops"]
