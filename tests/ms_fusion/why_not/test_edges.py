"""A reason for every unfused edge: small graphs with known reasons, and complete recorded dumps."""

from __future__ import annotations

from dataclasses import replace

from ms_fusion.capture.operator_join import join
from ms_fusion.graph import Graph, Node, Source, Value
from ms_fusion.ledger import Suggestion
from ms_fusion.readers.control_flow import ControlFlow
from ms_fusion.readers.dumps import read_dumps
from ms_fusion.why_not import REASONS, explain_edges
from ms_fusion.why_not.merge_reachability import Reachability
from tests.cases import cases

ON = "--opt_level=2"


def graph_of(
    *lines,
    shape=(8, 16),
    dtype="float32",
    shapes=None,
    dtypes=None,
    outputs=(),
    attrs=None,
    kinds=None,
):
    """A graph of lines such as ``b = Exp a``; nodes have the names of their results; undefined
    names are inputs.
    """
    shapes, dtypes, attrs, kinds = shapes or {}, dtypes or {}, attrs or {}, kinds or {}
    nodes, made, values = [], set(), {}
    for line in lines:
        result, _, rest = line.partition(" = ")
        op, *inputs = rest.split()
        nodes.append(Node(result, op, tuple(inputs), (result,), attrs=attrs.get(result, ())))
        made.add(result)
        for name in (result, *inputs):
            values[name] = Value(name, shapes.get(name, shape), dtypes.get(name, dtype))
    for name, value in values.items():
        if name not in made:
            values[name] = replace(value, kind=kinds.get(name, "input"))
    inputs = tuple(name for name in values if name not in made)
    return Graph("g", tuple(nodes), values, inputs, outputs or (nodes[-1].name,))


def alone(graph, *names):
    """Each node in its own kernel, named like the node."""
    return {name: (f"kernel of {name}",) for name in names}


def only(edges):
    (edge,) = edges
    return edge


@cases(
    "lines, more, clustered, flags, reason, told",
    [
        (["a = Exp x", "b = Neg a"], {}, "", "--opt_level=0", "fusion-off", "opt_level=0"),
        (["a = Exp x", "b = Neg a"], {}, "", "", "fusion-off", "opt_level=0"),
        (["a = MatMul x y", "b = Neg a"], {}, "b", ON, "not-clusterable", "MatMul (a)"),
        (["a = Exp x", "b = Conv2D a w"], {}, "a", ON, "not-clusterable", "Conv2D (b)"),
        (["a = Exp x", "b = Frobnicate a"], {}, "a", ON, "unknown-operator", "Frobnicate (b)"),
        (["a = Exp x", "b = Div a y"], {}, "a", ON, "not-in-cluster-list", "Div (b)"),
        (["a = Exp x", "b = Sigmoid a"], {}, "a", ON, "not-in-expand-list", "Sigmoid (b)"),
        (
            ["a = Exp x", "b = Neg a"],
            {},
            "b",
            f"{ON} --disable_cluster_ops=Exp,Log",
            "disabled-by-flag",
            "--disable_cluster_ops=Exp,Log",
        ),
        (
            ["a = Exp x", "b = Neg a"],
            {},
            "b",
            f"{ON} --enable_cluster_ops_only=Neg",
            "disabled-by-flag",
            "--enable_cluster_ops_only=Neg",
        ),
        (
            ["a = Exp x", "b = Reshape a s"],
            {"kinds": {"s": "constant"}},
            "a",
            f"{ON} --fusion_ops_level=0",
            "disabled-by-flag",
            "fusion_ops_level=0",
        ),
        (
            ["a = Exp x", "b = Square a"],
            {},
            "a",
            f"{ON} --disable_expand_ops=Square",
            "disabled-by-flag",
            "--disable_expand_ops=Square",
        ),
        (["a = Exp x", "b = Neg a"], {"shape": (-1, 16)}, "", ON, "dynamic-shape", "(-1, 16)"),
        (["a = Exp x", "b = Neg a"], {"shape": ("s1", 16)}, "", ON, "dynamic-shape", "(s1, 16)"),
        (["a = Exp x", "b = Neg a"], {"shape": (0, 16)}, "", ON, "zero-size", "(0, 16)"),
        (["a = Exp x", "b = Neg a"], {"dtype": "complex64"}, "", ON, "dtype", "complex64"),
        (["a = Exp x", "b = Neg a"], {"dtype": "bfloat16"}, "", ON, "dtype", "bfloat16"),
        (
            ["a = Exp x", "b = LayerNorm a"],
            {"dtype": "float16"},
            "a",
            f"{ON} --enable_expand_ops=LayerNorm",
            "dtype",
            "float16",
        ),
        (
            ["a = Exp x", "b = Tile a s"],
            {"kinds": {"s": "constant"}},
            "a",
            ON,
            "not-expanded",
            "Tile",
        ),
        (
            ["a = Exp x", "b = Neg a"],
            {"attrs": {"b": (("aggregate", True),)}},
            "a",
            ON,
            "fence",
            "aggregate",
        ),
        (
            ["a = Exp x", "b = Neg a"],
            {"attrs": {"b": (("inplace_algo", "cover"),)}},
            "a",
            ON,
            "fence",
            "inplace_algo",
        ),
        (
            ["a = Exp x", "b = Neg a"],
            {"attrs": {"b": (("primitive_target", "GPU"),)}},
            "a",
            ON,
            "other-device",
            "GPU",
        ),
        (["a = Exp x", "b = ReduceSum a axes"], {}, "a", ON, "value-dependent", "input 1 (axes)"),
        (["a = Exp x", "b = Assign p a"], {}, "a", ON, "in-place", "Assign"),
        (["a = Exp x", "b = Neg a"], {}, "", ON, "unexplained", "Exp"),
    ],
)
def test_reason_of_an_operator_that_was_not_clustered(lines, more, clustered, flags, reason, told):
    graph = graph_of(*lines, **more)
    cluster = {name: f"cluster of {name}" for name in clustered.split()}
    edge = only(explain_edges(graph, alone(graph, *clustered.split()), cluster, flags=flags))
    assert edge.reason == reason
    assert told in edge.detail
    assert edge.detail.endswith(".")


