"""Every lowered operator against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from ms_fusion.onnx.fuse.functions import FusedGroup
from ms_fusion.onnx.fuse.verification import check_group, is_within_tolerance
from ms_fusion.onnx.kernels.group_kernel import GroupKernel, build, build_all, plan_kernel
from ms_fusion.onnx.kernels.subgraphs import fused_node
from ms_fusion.onnx.kernels.tbe_source import descriptions, write_tbe_source
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.ops import ONNX_OPERATORS
from ms_fusion.readers.onnx_file import open_model
from ms_fusion.readers.onnx_graph import OnnxProjection, project
from tbe_impl.loading.operator import load_operator
from tests.cases import FULL, Row, cases
from tests.ms_fusion.onnx.fuse.models import FLOAT, Builder

SHAPE = (2, 3, 4)
POSITIVE = {"Log", "Sqrt", "Reciprocal", "Acosh", "ReduceLogSum"}
INSIDE = {"Asin", "Acos", "Atanh"}


def positive(b: Builder, name: str) -> str:
    return b.add("Add", b.add("Abs", name), b.constant(1.0, "float32"))


def small(b: Builder, name: str) -> str:
    return b.add("Mul", b.add("Tanh", name), b.constant(0.9, "float32"))


def convolved(b: Builder, op: str, x: str) -> str:
    if op == "Conv":
        return b.add(op, x, b.weight(5, 3, 3), b.weight(5))
    return b.add(
        op, b.add("Unsqueeze", x, b.constant([3], "int64")), b.weight(3, 5, 2, 1), b.weight(5)
    )


def case(op: str, b: Builder) -> str | list[str]:
    """One use of an operator after an Add, so that there is a group."""
    x = b.add("Add", "x", "y")
    x = positive(b, x) if op in POSITIVE else small(b, x) if op in INSIDE else x
    ints = lambda *numbers: b.constant(numbers, "int64")  # noqa: E731
    number = lambda value: b.constant(value, "float32")  # noqa: E731
    if op in ("Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal"):
        return b.add("Where", b.add(op, x, "y"), x, "y")
    if op in ("And", "Or", "Xor"):
        one, two = b.add("Greater", x, "y"), b.add("Less", x, number(0.5))
        return b.add("Where", b.add(op, one, two), x, "y")
    if op in ("Not", "IsNaN"):
        truth = b.add("Greater", x, "y") if op == "Not" else x
        return b.add("Where", b.add(op, truth), x, "y")
    if op == "Where":
        return b.add(op, b.add("Greater", x, "y"), x, "y")
    if op == "Cast":
        return b.add("Cast", b.add("Cast", x, to=6), to=1)
    if op == "Clip":
        return b.add(op, x, number(-0.5), number(0.7))
    if op == "Pow":
        return b.add(op, positive(b, x), number(2.5))
    if op == "Mod":
        return b.add(op, x, positive(b, "y"), fmod=1)
    if op == "PRelu":
        return b.add(op, x, b.weight(4))
    if op in ("Div", "Sub", "Mul", "Add"):
        return b.add(op, x, positive(b, "y"))
    if op in ("Max", "Min", "Sum", "Mean"):
        return b.add(op, x, "x", "y")
    if op == "Gelu":
        return b.add("Add", b.add(op, x), b.add(op, x, approximate="tanh"))
    if op.startswith("Reduce"):
        kept = b.add(op, x, ints(-1, 0), keepdims=1)
        return b.add(
            "Add", kept, b.add("Unsqueeze", b.add(op, x, ints(0, 2), keepdims=0), ints(0, 2))
        )
    if op in ("LayerNormalization", "RMSNormalization"):
        return b.add(op, x, b.weight(4), *([b.weight(4)] if op[0] == "L" else []), axis=-1)
    if op == "BatchNormalization":
        return b.add(
            op, x, b.weight(3), b.weight(3), b.weight(3), b.constant([0.5, 1.0, 2.0], "float32")
        )
    if op == "InstanceNormalization":
        return b.add(op, x, b.weight(3), b.weight(3))
    if op == "Reshape":
        return b.add("Relu", b.add(op, x, ints(0, -1)))
    if op == "Squeeze":
        return b.add(op, b.add("Unsqueeze", x, ints(1)), ints(1))
    if op == "Unsqueeze":
        return b.add(op, x, ints(0, 4))
    if op == "Transpose":
        return b.add("Relu", b.add(op, x, perm=[2, 0, 1]))
    if op == "Expand":
        return b.add(op, b.add("ReduceMax", x, ints(1)), ints(2, 3, 4))
    if op == "Slice":
        return b.add(op, x, ints(1, 0), ints(4, 2**62), ints(2, 1), ints(2, 1))
    if op == "Concat":
        return b.add(op, x, "y", axis=1)
    if op == "Split":
        return b.add(op, x, ints(1, 3), outputs=2, axis=2)
    if op == "Tile":
        return b.add(op, x, ints(1, 2, 1))
    if op == "Pad":
        return b.add(op, x, ints(0, 1, 0, 0, 0, 2), number(1.5))
    if op == "MatMul":
        return b.add("Relu", b.add(op, x, b.weight(4, 5)))
    if op == "Gemm":
        return b.add(
            op, b.add("Flatten", x), b.weight(5, 12), b.weight(5), transB=1, alpha=0.5, beta=2.0
        )
    if op in ("Conv", "ConvTranspose"):
        return b.add("Relu", convolved(b, op, x))
    if op in ("MaxPool", "AveragePool"):
        return b.add(op, x, kernel_shape=[2], strides=[2])
    if op in ("Softmax", "LogSoftmax"):
        return b.add(op, x, axis=1)
    return b.add(op, x)


NEWER = {"Swish": 24, "RMSNormalization": 23, "Gelu": 20}


def as_written(kernel: GroupKernel, place: Path, chips: Sequence[str]) -> Iterator[Any]:
    """The results of a group's operator file in `tbe_impl`, for each of `chips`."""
    file = place / f"{kernel.name}.py"
    file.write_text(write_tbe_source(kernel).text, "utf-8")
    body = kernel.node.body
    assert body is not None
    values = [body.values[name] for name in (*body.inputs, *body.outputs)]
    operator = load_operator(file)
    for chip in chips:
        built = operator.build(*descriptions(values, int), soc=chip)
        yield lambda *arrays, built=built: built(*arrays, backend="numpy")


