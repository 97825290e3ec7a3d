"""Valid but rare models: half precision, computed sizes, reserved names, nested functions."""

from __future__ import annotations

import itertools
from pathlib import Path

import mindspore as ms
import numpy as np
import onnx
import onnx.parser
import onnx_ir as ir
import pytest
from onnx import helper

import ms_fusion as mf
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.onnx.native.ranks import fill_ranks
from tbe_impl.errors import InputError
from tests.cases import FULL, cases
from tests.ms_fusion.onnx.cell.modes import in_both_modes, in_modes
from tests.ms_fusion.onnx.cell.test_cell import same
from tests.ms_fusion.onnx.fuse.models import FLOAT, OPSET, Builder
from tests.ms_fusion.onnx.fuse.test_defaults import listed

HALF = onnx.TensorProto.FLOAT16


@cases("op", ["LayerNormalization", "RMSNormalization"])
def test_norms_of_half_precision_are_computed_in_float32(op: str, tmp_path: Path) -> None:
    x = np.where(np.arange(64).reshape(2, 32) % 2, 300.0, -300.0).astype(np.float16)
    b = Builder({"x": x.shape}, HALF, opset=23)
    net = mf.from_onnx(
        b.save(tmp_path / "m.onnx", b.add(op, "x", b.constant(np.ones(32), "float16")))
    )
    found = net(ms.Tensor(x)).asnumpy()
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, np.sign(x), rtol=1e-3)


def test_a_split_into_one_is_that_one(tmp_path: Path) -> None:
    b = Builder({"x": (4, 6)})
    net = mf.from_onnx(
        b.save(tmp_path / "m.onnx", b.add("Relu", b.add("Split", "x", axis=1, num_outputs=1)))
    )
    x = np.arange(-12, 12, dtype=np.float32).reshape(4, 6)
    np.testing.assert_array_equal(net(ms.Tensor(x)).asnumpy(), np.maximum(x, 0))


def test_a_size_times_a_list_of_one_is_a_list_of_one(tmp_path: Path) -> None:
    b = Builder({"x": ("n", 6)})
    rows = b.add("Gather", b.add("Shape", "x"), b.constant(0, "int64"))
    product = b.add("Mul", rows, b.constant([3], "int64"))
    shape = b.add("Concat", product, b.constant([-1], "int64"), axis=0)
    net = mf.from_onnx(b.save(tmp_path / "m.onnx", b.add("Relu", b.add("Reshape", "x", shape))))
    x = np.arange(-12, 12, dtype=np.float32).reshape(4, 6)
    np.testing.assert_array_equal(net(ms.Tensor(x)).asnumpy(), np.maximum(x, 0).reshape(12, 2))


EXPANDED = {
    "both ways": lambda b: b.add(
        "Concat",
        b.constant([1], "int64"),
        b.add("Shape", "y", end=1),
        b.constant([1], "int64"),
        axis=0,
    ),
    "fewer axes": lambda b: b.add(
        "Concat", b.add("Shape", "y", end=1), b.constant([1], "int64"), axis=0
    ),
    "a constant": lambda b: b.constant([4, 1], "int64"),
}
"""Sizes for an ``Expand`` of (n, 1, 6): more of one axis, and one element of others."""


@in_modes("name", EXPANDED)
def test_a_shape_with_ones_keeps_what_is_larger(
    name: str, native: NativeWorkers, tmp_path: Path
) -> None:
    b = Builder({"x": ("n", 1, 6), "y": ("m", 2)})
    source = b.save(
        tmp_path / "m.onnx",
        b.add("Tanh", b.add("Expand", b.add("Exp", "x"), EXPANDED[name](b))),
        b.add("Neg", "y"),
    )
    x, y = np.linspace(-2, 1, 18, dtype=np.float32).reshape(3, 1, 6), np.ones((5, 2), np.float32)
    same(mf.from_onnx(source), source, {"x": x, "y": y}, native)


