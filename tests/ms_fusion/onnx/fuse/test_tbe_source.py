"""Generated operator files: legal for the chosen chip, readable, free of code from the model."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from ms_fusion.graph import Node
from ms_fusion.onnx.fuse import decisions
from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from ms_fusion.onnx.kernels.group_kernel import GroupKernel, build
from ms_fusion.onnx.kernels.subgraphs import fused_node
from ms_fusion.onnx.kernels.tbe_source import descriptions, write_tbe_source
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.readers.onnx_file import open_model
from ms_fusion.readers.onnx_graph import project
from tbe_impl.errors import FusionError
from tbe_impl.loading.operator import load_operator
from tests.cases import FULL, cases
from tests.ms_fusion.onnx.fuse.models import Builder, transformer_layer

SIZES = {"n": 2, "t": 5}


def several(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def manifest(place: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((place / "kernels" / "manifest.json").read_text())[
        "kernels"
    ]
    return found


def group_of(b: Builder, native: NativeWorkers, path: Path, *outputs: str) -> GroupKernel:
    model = open_model(b.save(path, *outputs))
    native.infer_shapes(model)
    graph = project(model).graph
    return build(fused_node(graph, [node.name for node in graph.nodes], "Group"))


@cases(
    "dtype, allowed",
    [
        pytest.param("FLOAT", {"cpu": 1e-6}, marks=FULL),
        ("FLOAT", {"Ascend910B": 2e-3}),
        pytest.param("FLOAT16", {"cpu": 1e-3, "Ascend910B": 4e-3}, marks=FULL),
    ],
)
def test_files_of_a_layer_compute_what_its_kernels_do(
    dtype: str,
    allowed: dict[str, float],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    full: bool,
) -> None:
    """In `make test` the DSL definition is evaluated; nothing is compiled."""
    backend = "cpu" if full else "numpy"
    # verification against ONNX Runtime is a condition of those kernels
    made: dict[str, GroupKernel] = {}
    whole = decisions.build_all

    def kept(nodes: Sequence[Node]) -> Iterator[GroupKernel | FusionError]:
        for one in whole(nodes):
            assert isinstance(one, GroupKernel)
            made[one.name] = one
            yield one

    monkeypatch.setattr(decisions, "build_all", kept)
    layer = transformer_layer(tmp_path / "layer.onnx", dtype=getattr(TensorProto, dtype))
    auto_fuse(layer, tmp_path / "fused.onnx")
    told = manifest(tmp_path)
    assert told
    for entry in told:
        assert entry["tbe"]["builds_for"] == ["Ascend910B", "cpu"]
        kernel = made[entry["name"]]
        body = kernel.node.body
        assert body is not None
        values = [body.values[name] for name in (*body.inputs, *body.outputs)]
        given = descriptions(values, lambda size: SIZES.get(size, size))
        random = np.random.default_rng(0)
        arrays = [
            random.standard_normal(one["shape"]).astype(one["dtype"])
            if str(one["dtype"]).startswith("float")
            else np.array([2, 5, 32])
            for one in given[: len(body.inputs)]
        ]
        expected = kernel.kernel(*arrays)
        for chip, most in allowed.items():
            built = load_operator(tmp_path / "kernels" / entry["tbe"]["file"]).build(
                *given, soc=chip
            )
            for one, other in zip(
                several(built(*arrays, backend=backend)), several(expected), strict=True
            ):
                np.testing.assert_allclose(one, other, rtol=most, atol=most * np.abs(other).max())


def test_lines_name_the_operators_that_they_come_from(
    native: NativeWorkers, tmp_path: Path
) -> None:
    b = Builder({"x": (2, 3)})
    source = write_tbe_source(
        group_of(b, native, tmp_path / "one.onnx", b.add("Mul", "x", b.add("Sigmoid", "x")))
    )
    lines = source.text.splitlines()
    assert "    # Sigmoid 'Sigmoid_0' -> 'v0'" in lines
    assert [one.node.name for one in source.lines] == ["Sigmoid_0"] * 4 + ["Mul_1"]
    assert [lines[one.line - 1] for one in source.lines][-2:] == [
        "    v0 = dsl.vrec(v0_3)",
        "    v1 = dsl.vmul(x, v0)",
    ]


@cases(
    "hostile",
    ['"""; import os\nos.abort()  # ', "kernel_name", "für\u2028import os", "", "a" * 999],
)
def test_names_of_the_model_are_no_code(
    hostile: str, native: NativeWorkers, tmp_path: Path
) -> None:
    b = Builder({hostile or "x": (4,), "y": (4,)})
    b.add("Add", hostile or "x", "y")
    b.nodes[0].name = hostile
    b.nodes[0].output[0] = f"{hostile}'"
    kernel = group_of(b, native, tmp_path / "one.onnx", b.add("Relu", f"{hostile}'"))
    source = write_tbe_source(kernel)
    assert source.text.isascii()
    assert all(len(line) < 300 for line in source.text.splitlines())
    assert [type(one).__name__ for one in ast.parse(source.text).body] == [
        "Expr",
        "ImportFrom",
        "ImportFrom",
        "FunctionDef",
        "FunctionDef",
    ]
    file = tmp_path / "one.py"
    file.write_text(source.text)
    body = kernel.node.body
    assert body is not None
    values = [body.values[name] for name in (*body.inputs, *body.outputs)]
    built = load_operator(file).build(*descriptions(values, int), soc="Ascend910A")
    x = np.arange(-2, 2, dtype=np.float32)
    np.testing.assert_array_equal(built(x, x, backend="numpy"), np.maximum(x + x, 0))


def test_what_no_chip_takes_is_told_with_its_reason(tmp_path: Path) -> None:
    b = Builder({"x": (64, 64), "y": (64, 64)}, TensorProto.DOUBLE)
    b.save(tmp_path / "net.onnx", b.add("Relu", b.add("Sub", b.add("Mul", "x", "y"), "x")))
    auto_fuse(tmp_path / "net.onnx", tmp_path / "fused.onnx")
    (entry,) = manifest(tmp_path)
    assert entry["tbe"]["builds_for"] == ["cpu"]
    assert "float64" in entry["tbe"]["refused"]


def test_debugging_maps_lines_of_both_codes_to_nodes(tmp_path: Path) -> None:
    b = Builder({"x": (64, 64)})
    b.save(tmp_path / "net.onnx", b.add("Softmax", b.add("Mul", "x", b.add("Sigmoid", "x"))))
    b.nodes[0].name = '*/ system("x"); /*'
    b.save(tmp_path / "net.onnx", "v2")
    auto_fuse(tmp_path / "net.onnx", tmp_path / "fused.onnx", debug=True)
    (entry,) = manifest(tmp_path)
    place = tmp_path / "kernels"
    lines = json.loads((place / entry["lines"]).read_text())
    for kind, file in (("c", entry["c"]), ("tbe", entry["tbe"]["file"])):
        assert set(lines[kind].values()) == {b.nodes[0].name, "Mul_1", "Softmax_2"}
        text = (place / file).read_text().splitlines()
        assert all(
            "=" in text[int(line) - 1] or "store" in text[int(line) - 1] for line in lines[kind]
        )
    code = (place / entry["c"]).read_text()
    assert "/* Sigmoid '* / system(" in code
    plain = re.sub(r" /\* (Sigmoid|Mul|Softmax) .*? \*/$", "", code, flags=re.M)
    auto_fuse(tmp_path / "net.onnx", tmp_path / "fused.onnx")
    assert (place / entry["c"]).read_text() == plain
    assert not list(place.glob("*.lines.json"))
