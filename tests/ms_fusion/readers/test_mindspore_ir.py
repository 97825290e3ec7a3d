"""IR dumps to graphs: recorded dumps against manual counts, and small texts for single rules."""

from __future__ import annotations

import math
import re

import pytest

from ms_fusion.graph import Source, Value
from ms_fusion.ops.selections import BOOKKEEPING
from ms_fusion.readers.composite import parse_composite
from ms_fusion.readers.mindspore_ir import parse_ir, read_ir
from tbe_impl.errors import InputError, ParseError
from tests.cases import cases
from tests.ms_fusion.readers.corpus import CORPUS, INPUT, dump, kernel, statement

BUILT = sorted(CORPUS.glob("*/graph_build_*.ir"))
ALL = sorted(CORPUS.glob("**/*.ir"))


def names(paths):
    return [str(path.relative_to(CORPUS)) for path in paths]


def edges(graph):
    return [(edge.producer, edge.consumer, edge.index) for edge in graph.edges]


def test_mynet_whole():
    module = read_ir(CORPUS / "MyNet_f" / "graph_build_0_0164.ir")
    assert (module.entry, module.graph.name, module.subgraphs) == (
        "kernel_graph0",
        "kernel_graph0",
        {},
    )
    assert dict(module.attrs["seg_trans__anonymous__31"])["graph_kernel"] == "Mul_Add_fusion"
    assert dict(module.attrs["kernel_graph0"]) == {"enable_zero_copy_in_graph": 1}
    assert module.graph.inputs == ("x",)
    assert module.graph.values["x"] == Value("x", (64, 128), "float32", kind="input")
    (node,) = module.graph.nodes
    assert node.name == "Default/GraphKernel_Mul_Add_fusion-op0"
    assert (node.op, node.subgraph, node.expand_from) == ("Mul_Add_fusion", "kernel_graph0", None)
    assert node.attrs == (
        ("graph_kernel", "Mul_Add_fusion"),
        ("info_name", "Fused_Mul_Add_fusion_8751219961865508035"),
    )
    assert module.graph.outputs == node.outputs == (f"{node.name}:0",)
    body = node.body
    multiply, add = body.nodes
    assert [(multiply.name, multiply.op), (add.name, add.op)] == [
        ("Default/Mul-op0", "Mul"),
        ("Default/Add-op0", "Add"),
    ]
    assert body.inputs == (multiply.inputs[0],) == ("Parameter_34",)
    assert body.outputs == add.outputs
    assert add.inputs[0] == multiply.outputs[0]
    assert body.values[multiply.inputs[1]] == Value(
        multiply.inputs[1], (), "float32", "constant", 2.0
    )
    assert body.values[add.inputs[1]].data == 1.0
    assert multiply.attrs == ()
    assert multiply.sources == (
        Source("/home/user/nets.py", 6, "def construct(self, x):"),
        Source("/home/user/nets.py", 7, "a = ops.mul(x, 2.0)"),
    )


def test_composite_is_fused_across_its_boundary():
    module = read_ir(CORPUS / "OpNet_f" / "graph_build_0_0164.ir")
    (node,) = module.graph.nodes
    assert node.op == "Mul_Pow_Sub_Mul_fusion"
    assert [operator.op for operator in node.body] == ["Mul", "Pow", "Sub", "Mul"]
    multiply, power, subtract, last = node.body.nodes
    assert last.inputs == (subtract.outputs[0], power.outputs[0])
    assert [source.line for source in subtract.sources][-1] == 12
    assert power.inputs[0] == multiply.outputs[0]


def kernel_graph_lines(path):
    """Lines of the entry graph that are operators, found without the reader."""
    text = path.read_text(encoding="utf-8")
    entry = re.search(r"^# IR entry: @(\S+)", text)[1]
    body = text[text.index(f"subgraph @{entry}(") :].split("\n}", 1)[0]
    heads = re.findall(r"^  %\d+\([^\n]*?\) = (call @|\w+)", body, flags=re.MULTILINE)
    operators = [head.removeprefix("PrimFunc_") for head in heads]
    return [operator for operator in operators if operator not in BOOKKEEPING - {"TensorMove"}]


@cases("path", BUILT, ids=names(BUILT))
def test_no_operator_is_lost_and_none_is_invented(path):
    graph = read_ir(path).graph
    lines = kernel_graph_lines(path)
    names = ["Custom" if node.kernel_provider else node.op for node in graph]
    assert [
        "call @" if node.is_fused_kernel else name for node, name in zip(graph, names, strict=True)
    ] == lines


