"""Models with undefined values, unknown operators or unknown versions are refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from ms_fusion.cli.main import run
from ms_fusion.readers.onnx_file import open_model
from tbe_impl.errors import InputError
from tests.cases import cases

NEWEST = onnx.defs.onnx_opset_version()


def value(name: str, *shape: int) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def graph_of(nodes: list[Any], output: str, name: str = "g", inputs: tuple[Any, ...] = ()) -> Any:
    return helper.make_graph(nodes, name, list(inputs), [value(output, 4)])


def branches(made: str, wanted: str) -> Any:
    """If, whose first branch defines one value and returns another."""
    then = graph_of([helper.make_node("Relu", ["x"], [made])], wanted, "then")
    other = graph_of([helper.make_node("Neg", ["x"], ["b"])], "b", "other")
    return helper.make_node("If", ["c"], ["y"], "branches", then_branch=then, else_branch=other)


def scan(made: str, wanted: str) -> Any:
    """Scan, whose body defines one value and returns another."""
    body = graph_of([helper.make_node("Relu", ["r"], [made])], wanted, "body", (value("r", 4),))
    return helper.make_node("Scan", ["rows"], ["y"], "scan", body=body, num_scan_inputs=1)


def saved(
    path: Path, *nodes: Any, output: str = "y", opset: int = 17, functions: tuple[Any, ...] = ()
) -> Path:
    inputs = [
        value("x", 4),
        value("rows", 3, 4),
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
    ]
    graph = helper.make_graph(list(nodes), "g", inputs, [value(output, 4)])
    versions = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=versions, functions=functions, ir_version=9)
    onnx.save(model, path)
    return path


def function(*nodes: Any, output: str) -> Any:
    versions = [helper.make_opsetid("", 17)]
    return helper.make_function("", "Own", ["a"], [output], list(nodes), versions)


def own_call() -> Any:
    return helper.make_node("Own", ["x"], ["y"])


RELU = helper.make_node("Relu", ["x"], ["y"])
LOST = "nothing makes the value 'lost'"
REFUSED = [
    ("a branch", [branches("t", "lost")], {}, LOST),
    ("a scan", [scan("t", "lost")], {}, LOST),
    (
        "a branch in a scan",
        [
            helper.make_node(
                "Scan",
                ["rows"],
                ["y"],
                "outer",
                num_scan_inputs=1,
                body=graph_of([branches("t", "lost")], "y", "body", (value("x", 4),)),
            )
        ],
        {},
        LOST,
    ),
    ("the graph", [RELU], {"output": "lost"}, LOST),
    (
        "a function",
        [own_call()],
        {"functions": (function(helper.make_node("Relu", ["a"], ["b"]), output="lost"),)},
        "this is not a valid ONNX model; got Error calling deserialize_function",
    ),
    (
        "version 99",
        [RELU],
        {"opset": 99},
        f"version 99 of ONNX's operators is not known; expected 1 to {NEWEST}, those of onnx",
    ),
    (
        "one version too new",
        [RELU],
        {"opset": NEWEST + 1},
        f"version {NEWEST + 1} of ONNX's operators is not known",
    ),
    (
        "Reluu",
        [helper.make_node("Reluu", ["x"], ["y"], "first")],
        {},
        "node 'first': ONNX has no operator 'Reluu'. Did you mean Relu?",
    ),
    (
        "an unknown one",
        [helper.make_node("Frobnicate", ["x"], ["y"], "first")],
        {},
        "'Frobnicate'. Give an operator of your own a domain of its own",
    ),
    (
        "an unknown one in a branch",
        [
            helper.make_node(
                "If",
                ["c"],
                ["y"],
                "if",
                then_branch=graph_of(
                    [helper.make_node("Reluu", ["x"], ["t"], "inner")], "t", "then"
                ),
                else_branch=graph_of([helper.make_node("Neg", ["x"], ["b"])], "b", "other"),
            )
        ],
        {},
        "node 'inner': ONNX has no operator 'Reluu'",
    ),
    (
        "an unknown one in a function",
        [own_call()],
        {"functions": (function(helper.make_node("Reluu", ["a"], ["b"], "deep"), output="b"),)},
        "node 'deep': ONNX has no operator 'Reluu'",
    ),
]


@cases("label, nodes, options, says", REFUSED, ids=lambda row: row[0])
def test_what_is_wrong_is_named(
    tmp_path: Path,
    label: str,
    nodes: list[Any],
    options: dict[str, Any],
    says: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    path = saved(tmp_path / "model.onnx", *nodes, **options)
    with pytest.raises(InputError) as caught:
        open_model(path)
    assert says in str(caught.value)
    capfd.readouterr()
    assert run(["fuse", "--input", str(path), "--dry-run"]) == 2
    out, err = capfd.readouterr()
    assert (out, err) == ("", f"ms-fusion: {caught.value}\n")


@cases(
    "nodes, options",
    [
        ([branches("t", "t")], {}),
        ([scan("t", "t")], {}),
        ([RELU], {"opset": NEWEST}),
        ([helper.make_node("Reluu", ["x"], ["y"], domain="mine")], {}),
        ([helper.make_node("LayerNormalization", ["x", "x"], ["y"])], {"opset": 13}),
        ([helper.make_node("SimplifiedLayerNormalization", ["x", "x"], ["y"])], {}),
        ([helper.make_node("Upsample", ["x", "x"], ["y"])], {"opset": 9}),
        (
            [own_call()],
            {"functions": (function(helper.make_node("Relu", ["a"], ["b"]), output="b"),)},
        ),
    ],
)
def test_what_runtimes_take_is_taken(
    tmp_path: Path, nodes: list[Any], options: dict[str, Any]
) -> None:
    assert len(open_model(saved(tmp_path / "model.onnx", *nodes, **options)).graph) == 1