@cases(
    "lines, more, kernels, flags, edge, reason, told",
    [
        (
            ["a = ReduceSum x axes", "b = Neg a"],
            {},
            {"a": 1, "b": 2},
            ON,
            "ab",
            "splitter-after-reduction",
            "a reduces",
        ),
        (
            ["a = Exp x", "s = ReduceSum a axes", "b = RealDiv a s"],
            {},
            {"a": 1, "s": 1, "b": 2},
            ON,
            "ab",
            "splitter-after-reduction",
            "s reduces",
        ),
        (
            ["a = Exp x", "t = Transpose a p"],
            {},
            {"a": 1, "t": 2},
            ON,
            "at",
            "splitter-transpose",
            "t transposes",
        ),
        (
            ["a = Exp x", "c = CumSum a p"],
            {},
            {"a": 1, "c": 2},
            f"{ON} --enable_cluster_ops=CumSum",
            "ac",
            "splitter-opaque",
            "CumSum",
        ),
        (
            ["m = Mul x v", "s = ReduceSum m axes"],
            {"shapes": {"v": (16,)}},
            {"m": 1, "s": 2},
            ON,
            "ms",
            "splitter-broadcast",
            "m, in the kernel of m",
        ),
        (
            ["r = ReluGrad x y", "s = BiasAddGrad r"],
            {},
            {"r": 1, "s": 2},
            f"{ON} --enable_expand_ops=ReluGrad",
            "rs",
            "splitter-broadcast",
            "r, in the kernel of r",
        ),
        (
            ["a = Exp x", "b = Neg a"],
            {},
            {"a": 1, "b": 2},
            f"{ON} --composite_op_limit_size=1",
            "ab",
            "size-limit",
            "the limit is 1",
        ),
        (
            ["a = Exp x", "b = Add a y", "c = Neg a"],
            {"shapes": {"a": (16,), "c": (16,)}, "outputs": ("b", "c")},
            {"a": 1, "c": 1, "b": 2},
            ON,
            "ab",
            "splitter-sizes",
            "16 elements",
        ),
        (
            ["a = Exp x", "m = MatMul a w", "b = Add a m"],
            {},
            {"a": 1, "b": 2},
            ON,
            "ab",
            "cycle",
            "wait for m",
        ),
        (
            ["a = Exp x", "m = MatMul a w", "n = Neg m", "b = Add a n"],
            {},
            {"a": 1, "n": 2, "b": 2},
            ON,
            "ab",
            "cycle",
            "wait for m",
        ),
        (["a = Exp x", "p = Adam w a"], {}, {"a": 1, "p": 2}, ON, "ap", "in-place", "Adam"),
    ],
)
def test_reason_of_two_operators_that_were_both_clustered(
    lines, more, kernels, flags, edge, reason, told
):
    graph = graph_of(*lines, **{"kinds": {"axes": "constant", "p": "constant"}} | more)
    placement = {name: (f"k{number}",) for name, number in kernels.items()}
    together = reason.startswith(("splitter", "size", "depth"))
    cluster = {name: "c" if together else f"c{number}" for name, number in kernels.items()}
    found = explain_edges(graph, placement, cluster, flags=flags)
    one = next(one for one in found if (one.producer, one.consumer) == tuple(edge))
    assert one.reason == reason
    assert told in one.detail


