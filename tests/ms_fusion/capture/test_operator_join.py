"""Finds original operators in built kernels, on real dumps (tests/data), without MindSpore."""

import shutil

import pytest

from ms_fusion.capture.operator_join import (
    OperatorJoin,
    combine,
    join,
    match_clusters,
    match_kernels,
)
from ms_fusion.capture.operator_matching import flatten
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.readers.dumps import read_dumps
from tests.cases import cases

CORPUS = ["MyNet_f", "OpNet_f", "Block_f", "Control_f", "Step_f", "Odd_f"]


@pytest.fixture
def dumps(repository):
    return lambda name: read_dumps(repository / "tests" / "data" / "ms_2_10" / name)


def outline(joined):
    lines = [f"before: {' '.join(node.op for node in joined.before)}"]
    for node in joined.after:
        if node.body is not None:
            members = " ".join(joined.members.get(node.name, ())) or "?"
            lines.append(f"{' '.join(member.op for member in node.body)} <- {members}")
    return "\n".join(lines) + "\n"


@cases("name", CORPUS)
def test_members_are_the_golden_ones(name, dumps, golden):
    golden(f"join/{name}.txt", outline(join(dumps(name))))


@cases("name", CORPUS)
def test_kernels_alone_give_the_operators_not_simplified(name, dumps, golden, repository, tmp_path):
    source = repository / "tests" / "data" / "ms_2_10" / name
    (tmp_path / name).mkdir()
    for file in source.glob("graph_build_*.ir"):
        shutil.copy(file, tmp_path / name)
    golden(f"join/{name}.built_only.txt", outline(join(read_dumps(tmp_path / name))))


@cases("name", CORPUS)
def test_what_a_join_promises(name, dumps):
    joined = join(dumps(name))
    kernels = {node.name: node for node in joined.after if node.is_fused_kernel}
    assert kernels.keys() == joined.members.keys()
    for kernel, members in joined.members.items():
        assert len(joined.origins[kernel]) == len(kernels[kernel].body)
        assert set(filter(None, joined.origins[kernel])) <= set(members)
        assert {joined.before.node(member).subgraph for member in members} <= {
            kernels[kernel].subgraph
        }
    for member, holders in joined.placement.items():
        assert all(member in joined.members[holder] for holder in holders)


def node(name, op, inputs, outputs, **more):
    return Node(name, op, inputs, outputs, **more)


def graph(nodes, inputs, outputs, parameters=()):
    values = {name: Value(name, (4,), "float32", "input") for name in inputs}
    values |= {name: Value(name, (4,), "float32", "parameter") for name in parameters}
    values |= {name: Value(name, (4,), "float32") for made in nodes for name in made.outputs}
    return Graph("g", tuple(nodes), values, (*inputs, *parameters), outputs)


def test_parameters_tell_clusters_of_one_shape_apart():
    body = graph([node("Add", "Add", ("a", "b"), ("c",))], ("a", "b"), ("c",))

    def state(order):
        nodes = [
            node(
                f"GraphKernel_{name}",
                "Add_fusion",
                ("x", f"{name}.bias"),
                (f"{name}.out",),
                body=body,
            )
            for name in order
        ]
        return graph(nodes, ("x",), ("q.out", "k.out"), parameters=("q.bias", "k.bias"))

    matched = match_kernels(state("qk"), state("kq"))
    assert {name: [kernel.name for kernel in kernels] for name, kernels in matched.items()} == {
        "GraphKernel_q": ["GraphKernel_q"],
        "GraphKernel_k": ["GraphKernel_k"],
    }


def test_values_are_recognised_by_how_they_are_computed():
    apart = graph(
        [node("m", "Mul", ("x", "y"), ("t",)), node("a", "Add", ("t", "y"), ("u",))],
        ("x", "y"),
        ("u",),
    )
    body = graph(
        [node("m1", "Mul", ("p", "q"), ("r",)), node("a1", "Add", ("r", "q"), ("s",))],
        ("p", "q"),
        ("s",),
    )
    clustered = graph(
        [node("k", "Mul_Add_fusion", ("x", "y"), ("u",), body=body)], ("x", "y"), ("u",)
    )
    assert [basic.key for basic in flatten(apart)] == [basic.key for basic in flatten(clustered)]
    swapped = graph(
        [node("m", "Mul", ("y", "x"), ("t",)), node("a", "Add", ("t", "y"), ("u",))],
        ("x", "y"),
        ("u",),
    )
    assert [basic.key for basic in flatten(swapped)] != [basic.key for basic in flatten(apart)]
    members = match_clusters(apart, clustered, {"m": "Default/Mul-op0", "a": "Default/Add-op0"})
    assert [origin for _, origin in members["k"]] == ["Default/Mul-op0", "Default/Add-op0"]


def test_same_names_in_two_sub_graphs_stay_apart():
    one = graph([node("m", "Mul", ("x", "w"), ("t",))], ("x",), ("t",), parameters=("w",))
    both = combine(
        [
            OperatorJoin(one, one),
            OperatorJoin(
                Graph("h", (node("n", "Add", ("x", "w"), ("t",)),), one.values, ("x", "w"), ("t",)),
                one,
            ),
        ]
    ).before
    assert both.node("m").outputs != both.node("n").outputs
    assert both.node("m").inputs[1] == both.node("n").inputs[1], "one parameter, read in both"
    assert not both.edges