def chosen_sizes(b: Builder) -> str:
    """torch's form of an expansion of (n, 6) to (-1, n, 6)."""
    wanted = b.add("Concat", b.constant([-1], "int64"), b.add("Shape", "x"), axis=0)
    kept = b.add("Equal", wanted, b.constant([-1, -1, -1], "int64"))
    return str(b.add("Expand", "x", b.add("Where", kept, b.constant([1, 1, 1], "int64"), wanted)))


def half_rounded_up(b: Builder) -> str:
    half = b.add(
        "Neg", b.add("Div", b.add("Neg", b.add("Shape", "x", end=1)), b.constant([2], "int64"))
    )
    return str(b.add("Slice", "x", b.constant([0], "int64"), half, b.constant([0], "int64")))


def last_row(b: Builder) -> str:
    begin = b.add("Sub", b.add("Shape", "x", end=1), b.constant([1], "int64"))
    return str(
        b.add("Slice", "x", begin, b.constant([2**63 - 1], "int64"), b.constant([0], "int64"))
    )


COMPUTED = {
    "chosen": chosen_sizes,
    "half": half_rounded_up,
    "last": last_row,
    "larger": lambda b: b.add(
        "Expand",
        b.constant([2.0], "float32"),
        b.add("Max", b.add("Shape", "x"), b.constant([4, 1], "int64")),
    ),
    "smaller": lambda b: b.add(
        "ConstantOfShape", b.add("Min", b.add("Shape", "x"), b.constant(4, "int64"))
    ),
    "repeated": lambda b: b.add(
        "Tile", "x", b.add("Concat", b.constant([1], "int64"), b.add("Shape", "x", end=1), axis=0)
    ),
    "all but one": lambda b: b.add(
        "Expand",
        b.constant([2.0], "float32"),
        b.add(
            "Slice", b.add("Shape", "x"), b.constant([-(2**63)], "int64"), b.constant([-1], "int64")
        ),
    ),
    "all": lambda b: b.add(
        "Slice",
        "x",
        b.constant([-(2**63)], "int64"),
        b.constant([2**63 - 1], "int64"),
        b.constant([0], "int64"),
    ),
    "a truth value": lambda b: b.add(
        "Cast", b.add("Equal", b.add("Shape", "x"), b.constant([3, 5], "int64")), to=FLOAT
    ),
}


@in_modes(
    "name",
    COMPUTED,
    graph=("chosen",),
)
def test_sizes_are_computed_with(name: str, native: NativeWorkers, tmp_path: Path) -> None:
    b = Builder({"x": ("n", 6)})
    source = b.save(tmp_path / "m.onnx", b.add("Neg", COMPUTED[name](b)))
    x = np.linspace(-2, 1, 18, dtype=np.float32).reshape(3, 6)
    same(mf.from_onnx(source), source, {"x": x}, native)


@in_modes("number, dtype", [(2.5, "float32"), (2, "int64"), (True, "bool")])
def test_one_number_is_expanded_to_sizes(
    number: float, dtype: str, native: NativeWorkers, tmp_path: Path
) -> None:
    b = Builder({"x": ("n", 6)})
    whole = b.add("Expand", b.constant(number, dtype), b.add("Shape", "x"))
    source = b.save(tmp_path / "m.onnx", b.add("Add", "x", b.add("Cast", whole, to=FLOAT)))
    same(
        mf.from_onnx(source),
        source,
        {"x": np.linspace(-2, 1, 18, dtype=np.float32).reshape(3, 6)},
        native,
    )


@in_modes("divisor", [2, -2])
def test_quotients_of_sizes_are_rounded_towards_zero(divisor: int, tmp_path: Path) -> None:
    b = Builder({"x": ("n", 6)})
    below = b.add("Sub", b.constant([0], "int64"), b.add("Shape", "x", end=1))
    half = b.add("Div", below, b.constant([divisor], "int64"))
    shape = b.add(
        "Concat", b.add("Add", half, b.constant([4], "int64")), b.constant([6], "int64"), axis=0
    )
    net = mf.from_onnx(
        b.save(
            tmp_path / "m.onnx",
            b.add(
                "Add",
                b.add("ConstantOfShape", shape),
                b.add("Slice", "x", *(b.constant([one], "int64") for one in (0, 1, 0))),
            ),
        )
    )
    assert net(ms.Tensor(np.ones((3, 6), np.float32))).shape == (4 + int(-3 / divisor), 6)


