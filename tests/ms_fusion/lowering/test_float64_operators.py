"""MindSpore's narrowing casts around float64 operators are removed, the user's casts stay."""

from __future__ import annotations

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.lowering.float64_operators import widen_to_float64
from tests.cases import cases


def narrowed(given: str, made: str) -> Graph:
    """Cast, Softplus, Cast of float64 with these dtypes between the Casts."""
    dtypes = {"x": "float64", "a": given, "b": made, "y": "float64"}
    nodes = (
        Node("down", "Cast", ("x",), ("a",)),
        Node("softplus", "Softplus", ("a",), ("b",)),
        Node("up", "Cast", ("b",), ("y",)),
    )
    values = {name: Value(name, (4,), dtype) for name, dtype in dtypes.items()}
    return Graph("main", nodes, values, ("x",), ("y",))


@cases(
    "given, made, operators",
    [
        ("float32", "float32", ["Softplus"]),
        ("float16", "float16", ["Cast", "Softplus", "Cast"]),
        ("bfloat16", "bfloat16", ["Cast", "Softplus", "Cast"]),
        ("float16", "float32", ["Cast", "Softplus", "Cast"]),
        ("float32", "float16", ["Cast", "Softplus", "Cast"]),
    ],
)
def test_only_float32_between_casts_is_undone(given: str, made: str, operators: list[str]) -> None:
    graph = widen_to_float64(narrowed(given, made))
    assert [node.op for node in graph] == operators
    assert (graph.inputs, graph.outputs) == (("x",), ("y",))
