"""Equal groups share a kernel; every semantic difference separates them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from ms_fusion.graph import Node
from ms_fusion.onnx.fuse import decisions
from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from ms_fusion.onnx.fuse.equal_groups import retarget_kernel, signature
from ms_fusion.onnx.kernels.group_kernel import build
from ms_fusion.onnx.kernels.subgraphs import fused_node
from ms_fusion.onnx.kernels.tbe_source import write_tbe_source
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.readers.onnx_file import open_model
from ms_fusion.readers.onnx_graph import project
from tests.cases import FULL, cases
from tests.ms_fusion.onnx.fuse.models import FLOAT, Builder


def net(
    x: str = "x",
    *,
    rows: int | str = "n",
    dtype: int = FLOAT,
    first: str = "Mul",
    axis: int = -1,
    number: float = 0.5,
    seed: int = 3,
    turned: bool = False,
    both: bool = False,
    width: int = 8,
) -> tuple[Builder, list[str]]:
    """A sum, scaled, gated and normalised."""
    b = Builder({x: (rows, width)}, dtype)
    b.random = np.random.default_rng(seed)
    scaled = b.add(
        first, x, b.constant(np.asarray(number, np.float32 if dtype == FLOAT else np.float16))
    )
    total = b.add("Sub", *((b.weight(width), scaled) if turned else (scaled, b.weight(width))))
    result = b.add("Softmax", total, axis=axis)
    return b, [result, total] if both else [result]


def group(place: Path, made: tuple[Builder, list[str]], native: NativeWorkers) -> Node:
    builder, outputs = made
    model = open_model(builder.save(place / "net.onnx", *outputs))
    native.infer_shapes(model)
    graph = project(model).graph
    return fused_node(graph, [node.name for node in graph.nodes], "Group")


def key(place: Path, made: tuple[Builder, list[str]], native: NativeWorkers) -> str:
    body = group(place, made, native).body
    assert body is not None
    return signature(body)


@cases("same", [{"x": "y"}, {"rows": "batch"}, {"seed": 4}], ids=str)
def test_names_unknown_sizes_and_weights_make_no_difference(
    same: dict[str, Any], native: NativeWorkers, tmp_path: Path
) -> None:
    assert key(tmp_path, net(**same), native) == key(tmp_path, net(), native)


@cases(
    "other",
    [
        {"rows": 4},
        {"width": 9},
        {"dtype": TensorProto.FLOAT16},
        {"first": "Div"},
        {"axis": 0},
        {"number": 0.25},
        {"number": -0.0},
        {"turned": True},
        {"both": True},
    ],
    ids=str,
)
def test_a_difference_in_the_computation_changes_the_key(
    other: dict[str, Any], native: NativeWorkers, tmp_path: Path
) -> None:
    base = {"number": 0.0} if other == {"number": -0.0} else {}
    assert key(tmp_path, net(**other), native) != key(tmp_path, net(**base), native)


def test_a_kernel_handed_on_is_the_one_that_would_be_built(
    native: NativeWorkers, tmp_path: Path
) -> None:
    first, other = (
        group(tmp_path, net(name, rows=rows), native) for name, rows in (("x", "n"), ("z", "m"))
    )
    assert (
        write_tbe_source(retarget_kernel(build(first), other)).text
        == write_tbe_source(build(other)).text
    )


def layers(path: Path, count: int, widths: Callable[[int], int]) -> Path:
    b = Builder({"x": ("n", widths(0))})
    x = "x"
    for number in range(count):
        inner = b.add(
            "Add",
            b.add("MatMul", x, b.weight(widths(number), widths(number + 1))),
            b.weight(widths(number + 1)),
        )
        x = b.add("Softmax", b.add("Mul", inner, b.add("Sigmoid", inner)), axis=-1)
    return b.save(path, x)


# the test above covers other widths
@cases(
    "widths, kernels",
    [(lambda number: 8, 1), pytest.param(lambda number: 8 + number, 3, marks=FULL)],
)
def test_layers_that_are_alike_are_built_and_proved_once(
    widths: Callable[[int], int], kernels: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proved: list[str] = []
    check = decisions.check_group

    def counted(kernel: Any, *rest: Any) -> Any:
        proved.append(kernel.name)
        return check(kernel, *rest)

    monkeypatch.setattr(decisions, "check_group", counted)
    place = tmp_path / f"{kernels} kernels"
    place.mkdir()
    source, output = layers(place / "net.onnx", 3, widths), place / "fused.onnx"
    ledger = auto_fuse(source, output, verify=True, fusion_rules="Cluster")
    assert len(ledger.kernels) == 3
    assert len(proved) == kernels
    assert ledger.output_max_abs is not None
    assert ledger.output_max_abs < 1e-6
    told = json.loads((place / "kernels" / "manifest.json").read_text())["kernels"]
    assert len(told) == kernels == len(list((place / "kernels").glob("*.c")))
    groups = [tuple(names) for one in told for names in one["groups"]]
    assert sorted(groups) == sorted(kernel.nodes for kernel in ledger.kernels)
    assert len(onnx.load(output).functions) == kernels