def test_a_kernel_of_as_many_operators_as_the_limit_may_be():
    graph = graph_of("a = Exp x", "b = Neg a")
    placement = {"a": ("k1",), "b": ("k2",)}
    flags = f"{ON} --composite_op_limit_size=2"
    edge = only(explain_edges(graph, placement, dict.fromkeys("ab", "c"), flags=flags))
    assert edge.reason != "size-limit"


def test_depth_limit_counts_the_kernel_of_the_producer():
    lines = [
        "n0 = Exp x",
        *(f"n{i} = Neg n{i - 1}" for i in range(1, 21)),
        "s = ReduceSum n20 axes",
    ]
    graph = graph_of(*lines, kinds={"axes": "constant"})
    placement = {node.name: ("k1",) for node in graph} | {"s": ("k2",)}
    edge = only(explain_edges(graph, placement, dict.fromkeys(placement, "c"), flags=ON))
    assert (edge.reason, "21 operators" in edge.detail) == ("depth-limit", True)


def test_what_shares_a_kernel_is_fused():
    graph = graph_of("a = Exp x", "b = LayerNorm a", "c = Neg b")
    placement = {"a": ("k1",), "b": ("k1", "k2", "k3"), "c": ("k3",)}
    edge = only(
        explain_edges(graph, placement, dict.fromkeys("abc", "c"), flags=ON, internal={"b": 77})
    )
    assert (edge.producer, edge.consumer, edge.reason) == ("b", "b", "splitter-after-reduction")
    assert edge.bytes_at_stake == 77
    assert "3 kernels" in edge.detail


def test_bytes_are_counted_once():
    size = 8 * 16 * 4
    graph = graph_of("a = Exp x", "m = MatMul a a", "b = Neg a", outputs=("m", "b"))
    found = explain_edges(graph, alone(graph, "a", "b"), {"a": "c1", "b": "c2"}, flags=ON)
    # Two edges to m, read once; b needs it written too, so no write is saved.
    assert sorted(edge.bytes_at_stake for edge in found) == [0, size, size]
    last = graph_of("a = Exp x", "m = MatMul a w", outputs=("m",))
    assert only(explain_edges(last, {}, {}, flags=ON)).bytes_at_stake == 2 * size
    kept = graph_of("a = Exp x", "m = MatMul a w", outputs=("m", "a"))
    assert only(explain_edges(kept, {}, {}, flags=ON)).bytes_at_stake == size


def test_a_view_alone_moves_nothing():
    graph = graph_of("m = MatMul x w", "v = Reshape m s", "n = MatMul v w", kinds={"s": "constant"})
    found = {
        (edge.producer, edge.consumer): edge for edge in explain_edges(graph, {}, {}, flags=ON)
    }
    assert found["m", "v"].bytes_at_stake == 0
    assert found["v", "n"].bytes_at_stake == 2 * 8 * 16 * 4


def test_edges_are_sorted_by_bytes_and_stable():
    graph = graph_of(
        "a = MatMul x w",
        "b = MatMul a w",
        "c = MatMul b w",
        "d = MatMul c w",
        shapes={"b": (64, 64)},
    )
    found = explain_edges(graph, {}, {}, flags=ON)
    assert [edge.producer for edge in found] == ["b", "a", "c"]