def test_a_custom_operator_has_the_name_that_its_author_gave_it():
    graph = read_ir(CORPUS / "Odd_f" / "graph_build_0_0174.ir").graph
    (own,) = (node for node in graph if node.kernel_provider)
    assert (own.op, own.kernel_provider) == ("myadd", "user")


def test_block_counts():
    graph = read_ir(CORPUS / "Block_f" / "graph_build_0_0167.ir").graph
    kernels = [node for node in graph if node.is_fused_kernel]
    assert (len(graph), len(graph.edges), len(kernels)) == (30, 37, 22)
    assert sum(len(node.body) >= 2 for node in kernels) == 13
    assert sum(node.op == "MatMul" for node in graph) == 6
    assert [value for value in graph.inputs if graph.values[value].kind == "input"] == ["x"]
    assert sum(graph.values[value].kind == "parameter" for value in graph.inputs) == 16


def test_tuple_results_are_several_values():
    graph = read_ir(CORPUS / "Block_f" / "graph_build_0_0167.ir").graph
    node = graph.node("Default/GraphKernel_Div_ReduceMax_split-op0")
    assert [graph.values[value].shape for value in node.outputs] == [
        (8, 4, 128, 128),
        (8, 4, 128, 1),
    ]
    assert graph.node("Default/GraphKernel_Sub_Exp_split-op0").inputs == node.outputs
    assert node.attr("node_name") == "Div_Softmax_fusion_0"


def test_expanded_operators_hold_their_basic_operators():
    (path,) = (CORPUS / "Block_f").glob("verbose_ir_files/graph_kernel/*graph_kernel_expander*")
    graph = read_ir(path).graph
    expanded = [node for node in graph if node.is_fused_kernel]
    assert sorted({node.op for node in expanded}) == ["BiasAdd", "LayerNorm", "Sigmoid", "Softmax"]
    (sigmoid,) = (node for node in expanded if node.op == "Sigmoid")
    assert [operator.op for operator in sigmoid.body] == ["Neg", "Exp", "Add", "Div"]
    assert {operator.expand_from for operator in sigmoid.body} == {"Sigmoid"}
    layer_norm = next(node for node in expanded if node.op == "LayerNorm")
    assert len(layer_norm.outputs) == len(layer_norm.body.outputs) == 3


def test_parameters_and_loads():
    module = read_ir(CORPUS / "Block_u" / "graph_build_0_0129.ir")
    node = module.graph.node("Default/q-Dense/MatMul-op0")
    assert node.inputs[1] == "q.weight"
    assert module.graph.values["q.weight"].kind == "parameter"
    assert [module.graph.values[value].data for value in node.inputs[2:]] == [False, True]
    assert node.attr("transpose_b") is None or node.attr("transpose_b") is True
    assert node.sources[-1].code.startswith("q = self.q(y)")


def test_control_flow_is_seen_where_the_graphs_meet():
    module = read_ir(CORPUS / "Control_f" / "24_execute_0432.ir")
    assert sorted(len(graph) for graph in module.subgraphs.values()) == [2, 2]
    switch = module.graph.node("Default/Switch-op0")
    (call,) = module.graph.consumers[switch.outputs[0]]
    assert call.op == "call"
    assert "✓nets_Control_construct" in call.attr("graph")
    assert {node.subgraph for graph in module.subgraphs.values() for node in graph} == set(
        module.subgraphs
    )


def test_odd_names_constants_and_nested_tuples():
    module = read_ir(CORPUS / "Odd_f" / "graph_build_4_0519.ir")
    graph = module.graph
    assert graph.inputs == ("计数", 'odd (name), with: <things> [x] "q"', "x", "para5", "para6")
    assert [graph.values[name].kind for name in graph.inputs] == ["parameter"] * 2 + ["input"] * 3
    assert [graph.values[name].dtype for name in graph.outputs] == [
        *("float32", "float16", "float32", "int32", "float32", "float32", "bool")
    ]
    infinite = graph.values[graph.node("Default/GraphKernel_Add_fusion-op1").inputs[1]]
    assert (infinite.kind, infinite.data) == ("constant", math.inf)
    assert math.isnan(graph.values[graph.node("Default/GraphKernel_Mul_fusion-op0").inputs[1]].data)
    left_out = graph.values[graph.node("Expand/_MatMulExt/MatMul-op0").inputs[0]]
    assert (left_out.kind, left_out.shape, left_out.data) == ("constant", (40, 50), None)
    top = graph.node("Default/TopK-op0")
    assert [graph.values[name].dtype for name in top.outputs] == ["float32", "int32"]


