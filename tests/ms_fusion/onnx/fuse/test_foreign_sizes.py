"""Groups around operators whose result size depends on a value outside the group."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from ms_fusion.onnx.fuse.unknown_size_split import split_at_unknown_sizes
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.rewrite import Candidate
from tests.cases import cases
from tests.ms_fusion.onnx.fuse.models import Builder

SHAPES = {
    "x": (1, 8),
    "y": ("m", 8),
    "sizes": (2,),
    "a": (1, 8),
    "b": (1, 8),
    "e": ("m", 8),
    "c": ("m", 8),
    "d": ("m", 8),
    "r": ("p", "q"),
    "s": ("p", "q"),
}


def cut(*nodes: tuple[str, str, tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The remaining operators of one group (name, type, inputs); each produces a value of its own
    name.
    """
    made = tuple(Node(name, op, inputs, (name,)) for name, op, inputs in nodes)
    values = {name: Value(name, shape, "float32", "input") for name, shape in SHAPES.items()}
    graph = Graph("g", made, values, ("x", "y", "sizes"), (nodes[-1][0],))
    whole = Candidate("Cluster", "intra-operator", tuple(name for name, _, _ in nodes))
    return [one.nodes for one in split_at_unknown_sizes([whole, whole], graph)]


BEFORE = (("a", "Exp", ("x",)), ("b", "Neg", ("a",)))


def test_a_group_is_cut_where_a_size_comes_from_elsewhere() -> None:
    e = ("e", "BroadcastTo", ("b", "sizes"))
    behind = (("c", "Exp", ("e",)), ("d", "Neg", ("c",)))
    assert cut(*BEFORE, e, *behind) == [("a", "b"), ("c", "d")]
    assert cut(e, behind[0]) == []


def test_a_size_that_is_read_is_known() -> None:
    nodes = (*BEFORE, ("e", "BroadcastTo", ("b", "sizes")), ("c", "Add", ("e", "y")))
    assert cut(*nodes) == [("a", "b", "e", "c")]


def test_what_is_left_is_cut_again() -> None:
    nodes = (
        *BEFORE,
        ("r", "Reshape", ("y", "sizes")),
        ("s", "Exp", ("r",)),
        ("e", "BroadcastTo", ("b", "sizes")),
    )
    assert cut(*nodes) == [("a", "b")]


@cases("rows", [1, 5])
def test_what_stands_around_an_expansion_is_fused(
    rows: int, native: NativeWorkers, tmp_path: Path
) -> None:
    b = Builder({"x": (1, 8), "y": ("m", 8)})
    row = b.add("Neg", b.add("Exp", b.add("Mul", "x", b.weight(8))))
    wide = b.add("Expand", row, b.add("Shape", "y"))
    source = b.save(
        tmp_path / "model.onnx", b.add("Neg", b.add("Exp", b.add("Mul", wide, b.weight(8))))
    )
    ledger = auto_fuse(source, tmp_path / "fused.onnx", assume={"m": 4096})
    assert {one.operators for one in ledger.kernels} == {("Mul", "Exp", "Neg")}
    assert not [one for one in ledger.rejected if "size" in one.reason]
    given = {"x": np.ones((1, 8), np.float32), "y": np.ones((rows, 8), np.float32)}
    (expected,), (found,) = (
        native.run(tmp_path / name, given).outputs.values() for name in ("model.onnx", "fused.onnx")
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5)