def test_a_value_that_another_sub_graph_takes_leaves():
    graph = graph_of("a = Exp x", "b = Neg y", outputs=("a", "b"))
    nodes = (replace(graph.node("a"), subgraph="g0"), replace(graph.node("b"), subgraph="g1"))
    split = replace(graph, nodes=nodes)
    found = explain_edges(split, {}, {"a": "c"}, flags=ON)
    assert [(edge.producer, edge.consumer, edge.reason) for edge in found] == [
        ("a", "", "control-flow"),
        ("b", "", "control-flow"),
    ]
    assert found[0].bytes_at_stake == 2 * 8 * 16 * 4
    assert found[0].suggestion is None, "a loop cannot be helped, and nothing says that it is none"
    control = ControlFlow(last=frozenset({"g1"}), branched=frozenset({"g0", "g1"}))
    (edge,) = explain_edges(split, {}, {"a": "c"}, flags=ON, control=control)
    assert edge.producer == "a" and edge.suggestion is not None and edge.suggestion.kind == "code"
    assert explain_edges(split, {}, {"a": "c"}, flags=ON, programs={"g0": 1, "g1": 2}) == ()
    other = replace(split, values={**split.values, "y": replace(split.values["y"], shape=(3,))})
    assert [edge.producer for edge in explain_edges(other, {}, {"a": "c"}, flags=ON)] == ["b"]


def test_sources_stand_beside_both_ends():
    graph = graph_of("a = MatMul x w", "b = Neg a")
    nodes = (
        replace(graph.nodes[0], sources=(Source("lib.py", 1), Source("net.py", 7))),
        graph.nodes[1],
    )
    edge = only(explain_edges(replace(graph, nodes=nodes), {}, {}, flags=ON))
    assert (str(edge.producer_source), edge.consumer_source) == ("net.py:7", None)


@cases(
    "lines, more, flags, suggestion",
    [
        (["a = Exp x", "b = Div a y", "c = Neg b"], {}, ON, "--enable_cluster_ops=Div"),
        (
            ["a = Exp x", "b = Div a y", "c = Neg b"],
            {},
            f"{ON} --enable_cluster_ops=Sin",
            "--enable_cluster_ops=Div",
        ),
        (
            ["a = Exp x", "b = Neg a", "c = Abs b"],
            {},
            f"{ON} --disable_cluster_ops=Neg,Log",
            "--enable_cluster_ops=Neg",
        ),
        (["a = Exp x", "b = Sigmoid a", "c = Neg b"], {}, ON, "--enable_expand_ops=Sigmoid"),
        (["a = Exp x", "b = Sigmoid a", "c = Neg b"], {"dtype": "float16"}, ON, None),
        (["a = Exp x", "b = Round a", "c = Neg b"], {}, f"{ON} --disable_cluster_ops=Round", None),
        (
            ["a = Exp x", "b = StridedSlice a y", "c = Neg b"],
            {"kinds": {"y": "constant"}},
            ON,
            None,
        ),
        (["a = Exp x", "b = Div a y", "c = Neg b"], {"dtype": "int32"}, ON, None),
        (
            ["a = Exp x", "b = NotEqual a y", "c = Neg b"],
            {"dtypes": {"b": "bool", "c": "bool"}},
            ON,
            None,
        ),
        (
            ["a = Exp x", "b = Div a y", "c = Neg b"],
            {"attrs": {"b": (("aggregate", True),)}},
            ON,
            "--enable_cluster_ops=Div",
        ),
        (["a = Exp x", "b = ReLU6 a", "c = Neg b"], {"shape": (0, 16)}, ON, None),
        (
            ["a = Exp x", "b = Neg a", "c = Abs b"],
            {},
            f"{ON} --enable_cluster_ops_only=Exp,Abs --disable_cluster_ops=Neg",
            "--enable_cluster_ops=Neg",
        ),
        (
            ["a = Exp x", "b = Tile a y", "c = Neg b"],
            {"kinds": {"y": "constant"}},
            f"{ON} --disable_expand_ops=Tile",
            None,
        ),
        (
            ["a = Exp x", "b = Sinh a", "c = Neg b"],
            {"dtype": "float16"},
            f"{ON} --enable_expand_ops=Sinh --disable_cluster_ops=Cast",
            None,
        ),
        (
            ["a = Cast x t", "b = Div a y", "c = Neg b"],
            {"dtype": "float16", "dtypes": {"x": "float32"}},
            ON,
            None,
        ),
    ],
)
def test_only_what_is_known_to_work_is_suggested(lines, more, flags, suggestion):
    graph = graph_of(*lines, **more)
    found = explain_edges(graph, alone(graph, "a", "c"), {"a": "c1", "c": "c2"}, flags=flags)
    assert {edge.suggestion.flags if edge.suggestion else None for edge in found} == {suggestion}


