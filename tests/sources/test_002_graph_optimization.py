"""Document 002: operator graphs, lowered Gemm and convolution, fused product, bias and ReLU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from custom_ops import MatMulBiasReLU
from ms_fusion.cli import main as cli
from ms_fusion.devices import device
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from tbe_impl.errors import InputError
from tests.cases import cases
from tests.ms_fusion.mindspore.presets.mindspore_child import ROOT, run
from tests.ms_fusion.onnx.fuse.models import Builder


def test_a_graph_is_nodes_edges_inputs_outputs() -> None:
    """With two edges between the same operators, which a reader must distinguish."""
    values = {name: Value(name, (4,), "float32") for name in ("x", "a", "y")}
    nodes = (Node("relu", "ReLU", ("x",), ("a",)), Node("mul", "Mul", ("a", "a"), ("y",)))
    graph = Graph("main", nodes, values, ("x",), ("y",))
    assert [(edge.producer, edge.consumer) for edge in graph.edges] == [("relu", "mul")] * 2
    assert (len(graph.nodes), graph.inputs, graph.outputs) == (2, ("x",), ("y",))


def operators_of(path: Path) -> list[str]:
    model = onnx.load(path)
    return [node.op_type for graph in (model.graph, *model.functions) for node in graph.node]


def test_gemm_is_decomposed_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a bias, with one, and with all attributes."""
    b = Builder({"x": (8, 4)})
    made = b.add("Gemm", "x", b.weight(4, 6), b.weight(6))
    made = b.add("Gemm", made, b.weight(6, 5))
    turned = {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}
    made = b.add("Gemm", made, b.weight(7, 8), b.weight(5, 7), **turned)
    source, output = b.save(tmp_path / "net.onnx", made), tmp_path / "lowered.onnx"
    arguments = ["--input", source, "--output", output, "--opt-level", "0", "--verify"]
    assert cli.run(["fuse", *map(str, arguments), "--lower", "Gemm"]) == 0
    said = capsys.readouterr().out
    for place, how in enumerate((" and a sum", "", " and a sum")):
        assert f"lowered as asked: Gemm_{place} is a matrix product{how}\n" in said
    operators = operators_of(output)
    assert [operators.count(one) for one in ("Gemm", "MatMul", "Add")] == [0, 3, 2]
    assert "WRONG" not in said


def test_a_convolution_becomes_im2col_and_a_product(tmp_path: Path) -> None:
    b = Builder({"x": (2, 3, 8, 8)})
    made = b.add("Conv", "x", b.weight(4, 3, 3, 3), b.weight(4), pads=[1, 1, 1, 1])
    b.nodes[-1].name = ""  # a note names its result then
    source, output = b.save(tmp_path / "net.onnx", b.add("Relu", made)), tmp_path / "lowered.onnx"
    ledger = auto_fuse(source, output, lower=["Conv"], opt_level=0, verify=True)
    (note,) = [one for one in ledger.notes if "lowered" in one]
    assert note == f"lowered as asked: {made} is 9 windows side by side and a matrix product"
    operators = operators_of(output)
    assert "Conv" not in operators and operators.count("MatMul") == 1
    assert ledger.output_max_abs is not None and ledger.output_max_abs < 1e-5


DEVICE = {
    "bandwidth_bytes_per_s": 1e11,
    "flops_per_s": 1e12,
    "launch_us": 2.5,
    "on_chip_bytes": 65536,
}


def test_a_device_of_ones_own_is_described_in_a_file(tmp_path: Path) -> None:
    chip = tmp_path / "chip.json"
    chip.write_text(json.dumps(DEVICE | {"lacks": ["Conv"]}))
    b = Builder({"x": (2, 3, 8, 8)})
    source = b.save(tmp_path / "net.onnx", b.add("Relu", b.add("Conv", "x", b.weight(4, 3, 3, 3))))
    output = tmp_path / "lowered.onnx"
    ledger = auto_fuse(source, output, device_name=str(chip))
    assert ledger.environment["device"] == "chip"
    assert any("9 windows side by side" in note for note in ledger.notes)
    assert "Conv" not in operators_of(output)


@cases(
    "change, message",
    [
        ({"launch_us": None}, "Expected `float`, got `null`"),
        ({"flops_per_s": 0}, "not above 0"),
        ({"colour": "red"}, "colour is not an attribute of a device"),
        ({"name": "ascend910b"}, "the name ascend910b, which is known"),
    ],
)
def test_a_wrong_description_is_refused(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    chip = tmp_path / "chip.json"
    chip.write_text(json.dumps(DEVICE | change))
    with pytest.raises(
        InputError, match=rf"chip.json: this is not the description of a device.*{message}"
    ):
        device(str(chip))


def test_what_is_not_lowered_is_said_by_name() -> None:
    with pytest.raises(InputError, match="lower: unknown operator; expected Conv or Gemm, got 'R"):
        auto_fuse("net.onnx", dry_run=True, lower="Gemm,Relu")


def test_matmul_bias_relu_is_one_operator() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((5, 8)).astype(np.float32)
    op = MatMulBiasReLU(8, 6)
    weight, bias = op.weight.asnumpy(), op.bias.asnumpy()
    made = op.forward(x)
    want = np.maximum(x.astype(np.float64) @ weight.T + bias, 0)
    np.testing.assert_allclose(made, want, rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    program = ROOT / "tests" / "programs" / "sources" / "matmul_bias_relu.py"
    return run(program, tmp_path_factory.mktemp("matmul") / "work").result


@pytest.mark.mindspore
def test_nan_stays_nan_behind_relu(seen: dict[str, Any]) -> None:
    assert seen["close"] and seen["nan rows"] == [1]


@pytest.mark.mindspore
def test_the_ledger_counts_what_is_written_twice(seen: dict[str, Any]) -> None:
    """oneDNN adds the bias; relu is a separate pass, so that NaN stays NaN."""
    assert seen["steps"] == [["onednn", ["MatMul", "Add", "Maximum"], seen["result bytes"]]]
    assert seen["bytes written"] == 2 * seen["result bytes"]
    assert seen["writes"] == pytest.approx(2)
    assert "by oneDNN (relu in a second pass)" in seen["text"]
    assert seen["unfused writes"] == 3 and seen["bytes after"] < seen["bytes before"]


@pytest.mark.mindspore
def test_a_product_with_bias_alone_is_written_once(seen: dict[str, Any]) -> None:
    assert seen["bias alone"] == [["onednn", ["MatMul", "Add"], 0]]
