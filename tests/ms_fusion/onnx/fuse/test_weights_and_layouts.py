"""Clean-up of weights and layouts: folded parts, merged products, reshapes, exported attention."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx

from ms_fusion.onnx.cell.model_graph import read_model
from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from ms_fusion.onnx.native.child import NativeWorkers
from tests.cases import cases
from tests.ms_fusion.onnx.fuse.models import Builder

WIDTH, HEADS, TOKENS = 128, 4, 6


def integers(b: Builder, *values: int) -> str:
    return str(b.constant(list(values), "int64"))


def reordered_gates(b: Builder) -> str:
    """The gates of an LSTM in another order, as torch exports them: 128 KiB of weights."""
    whole = b.weight(4 * WIDTH, WIDTH // 2)
    parts = [
        b.add("Slice", whole, *(integers(b, n) for n in (first, first + WIDTH, 0)))
        for first in (0, 3 * WIDTH, WIDTH, 2 * WIDTH)
    ]
    turned = b.add("Transpose", b.add("Concat", *parts, axis=0), perm=[1, 0])
    return str(b.add("MatMul", b.add("Slice", "x", *(integers(b, n) for n in (0, 64, 2))), turned))


def shared_products(b: Builder, *, bias: bool, count: int = 3) -> str:
    made = [b.add("MatMul", "x", b.weight(WIDTH, 16 * (n + 1))) for n in range(count)]
    if bias:
        made = [b.add("Add", one, b.weight(16 * (n + 1))) for n, one in enumerate(made)]
    return str(b.add("Concat", *(b.add("Tanh", one) for one in made), axis=-1))


def one_head(b: Builder) -> str:
    """Splits off one head and joins it again: no element moves."""
    apart = b.add("Reshape", "x", integers(b, 0, 0, 1, WIDTH))
    turned = b.add(
        "Transpose", b.add("Exp", b.add("Transpose", apart, perm=[0, 2, 1, 3])), perm=[0, 2, 1, 3]
    )
    return str(b.add("Reshape", turned, integers(b, 0, 0, WIDTH)))


def reshaped_result(b: Builder) -> str:
    return str(b.add("Reshape", b.add("Exp", "x"), integers(b, 1, TOKENS, WIDTH)))


def exported_attention(b: Builder) -> str:
    """nn.MultiheadAttention with batch_first, as torch 2.13 exports it for a batch of 1."""
    size = WIDTH // HEADS
    x = b.add("Transpose", "x", perm=[1, 0, 2])
    linear = b.add("Add", b.add("MatMul", x, b.weight(WIDTH, 3 * WIDTH)), b.weight(3 * WIDTH))
    view = b.add(
        "Unsqueeze", b.add("Reshape", linear, integers(b, TOKENS, 1, 3, WIDTH)), integers(b, 0)
    )
    stack = b.add("Squeeze", b.add("Transpose", view, perm=[3, 1, 2, 0, 4]), integers(b, -2))
    q, k, v = (
        b.add(
            "Reshape",
            b.add("Gather", stack, b.constant(n, "int64"), axis=0),
            integers(b, TOKENS, HEADS, size),
        )
        for n in range(3)
    )
    q = b.add("Mul", b.add("Transpose", q, perm=[1, 0, 2]), b.constant(size**-0.5, "float32"))
    scores = b.add("MatMul", q, b.add("Transpose", k, perm=[1, 2, 0]))
    mixed = b.add(
        "MatMul", b.add("Softmax", scores, axis=-1), b.add("Transpose", v, perm=[1, 0, 2])
    )
    flat = b.add("Reshape", b.add("Transpose", mixed, perm=[1, 0, 2]), integers(b, TOKENS, WIDTH))
    out = b.add("Gemm", flat, b.weight(WIDTH, WIDTH), b.weight(WIDTH))
    return str(
        b.add("Transpose", b.add("Reshape", out, integers(b, TOKENS, 1, WIDTH)), perm=[1, 0, 2])
    )


NETS: dict[str, tuple[Callable[[Builder], str], list[str]]] = {
    "reordered gates": (reordered_gates, ["Slice", "MatMul"]),
    "products": (
        lambda b: shared_products(b, bias=False),
        ["MatMul", "Split", *["Tanh"] * 3, "Concat"],
    ),
    "products with biases": (
        lambda b: shared_products(b, bias=True),
        ["MatMul", "Add", "Split", *["Tanh"] * 3, "Concat"],
    ),
    "two products": (
        lambda b: shared_products(b, bias=False, count=2),
        ["MatMul", "Tanh", "MatMul", "Tanh", "Concat"],
    ),
    "one head": (one_head, ["Reshape", "Exp", "Reshape"]),
    "reshaped result": (reshaped_result, ["Exp"]),
    "exported attention": (
        exported_attention,
        (
            "MatMul Add Split Reshape Transpose Mul Reshape Transpose MatMul Softmax "
            "Reshape Transpose MatMul Transpose Reshape Gemm Reshape"
        ).split(),
    ),
}


@cases("order", [(3, 2), (2, 3)])
def test_transposed_keys_of_a_dynamic_batch(
    order: tuple[int, int], tmp_path: Path, native: NativeWorkers
) -> None:
    """torch merges batch and heads, transposes, and separates them; other reshapes stay."""
    b = Builder({"x": ("n", HEADS, TOKENS, 32)})
    shape = b.add("Shape", "x", start=0)
    first = b.add("Slice", shape, integers(b, -(2**63)), integers(b, -2))
    sizes = {
        axis: b.add("Slice", shape, *(integers(b, n) for n in (axis, axis + 1))) for axis in (2, 3)
    }
    merged = b.add("Concat", integers(b, -1), sizes[2], sizes[3], axis=0)
    turned = b.add("Transpose", b.add("Reshape", "x", merged), perm=[0, 2, 1])
    apart = b.add("Concat", first, *(sizes[axis] for axis in order), axis=0)
    source = b.save(tmp_path / "net.onnx", b.add("Exp", b.add("Reshape", turned, apart)))
    output = tmp_path / "clean.onnx"
    auto_fuse(source, output, opt_level=0)
    made = [node.op_type for node in onnx.load(output).graph.node]
    assert (made == ["Transpose", "Exp"]) == (order == (3, 2))
    x = np.random.default_rng(0).standard_normal((5, HEADS, TOKENS, 32)).astype(np.float32)
    (expected,), (found,) = (native.run(one, {"x": x}).outputs.values() for one in (source, output))
    np.testing.assert_array_equal(found, expected)


@cases("net, wanted", list(NETS.values()), ids=list(NETS))
def test_clean_up_leaves_the_expected_operators(
    net: Callable[[Builder], str], wanted: list[str], tmp_path: Path, native: NativeWorkers
) -> None:
    """The same results, no larger file, no initializer that nothing reads."""
    b = Builder({"x": (1, TOKENS, WIDTH)})
    source, output = b.save(tmp_path / "net.onnx", net(b)), tmp_path / "clean.onnx"
    auto_fuse(source, output, opt_level=0)
    made = onnx.load(output)
    assert sorted(node.op_type for node in made.graph.node) == sorted(wanted)
    read = {name for node in made.graph.node for name in node.input}
    assert {one.name for one in made.graph.initializer} <= read
    assert output.stat().st_size < source.stat().st_size * 1.02 + 2048
    x = np.random.default_rng(0).standard_normal((1, TOKENS, WIDTH)).astype(np.float32)
    (expected,), (found,) = (native.run(one, {"x": x}).outputs.values() for one in (source, output))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_exported_attention_becomes_an_operator_of_the_runtime(
    tmp_path: Path, native: NativeWorkers
) -> None:
    b = Builder({"x": (1, TOKENS, WIDTH)})
    source, output = b.save(tmp_path / "net.onnx", exported_attention(b)), tmp_path / "mapped.onnx"
    ledger = auto_fuse(source, output, target="ort", verify=True, force=True)
    tried = [one for one in (*ledger.kernels, *ledger.rejected) if "Softmax" in one.operators]
    assert tried
    reasons = " ".join(getattr(one, "reason", "") for one in tried)
    assert "layout" not in reasons
    assert "turned over" not in reasons


def test_a_cell_keeps_its_parameters(tmp_path: Path) -> None:
    """`from_onnx` merges and folds no weights, so that their names stay."""
    b = Builder({"x": (1, TOKENS, WIDTH)})
    source = b.save(tmp_path / "net.onnx", shared_products(b, bias=True))
    found = read_model(source)
    assert {one.name for one in b.weights} <= found.tensors.keys()


def test_a_weight_that_something_else_reads_stays(tmp_path: Path) -> None:
    b = Builder({"x": (1, TOKENS, WIDTH)})
    weight = b.weight(WIDTH, WIDTH)
    product = b.add("MatMul", "x", b.add("Transpose", weight, perm=[1, 0]))
    source = b.save(tmp_path / "net.onnx", b.add("Add", product, b.add("MatMul", "x", weight)))
    auto_fuse(source, tmp_path / "clean.onnx", opt_level=0)
    made = onnx.load(tmp_path / "clean.onnx").graph
    assert [node.op_type for node in made.node] == ["Transpose", "MatMul", "MatMul", "Add"]