def test_a_suggestion_mends_both_ends():
    graph = graph_of("b = Div x y", "c = Sigmoid b")
    edge = only(explain_edges(graph, {}, {}, flags=ON))
    assert edge.reason == "not-in-expand-list"
    assert isinstance(edge.suggestion, Suggestion)
    assert edge.suggestion.flags == "--enable_cluster_ops=Div --enable_expand_ops=Sigmoid"


def test_nothing_is_suggested_where_the_splitter_cuts():
    graph = graph_of("a = ReduceSum x axes", "b = Greater a y", kinds={"axes": "constant"})
    edge = only(explain_edges(graph, alone(graph, "a"), {"a": "c"}, flags=ON))
    assert (edge.reason, edge.suggestion) == ("not-in-cluster-list", None)
    around = graph_of("a = Exp x", "m = MatMul a w", "b = Div a m")
    found = explain_edges(around, alone(around, "a"), {"a": "c"}, flags=ON)
    assert [edge.suggestion for edge in found if edge.consumer == "b"] == [None, None]


def suggested(graph, clusters, flags=ON):
    """Edge → the flags suggested for it; `clusters`: lists of operators, none of them built."""
    cluster = {name: names for names in clusters for name in names.split()}
    placement = {name: (f"kernel {cluster[name]}",) for name in cluster}
    built = {} if flags.startswith("unbuilt ") else placement
    found = explain_edges(graph, built, cluster, flags=flags.removeprefix("unbuilt "))
    return {
        edge.producer + edge.consumer: edge.suggestion.flags for edge in found if edge.suggestion
    }


def test_an_operator_joins_those_that_read_it():
    """With its flag, Floor joins the kernel of Sub, which waits for the product of `a` (seen on
    2.10).
    """
    apart = graph_of("a = Maximum x y", "f = Floor a", "m = MatMul a w", "s = Sub f m")
    assert suggested(apart, ["a", "s"]) == {"fs": "--enable_cluster_ops=Floor"}
    diamond = graph_of("a = Maximum x y", "f = Floor a", "n = Neg a", "s = Sub f n")
    both = "--enable_cluster_ops=Floor"
    assert suggested(diamond, ["a", "n s"]) == {"af": both, "fs": both}


def test_no_reduction_behind_a_broadcast_to_join():
    """With its flag, SigmoidGrad joins the kernel of Mul, which broadcasts (seen on 2.10)."""
    lines = ["m = Mul x v", "g = SigmoidGrad m y", "s = ReduceSum g axes"]
    for broadcast, offered in ((True, {"mg"}), (False, {"mg", "gs"})):
        shapes = {"v": (16,)} if broadcast else {}
        graph = graph_of(*lines, shapes=shapes, kinds={"axes": "constant"})
        assert suggested(graph, ["m", "s"]).keys() == offered


@cases(
    "condition, flags, advised",
    [
        ("r = ReduceMax w axes", ON, {"a", "b"}),
        ("r = ReduceMax w axes", f"{ON} --enable_cluster_ops=BroadcastTo", {"a", "b"}),
        ("r = ReduceMax a axes", ON, {"b"}),
        ("r = ReduceMax a axes", f"{ON} --enable_cluster_ops=BroadcastTo", set()),
    ],
)
def test_choosing_is_advised_where_it_waits_for_no_value(condition, flags, advised):
    """Seen on 2.10: a branch condition does not fuse with its sides, nor these with a choice."""
    graph = graph_of(
        "a = Add x y",
        condition,
        "c = Less r y",
        "b = Sub p q",
        "d = Neg s",
        dtypes={"c": "bool"},
        kinds={"axes": "constant"},
        outputs=("a", "c", "b", "d"),
    )
    places = {"b": "g1", "d": "g2"}
    nodes = tuple(replace(node, subgraph=places.get(node.name, "g0")) for node in graph)
    control = ControlFlow(last=frozenset({"g2"}), branched=frozenset({"g0", "g1", "g2"}))
    found = explain_edges(replace(graph, nodes=nodes), {}, {"a": "c"}, flags=flags, control=control)
    left = {edge.producer: edge for edge in found if edge.reason == "control-flow"}
    assert {name for name, edge in left.items() if edge.suggestion} == advised
    assert {"a", "b"} <= left.keys()


