"""Cells from ONNX models equal ONNX Runtime in both modes; gradients by finite differences."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import onnx
import pytest

import ms_fusion as mf
from ms_fusion.onnx.cell.net_source import BLOCKS
from ms_fusion.onnx.cell.operators import OPERATORS
from ms_fusion.onnx.cell.sizes import SIZE_OPERATORS
from ms_fusion.onnx.fuse.verification import difference
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.ops import ONNX_OPERATORS
from tbe_impl.errors import InputError
from tests.cases import FULL, cases
from tests.ms_fusion.onnx.cell.conftest import MODELS, FusedOnce
from tests.ms_fusion.onnx.cell.modes import in_both_modes, in_modes, in_pynative_first
from tests.ms_fusion.onnx.fuse.corpus import MODELS as CORPUS
from tests.ms_fusion.onnx.fuse.models import Builder, transformer_layer
from tests.ms_fusion.onnx.fuse.test_operator_lowering import case

DOCS = Path(__file__).resolve().parents[4] / "docs" / "onnx.md"
SHAPES = {"layer": (2, 5, 32), "images": (2, 3, 16, 16)}


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)


def same(net: Any, source: Path, given: dict[str, np.ndarray], native: NativeWorkers) -> None:
    """Compares a Cell with ONNX Runtime on the original model."""
    made = net(*map(ms.Tensor, given.values()))
    made = made if isinstance(made, tuple) else (made,)
    expected = native.run(source, given).outputs
    for (name, array), one in zip(expected.items(), made, strict=True):
        found = difference(name, array, one.asnumpy())
        assert found.agrees, found


@in_modes("name", MODELS, per_item=2)
def test_a_fused_model_is_what_onnx_runtime_says(
    name: str, native: NativeWorkers, fused_once: FusedOnce
) -> None:
    model = fused_once(name)
    source, net = model.source, mf.from_onnx(model.fused)
    kernels = [cell for cell in net.cells() if cell.cells() or cell.spec.made_by == "auto_fuse"]
    assert len(kernels) == len(model.ledger.kernels) > 0
    same(net, source, {"x": random(*SHAPES[name])}, native)
    # in training, groups with convolutions run as single operators with equal results
    same(net.set_train(), source, {"x": random(*SHAPES[name])}, native)


@in_modes("name", MODELS, quick=("layer",), per_item=1)
def test_gradients_are_what_finite_differences_say(name: str, fused_once: FusedOnce) -> None:
    net = mf.from_onnx(fused_once(name).fused).set_train()
    x, weights = ms.Tensor(random(*SHAPES[name])), net.trainable_params()
    weights = weights[:3]
    share = ms.Tensor(random(*net(x).shape))

    def loss(x: Any) -> Any:
        return (net(x) * share).sum()

    found = ms.grad(loss, 0, weights)(x)
    of_x, of_weights = found
    for tensor, gradient in ((x, of_x), *zip(weights, of_weights, strict=True)):
        before = tensor.asnumpy().copy()
        way = random(*before.shape)
        step = np.float32(1e-2)
        values = []
        for sign in (1, -1):
            moved = ms.Tensor(before + sign * step * way)
            if tensor is x:
                values.append(float(loss(moved)))
            else:
                tensor.set_data(moved)
                values.append(float(loss(x)))
        if tensor is not x:
            tensor.set_data(ms.Tensor(before))
        along = float((gradient.asnumpy() * way).sum())
        slope = (values[0] - values[1]) / (2 * step)
        assert along == pytest.approx(slope, rel=0.1, abs=0.1)


WITHOUT_CASE = {"Conv", "ConvTranspose", "Dropout", "Swish", "RMSNormalization", "Gelu"}


@cases("op", sorted(ONNX_OPERATORS.keys() - WITHOUT_CASE), per_item=100)
def test_each_operator_is_what_onnx_runtime_says(
    op: str, native: NativeWorkers, tmp_path: Path
) -> None:
    ms.set_context(mode=ms.PYNATIVE_MODE)
    b = Builder({"x": (2, 3, 4), "y": (2, 3, 4)})
    made = case(op, b)
    source = b.save(tmp_path / f"{op}.onnx", *(made if isinstance(made, list) else [made]))
    same(mf.from_onnx(source), source, {"x": random(2, 3, 4), "y": random(2, 3, 4)}, native)


@in_pynative_first
def test_sizes_are_computed_while_the_net_is_compiled(
    native: NativeWorkers, tmp_path: Path
) -> None:
    b = Builder({"x": ("n", "t", 6)})
    shape = b.add("Shape", "x")
    first = b.add("Gather", shape, b.constant(0, "int64"), axis=0)
    rows = b.add("Mul", first, b.add("Gather", shape, b.constant(1, "int64"), axis=0))
    wanted = b.add(
        "Concat",
        b.add("Unsqueeze", rows, b.constant([0], "int64")),
        b.constant([2, 3], "int64"),
        axis=0,
    )
    source = b.save(tmp_path / "model.onnx", b.add("Relu", b.add("Reshape", "x", wanted)))
    same(mf.from_onnx(source), source, {"x": random(2, 5, 6)}, native)


@in_both_modes
def test_tensors_are_made_of_sizes(native: NativeWorkers, tmp_path: Path) -> None:
    b = Builder({"x": ("n", "t", 6)})
    shape = b.add("Shape", "x")
    second = b.add("Gather", shape, b.constant(1, "int64"), axis=0)
    places = b.add(
        "Cast", b.add("Range", b.constant(0, "int64"), second, b.constant(1, "int64")), to=1
    )
    row = b.add(
        "Concat",
        b.add("Unsqueeze", second, b.constant([0], "int64")),
        b.constant([6], "int64"),
        axis=0,
    )
    ones = b.add("ConstantOfShape", row, value=onnx.helper.make_tensor("v", 1, [1], [1.5]))
    moved = b.add(
        "Add", b.add("Mul", "x", ones), b.add("Unsqueeze", places, b.constant([1], "int64"))
    )
    source = b.save(tmp_path / "model.onnx", moved)
    same(mf.from_onnx(source), source, {"x": random(2, 5, 6)}, native)


def test_weights_are_parameters_under_their_names(tmp_path: Path) -> None:
    source = transformer_layer(tmp_path / "model.onnx")
    net = mf.from_onnx(source)
    assert {"c0", "c1"} <= {one.name for one in net.trainable_params()}
    assert all(one.requires_grad for one in net.get_parameters())


def test_operators_that_are_not_known_are_one_error(tmp_path: Path) -> None:
    b = Builder({"x": (3, 3)})
    b.save(
        tmp_path / "model.onnx", b.add("RandomNormalLike", b.add("Selu", b.add("Multinomial", "x")))
    )
    with pytest.raises(InputError, match="Multinomial, RandomNormalLike"):
        mf.from_onnx(tmp_path / "model.onnx")


def test_the_documentation_lists_the_operators() -> None:
    listed = textwrap.fill(
        ", ".join(f"`{one}`" for one in sorted({*OPERATORS, *BLOCKS, *SIZE_OPERATORS, "Shape"}))
        + ".",
        130,
    )
    told = re.search(
        r"<!-- operators of from_onnx -->\n(.*?)<!-- end -->", DOCS.read_text("utf-8"), re.S
    )
    assert told is not None
    assert told[1].strip() == listed


@cases("groups", [1, 2])
def test_a_transposed_convolution_has_a_gradient(
    groups: int, native: NativeWorkers, tmp_path: Path
) -> None:
    b = Builder({"x": (2, 4, 3, 3)})
    source = b.save(
        tmp_path / "net.onnx",
        b.add("ConvTranspose", "x", b.weight(4, 6 // groups, 2, 2), strides=[2, 2], group=groups),
    )
    net, x, share = mf.from_onnx(source), random(2, 4, 3, 3), random(2, 6, 6, 6)
    same(net, source, {"x": x}, native)
    found = ms.grad(lambda x: (net(x) * ms.Tensor(share)).sum())(ms.Tensor(x)).asnumpy()
    # it is linear in x
    assert (found * x).sum() == pytest.approx((net(ms.Tensor(x)).asnumpy() * share).sum(), rel=1e-4)


SIDES = 7, 8
OF_SIDES = {
    "Conv": (
        lambda b: b.add("Conv", "x", b.weight(5, 4, 3, 2), auto_pad="SAME_UPPER", strides=[2, 2]),
        SIDES,
    ),
    "Conv, sides too": (
        lambda b: b.add("Conv", "x", b.weight(5, 4, 3, 2), auto_pad="SAME_LOWER"),
        ("h", "w"),
    ),
    "ConvTranspose": (
        lambda b: b.add(
            "ConvTranspose", "x", b.weight(4, 3, 3, 3), auto_pad="SAME_UPPER", strides=[2, 2]
        ),
        SIDES,
    ),
    "MaxPool": (
        lambda b: b.add("MaxPool", "x", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
        SIDES,
    ),
    "AveragePool": (
        lambda b: b.add("AveragePool", "x", kernel_shape=[2, 3], strides=[2, 2], ceil_mode=1),
        SIDES,
    ),
}


@in_modes("name", OF_SIDES)
def test_padding_that_follows_from_sides_takes_any_number(
    name: str, native: NativeWorkers, tmp_path: Path
) -> None:
    make, sides = OF_SIDES[name]
    b = Builder({"x": ("n", 4, *sides)}, opset=17)
    source = b.save(tmp_path / "net.onnx", make(b))
    same(mf.from_onnx(source), source, {"x": random(2, 4, *SIDES)}, native)


def by_factors(b: Builder, **told: Any) -> Any:
    return b.add("Resize", "x", "", b.constant([1, 1, 1.5, 0.7], "float32"), **told)


def by_sizes(b: Builder, **told: Any) -> Any:
    """As large as another image."""
    zero, two, four = (b.constant([one], "int64") for one in (0, 2, 4))
    wanted = b.add(
        "Concat",
        b.add("Slice", b.add("Shape", "x"), zero, two),
        b.add("Slice", b.add("Shape", "y"), two, four),
        axis=0,
    )
    return b.add("Resize", "x", "", "", wanted, **told)


RESIZED = {
    "nearest": (by_factors, {"mode": "nearest"}),
    "floor": (
        by_factors,
        {
            "mode": "nearest",
            "coordinate_transformation_mode": "asymmetric",
            "nearest_mode": "floor",
        },
    ),
    "linear": (by_factors, {"mode": "linear"}),
    "nearest of sizes": (
        by_sizes,
        {
            "mode": "nearest",
            "coordinate_transformation_mode": "asymmetric",
            "nearest_mode": "floor",
        },
    ),
    "linear of sizes": (
        by_sizes,
        {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"},
    ),
    "corners of sizes": (
        by_sizes,
        {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
    ),
    "cubic of sizes": (by_sizes, {"mode": "cubic"}),
    "antialiased": (
        lambda b, **told: b.add(
            "Resize", "x", "", "", b.constant([4, 5], "int64"), axes=[2, 3], **told
        ),
        {"mode": "linear", "antialias": 1},
    ),
    "ratio": (
        lambda b, **told: b.add(
            "Resize", "x", "", "", b.constant([9, 9], "int64"), axes=[2, 3], **told
        ),
        {"mode": "linear", "keep_aspect_ratio_policy": "not_larger"},
    ),
}


@in_modes("name", RESIZED)
def test_images_of_any_size_are_resized(name: str, native: NativeWorkers, tmp_path: Path) -> None:
    make, told = RESIZED[name]
    b = Builder({"x": ("n", 2, "h", "w"), "y": ("n", 3, "s", "t")})
    source = b.save(tmp_path / "net.onnx", make(b, **told), b.add("Relu", "y"))
    net = mf.from_onnx(source)
    for height, width in ((7, 8), (4, 11)):
        same(net, source, {"x": random(2, 2, height, width), "y": random(2, 3, 9, 5)}, native)
    x, y = ms.Tensor(random(2, 2, 7, 8)), ms.Tensor(random(2, 3, 9, 5))
    share = ms.Tensor(random(*net(x, y)[0].shape))

    def loss(x: Any) -> Any:
        return (net(x, y)[0] * share).sum()

    # it is linear
    found = (ms.grad(loss)(x) * x).sum()
    assert float(found) == pytest.approx(float(loss(x)), rel=1e-3, abs=1e-3)


def to_a_multiple(b: Builder, **told: Any) -> Any:
    """Padded after the end to a multiple of 8 on the last axis, and before the start by a negative
    amount.
    """
    size = b.add("Gather", b.add("Shape", "x"), b.constant([3], "int64"))
    lacking = b.add("Mod", b.add("Neg", size), b.constant([8], "int64"))
    pads = b.add("Concat", b.constant([0, 0, 0, -1, 0, 0, 0], "int64"), lacking, axis=0)
    return b.add("Pad", "x", pads, **told)


PADDED = {
    "numbers": (to_a_multiple, {}),
    "edge": (to_a_multiple, {"mode": "edge"}),
    "mirror": (
        lambda b, **told: b.add("Pad", "x", b.constant([0, 0, 1, 2, 0, 0, 0, 3], "int64"), **told),
        {"mode": "reflect"},
    ),
    "less": (
        lambda b: b.add(
            "Pad", "x", b.constant([0, 0, -1, 1, 0, 0, 1, -2], "int64"), b.constant(2, "float32")
        ),
        {},
    ),
}


@in_modes("name", PADDED)
def test_images_of_any_size_are_padded(name: str, native: NativeWorkers, tmp_path: Path) -> None:
    make, told = PADDED[name]
    b = Builder({"x": ("n", 2, "h", "w")})
    source = b.save(tmp_path / "net.onnx", make(b, **told))
    net = mf.from_onnx(source)
    for height, width in ((7, 9), (4, 11)):
        same(net, source, {"x": random(2, 2, height, width)}, native)


GROUPED = {
    "groups": (
        lambda b: b.add(
            "Conv",
            "x",
            b.weight(4, 3, 2, 3, 2),
            b.weight(4),
            group=2,
            strides=[1, 2, 1],
            pads=[0, 1, 1, 1, 0, 1],
            dilations=[1, 1, 2],
        ),
        6,
    ),
    "each channel": (
        lambda b: b.add("Conv", "x", b.weight(6, 1, 2, 2, 3), group=3, auto_pad="SAME_UPPER"),
        3,
    ),
}


@in_modes("name", GROUPED)
def test_a_convolution_in_three_axes_has_groups(
    name: str, native: NativeWorkers, tmp_path: Path
) -> None:
    make, channels = GROUPED[name]
    b = Builder({"x": ("n", channels, 3, 4, 5)})
    source = b.save(tmp_path / "net.onnx", make(b))
    net, given = mf.from_onnx(source), random(2, channels, 3, 4, 5)
    same(net, source, {"x": given}, native)
    x, weight = ms.Tensor(given), net.trainable_params()[0]
    share = ms.Tensor(random(*net(x).shape))

    def loss(x: Any) -> Any:
        return (net(x) * share).sum()

    of_x, (of_weight,) = ms.grad(loss, 0, [weight])(x)
    # it is linear in both
    start, way, turn = float(loss(x)), random(*x.shape)[::-1], random(*weight.shape)[::-1]
    assert float(loss(x + ms.Tensor(way))) - start == pytest.approx(
        (of_x.asnumpy() * way).sum(), rel=1e-3
    )
    weight.set_data(weight + ms.Tensor(turn))
    assert float(loss(x)) - start == pytest.approx((of_weight.asnumpy() * turn).sum(), rel=1e-3)


@in_modes("op", ["Softmax", "LogSoftmax"])
def test_a_row_of_nothing_harms_no_other_row(
    op: str, native: NativeWorkers, tmp_path: Path
) -> None:
    b = Builder({"x": (2, 3)})
    source = b.save(tmp_path / f"{op}.onnx", b.add(op, "x", axis=-1))
    same(mf.from_onnx(source), source, {"x": np.float32([[-np.inf] * 3, [1, 2, 3]])}, native)


@in_modes("op, version", [("Softmax", 12), ("LogSoftmax", 11), ("Softmax", 9), ("Softmax", 13)])
def test_softmax_before_13_takes_all_axes_from_the_named(
    op: str, version: int, native: NativeWorkers, tmp_path: Path
) -> None:
    b = Builder({"x": (2, 3, 4)}, opset=version)
    source, x = b.save(tmp_path / "model.onnx", b.add(op, "x", axis=1)), random(2, 3, 4)
    over = 1 if version >= 13 else (1, 2)
    wanted = x - np.log(np.exp(x.astype(np.float64)).sum(over, keepdims=True))
    wanted = np.exp(wanted) if op == "Softmax" else wanted
    net = mf.from_onnx(source)
    same(net, source, {"x": x}, native)
    assert difference("y", wanted.astype(np.float32), net(ms.Tensor(x)).asnumpy()).agrees


@in_modes("version", [18, 21])
def test_scales_of_groups_and_of_channels(version: int, tmp_path: Path) -> None:
    count = 2 if version == 18 else 4
    b = Builder({"x": (2, 4, 3)}, opset=version)
    scale, shift = b.weight(count), b.weight(count)
    source = b.save(
        tmp_path / "model.onnx", b.add("GroupNormalization", "x", scale, shift, num_groups=2)
    )
    x = random(2, 4, 3).astype(np.float64)
    apart = x.reshape(2, 2, 6)
    normed = (apart - apart.mean(2, keepdims=True)) / np.sqrt(apart.var(2, keepdims=True) + 1e-5)
    parts = [onnx.numpy_helper.to_array(one).astype(np.float64) for one in b.weights]
    factor, added = (np.repeat(one, 4 // count)[:, None] for one in parts)
    found = mf.from_onnx(source)(ms.Tensor(x.astype(np.float32))).asnumpy()
    assert difference(
        "y", (normed.reshape(2, 4, 3) * factor + added).astype(np.float32), found
    ).agrees


@in_modes("by_middle", [0, 1])
def test_boxes_that_overlap_are_left_out(
    by_middle: int, native: NativeWorkers, tmp_path: Path
) -> None:
    b = Builder({"boxes": (2, 20, 4), "scores": (2, 3, 20)})
    told = b.constant(5, "int64"), b.constant(0.3, "float32"), b.constant(0.2, "float32")
    made = b.add("NonMaxSuppression", "boxes", "scores", *told, center_point_box=by_middle)
    source = b.save(tmp_path / "model.onnx", made, dtypes={made: 7})
    boxes, scores = np.abs(random(2, 20, 4)), random(2, 3, 20)
    same(mf.from_onnx(source), source, {"boxes": boxes, "scores": scores}, native)


@in_pynative_first
def test_numbers_go_onto_a_grid_and_back(native: NativeWorkers, tmp_path: Path) -> None:
    b = Builder({"x": (3, 4, 5)}, opset=21)
    per_channel = b.constant([0.1, 0.02, 0.05, 0.3], "float32"), b.constant([0, 3, -5, 7], "int8")
    whole = b.add(
        "DequantizeLinear", b.add("QuantizeLinear", "x", *per_channel, axis=1), *per_channel, axis=1
    )
    one = b.constant(0.03, "float32"), b.constant(128, "uint8")
    source = b.save(
        tmp_path / "model.onnx",
        b.add("DequantizeLinear", b.add("QuantizeLinear", whole, *one), *one),
    )
    same(mf.from_onnx(source), source, {"x": random(3, 4, 5)}, native)


@in_pynative_first
def test_sequences_are_tuples(native: NativeWorkers, tmp_path: Path) -> None:
    b = Builder({"x": (4, 3)})
    parts = b.add("SplitToSequence", "x", b.constant(2, "int64"), axis=0)
    longer = b.add(
        "SequenceInsert", parts, b.add("Relu", b.add("SequenceAt", parts, b.constant(1, "int64")))
    )
    shorter = b.add("SequenceErase", longer, b.constant(0, "int64"))
    both = b.add(
        "SequenceConstruct", b.add("ConcatFromSequence", shorter, axis=0), b.add("Tanh", "x")
    )
    source = b.save(tmp_path / "model.onnx", b.add("ConcatFromSequence", both, axis=1, new_axis=1))
    same(mf.from_onnx(source), source, {"x": random(4, 3)}, native)


@in_modes("op", ["Tanh", "Sigmoid", "Erf", "Mish", "Softplus"])
def test_activations_are_exact_where_mindspores_are_not(
    op: str, native: NativeWorkers, tmp_path: Path
) -> None:
    b = Builder({"x": (4001,)})
    source = b.save(tmp_path / "model.onnx", b.add(op, "x"))
    same(mf.from_onnx(source), source, {"x": np.linspace(-6, 6, 4001, dtype=np.float32)}, native)


@FULL
@in_both_modes
def test_groups_in_half_precision_have_gradients(tmp_path: Path) -> None:
    """MindSpore requests the shapes of a gradient before its dtype."""
    source = CORPUS["t5_half"](tmp_path / "model.onnx")
    mf.auto_fuse(source, tmp_path / "fused.onnx")
    x, bias = (ms.Tensor(random(*shape).astype(np.float16)) for shape in ((2, 8, 32), (1, 4, 8, 8)))
    found = []
    for file in (source, tmp_path / "fused.onnx"):
        net = mf.from_onnx(file)
        _, made = ms.grad(net, 0, net.trainable_params())(x, bias)
        names = [one.name for one in net.trainable_params()]
        found.append(
            dict(zip(names, (one.asnumpy().astype(np.float64) for one in made), strict=True))
        )
    plain, fused = found
    (merged,) = fused.keys() - plain.keys()  # the weights of queries, keys and values side by side
    plain[merged] = np.concatenate([plain.pop(name) for name in ("c4", "c5", "c6")], 1)
    assert plain.keys() == fused.keys()
    for name, one in plain.items():
        assert np.linalg.norm(one - fused[name]) <= 2e-2 * np.linalg.norm(one), name


@in_pynative_first
def test_a_kernel_in_half_precision_has_gradients(tmp_path: Path) -> None:
    b = Builder({"x": (3, 11)}, onnx.TensorProto.FLOAT16)
    source = b.save(
        tmp_path / "model.onnx",
        b.add("Mul", b.add("Add", "x", b.weight(11)), b.add("Sigmoid", "x")),
    )
    assert mf.auto_fuse(source, tmp_path / "fused.onnx").kernels
    net = mf.from_onnx(tmp_path / "fused.onnx").set_train()
    (weight,) = net.trainable_params()
    x, share = (random(3, 11)[::way].astype(np.float16) for way in (1, -1))

    def loss(x: Any) -> Any:
        return (net(x) * ms.Tensor(share)).sum()

    of_x, (of_weight,) = ms.grad(loss, 0, [weight])(ms.Tensor(x))
    wide, added, passed = (one.astype(np.float64) for one in (x, weight.asnumpy(), share))
    gate = 1 / (1 + np.exp(-wide))
    expected = passed * (gate + (wide + added) * gate * (1 - gate)), (passed * gate).sum(0)
    for found, one in zip((of_x, of_weight), expected, strict=True):
        assert found.dtype == ms.float16
        np.testing.assert_allclose(found.asnumpy(), one, rtol=4e-3, atol=4e-3)


@in_pynative_first
def test_running_products_keep_their_dtype(native: NativeWorkers, tmp_path: Path) -> None:
    b = Builder({"x": (2, 3)}, onnx.TensorProto.INT32, opset=26)
    source = b.save(tmp_path / "model.onnx", b.add("CumProd", "x", b.constant(1, "int64")))
    same(mf.from_onnx(source), source, {"x": np.array([[1, 2, 3], [4, 5, 6]], np.int32)}, native)