def test_custom_operator_and_monads():
    graph = read_ir(CORPUS / "Odd_f" / "graph_build_0_0174.ir").graph
    custom = graph.node("Default/Custom-op0")
    assert custom.attr("func_name") == "/home/user/myadd.so:myadd"
    assert custom.attr("input_names") == ("x",)
    assert len(graph.outputs) == 2  # the file also returns a monad
    assert not any(value.dtype == "monad" for value in graph.values.values())


def test_dynamic_shapes_stay_unknown():
    graph = read_ir(CORPUS / "Odd_f" / "graph_build_5_0691.ir").graph
    assert graph.values["x"].shape == ("s1", 128)
    assert graph.values["y"].shape == (-2,)
    assert graph.values[graph.node("Default/Add-op5").outputs[0]].shape == (-1, 128)
    assert graph.outputs[1:] == graph.node("Default/Shape-op0").outputs


def test_a_training_step():
    graph = read_ir(CORPUS / "Step_f" / "graph_build_0_0122.ir").graph
    adam = [node for node in graph if node.op == "Adam"]
    assert len(adam) == 2
    for node in adam:
        assigned = [operator for operator in node.body if operator.op == "Assign"]
        assert len(assigned) == 3
        assert {operator.inputs[0] for operator in assigned} <= set(node.body.inputs)
    assert all(graph.values[node.inputs[0]].kind == "parameter" for node in adam)


@cases("path", ALL, ids=names(ALL))
def test_every_dump_is_a_sound_graph(path):
    module = read_ir(path)
    for graph in (module.graph, *module.subgraphs.values()):
        check_sound(graph)


def check_sound(graph):
    made = set(graph.inputs) | {
        name for name, value in graph.values.items() if value.kind == "constant"
    }
    assert len({node.name for node in graph}) == len(graph)
    for node in graph:
        assert set(node.inputs) <= made, node.name
        made |= set(node.outputs)
        assert node.op not in BOOKKEEPING - {"TensorMove", "TupleGetItem"}
        if node.body:
            assert len(node.body.inputs) == len(node.inputs)
            assert len(node.body.outputs) == len(node.outputs)
            for mine, inner in zip(node.outputs, node.body.outputs, strict=True):
                assert graph.values[mine].shape == node.body.values[inner].shape
                assert graph.values[mine].dtype == node.body.values[inner].dtype
            check_sound(node.body)
    assert set(graph.outputs) <= made


@cases("path", [path for path in BUILT if "_f" in path.parent.name], ids=str)
def test_bodies_agree_with_the_kernels_that_were_built(path):
    """The composite JSON comes from other code of MindSpore and confirms the result."""
    for node in read_ir(path).graph:
        if node.attr("info_name"):
            file = path.parent / "akg_kernel_meta" / f"{node.attr('info_name')}.info"
            witness = parse_composite(file.read_text(encoding="utf-8"), file=str(file))
            assert [operator.op for operator in node.body] == [operator.op for operator in witness]
            for mine, theirs in zip(node.body, witness, strict=True):
                if (
                    mine.op != "Assign"
                ):  # its result is a placeholder: int64 in the one, float32 in the other
                    assert described(node.body, mine) == described(witness, theirs)


def described(graph, node):
    """Shapes and dtypes of the results; the JSON writes a scalar as shape [1]."""
    return [(graph.values[name].shape or (1,), graph.values[name].dtype) for name in node.outputs]


def test_bare_call_of_an_expanded_graph():
    """Some passes mark an expanded operator by the call's full name alone."""
    body = statement(0, "PrimFunc_Neg(%para9_a)", name="D/Neg-op0") + "  Return(%0)\n"
    inner = kernel("_anonymous__1", body, attributes="IsFeatureMapOutput: 1")
    call = statement(0, "call @_anonymous__1(%para1_x)", name="Default/GraphKernel_LayerNorm-op0")
    module = parse_ir(dump(call + "  Return(%0)\n", before=inner, total=2), file="f")
    (node,) = module.graph.nodes
    assert (node.op, [operator.op for operator in node.body]) == ("LayerNorm", ["Neg"])
    assert module.subgraphs == {}


def test_other_calls_are_nodes():
    inner = kernel("branch", statement(0, "PrimFunc_Neg(%para9_a)"), attributes="core: 1")
    text = dump(statement(0, "call @branch(%para1_x)", name="D/c"), before=inner, total=2)
    module = parse_ir(text, file="f")
    (node,) = module.graph.nodes
    assert (node.op, node.body, node.attrs) == ("call", None, (("graph", "branch"),))
    assert list(module.subgraphs) == ["branch"]