def test_keeping_out_is_offered_where_the_rest_hangs_together():
    """Integers: the division must not be built."""
    flags = f"unbuilt {ON} --enable_cluster_ops=Div"
    out = "--disable_cluster_ops=Div"
    chain = graph_of("a = Add x y", "m = Mul a y", "d = Div m y", "s = Sub d y", dtype="int32")
    assert suggested(chain, ["a m d s"], flags) == {"am": out}
    # Seen on 2.10: Neg joined Select, which waits for the division of `a`.
    around = graph_of("a = Add x y", "d = Div a y", "n = Neg a", "s = Sub n d", dtype="int32")
    assert suggested(around, ["a d n s"], flags) == {}
    only = f"{flags.removesuffix('Div')}Div --enable_cluster_ops_only=Add,Mul,Div,Sub"
    assert suggested(chain, ["a m d s"], only) == {"am": out}
    beside = graph_of(
        "a = Add x y", "d = Div a y", "f = Floor a", dtype="int32", outputs=("d", "f")
    )
    assert suggested(beside, ["a d"], flags) == {}, "what Floor would join is not built"


def test_nothing_is_suggested_where_nothing_was_tried():
    graph = graph_of("a = Exp x", "b = Sigmoid a")
    edge = only(explain_edges(graph, alone(graph, "a"), {"a": "c"}, flags=ON, device="Ascend"))
    assert edge.suggestion is None


OURS = f"{ON} --kernel_generator=AKG_V2 --disable_pass=split.graph_kernel_splitter"


@cases(
    "lines, more, flags, reason, suggestion",
    [
        (
            ["a = Exp x", "b = Tan a", "c = Neg b"],
            {},
            OURS,
            "not-in-cluster-list",
            "--enable_cluster_ops=Tan",
        ),
        (
            ["a = Exp x", "b = Exp a", "c = Neg b"],
            {},
            f"{OURS} --disable_cluster_ops=Exp,Log",
            "disabled-by-flag",
            "--enable_cluster_ops=Exp",
        ),
        (
            ["a = Exp x", "b = Softmax a", "c = Neg b"],
            {"dtype": "float16"},
            OURS,
            "not-in-expand-list",
            "--enable_expand_ops=Softmax",
        ),
        (
            ["a = Exp x", "b = ReduceMax a y", "c = Neg b"],
            {"kinds": {"y": "constant"}},
            f"{OURS} --disable_cluster_ops=ReduceMax",
            "disabled-by-flag",
            "--enable_cluster_ops=ReduceMax",
        ),
        (
            ["a = Exp x", "b = Reshape a y", "c = Neg b"],
            {"kinds": {"y": "constant"}},
            OURS,
            "not-in-cluster-list",
            "--enable_cluster_ops=Reshape",
        ),
        (
            ["a = Exp x", "b = Reshape a y", "c = Neg b"],
            {"kinds": {"y": "constant"}},
            f"{OURS} --fusion_ops_level=0",
            "disabled-by-flag",
            "--enable_cluster_ops=Reshape",
        ),
        (["a = Exp x", "b = Gather a y", "c = Neg b"], {}, OURS, "kept-out", None),
        (["a = Exp x", "b = Sort a", "c = Neg b"], {}, OURS, "not-clusterable", None),
        (
            ["a = Exp x", "b = Tan a", "c = Neg b"],
            {"dtype": "bfloat16"},
            OURS,
            "not-in-cluster-list",
            "--enable_cluster_ops=Tan",
        ),
    ],
)
def test_what_is_said_where_our_own_generator_builds_the_kernels(
    lines, more, flags, reason, suggestion
):
    graph = graph_of(*lines, **more)
    found = explain_edges(graph, alone(graph, "a", "c"), {"a": "c1", "c": "c2"}, flags=flags)
    assert {edge.reason for edge in found} == {reason}
    assert {edge.suggestion.flags if edge.suggestion else None for edge in found} == {suggestion}


