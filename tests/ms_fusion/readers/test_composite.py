"""Composite-kernel JSON to graphs."""

from __future__ import annotations

import json

import pytest

from ms_fusion.graph import Value
from ms_fusion.readers.composite import parse_composite, parse_kernel
from tbe_impl.errors import ParseError
from tests.cases import cases
from tests.ms_fusion.readers.corpus import CORPUS

KERNELS = sorted(CORPUS.glob("*/akg_kernel_meta/*.info"))


def tensor(name, shape, dtype="float32", **more):
    return {
        "tensor_name": name,
        "shape": shape,
        "data_type": dtype,
        "format": "DefaultFormat",
        **more,
    }


def kernel(operators, *, inputs, outputs, **more):
    return json.dumps(
        {
            "op": "Fused_X",
            "composite_graph": "seg_1",
            "op_desc": [
                {
                    "name": name,
                    "input_desc": [[item] for item in read],
                    "output_desc": made,
                    "attr": attributes,
                }
                for name, read, made, attributes in operators
            ],
            "input_desc": [[item] for item in inputs],
            "output_desc": outputs,
            **more,
        }
    )


X, Y, Z = (tensor(name, [2, 3]) for name in "xyz")


def test_mynet_whole():
    (path,) = (CORPUS / "MyNet_f" / "akg_kernel_meta").glob("*.info")
    composite = parse_kernel(path.read_text(encoding="utf-8"), file=str(path))
    assert (composite.name, composite.platform, composite.process) == (path.stem, "AKG", "cpu")
    assert composite.composite_graph == "seg_trans__anonymous__31"
    assert dict(composite.target)["arch"] == "x86_64"
    graph = composite.graph
    assert (graph.name, graph.inputs, graph.outputs) == (path.stem, ("input_0",), ("output_0_1",))
    assert [(node.name, node.op, node.inputs, node.outputs) for node in graph] == [
        ("Default/Mul-op0", "Mul", ("input_0", "input_1"), ("output_0_0",)),
        ("Default/Add-op0", "Add", ("output_0_0", "input_3"), ("output_0_1",)),
    ]
    assert graph.values["input_1"] == Value("input_1", (1,), "float32", "constant", 2.0)
    assert graph.values["input_0"] == Value("input_0", (64, 128), "float32", "input")
    assert graph.values["output_0_1"].kind == "result"


@cases("path", KERNELS, ids=[path.stem for path in KERNELS])
def test_every_kernel_is_a_sound_graph(path):
    data = json.loads(path.read_text(encoding="utf-8"))
    graph = parse_composite(path.read_text(encoding="utf-8"), file=str(path))
    assert [node.op for node in graph] == [operator["name"] for operator in data["op_desc"]]
    assert len(graph.inputs) == len(data["input_desc"] or [])
    assert list(graph.outputs) == [item["tensor_name"] for item in data["output_desc"]]
    made = set(graph.inputs) | {
        name for name, value in graph.values.items() if value.kind == "constant"
    }
    for node in graph:
        assert set(node.inputs) <= made
        made |= set(node.outputs)
    constants = [
        item
        for op in data["op_desc"]
        for group in op["input_desc"]
        for item in group
        if "value" in item
    ]
    assert len(constants) == sum(value.kind == "constant" for value in graph.values.values())


def test_several_outputs_and_attributes():
    text = kernel(
        [
            (
                "ReduceSum",
                [X, tensor("axis", [1], "int64", value=1)],
                [Y],
                [{"name": "keep_dims", "value": True, "data_type": "bool"}],
            ),
            ("Mul", [X, X], [Z], None),
        ],
        inputs=[X],
        outputs=[Y, Z],
    )
    graph = parse_composite(text, file="f")
    assert graph.outputs == ("y", "z")
    reduce, multiply = graph.nodes
    assert reduce.attrs == (("keep_dims", True),)
    assert graph.values["axis"] == Value("axis", (1,), "int64", "constant", 1)
    assert multiply.inputs == ("x", "x")
    assert [node.name for node in graph] == ["Fused_X/ReduceSum-op0", "Fused_X/Mul-op1"]


def test_several_tensors_in_one_argument():
    data = json.loads(kernel([("AddN", [X], [Z], None)], inputs=[X, Y], outputs=[Z]))
    data["op_desc"][0]["input_desc"] = [[X, Y]]
    assert parse_composite(json.dumps(data), file="f").nodes[0].inputs == ("x", "y")


def test_symbolic_shapes():
    x = tensor("x", [-1, 128], symbolic_shape=["s1", "128"])
    graph = parse_composite(
        kernel(
            [("Neg", [x], [{**x, "tensor_name": "y"}], None)],
            inputs=[x],
            outputs=[{**x, "tensor_name": "y"}],
        ),
        file="f",
    )
    assert graph.values["x"].shape == graph.values["y"].shape == ("s1", 128)
    assert graph.values["x"].is_dynamic


def test_constants_of_one_name_are_told_apart():
    two, three = (tensor("c", [1], value=value) for value in (2.0, 3.0))
    graph = parse_composite(
        kernel(
            [
                ("Mul", [X, two], [Y], None),
                ("Mul", [Y, three], [Z], None),
                ("Add", [Z, two], [tensor("w", [2, 3])], None),
            ],
            inputs=[X],
            outputs=[tensor("w", [2, 3])],
        ),
        file="f",
    )
    assert [graph.values[node.inputs[1]].data for node in graph] == [2.0, 3.0, 2.0]


