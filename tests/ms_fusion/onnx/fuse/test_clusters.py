"""Groups of the general search: convex, maximal in simple cases, in linear time."""

from __future__ import annotations

import random

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.onnx.kernels.clusters import (
    MAX_NODES,
    PREFIX_NODES_MAX,
    find_clusters,
    find_epilogues,
    find_siblings,
)
from ms_fusion.onnx.kernels.subgraphs import fused_node, is_convex, order_of
from tests.cases import cases


def graph_of(*nodes: tuple[str, str, tuple[str, ...]], outputs: tuple[str, ...] = ()) -> Graph:
    """Operators (name, type, inputs); each produces a value of its own name."""
    made = tuple(Node(name, op, inputs, (name,)) for name, op, inputs in nodes)
    names = {"x", "w", *(name for name, _, _ in nodes)}
    values = {
        name: Value(name, (8, 8), "float32", "input" if name in "xw" else "result")
        for name in names
    }
    return Graph("g", made, values, ("x", "w"), outputs or (nodes[-1][0],))


def found(graph: Graph) -> list[tuple[str, ...]]:
    return [one.nodes for one in find_clusters(graph, lambda node: node.op != "Opaque")]


def test_a_chain_is_one_group() -> None:
    graph = graph_of(("a", "Relu", ("x",)), ("b", "Exp", ("a",)), ("c", "Add", ("b", "x")))
    assert found(graph) == [("a", "b", "c")]


def test_what_stands_between_keeps_two_groups_apart() -> None:
    graph = graph_of(
        ("a", "Relu", ("x",)),
        ("b", "Exp", ("a",)),
        ("p", "MatMul", ("b", "w")),
        ("c", "Add", ("p", "b")),
        ("d", "Exp", ("c",)),
    )
    assert found(graph) == [("a", "b"), ("c", "d")]


def test_two_branches_that_meet_are_one_group() -> None:
    graph = graph_of(("a", "Relu", ("x",)), ("b", "Exp", ("w",)), ("c", "Add", ("a", "b")))
    assert found(graph) == [("a", "b", "c")]


@cases("seed", range(30))
def test_every_group_of_a_random_graph_can_run_at_one_time(seed: int) -> None:
    rng = random.Random(seed)
    names, nodes = ["x", "w"], []
    for number in range(40):
        op = rng.choice(["Relu", "Exp", "Add", "Add", "MatMul", "Opaque"])
        count = 1 if op in ("Relu", "Exp") else 2
        nodes.append((f"n{number}", op, tuple(rng.choice(names[-8:]) for _ in range(count))))
        names.append(f"n{number}")
    graph = graph_of(*nodes)
    order = order_of(graph)
    groups = found(graph)
    assert groups
    seen = [name for group in groups for name in group]
    assert len(seen) == len(set(seen))
    for group in groups:
        assert is_convex(graph, group, order)
    for one in find_epilogues(graph, lambda node: node.op != "Opaque"):
        assert graph.node(one.nodes[0]).op == "MatMul"
        assert is_convex(graph, one.nodes, order)


def test_an_epilogue_grows_from_its_product() -> None:
    graph = graph_of(
        ("p", "MatMul", ("x", "w")),
        ("a", "Add", ("p", "w")),
        ("s", "Sigmoid", ("a",)),
        ("m", "Mul", ("a", "s")),
    )
    assert [one.nodes for one in find_epilogues(graph, lambda node: True)] == [
        ("p", "a"),
        ("p", "a", "s", "m"),
    ]


def test_a_long_epilogue_begins_before_each_reduction() -> None:
    ops = ["Softmax" if n == 30 else "Relu" for n in range(60)]
    graph = graph_of(
        ("n", "MatMul", ("x", "w")),
        *((f"n{n}", op, (f"n{n - 1}" if n else "n",)) for n, op in enumerate(ops)),
    )
    lengths = [len(one.nodes) for one in find_epilogues(graph, lambda node: True)]
    assert lengths == [*range(2, PREFIX_NODES_MAX + 1), 31, 61]


def test_products_of_one_value_are_siblings() -> None:
    graph = graph_of(
        ("p", "MatMul", ("x", "w")),
        ("q", "MatMul", ("x", "w")),
        ("r", "MatMul", ("p", "w")),
        outputs=("q", "r"),
    )
    assert [one.nodes for one in find_siblings(graph, lambda node: True)] == [("p", "q")]


def test_groups_have_a_limit() -> None:
    nodes = [("n0", "Relu", ("x",))] + [
        (f"n{n}", "Relu", (f"n{n - 1}",)) for n in range(1, 2 * MAX_NODES + 1)
    ]
    assert max(map(len, found(graph_of(*nodes)))) == MAX_NODES


def test_inputs_and_outputs_of_a_group() -> None:
    graph = graph_of(
        ("a", "Relu", ("x",)), ("b", "Add", ("a", "w")), ("c", "Exp", ("a",)), outputs=("b", "c")
    )
    node = fused_node(graph, ["a", "b"], "Group")
    assert (node.inputs, node.outputs) == (("x", "w"), ("a", "b"))
