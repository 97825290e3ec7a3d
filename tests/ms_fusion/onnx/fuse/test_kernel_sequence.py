"""A group as a kernel sequence equals its single kernel and its separate operators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ms_fusion.onnx.fuse.verification import difference, sample
from ms_fusion.onnx.kernels.group_kernel import build
from ms_fusion.onnx.kernels.kernel_sequence import (
    build_sequence,
    kernel_graphs,
    rewrite_for_library,
)
from ms_fusion.onnx.kernels.subgraphs import fused_node
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.readers.onnx_file import open_model
from ms_fusion.readers.onnx_graph import project, substitute_sizes
from tests.cases import FULL, cases
from tests.ms_fusion.onnx.fuse.models import Builder

SIZES = {"n": 2}


def linear(b: Builder, x: str) -> str:
    return b.add("Relu", b.add("Add", b.add("MatMul", x, b.weight(8, 8)), b.weight(8)))


def residual(b: Builder, x: str) -> str:
    return b.add(
        "Sigmoid", b.add("Add", b.add("Gemm", x, b.weight(8, 8), b.weight(8), transB=1), x)
    )


def attention(b: Builder, x: str) -> str:
    scores = b.add("MatMul", x, b.add("Transpose", x, perm=[1, 0]))
    return b.add("MatMul", b.add("Softmax", scores, axis=-1), x)


def image(b: Builder, x: str) -> str:
    x = b.add("Reshape", x, b.constant([0, 2, 2, 2], "int64"))
    return b.add(
        "Relu",
        b.add("Add", b.add("Conv", x, b.weight(2, 2, 2, 2), b.weight(2), auto_pad="SAME_UPPER"), x),
    )


def scaled(b: Builder, x: str) -> str:
    return b.add("Gemm", x, b.weight(8, 4), b.weight(1), alpha=0.5)


@cases(
    "net, kernels, apart",
    [
        pytest.param(linear, 1, 3, marks=FULL),
        (residual, 2, 3),
        pytest.param(attention, 4, 4, marks=FULL),
        (image, 2, 3),
        (scaled, 1, 1),
    ],
)
def test_a_row_of_kernels(
    net, kernels: int, apart: int, native: NativeWorkers, tmp_path: Path
) -> None:
    b = Builder({"x": ("n", 8)})
    model = open_model(b.save(tmp_path / "net.onnx", net(b, "x")))
    native.infer_shapes(model)
    graph = project(model).graph
    node = fused_node(graph, [one.name for one in graph.nodes], "Group")
    row, alone = build_sequence(node, SIZES), build_sequence(node, SIZES, apart=True)
    assert (len(row.steps), len(alone.steps)) == (kernels, apart)
    known = substitute_sizes(node.body, SIZES)
    assert len(kernel_graphs(known)) == kernels
    given = [sample(known.values[name], {}) for name in known.inputs]
    expected = build(node).kernel(*given)
    for found in (row(*given), alone(*given)):
        assert difference("y", np.asarray(expected), found).agrees


def test_a_convolution_with_too_few_pads_is_not_the_librarys(tmp_path: Path) -> None:
    b = Builder({"x": (1, 2, 4, 4)})
    x = b.add("Relu", b.add("Conv", "x", b.weight(2, 2, 3, 3), pads=[1]))
    graph = project(open_model(b.save(tmp_path / "net.onnx", x))).graph
    node = fused_node(graph, [one.name for one in graph.nodes], "Group")
    assert node.body is not None
    assert [one.op for one in rewrite_for_library(node.body)] == ["Conv", "ReLU"]
