"""Memory reports exclude values inside a fused kernel."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ms_fusion import cost
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ledger import Ledger
from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from tests.cases import cases
from tests.ms_fusion.onnx.fuse.models import Builder, convolutional_net, transformer_layer

TENSOR = 256 * 256 * 4
ROW = 256 * 4


def sum_and_product(path: Path) -> Path:
    """(x + r) · scale: one intermediate value."""
    b = Builder({"x": (256, 256), "r": (256, 256)})
    return b.save(path, b.add("Mul", b.add("Add", "x", "r"), b.weight(256)))


def with_two_results(path: Path) -> Path:
    """The intermediate is a result as well."""
    b = Builder({"x": (256, 256), "r": (256, 256)})
    inside = b.add("Add", "x", "r")
    return b.save(path, inside, b.add("Mul", inside, b.weight(256)))


@cases(
    "model, before, after",
    [
        (sum_and_product, 4 * TENSOR + ROW, 3 * TENSOR + ROW),
        (with_two_results, 4 * TENSOR + ROW, 4 * TENSOR + ROW),
    ],
)
def test_the_peak_of_a_group_is_what_lies_around_it(  # type: ignore[no-untyped-def]
    model, before: int, after: int
) -> None:
    with tempfile.TemporaryDirectory() as place:
        ledger = auto_fuse(model(Path(place) / "model.onnx"), dry_run=True)
    assert [kernel.operators for kernel in ledger.kernels] == [("Add", "Mul")]
    peaks = ledger.before.peak_memory_bytes, ledger.after.peak_memory_bytes
    assert peaks == (before, after)


def peak_by_hand(ledger: Ledger) -> int:
    """Inputs and weights, and for each node the values that are still needed, recomputed for each
    node.
    """
    graph = ledger.after.graph
    given = sum(graph.values[name].bytes for name in graph.inputs)
    most = given
    for place, _ in enumerate(graph.nodes):
        made = {name for node in graph.nodes[: place + 1] for name in node.outputs}
        read = {name for node in graph.nodes[place:] for name in node.inputs}
        alive = made & (read | {*graph.outputs} | {*graph.nodes[place].outputs})
        most = max(most, given + sum(graph.values[name].bytes for name in alive))
    return most


@cases("model", [transformer_layer, convolutional_net])
def test_the_peak_of_a_model_is_counted_from_what_is_in_memory(  # type: ignore[no-untyped-def]
    model,
) -> None:
    with tempfile.TemporaryDirectory() as place:
        ledger = auto_fuse(
            model(Path(place) / "model.onnx"), dry_run=True, assume={"n": 4, "t": 64}
        )
    assert ledger.kernels
    assert ledger.after.peak_memory_bytes <= peak_by_hand(ledger)
    assert ledger.after.peak_memory_bytes < ledger.before.peak_memory_bytes
    inside = {
        name for kernel in ledger.kernels for node in kernel.body_graph for name in node.outputs
    }
    handed_out = {value.name for kernel in ledger.kernels for value in kernel.outputs}
    assert not (inside - handed_out) & ledger.after.graph.values.keys()


def test_a_result_that_nobody_makes_is_none() -> None:
    """Breaks the report by adding the values of a body to those of the graph."""
    values = {name: Value(name, (64,), "float32") for name in "xaby"}
    values["w"] = Value("w", (64,), "float32", "parameter")
    body = Graph(
        "body",
        (Node("n", "Neg", ("x",), ("a",)), Node("e", "Exp", ("a",), ("y",))),
        values,
        ("x",),
        ("y",),
    )
    graph = Graph("g", (Node("k", "Fused", ("x",), ("y",), body=body),), values, ("x",), ("y",))
    assert cost.peak_memory_bytes(graph) == 3 * 256