IN_C_ONLY = {"Conv", "ConvTranspose", "MaxPool", "AveragePool"}
"""Operators whose groups have no operator file yet."""


def group_of(
    b: Builder, outputs: list[str], native: NativeWorkers, path: Path
) -> tuple[ir.Model, OnnxProjection, FusedGroup]:
    """A model, and all of it as one group."""
    model = open_model(b.save(path, *outputs))
    native.infer_shapes(model)
    projection = project(model)
    names = [node.name for node in projection.graph.nodes]
    return model, projection, FusedGroup("group", fused_node(projection.graph, names, "Group"))


Group = tuple[ir.Model, OnnxProjection, FusedGroup]


def agrees(
    group: Group,
    kernel: GroupKernel,
    native: NativeWorkers,
    place: Path,
    chips: Sequence[str],
    in_c: bool = True,
) -> None:
    """All of a model as one kernel, and as its operator file, against ONNX Runtime."""
    model, projection, fused = group
    ops = {str(node.attr("onnx_op")) for node in projection.graph.nodes}
    if ops & IN_C_ONLY:
        chips = ()
    elif chips and ops & {"MatMul", "Gemm"}:
        chips = ("cpu",)  # the cube multiplies float16 only
    written = [replace(kernel, kernel=one) for one in as_written(kernel, place, chips)]
    tried = [kernel] * in_c + written
    assert tried
    for one in tried:
        found = check_group(one, fused, model, native, projection.nodes, projection.values, {})
        assert len(found) == len(model.graph.outputs)
        assert is_within_tolerance(found), found