def test_repeated_names_are_told_apart():
    body = statement(0, "Neg(%para1_x)", name="D/Neg") + statement(1, "Neg(%0)", name="D/Neg")
    graph = parse_ir(dump(body), file="f").graph
    assert [node.name for node in graph] == ["D/Neg", "D/Neg#2"]
    assert edges(graph) == [("D/Neg", "D/Neg#2", 0)]


RULES = [
    ("Load(%para1_x, UMonad[U])", ("x",)),
    ("Depend(%para1_x, %0)", ("x",)),
    ("MakeTuple(%0, %para1_x)", ("D/A:0", "x")),
    ("TupleGetItem(%0, I64(0))", None),
]


@cases("expression, inputs", RULES, ids=[rule[0] for rule in RULES])
def test_bookkeeping_is_resolved(expression, inputs):
    body = (
        statement(0, "A(%para1_x)", name="D/A")
        + statement(1, expression)
        + statement(2, "B(%1)", name="D/B")
    )
    graph = parse_ir(dump(body), file="f").graph
    if inputs is None:  # an element of a non-tuple has no name, so the node stays
        assert [node.op for node in graph] == ["A", "TupleGetItem", "B"]
    else:
        assert graph.node("D/B").inputs == inputs


def test_two_edges_between_two_nodes_are_two():
    body = statement(0, "A(%para1_x)", name="D/A") + statement(
        1, "PrimFunc_Mul(%0, %0)", name="D/M"
    )
    assert edges(parse_ir(dump(body), file="f").graph) == [("D/A", "D/M", 0), ("D/A", "D/M", 1)]


PARAMETERS = [
    ("%para1_x: <Tensor[Int8], (2)>  :  IsWeight: false", "input"),
    ("%para1_x: <Tensor[Int8], (2)>  :  IsWeight: true", "parameter"),
    ("%para1_x: <Tensor[Int8], (2)>  :  has_default  :  IsWeight: false", "parameter"),
    (
        "%para1_x: <Ref[Tensor[Int8]], (2), ref_key=x, is_parameter>  :  IsWeight: false",
        "parameter",
    ),
    ("%para1_x: <Tensor[Int8], (2)>", "input"),
]


@cases("line, kind", PARAMETERS)
def test_what_is_a_parameter(line, kind):
    graph = parse_ir(dump(statement(0, "A(%para1_x)"), params=line), file="f").graph
    assert graph.values["x"] == Value("x", (2,), "int8", kind)


def test_a_monad_is_no_result():
    notes = "      : (<Tensor[Int8], (2)>) -> (<UMonad, NoShape>)\n"
    graph = parse_ir(
        dump(statement(0, "Print(%para1_x)", notes=notes) + "  Return(%0)\n"), file="f"
    ).graph
    assert [node.outputs for node in graph] == [()]
    assert graph.outputs == ()


def test_a_kernel_that_calls_itself():
    inner = kernel("k", statement(0, "call @k(%para9_a)"))
    with pytest.raises(ParseError, match="graph @k calls itself"):
        parse_ir(dump(statement(0, "call @k(%para1_x)"), before=inner, total=2), file="f")


def test_formats_reach_values():
    notes = (
        "      : (<Tensor[Float16], (2, 3)>) -> (<Tensor[Float16], (2, 3)>)\n"
        "      : (<Float16xDefaultFormat[const vector]{2, 3}>) -> (<Float16xNC1HWC0[const "
        "vector]{1, 1, 2, 3, 16}>)\n"
    )
    params = (
        "%para1_x: <Tensor[Float16], (2, 3)>  :  <Float16xFRACTAL_NZ[const vector]{2, 3}>  :  "
        "IsWeight: false"
    )
    graph = parse_ir(
        dump(statement(0, "TransData(%para1_x)", name="T", notes=notes), params=params), file="f"
    ).graph
    assert [value.format for value in graph.values.values()] == ["FRACTAL_NZ", "NC1HWC0"]


SOURCES = [
    (
        "# In file /home/user/a.py:7~9, 4~29/    def f(x):/",
        Source("/home/user/a.py", 7, "def f(x):"),
    ),
    ("# In file /home/user/a.py:8, 4~9/  y = x / 2/", Source("/home/user/a.py", 8, "y = x / 2")),
    (
        "# In file /home/user/a:b.py:2486~2526/def g():/",
        Source("/home/user/a:b.py", 2486, "def g():"),
    ),
    ("# In file C:\\net s\\a.py:3, 1~2/z = 1/", Source("C:\\net s\\a.py", 3, "z = 1")),
]