def test_nothing_is_blamed_on_the_splitter_where_it_is_off():
    graph = graph_of("a = ReduceSum x axes", "b = Exp a", kinds={"axes": "constant"})
    cut = explain_edges(graph, alone(graph, "a", "b"), {"a": "c", "b": "c"}, flags=ON)
    assert only(cut).reason == "splitter-after-reduction"
    whole = explain_edges(graph, alone(graph, "a", "b"), {"a": "c", "b": "c"}, flags=OURS)
    assert only(whole).reason == "unexplained"


def test_hostile_names_and_flags_are_only_text():
    graph = graph_of("{0} = MatMul x w", "{value!r} = Neg {0}")
    edge = only(
        explain_edges(
            graph, {}, {}, flags="--opt_level=²9999999999999999999 --=x --enable_cluster_ops="
        )
    )
    assert "{0}" in edge.detail


def test_reach_sees_ways_through_a_third_group_only():
    graph = graph_of("a = Exp x", "b = Neg a", "c = Add a b", "d = Neg c")
    assert Reachability(graph, {}).intermediate_node("a", "c") == "b"
    assert Reachability(graph, {"a": "one", "b": "one"}).intermediate_node("a", "c") is None
    assert Reachability(graph, {"a": "one", "c": "one"}).intermediate_node("a", "b") is None
    assert Reachability(graph, {"b": "two", "d": "two"}).intermediate_node("a", "c") == "b"


def test_a_long_graph_is_quick():
    lines = ["n0 = Exp x"]
    for i in range(1, 4000):
        lines.append(f"n{i} = {'MatMul' if i % 3 else 'Neg'} n{i - 1} n{max(0, i - 7)}")
    graph = graph_of(*lines)
    cluster = {
        node.name: f"c{number // 3}" for number, node in enumerate(graph) if node.op == "Neg"
    }
    placement = {name: (f"k{number}",) for number, name in enumerate(cluster)}
    assert len(explain_edges(graph, placement, cluster, flags=ON)) == len(graph.edges)


@cases("name", ["MyNet_f", "OpNet_f", "Block_f", "Control_f", "ConvNet_f", "Step_f"])
def test_every_edge_of_a_real_net_is_explained(name, repository, golden):
    joined = join(read_dumps(repository / "tests" / "data" / "ms_2_10" / name))
    flags = (
        f"{ON} --enable_expand_ops=Sigmoid"
        if name == "Step_f"
        else f"{ON} --enable_expand_ops=Sigmoid,Softmax,LayerNorm,ReduceMean,SigmoidGrad,SiLU "
        f"--enable_cluster_ops=Div,Greater,Erf"
    )
    found = explain_edges(joined.before, joined.placement, joined.cluster, flags=flags)
    assert all(edge.reason in REASONS and edge.reason != "unexplained" for edge in found)
    apart = {(edge.producer, edge.consumer) for edge in found}
    for edge in joined.before.edges:
        shared = set(joined.placement.get(edge.producer, ())) & set(
            joined.placement.get(edge.consumer, ())
        )
        assert bool(shared) != ((edge.producer, edge.consumer) in apart)
    lines = [
        f"{edge.bytes_at_stake:>9} {edge.producer_op} -> {edge.consumer_op or '(leaves)'} | "
        f"{edge.reason} | {edge.detail}"
        f" | {f'{edge.suggestion.text}: {edge.suggestion.flags}' if edge.suggestion else '-'}"
        for edge in found
    ]
    golden(f"why_not/{name}.txt", "".join(f"{line}\n" for line in lines))


@cases(
    "lines, offered",
    [
        (["a = Mul x y", "b = Softmax a", "c = Neg b"], set()),
        (["a = Mul x y", "b = Neg a", "c = Floor b", "d = Abs c"], {"ab"}),
        (["a = Mul x y", "b = Neg a", "m = MatMul b w", "c = Sub b m", "d = Abs c"], {"ab", "cd"}),
        (["a = Mul x y", "m = MatMul a w", "b = Neg a", "c = Sub b m"], {"bc"}),
    ],
)
def test_fusion_is_offered_where_nothing_can_come_between(lines, offered):
    """Softmax and Floor are not clustered by default; in the last net MindSpore puts Neg after the
    product.
    """
    assert suggested(graph_of(*lines), [], "--opt_level=0").keys() == offered