@in_modes("how, sizes", itertools.product(["nearest", "linear"], [(5, 6), ("h", "w")]))
def test_images_of_half_precision_are_resized(
    how: str, sizes: tuple[int | str, ...], native: NativeWorkers, tmp_path: Path
) -> None:
    b = Builder({"x": (1, 2, *sizes)}, HALF)
    source = b.save(
        tmp_path / "m.onnx",
        b.add("Resize", "x", "", b.constant([1, 1, 1.5, 2], "float32"), mode=how),
    )
    x = np.random.default_rng(1).standard_normal((1, 2, 5, 6)).astype(np.float16)
    same(mf.from_onnx(source), source, {"x": x}, native)


def as_a_row(b: Builder) -> str:
    """A size computed as a scalar and reshaped to a row, as PyTorch exports it."""
    number = b.add("Squeeze", b.add("Shape", "x", start=1, end=2))
    half = b.add("Div", b.add("Add", number, b.constant(-1, "int64")), b.constant(2, "int64"))
    row = b.add("Reshape", half, b.constant([-1], "int64"))
    return str(b.add("Slice", "x", b.constant([0], "int64"), row, b.constant([1], "int64")))


def in_pairs(b: Builder) -> str:
    """Paddings of the last axis first, in pairs, reversed as PyTorch's older exporter does."""
    size = b.add("Gather", b.add("Shape", "x"), b.constant([1], "int64"))
    told = b.add("Concat", size, b.constant([1, 2, 0, 0, 0], "int64"), axis=0)
    pairs = b.add("Reshape", told, b.constant([-1, 2], "int64"))
    turned = b.add(
        "Slice",
        pairs,
        b.constant([-1], "int64"),
        b.constant([-(2**63) + 1], "int64"),
        b.constant([0], "int64"),
        b.constant([-1], "int64"),
    )
    return str(
        b.add(
            "Pad",
            "x",
            b.add("Reshape", b.add("Transpose", turned, perm=[1, 0]), b.constant([-1], "int64")),
        )
    )


def of_old(b: Builder) -> str:
    """Attributes give the slice."""
    first = b.add("Slice", b.add("Shape", "x"), starts=[0], ends=[1])
    return str(b.add("Reshape", "x", b.add("Concat", first, b.constant([-1], "int64"), axis=0)))


SIZES = {"as a row": (as_a_row, 18), "in pairs": (in_pairs, 18), "old": (of_old, 9)}


@in_modes("name", SIZES)
def test_sizes_in_other_shapes_stay_sizes(name: str, native: NativeWorkers, tmp_path: Path) -> None:
    make, opset = SIZES[name]
    b = Builder({"x": ("n", "t", 4)}, opset=opset)
    source = b.save(tmp_path / "m.onnx", make(b))
    x = np.random.default_rng(1).standard_normal((2, 5, 4)).astype(np.float32)
    same(mf.from_onnx(source), source, {"x": x}, native)


@FULL
@in_both_modes
def test_a_convolution_in_a_group_is_reshaped_by_sizes(
    native: NativeWorkers, tmp_path: Path
) -> None:
    b = Builder({"x": ("n", 4, "h", "w")})
    made = b.add("Conv", "x", b.weight(6, 4, 3, 3))
    row = (
        b.add(
            "Reshape",
            b.add("Squeeze", b.add("Shape", made, start=at, end=at + 1)),
            b.constant([-1], "int64"),
        )
        for at in (2, 3)
    )
    wanted = b.add(
        "Concat", b.add("Shape", "x", start=0, end=1), b.constant([2, 3], "int64"), *row, axis=0
    )
    apart = b.add("Transpose", b.add("Reshape", made, wanted), perm=[0, 1, 3, 4, 2])
    source = b.save(
        tmp_path / "m.onnx", b.add("Mul", b.add("Sigmoid", apart), b.constant(2, "float32"))
    )
    mf.auto_fuse(source, tmp_path / "f.onnx")
    net = mf.from_onnx(tmp_path / "f.onnx")
    x = np.random.default_rng(1).standard_normal((2, 4, 6, 5)).astype(np.float32)
    same(net, source, {"x": x}, native)
    same(net.set_train(), source, {"x": x}, native)


