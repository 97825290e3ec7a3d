"""Fusion inside the bodies of If, Loop and Scan."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from ms_fusion.onnx.fuse import model_times
from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from ms_fusion.onnx.fuse.ort import operator_trials
from ms_fusion.onnx.native.child import NativeWorkers
from tests.cases import cases
from tests.ms_fusion.onnx.fuse.models import FLOAT
from tests.ms_fusion.onnx.ort_library.test_operator_library import run_plainly


def info(name: str, shape: list[int | str], dtype: int = FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def gate(prefix: str, x: str, y: str, outer: str) -> list[onnx.NodeProto]:
    """softmax(x + outer) · sigmoid(x): memory-bound operators, one operand of the outer graph."""
    return [
        helper.make_node("Add", [x, outer], [f"{prefix}s"], f"{prefix}add"),
        helper.make_node("Softmax", [f"{prefix}s"], [f"{prefix}p"], f"{prefix}soft", axis=-1),
        helper.make_node("Sigmoid", [x], [f"{prefix}g"], f"{prefix}sig"),
        helper.make_node("Mul", [f"{prefix}p", f"{prefix}g"], [y], f"{prefix}mul"),
    ]


def model(kind: str) -> onnx.ModelProto:
    bias = numpy_helper.from_array(np.linspace(-1, 1, 64, dtype=np.float32), "bias")
    shape: list[int | str] = ["n", 64]
    nodes = [helper.make_node("Tanh", ["x"], ["t"], "tanh")]
    if kind == "If":
        branches = {
            f"{name}_branch": helper.make_graph(
                gate(name, "t", f"{name}y", outer), name, [], [info(f"{name}y", shape)]
            )
            for name, outer in (("then", "bias"), ("else", "x"))
        }
        nodes.append(helper.make_node("If", ["c"], ["y"], "choose", **branches))
    elif kind == "Loop":
        body = helper.make_graph(
            [*gate("b", "state", "next", "bias"), helper.make_node("Identity", ["k"], ["k_out"])],
            "body",
            [
                info("i", [], TensorProto.INT64),
                info("k", [], TensorProto.BOOL),
                info("state", shape),
            ],
            [info("k_out", [], TensorProto.BOOL), info("next", shape)],
        )
        nodes.append(helper.make_node("Loop", ["trips", "", "t"], ["y"], "repeat", body=body))
    else:
        body = helper.make_graph(
            [
                *gate("b", "row", "made", "bias"),
                helper.make_node("Add", ["sum", "made"], ["total"]),
            ],
            "body",
            [info("sum", [64]), info("row", [64])],
            [info("total", [64]), info("made_row", [64])],
        )
        body.node.append(helper.make_node("Identity", ["made"], ["made_row"]))
        start = numpy_helper.from_array(np.zeros(64, np.float32), "zeros")
        nodes.append(
            helper.make_node(
                "Scan", ["zeros", "t"], ["last", "y"], "scan", body=body, num_scan_inputs=1
            )
        )
    inputs = [info("x", shape)]
    inputs += {
        "If": [info("c", [], TensorProto.BOOL)],
        "Loop": [info("trips", [], TensorProto.INT64)],
    }.get(kind, [])
    graph = helper.make_graph(nodes, "net", inputs, [info("y", shape)], [bias])
    if kind == "Scan":
        graph.initializer.append(start)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def feeds(kind: str) -> Iterator[dict[str, np.ndarray]]:
    x = np.random.default_rng(0).standard_normal((5, 64)).astype(np.float32)
    for number in (0, 3):
        yield {"x": x} | {"If": {"c": np.bool_(number)}, "Loop": {"trips": np.int64(number)}}.get(
            kind, {}
        )


def inner_operators(path: Path) -> list[tuple[str, str]]:
    """Operators inside bodies, with their domains."""
    return [
        (inner.domain, inner.op_type)
        for node in onnx.load(path).graph.node
        for attribute in node.attribute
        for inner in attribute.g.node
    ]


@cases("target", ["any", "ort-kernels"])
@cases("kind", ["If", "Loop", "Scan"])
def test_bodies_are_fused(
    kind: str, target: str, tmp_path: Path, native: NativeWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def times(paths: dict[str, Path], *_: object) -> dict[str, float]:
        return {name: 1.0 if name in ("", "original", "fewer") else 0.5 for name in paths}

    for room in (operator_trials, model_times):
        monkeypatch.setattr(room, "measure_times", times)
    monkeypatch.setattr("ms_fusion.onnx.fuse.kernel_operators.measure_times", times)
    source, output = tmp_path / "source.onnx", tmp_path / "net.onnx"
    onnx.save(model(kind), source)
    ledger = auto_fuse(source, output, target=target, verify=True)
    assert not [note for note in ledger.notes if "WRONG" in note]
    assert any(note.startswith(f"inside {kind} ") for note in ledger.notes)
    assert ledger.before.bytes_moved >= ledger.environment["floor bytes"]
    inside = inner_operators(output)
    assert any(domain == "ms_fusion" for domain, _ in inside)
    assert not {op for _, op in inside} & {"Softmax", "Sigmoid", "Mul"}
    library = tmp_path / "kernels" / "libms_fusion_ort.so"
    assert library.is_file() == (target == "ort-kernels")
    for given in feeds(kind):
        (expected,) = list(native.run(source, given).outputs.values())[-1:]
        if target == "any":
            (found,) = list(native.run(output, given).outputs.values())[-1:]
            np.testing.assert_allclose(found, expected, rtol=1e-5)
        else:
            (tmp_path / "lib.so").write_bytes(library.read_bytes())
            results = run_plainly(tmp_path, given, "two threads")
            ((total, shape),) = results["two threads"]  # type: ignore[misc]
            assert shape == list(expected.shape)
            assert total == pytest.approx(np.abs(expected).sum(), rel=1e-5)