def of_operator(op: str) -> tuple[Builder, list[str]]:
    b = Builder({"x": SHAPE, "y": SHAPE}, opset=NEWER.get(op, 18))
    made = case(op, b)
    assert any(node.op_type == op for node in b.nodes)
    return b, made if isinstance(made, list) else [made]


Compiled = Mapping[str, tuple[Group, GroupKernel]]


def compiled(
    models: Mapping[str, tuple[Builder, list[str]]], native: NativeWorkers, path: Path
) -> Compiled:
    """The kernels of models by name, several compiled by each call of the compiler."""
    groups = {name: group_of(*one, native, path) for name, one in models.items()}
    kernels = list(build_all([group[-1].node for group in groups.values()]))
    for one in kernels:
        assert isinstance(one, GroupKernel), one
    return dict(zip(groups, zip(groups.values(), kernels, strict=True), strict=True))


CHIPS = ("cpu", "Ascend910B")


def ways(op: str, *, full: bool) -> tuple[bool, Sequence[str]]:
    """Whether an operator is compiled, and the chips for which its operator file is evaluated.

    In `make test` operators alternate: they share the generators of the C and of the file.
    """
    turn = sorted(ONNX_OPERATORS).index(op)
    if full or op in IN_C_ONLY:
        return True, CHIPS
    return (True, ()) if turn % 2 else (False, CHIPS[turn // 2 % 2 :][:1])


@pytest.fixture
def operators_made(
    case_group: list[Row], native: NativeWorkers, tmp_path: Path, full: bool
) -> Compiled:
    models = {row.arguments["op"]: of_operator(row.arguments["op"]) for row in case_group}
    in_c = {op: one for op, one in models.items() if ways(op, full=full)[0]}
    made = dict(compiled(in_c, native, tmp_path / "all.onnx"))
    for op in models.keys() - in_c.keys():
        group = group_of(*models[op], native, tmp_path / "one.onnx")
        made[op] = group, plan_kernel(group[-1].node)
    return made


@cases("op", sorted(ONNX_OPERATORS), per_item=50)
def test_an_operator_is_what_onnx_runtime_says(
    op: str,
    operators_made: Compiled,
    native: NativeWorkers,
    tmp_path: Path,
    full: bool,
) -> None:
    in_c, chips = ways(op, full=full)
    agrees(*operators_made[op], native, tmp_path, chips, in_c)


IMAGES = {
    "padded": ("Conv", (1, 4, 7, 6), (6, 4, 3, 3), {"pads": [1, 0, 2, 1]}),
    "strided": ("Conv", (2, 4, 9, 8), (6, 4, 3, 2), {"strides": [2, 3], "dilations": [2, 1]}),
    "groups": (
        "Conv",
        (1, 4, 6, 6),
        (8, 2, 3, 3),
        {"group": 2, "auto_pad": "SAME_UPPER", "strides": [2, 2]},
    ),
    "depthwise": ("Conv", (1, 4, 6, 6), (4, 1, 3, 3), {"group": 4, "auto_pad": "SAME_LOWER"}),
    "one axis": ("Conv", (2, 4, 9), (3, 4, 3), {"pads": [1, 1], "strides": [2]}),
    "three axes": ("Conv", (1, 2, 4, 5, 6), (3, 2, 2, 3, 3), {"pads": [0, 1, 1, 1, 1, 1]}),
    "any batch": ("Conv", ("n", 4, 5, 6), (3, 4, 3, 3), {"pads": [1, 1, 1, 1]}),
    "any image": ("Conv", ("n", 4, "h", "w"), (3, 4, 3, 3), {"pads": [1, 1, 1, 1]}),
    "transposed": ("ConvTranspose", (1, 4, 5, 4), (4, 3, 2, 2), {"strides": [2, 2]}),
    "transposed and cut": (
        "ConvTranspose",
        (2, 4, 5, 4),
        (4, 3, 3, 3),
        {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 0], "group": 2},
    ),
    "largest": (
        "MaxPool",
        (1, 3, 7, 8),
        None,
        {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
    ),
    "largest, spread": (
        "MaxPool",
        (1, 3, 9, 8),
        None,
        {"kernel_shape": [2, 3], "dilations": [2, 1]},
    ),
    "mean": (
        "AveragePool",
        (1, 3, 7, 8),
        None,
        {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]},
    ),
    "mean with edges": (
        "AveragePool",
        (1, 3, 7),
        None,
        {"kernel_shape": [3], "pads": [1, 1], "count_include_pad": 1},
    ),
}


IN_QUICK = {
    "strided",
    "groups",
    "depthwise",
    "three axes",
    "any image",
    "transposed and cut",
    "largest, spread",
    "mean",
    "mean with edges",
}
"""The richest cases."""


def of_image(name: str) -> tuple[Builder, list[str]]:
    op, shape, filters, attributes = IMAGES[name]
    b = Builder({"x": shape})
    weights = [b.weight(*filters)] if filters else []
    made = b.add(op, b.add("Relu", "x"), *weights, **attributes)
    return b, [b.add("Sigmoid", made)]


@pytest.fixture
def images_compiled(case_group: list[Row], native: NativeWorkers, tmp_path: Path) -> Compiled:
    names = [row.arguments["name"] for row in case_group]
    return compiled({name: of_image(name) for name in names}, native, tmp_path / "all.onnx")


@cases("name", [pytest.param(name, marks=() if name in IN_QUICK else FULL) for name in IMAGES])
def test_images(
    name: str, images_compiled: Compiled, native: NativeWorkers, tmp_path: Path
) -> None:
    agrees(*images_compiled[name], native, tmp_path, CHIPS)


@cases("dtype", [10, 11, 16], ids=["float16", "float64", "bfloat16"])
def test_other_dtypes(dtype: int, native: NativeWorkers, tmp_path: Path) -> None:
    b = Builder({"x": ("n", 8), "y": (8,)}, dtype)
    x = b.add("Softmax", b.add("Mul", b.add("Add", "x", "y"), b.add("Sigmoid", "x")), axis=-1)
    model = open_model(b.save(tmp_path / "one.onnx", x))
    native.infer_shapes(model)
    graph = project(model).graph
    kernel = build(fused_node(graph, [node.name for node in graph.nodes], "Group"))
    given = [
        np.linspace(-2, 2, size).reshape(shape).astype(kernel.kernel.inputs[n].dtype)
        for n, (size, shape) in enumerate([(40, (5, 8)), (8, (8,))])
    ]
    a, c = (one.astype(np.float64) for one in given)
    powers = (a + c) / (1 + np.exp(-a))
    powers = np.exp(powers - powers.max(-1, keepdims=True))
    expected = powers / powers.sum(-1, keepdims=True)
    tolerance = {10: 1e-3, 11: 1e-13, 16: 8e-3}[dtype]
    np.testing.assert_allclose(
        kernel.kernel(*given).astype(np.float64), expected, rtol=tolerance, atol=tolerance
    )


def test_every_value_keeps_its_name_out_of_the_code(native: NativeWorkers, tmp_path: Path) -> None:
    hostile = '"; */ system("x"); //'
    b = Builder({hostile: (4,), "y": (4,)}, FLOAT)
    model = open_model(b.save(tmp_path / "one.onnx", b.add("Relu", b.add("Add", hostile, "y"))))
    native.infer_shapes(model)
    graph = project(model).graph
    kernel = build(fused_node(graph, [node.name for node in graph.nodes], "Group"))
    assert "system" not in kernel.source
    assert kernel.name.startswith("Group_")