RANKLESS = {
    "Reshape": """<ir_version: 8, opset_import: ["" : 11]> g (float[n,6,8] x) => (float[a,b,c,d] y)
        <int64[1] six={6}, int64[2] rest={2,4}, int64 zero={0}> {
        s = Shape(x) n = Gather<axis=0>(s, zero) m = Unsqueeze<axes=[0]>(n)
        t = Concat<axis=0>(m, six, rest) r = Reshape(x, t) u = Transpose<perm=[0,2,1,3]>(r)
        e = Sigmoid(u) z = Mul(u, e) y = Softmax<axis=3>(z) }""",
    "GroupNormalization": """<ir_version: 10, opset_import: ["" : 21]>
        g (float[n,6,8] x) => (float[a,b,c] y)
        <float[6] s={1,2,3,4,5,6}, float[6] o={1,0,1,0,1,0}> {
        r = GroupNormalization<num_groups=3>(x, s, o)
        e = Sigmoid(r) z = Mul(r, e) y = Softmax<axis=2>(z) }""",
}
"""Operators after which ONNX's own inference knows no rank."""


@cases("name", [pytest.param(name, marks=FULL if name == "Reshape" else ()) for name in RANKLESS])
def test_axes_are_counted_where_onnx_does_not(
    name: str, native: NativeWorkers, tmp_path: Path
) -> None:
    source = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(RANKLESS[name]), source)
    ledger = mf.auto_fuse(source, tmp_path / "f.onnx", assume={"n": 4096})
    assert any("Softmax" in kernel.operators for kernel in ledger.kernels)
    x = np.linspace(-3, 2, 96, dtype=np.float32).reshape(2, 6, 8)
    for made in (source, tmp_path / "f.onnx"):
        same(mf.from_onnx(made), source, {"x": x}, native)


def test_a_reshape_to_a_billion_axes_is_not_counted() -> None:
    text = """<ir_version: 8, opset_import: ["" : 11]>
        g (float[6] x, int64[1000000000] sizes) => (float[a] y) {
        r = Reshape(x, sizes) y = Relu(r) }"""
    model = ir.serde.deserialize_model(onnx.parser.parse_model(text))
    assert not fill_ranks(model)
    assert model.graph.node(0).outputs[0].shape is None


def test_sizes_that_are_doubled_many_times_do_not_hang(tmp_path: Path) -> None:
    b = Builder({"x": ("n", 6)})
    size = b.add("Gather", b.add("Shape", "x"), b.constant(0, "int64"))
    for _ in range(40):
        size = b.add("Add", size, size)
    net = mf.from_onnx(b.save(tmp_path / "m.onnx", size, dtypes={size: onnx.TensorProto.INT64}))
    assert net is not None


def test_a_choice_between_two_numbers_has_their_dtype(tmp_path: Path) -> None:
    b = Builder({"x": (3, 4)}, HALF)
    positive = b.add("Greater", "x", b.constant(0.0, "float16"))
    chosen = b.add("Where", positive, b.constant(0.0, "float16"), b.constant(-65504.0, "float16"))
    net = mf.from_onnx(b.save(tmp_path / "m.onnx", chosen))
    found = net(ms.Tensor(np.array([[1, -1, 2, -2]] * 3, np.float16))).asnumpy()
    assert found.dtype == np.float16
    assert found[0].tolist() == [0, -65504, 0, -65504]