MISSING = [
    (
        kernel([("Neg", [Y], [Z], None)], inputs=[X], outputs=[Z]),
        "Neg reads 'y', which no earlier operator computes",
    ),
    (
        kernel([("Neg", [X], [Y], None)], inputs=[X], outputs=[Z]),
        "output 'z' is not computed by any operator",
    ),
    (kernel([("Neg", [X], [X], None)], inputs=[X], outputs=[X]), "'x' is computed twice"),
    (kernel([], inputs=[X, X], outputs=[]), "input 'x' is listed twice"),
    ("[]", "not a composite kernel"),
    ('{"op": "a", "op_desc": 3, "output_desc": []}', "Expected `array`"),
    ('{"op": "a",\n "op_desc": [,]}', "not a composite kernel"),
    ("[" * 100_000, "nested too deeply"),
    (
        kernel(
            [("Neg", [X], [Y], [{"name": "a", "value": json.loads("[" * 600 + "]" * 600)}])],
            inputs=[X],
            outputs=[Y],
        ),
        "nested too deeply",
    ),
    ('{"op": "a", "target_info": {"a": ' + "[" * 100_000, "nested too deeply"),
    ("", "not a composite kernel"),
]


@cases("text, what", MISSING, ids=range(len(MISSING)))
def test_damaged_text_raises_an_error_with_its_file(text, what):
    with pytest.raises(ParseError, match=what) as caught:
        parse_composite(text, file="k.info")
    assert caught.value.file == "k.info"


def test_place_of_damage():
    with pytest.raises(ParseError) as caught:
        parse_composite('{"op": "a",\n "op_desc": [,]}', file="k.info")
    assert (caught.value.line, caught.value.column, caught.value.text) == (
        2,
        14,
        ' "op_desc": [,]}',
    )


SIZE, FLAG, OTHER_FLAG = (
    tensor("size", [2], "int64"),
    tensor("flag", [1], "bool"),
    tensor("other_flag", [1], "bool"),
)
SHAPE = tensor("shape", [4], "int64")
SMALL, LARGE = tensor("small", [2, 3, 4, 5]), tensor("large", [2, 3, 8, 9])
MADE_NOWHERE = "which no earlier operator computes"


@cases(
    "operator, inputs, output, values",
    [
        ("ReduceProd", [X, tensor("axes", [1], "int64", value=[1]), FLAG], Y, {"flag": True}),
        ("ReduceProd", [X, X, FLAG], tensor("y", [2]), {"flag": False}),
        ("ReduceProd", [X, FLAG], tensor("y", [2]), MADE_NOWHERE),
        ("ReduceProd", [X, X, tensor("flag", [2], "bool")], tensor("y", [2]), MADE_NOWHERE),
        ("Add", [X, X, FLAG], Y, MADE_NOWHERE),
        ("Conv2DBackpropInput", [X, X, SHAPE], LARGE, {"shape": (2, 3, 8, 9)}),
        ("Conv2DBackpropFilter", [X, X, SHAPE], LARGE, {"shape": (2, 3, 8, 9)}),
        ("Conv2DBackpropInput", [X, SHAPE, X], LARGE, MADE_NOWHERE),
        ("Conv2DBackpropInput", [X, X, SHAPE], Y, MADE_NOWHERE),
        ("Conv2DBackpropInput", [X, X, tensor("s", [4], "int32")], LARGE, MADE_NOWHERE),
        ("Elu", [X, tensor("alpha", [1])], Y, {"alpha": 1.0}),
        ("Elu", [tensor("alpha", [1]), X], Y, MADE_NOWHERE),
        (
            "ResizeNearestNeighbor",
            [SMALL, SIZE, FLAG, FLAG],
            LARGE,
            {"size": (8, 9), "flag": False},
        ),
        (
            "ResizeNearestNeighborGrad",
            [LARGE, SIZE, FLAG, FLAG],
            SMALL,
            {"size": (8, 9), "flag": False},
        ),
        ("ResizeNearestNeighbor", [SMALL, SIZE, FLAG, OTHER_FLAG], LARGE, MADE_NOWHERE),
        ("ResizeNearestNeighbor", [SMALL, SIZE, FLAG], LARGE, MADE_NOWHERE),
        ("ResizeNearestNeighbor", [SMALL, SHAPE, FLAG, FLAG], LARGE, MADE_NOWHERE),
        ("ResizeNearestNeighbor", [SMALL, SIZE, FLAG, FLAG], Y, MADE_NOWHERE),
        ("Resize", [SMALL, SIZE, FLAG, FLAG], LARGE, MADE_NOWHERE),
    ],
)
def test_constants_that_the_text_omits(operator, inputs, output, values):
    given = [one for one in inputs if one in (X, SMALL, LARGE)][:1]
    text = kernel([(operator, inputs, [output], None)], inputs=given, outputs=[output])
    if isinstance(values, str):
        with pytest.raises(ParseError, match=values):
            parse_composite(text, file="k.info")
        return
    graph = parse_composite(text, file="k.info")
    found = {
        name: value.data
        for name, value in graph.values.items()
        if value.kind == "constant" and name != "axes"
    }
    assert found == values
