"""Operators that a device lacks are lowered to existing ones, with equal results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from ms_fusion.onnx.canonicalization.simpler_operators import lower
from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from tests.cases import FULL, cases
from tests.ms_fusion.onnx.fuse.models import FLOAT, OPSET, Builder

CASES = {
    "plain": ((2, 3, 4, 5, 6), (4, 3, 2, 3, 3), {}),
    "padded": (
        ("n", 3, 4, 5, 6),
        (4, 3, 3, 3, 3),
        {"pads": [1, 0, 1, 1, 2, 1], "strides": [1, 2, 2]},
    ),
    "groups": ((2, 4, 4, 5, 6), (6, 2, 2, 2, 2), {"group": 2, "dilations": [1, 2, 1]}),
    "one place": ((1, 4, 2, 3, 4), (6, 4, 1, 1, 1), {}),
}


def net(path: Path, name: str, opset: int = OPSET) -> Path:
    shape, filters, attributes = CASES[name]
    b = Builder({"x": shape}, opset=opset)
    made = b.add("Conv", "x", b.weight(*filters), b.weight(filters[0]), **attributes)
    return b.save(path, b.add("Relu", made))


QUICK = [("groups", 7, 0), ("padded", OPSET, 0)]
"""The oldest and the newest form, without kernels."""


@cases(
    "name, opset, level",
    [pytest.param(name, opset, 3, marks=FULL) for name in CASES for opset in (7, 9, 10, OPSET)]
    + QUICK,
)
def test_a_convolution_in_three_axes_becomes_a_product(
    name: str, opset: int, level: int, tmp_path: Path
) -> None:
    source, output = net(tmp_path / "net.onnx", name, opset), tmp_path / "fused.onnx"
    ledger = auto_fuse(
        source, output, device_name="ascend310p", verify=True, assume={"n": 2}, opt_level=level
    )
    assert any(
        note.startswith("ascend310p lacks a convolution in three axes") and "side by side" in note
        for note in ledger.notes
    )
    fused = onnx.load(output)
    operators = {node.op_type for graph in (fused.graph, *fused.functions) for node in graph.node}
    assert "Conv" not in operators
    assert "MatMul" in operators
    assert not [note for note in ledger.notes if "WRONG" in note]
    assert ledger.output_max_abs is not None


def test_what_cannot_or_need_not_be_lowered_stays(tmp_path: Path) -> None:
    known = net(tmp_path / "known.onnx", "plain")
    ledger = auto_fuse(known, dry_run=True, device_name="ascend910b")
    assert not [note for note in ledger.notes if "lacks" in note]

    before_broadcasting = net(tmp_path / "before.onnx", "plain", 6)
    ledger = auto_fuse(before_broadcasting, dry_run=True, device_name="ascend310p")
    assert any("Conv_0 stays, before version 7" in note for note in ledger.notes)

    b = Builder({"x": (1, 3, "d", 5, 6)})
    result = b.add("Relu", b.add("Conv", "x", b.weight(4, 3, 2, 2, 2)))
    unknown = b.save(tmp_path / "unknown.onnx", result)
    ledger = auto_fuse(unknown, dry_run=True, device_name="ascend310p")
    assert any("stays, a size is not known" in note for note in ledger.notes)


def lowered(model: onnx.ModelProto, *operators: str) -> tuple[onnx.ModelProto, tuple[str, ...]]:
    """A model with these operators lowered, and the messages about them."""
    inferred = ir.from_proto(onnx.shape_inference.infer_shapes(model))
    told = lower(inferred, "cpu", operators)
    return ir.to_proto(inferred), told


def run(model: onnx.ModelProto, **given: Any) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return session.run(None, given)[0]


def image(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def test_new_names_are_unused() -> None:
    """An unnamed operator gets the name of its result, which may collide with another's."""
    b = Builder({"x": (1, 3, 6, 6)})
    weight, other = b.weight(3, 3, 3, 3), b.weight(2, 3, 1, 1)
    b.nodes = [
        helper.make_node("Relu", ["x"], ["made/Pad_1_result"]),
        helper.make_node("Conv", ["made/Pad_1_result", weight], ["made"], pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["made", other], ["y"], name="made", pads=[1, 1, 1, 1]),
    ]
    model = b.model("y")
    made, told = lowered(model, "Conv")
    assert len(told) == 2 and "Conv" not in [node.op_type for node in made.graph.node]
    x = image(1, 3, 6, 6)
    np.testing.assert_allclose(run(made, x=x), run(model, x=x), rtol=1e-5, atol=1e-5)


@cases("group", [1, 2])
def test_a_batch_of_nothing(group: int) -> None:
    """ONNX's own evaluator runs it: ONNX Runtime's MatMul does not broadcast to an empty batch."""
    b = Builder({"x": ("n", 4, 5, 5)})
    model = b.model(b.add("Conv", "x", b.weight(4, 4 // group, 3, 3), b.weight(4), group=group))
    made, _ = lowered(model, "Conv")
    assert "MatMul" in [node.op_type for node in made.graph.node]
    (nothing,) = ReferenceEvaluator(made).run(None, {"x": image(0, 4, 5, 5)})
    assert nothing.shape == run(model, x=image(0, 4, 5, 5)).shape == (0, 4, 3, 3)
    x = image(2, 4, 5, 5)
    np.testing.assert_allclose(run(made, x=x), run(model, x=x), rtol=1e-5, atol=1e-5)


@cases("beta", [0.0, 0.5])
def test_what_gemm_adds(beta: float) -> None:
    b = Builder({"x": (3, 4)})
    added = b.constant(np.full(5, np.inf if beta == 0 else 2, np.float32))
    model = b.model(b.add("Gemm", "x", b.weight(4, 5), added, beta=beta, alpha=2.0))
    made, _ = lowered(model, "Gemm")
    x = image(3, 4)
    np.testing.assert_allclose(run(made, x=x), run(model, x=x), rtol=1e-5)


MALFORMED = "its attributes do not fit its sizes"


@cases(
    "operator, attributes, says",
    [
        ("Conv", {"strides": [0, 0]}, MALFORMED),
        ("Conv", {"strides": [1]}, MALFORMED),
        ("Conv", {"pads": [1]}, MALFORMED),
        ("Conv", {"group": 0}, MALFORMED),
        ("Conv", {"group": 2}, MALFORMED),
        ("Conv", {"dilations": [9, 9]}, MALFORMED),
        ("Conv", {"auto_pad": "SAME_UPPER"}, "its auto_pad is SAME_UPPER"),
        ("Conv", None, "it lacks an image or a weight"),
        ("Gemm", None, "it lacks a matrix"),
        ("Gemm", {"alpha": 0.5}, "since its dtype is not a known floating-point dtype"),
    ],
)
def test_what_has_no_simpler_form_stays(operator: str, attributes: Any, says: str) -> None:
    b = Builder({"x": (1, 3, 6, 6)}, onnx.TensorProto.INT32 if operator == "Gemm" else FLOAT)
    inputs = ["x"] if attributes is None else ["x", b.weight(2, 3, 3, 3)]
    model = b.model(b.add(operator, *inputs, **(attributes or {})))
    _, told = lowered(model, operator)
    assert told == (f"lowered as asked: {operator}_0 stays, {says}",)