def test_whole_numbers_to_a_power_stay_whole(tmp_path: Path) -> None:
    b = Builder({"x": (4,)}, onnx.TensorProto.INT64)
    net = mf.from_onnx(b.save(tmp_path / "m.onnx", b.add("Pow", "x", b.constant(2.0, "float32"))))
    found = net(ms.Tensor(np.arange(4))).asnumpy()
    assert found.dtype == np.int64 and found.tolist() == [0, 1, 4, 9]


@cases("name", ["phase", "cells", "shard", "construct", "a b"])
def test_a_weight_may_be_called_as_what_a_cell_has(name: str, tmp_path: Path) -> None:
    b = Builder({"x": (2, 3)})
    b.weights += [
        onnx.numpy_helper.from_array(np.full((2, 3), 2, np.float32), one) for one in (name, "a_b")
    ]
    net = mf.from_onnx(b.save(tmp_path / "m.onnx", b.add("Mul", b.add("Add", "x", name), "a_b")))
    assert net(ms.Tensor(np.ones((2, 3), np.float32))).asnumpy().tolist() == [[6.0] * 3] * 2
    assert len({one.name for one in net.get_parameters()}) == len(list(net.get_parameters()))


@cases("ir_version", [3, 8], sample=3)
@cases("fuse", [False, True])
def test_inputs_with_a_default_are_weights(
    ir_version: int, fuse: bool, native: NativeWorkers, tmp_path: Path
) -> None:
    source, fused = listed(tmp_path / "m.onnx", ir_version), tmp_path / "fused.onnx"
    if fuse:
        assert mf.auto_fuse(source, fused, assume={"n": 4096}).kernels
    x = np.random.default_rng(2).standard_normal((3, 16)).astype(np.float32)
    net = mf.from_onnx(fused if fuse else source)
    assert len(net.trainable_params()) == 1
    (expected,) = native.run(source, {"x": x}).outputs.values()
    np.testing.assert_allclose(net(ms.Tensor(x)).asnumpy(), expected, rtol=1e-5, atol=1e-6)


def calling(tmp_path: Path, called: dict[str, list[str]]) -> Path:
    """A model that calls function ``f0``; each calls others in sequence."""
    functions = [
        helper.make_function(
            "own",
            name,
            ["x"],
            ["y"],
            [
                helper.make_node(
                    op,
                    ["x" if not n else f"t{n}"],
                    ["y" if n == len(ops) - 1 else f"t{n + 1}"],
                    domain="own" if op in called else "",
                )
                for n, op in enumerate(ops)
            ],
            [helper.make_opsetid("", OPSET), helper.make_opsetid("own", 1)],
        )
        for name, ops in called.items()
    ]
    value = [helper.make_tensor_value_info(name, FLOAT, (2, 3)) for name in "xy"]
    graph = helper.make_graph(
        [helper.make_node("f0", ["x"], ["y"], domain="own")], "net", value[:1], value[1:]
    )
    model = helper.make_model(
        graph,
        functions=functions,
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("own", 1)],
        ir_version=9,
    )
    onnx.save(model, tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


@cases(
    "called, words",
    [
        ({"f0": ["f1"], "f1": ["f0"]}, "call each other in a cycle"),
        ({f"f{n}": [f"f{n + 1}"] * 2 for n in range(40)} | {"f40": ["Relu"]}, "too many operators"),
    ],
)
def test_functions_without_an_end_are_refused(
    called: dict[str, list[str]], words: str, tmp_path: Path
) -> None:
    source = calling(tmp_path, called)
    for use in (mf.from_onnx, lambda path: mf.auto_fuse(path, tmp_path / "fused.onnx")):
        with pytest.raises(InputError, match=words):
            use(source)


def test_functions_of_functions_are_written_in(tmp_path: Path) -> None:
    net = mf.from_onnx(calling(tmp_path, {"f0": ["f1", "Neg"], "f1": ["Relu", "Exp"]}))
    x = np.array([[-1, 0, 1]] * 2, np.float32)
    np.testing.assert_allclose(net(ms.Tensor(x)).asnumpy(), -np.exp(np.maximum(x, 0)), rtol=1e-5)
