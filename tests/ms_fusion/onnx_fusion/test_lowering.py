"""What a device lacks is said in what it has, and is the same."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from ms_fusion.onnx_fusion.auto_fuse import auto_fuse
from tests.cases import FULL, cases
from tests.ms_fusion.onnx_fusion.models import OPSET, Builder

CASES = {
    "plain": ((2, 3, 4, 5, 6), (4, 3, 2, 3, 3), {}),
    "padded": (("n", 3, 4, 5, 6), (4, 3, 3, 3, 3), {"pads": [1, 0, 1, 1, 2, 1], "strides": [1, 2, 2]}),
    "groups": ((2, 4, 4, 5, 6), (6, 2, 2, 2, 2), {"group": 2, "dilations": [1, 2, 1]}),
    "one place": ((1, 4, 2, 3, 4), (6, 4, 1, 1, 1), {}),
}  # fmt: skip


def net(path: Path, name: str, opset: int = OPSET) -> Path:
    shape, filters, attributes = CASES[name]
    b = Builder({"x": shape}, opset=opset)
    made = b.add("Conv", "x", b.weight(*filters), b.weight(filters[0]), **attributes)
    return b.save(path, b.add("Relu", made))


QUICK = [("groups", 7, 0), ("padded", OPSET, 0)]
"""The oldest and the newest way of writing it down, with no kernel of what is written."""


@cases(
    "name, opset, level",
    [pytest.param(name, opset, 3, marks=FULL) for name in CASES for opset in (7, 9, 10, OPSET)] + QUICK,
)  # fmt: skip
def test_a_convolution_in_three_axes_becomes_a_product(name: str, opset: int, level: int, tmp_path: Path) -> None:  # fmt: skip
    source, output = net(tmp_path / "net.onnx", name, opset), tmp_path / "fused.onnx"
    ledger = auto_fuse(source, output, device_name="ascend310p", verify=True, assume={"n": 2}, opt_level=level)  # fmt: skip
    assert any(note.startswith("ascend310p lacks a convolution in three axes") and "side by side" in note for note in ledger.notes)  # fmt: skip
    fused = onnx.load(output)
    operators = {node.op_type for graph in (fused.graph, *fused.functions) for node in graph.node}
    assert "Conv" not in operators
    assert "MatMul" in operators
    assert not [note for note in ledger.notes if "WRONG" in note]
    assert ledger.output_max_abs is not None


def test_a_device_that_has_it_keeps_it(tmp_path: Path) -> None:
    ledger = auto_fuse(net(tmp_path / "net.onnx", "plain"), dry_run=True, device_name="ascend910b")
    assert not [note for note in ledger.notes if "lacks" in note]


def test_versions_before_broadcasting_stay(tmp_path: Path) -> None:
    ledger = auto_fuse(net(tmp_path / "net.onnx", "plain", 6), dry_run=True, device_name="ascend310p")  # fmt: skip
    assert any("Conv_0 stays, before version 7" in note for note in ledger.notes)


def test_a_size_that_is_not_known_stays(tmp_path: Path) -> None:
    b = Builder({"x": (1, 3, "d", 5, 6)})
    source = b.save(tmp_path / "net.onnx", b.add("Relu", b.add("Conv", "x", b.weight(4, 3, 2, 2, 2))))  # fmt: skip
    ledger = auto_fuse(source, dry_run=True, device_name="ascend310p")
    assert any("stays, a size is not known" in note for note in ledger.notes)