@cases("line, expected", SOURCES, ids=[line for line, _ in SOURCES])
def test_source_lines(line, expected):
    library = "      # In file /lib/site-packages/mindspore/ops.py:1, 2~3/    return op(x)/\n"
    text = dump(statement(0, "A(%para1_x)", name="D/A") + f"      {line}\n{library}")
    assert parse_ir(text, file="f").graph.node("D/A").sources == (expected,)


def test_the_frameworks_own_lines_stand_in_for_missing_ones():
    text = dump(
        statement(0, "A(%para1_x)", name="D/A")
        + "      # In file /lib/site-packages/mindspore/ops.py:1, 2~3/x/\n"
    )
    assert parse_ir(text, file="f").graph.node("D/A").sources == (
        Source("/lib/site-packages/mindspore/ops.py", 1, "x"),
    )


A = statement(0, "A(%para1_x)")
BROKEN = [
    ("", "no MindSpore IR dump", 1, 1),
    ("hello\nworld\n", "no MindSpore IR dump", 1, 1),
    (dump(A)[:-3], "does not end", 11, 1),
    (
        dump(A).replace("Total subgraphs: 1", "Total subgraphs: 2"),
        "2 sub-graphs were announced but 1",
        1,
        1,
    ),
    (dump(A).replace("entry: @g", "entry: @other"), "@other is not in the file", 1, 1),
    (dump(A).replace("A(%para1_x)", "A(%para1_x"), "is missing", 12, 27),
    (dump(A).replace("A(%para1_x)", "A(%para7_x)"), "%para7 is not declared", 12, 1),
    (dump(A).replace("A(%para1_x)", "A(%3)"), "%3 is used before it is defined", 12, 1),
    (
        dump(A).replace("A(%para1_x)", "call @none(%para1_x)"),
        "@none is called but is not in the file",
        12,
        1,
    ),
    (dump(A).replace("A(%para1_x)", "A(%para1_x) what: {}"), "not an attribute block", 12, 28),
    (
        dump(A).replace("%para1_x: <Tensor[Float32], (2, 3)>", "%para1_x: Tensor"),
        "not a parameter",
        6,
        1,
    ),
    (dump(A + "  oops\n"), "not a statement of a sub-graph", 14, 1),
    (
        dump(statement(0, "MakeTuple(%para1_x)") + statement(1, "TupleGetItem(%0, I64(4))")),
        "element 4 of a tuple of 1",
        14,
        1,
    ),
]


@cases("text, what, line, column", BROKEN, ids=[case[1] for case in BROKEN])
def test_damage_is_named_with_its_place(text, what, line, column):
    with pytest.raises(ParseError, match=re.escape(what)) as caught:
        parse_ir(text, file="x.ir")
    assert (caught.value.file, caught.value.line, caught.value.column) == ("x.ir", line, column)


def test_kernel_and_call_must_agree():
    inner = kernel("k", statement(0, "PrimFunc_Neg(%para9_a)") + "  Return(%0)\n")
    text = dump(statement(0, "call @k(%para1_x, %para1_x)"), before=inner, total=2)
    with pytest.raises(ParseError, match="kernel @k has 1 inputs, its call 2"):
        parse_ir(text, file="f")


def test_unreadable_files(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_ir(tmp_path / "none.ir")
    with pytest.raises(InputError, match="not a regular file"):
        read_ir(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read_ir("a\0b")


def test_windows_line_ends_and_byte_order_mark(tmp_path):
    path = tmp_path / "a.ir"
    text = (CORPUS / "MyNet_f" / "graph_build_0_0164.ir").read_text(encoding="utf-8")
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert read_ir(path).graph == read_ir(CORPUS / "MyNet_f" / "graph_build_0_0164.ir").graph


def test_input_line_is_what_the_texts_here_declare():
    assert parse_ir(dump(A), file="f").graph.values["x"] == Value(
        "x", (2, 3), "float32", "input"
    ), INPUT


def test_remark_behind_a_shared_line_is_not_code(repository):
    text = (
        repository / "tests" / "data" / "ms_2_10" / "MyNet_f" / "graph_build_0_0164.ir"
    ).read_text()
    shared = "This line of code can be shared by multiple nodes, and may be duplicated."
    marked = text.replace("a = ops.mul(x, 2.0)/", f"a = ops.mul(x, 2.0)/<~~{shared}/")
    assert marked != text
    body = parse_ir(marked, file="marked.ir").graph.nodes[0].body
    assert [source.code for source in body.nodes[0].sources][-1] == "a = ops.mul(x, 2.0)"
