"""Clean-up in ONNX's own operators: its output, its limits, and unchanged values including NaN."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx

from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from ms_fusion.onnx.native.child import NativeWorkers
from tests.cases import cases
from tests.ms_fusion.onnx.fuse.models import Builder

Net = Callable[[Builder], str | list[str]]
ODD = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40)


def builder() -> Builder:
    return Builder({"x": ("n", 6), "y": ("n", 6)})


def norm(
    b: Builder,
    x: str,
    *,
    root: str = "Div",
    square: str = "Pow",
    shift: bool = True,
    axis: int = -1,
    scale: int = 6,
    count: float | None = None,
) -> str:
    axes = b.constant([axis], "int64")
    centred = b.add("Sub", x, b.add("ReduceMean", x, axes))
    squared = (
        b.add("Pow", centred, b.constant(2.0, "float32"))
        if square == "Pow"
        else b.add("Mul", centred, centred)
    )
    variance = (
        b.add("ReduceMean", squared, axes)
        if count is None
        else b.add("Div", b.add("ReduceSum", squared, axes), b.constant([count], "float32"))
    )
    spread = b.add("Sqrt", b.add("Add", b.constant(1e-5, "float32"), variance))
    made = (
        b.add("Div", centred, spread)
        if root == "Div"
        else b.add("Mul", b.add("Reciprocal", spread), centred)
    )
    made = b.add("Mul", b.weight(scale), made)
    return b.add("Add", made, b.weight(scale)) if shift else made


def read_inside(b: Builder) -> list[str]:
    made = norm(b, "x")
    centred = next(node.output[0] for node in b.nodes if node.op_type == "Sub")
    return [made, b.add("Exp", centred)]


def product(b: Builder, x: str = "x") -> str:
    return b.add("MatMul", x, b.weight(6, 6))


def image(b: Builder, pool: str, flat: str = "Flatten") -> str:
    x = b.add("Reshape", "x", b.constant([0, 2, 3, 1], "int64"))
    more = [b.constant([2, 3], "int64")] if flat == "Squeeze" else []
    return b.add("Exp", b.add(flat, b.add(pool, x), *more))


CHANGED: dict[str, tuple[Net, list[str]]] = {
    "norm": (lambda b: norm(b, "x"), ["LayerNormalization"]),
    "norm, no shift": (lambda b: norm(b, "x", shift=False), ["LayerNormalization"]),
    "norm, reciprocal": (
        lambda b: norm(b, "x", root="Reciprocal", square="Mul", axis=1),
        ["LayerNormalization"],
    ),
    "norm, sum of squares": (lambda b: norm(b, "x", count=6), ["LayerNormalization"]),
    "two norms": (lambda b: norm(b, norm(b, "x")), ["LayerNormalization", "LayerNormalization"]),
    "row": (lambda b: b.add("Add", b.weight(6), product(b)), ["Gemm"]),
    "matrix": (lambda b: b.add("Add", product(b), "y"), ["Gemm"]),
    "two products and a row": (
        lambda b: b.add("Add", b.add("Add", product(b), product(b, "y")), b.weight(6)),
        ["Gemm", "Gemm"],
    ),
    "what is added comes late": (
        lambda b: b.add(
            "Add",
            b.add("Add", product(b), product(b, "y")),
            b.add("ReduceMax", b.add("Exp", "y"), b.constant([0], "int64"), keepdims=0),
        ),
        ["Exp", "ReduceMax", "Gemm", "Gemm"],
    ),
    "mean": (lambda b: image(b, "GlobalAveragePool"), ["Reshape", "ReduceMean", "Exp"]),
    "squeezed mean": (
        lambda b: image(b, "GlobalAveragePool", "Squeeze"),
        ["Reshape", "ReduceMean", "Exp"],
    ),
    "relu of what is above": (
        lambda b: b.add("Neg", b.add("Relu", b.add("Abs", b.add("Softplus", "x")))),
        ["Softplus", "Neg"],
    ),
    "relu of a sum": (
        lambda b: b.add(
            "Neg", b.add("LeakyRelu", b.add("Add", b.add("Exp", "x"), b.add("Mul", "y", "y")))
        ),
        ["Exp", "Mul", "Add", "Neg"],
    ),
    "signs": (lambda b: b.add("Exp", b.add("Neg", b.add("Neg", "x"))), ["Exp"]),
    "sum with a sign": (lambda b: b.add("Add", b.add("Neg", "x"), "y"), ["Sub"]),
    "difference with a sign": (lambda b: b.add("Sub", "x", b.add("Neg", "y")), ["Add"]),
    "turned difference": (lambda b: b.add("Neg", b.add("Sub", "x", "y")), ["Sub"]),
    "two signs": (lambda b: b.add("Mul", b.add("Neg", "x"), b.add("Neg", "y")), ["Mul"]),
    "absolute": (lambda b: b.add("Abs", b.add("Neg", "x")), ["Abs"]),
    "greatest of one": (lambda b: b.add("Exp", b.add("Max", "x", "x")), ["Exp"]),
}
KEPT: dict[str, Net] = {
    # ONNX Runtime's pooling ignores NaN, its ReduceMax does not
    "greatest of an image": lambda b: image(b, "GlobalMaxPool"),
    "another axis": lambda b: norm(b, "x", axis=0),
    "variance without bias": lambda b: norm(b, "x", count=5),
    "another length": lambda b: norm(b, "x", scale=1),
    "read inside": read_inside,
    "a column is added": lambda b: b.add(
        "Add", product(b), b.add("ReduceMax", "x", b.constant([1], "int64"))
    ),
    "more rows": lambda b: b.add(
        "Add",
        b.add("MatMul", b.add("ReduceMax", "x", b.constant([0], "int64")), b.weight(6, 6)),
        "y",
    ),
    "a product read twice": lambda b: b.add(
        "Mul", b.add("Add", made := product(b), b.weight(6)), made
    ),
    "relu of what may be below": lambda b: b.add(
        "Exp", b.add("Relu", b.add("Sub", b.add("Exp", "x"), b.add("Exp", "y")))
    ),
    "relu of a share": lambda b: b.add(
        "Exp", b.add("Relu", b.add("Div", b.add("Exp", "x"), b.add("Relu", "y")))
    ),
}
"""The net is unchanged."""


def tidied(net: Net, place: Path, native: NativeWorkers) -> list[str]:
    """The remaining operators; also compares the values."""
    b = builder()
    outputs = net(b)
    source = b.save(place / "net.onnx", *([outputs] if isinstance(outputs, str) else outputs))
    auto_fuse(source, place / "tidy.onnx", opt_level=0)
    random = np.random.default_rng(5)
    plain = {name: random.standard_normal((4, 6)).astype(np.float32) for name in ("x", "y")}
    odd = {name: array.copy() for name, array in plain.items()}
    odd["x"][2] = ODD
    for given in (plain, odd):
        expected, found = (
            native.run(path, given).outputs for path in (source, place / "tidy.onnx")
        )
        for name, array in expected.items():
            np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-5)
    return [node.op_type for node in onnx.load(place / "tidy.onnx").graph.node]


@cases("net, left", CHANGED.values(), ids=CHANGED.keys())
def test_clean_up_leaves_the_expected_operators(
    net: Net, left: list[str], tmp_path: Path, native: NativeWorkers
) -> None:
    assert sorted(tidied(net, tmp_path, native)) == sorted(left)


@cases("net", KEPT.values(), ids=KEPT.keys())
def test_what_is_something_else_stays(net: Net, tmp_path: Path, native: NativeWorkers) -> None:
    b = builder()
    net(b)
    assert sorted(tidied(net, tmp_path, native)) == sorted(node.op_type for node in b.nodes)


def test_older_models_keep_what_they_have_no_operator_for(tmp_path: Path) -> None:
    b = Builder({"x": ("n", 6)}, opset=13)
    mean = b.add("Sub", "x", b.add("ReduceMean", "x", axes=[-1]))
    spread = b.add(
        "Sqrt",
        b.add(
            "Add",
            b.add("ReduceMean", b.add("Mul", mean, mean), axes=[-1]),
            b.constant(1e-5, "float32"),
        ),
    )
    b.save(tmp_path / "net.onnx", b.add("Mul", b.add("Div", mean, spread), b.weight(6)))
    auto_fuse(tmp_path / "net.onnx", tmp_path / "tidy.onnx", opt_level=0)
    assert len(onnx.load(tmp_path / "tidy.onnx").graph.node) == len(b.nodes)


def test_a_result_keeps_its_name(tmp_path: Path, native: NativeWorkers) -> None:
    def results(b: Builder) -> list[str]:
        first = b.add("Neg", "x")
        return [first, b.add("Relu", b.add("Abs", first)), b.add("Add", product(b), b.weight(6))]

    assert sorted(tidied(results, tmp_path, native)) == ["Abs", "Gemm", "Neg", "Relu"]


def test_a_constant_that_clean_up_makes_has_a_name_of_its_own(
    tmp_path: Path, native: NativeWorkers
) -> None:
    """`mean` below states the axes."""

    def taken(b: Builder) -> list[str]:
        made = image(b, "GlobalAveragePool")
        pooled = next(node.output[0] for node in b.nodes if node.op_type == "GlobalAveragePool")
        b.nodes.append(onnx.helper.make_node("Neg", ["x"], [f"{pooled}_axes"]))
        return [made, f"{pooled}_axes"]

    assert sorted(tidied(taken, tmp_path, native)) == ["Exp", "Neg", "ReduceMean", "Reshape"]


def test_paddings_and_expansions_of_torch_are_known(tmp_path: Path, native: NativeWorkers) -> None:
    b = builder()
    whole = lambda *one: b.constant(one, "int64")  # noqa: E731
    zero, one = (onnx.numpy_helper.from_array(np.array([number])) for number in (0, 1))
    told = b.add("Concat", whole(1, 1), b.add("ConstantOfShape", whole(2), value=zero), axis=0)
    turned = b.add(
        "Slice",
        b.add("Reshape", told, whole(-1, 2)),
        whole(-1),
        whole(-(2**63) + 1),
        whole(0),
        whole(-1),
    )
    pads = b.add("Reshape", b.add("Transpose", turned, perm=[1, 0]), whole(-1))
    ones = b.add("ConstantOfShape", whole(3), value=one)
    equal = b.add("Equal", whole(2, -1, -1), b.add("Mul", ones, b.constant(-1, "int64")))
    shape = b.add("Where", equal, ones, whole(2, -1, -1))
    made = b.add("Expand", b.add("Pad", "x", b.add("Cast", pads, to=onnx.TensorProto.INT64)), shape)
    large = b.add("ConstantOfShape", whole(1, 1 << 40), value=zero)
    rest = b.add(
        "Cast",
        b.add("ReduceMax", b.add("Slice", large, whole(0), whole(1), whole(1)), keepdims=0),
        to=1,
    )
    source, output = b.save(tmp_path / "net.onnx", made, rest), tmp_path / "tidy.onnx"
    auto_fuse(source, output, opt_level=0)
    assert [node.op_type for node in onnx.load(output).graph.node][:2] == ["Pad", "Expand"]
    assert "ConstantOfShape" in {node.op_type for node in onnx.load(output).graph.node}
