"""Operators outside kernels equal ONNX's reference in both modes; gradients by differences."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import ms_fusion as mf
from ms_fusion.onnx.fuse.verification import difference
from ms_fusion.onnx.native.child import NativeWorkers
from tbe_impl.errors import InputError
from tests.cases import FULL, cases
from tests.ms_fusion.onnx.cell.modes import in_modes, in_pynative_first
from tests.ms_fusion.onnx.cell.test_cell import same
from tests.ms_fusion.onnx.fuse.models import Builder

DOUBLE = onnx.TensorProto.DOUBLE
STEP = 1e-6
Given = Mapping[str, np.ndarray]


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(11).standard_normal(shape)


def boxes(count: int) -> np.ndarray:
    corner = np.random.default_rng(2).uniform(-1, 12, (count, 2))
    return np.concatenate(
        (corner, corner + np.random.default_rng(3).uniform(0.2, 9, (count, 2))), 1
    )


def transform(b: Builder, length: int | None = None, axis: int = 1, **attributes: int) -> Any:
    told = b.constant(length, "int64") if length else ""
    return b.add("DFT", "x", told, b.constant(axis, "int64"), **attributes)


def frames(b: Builder, window: bool, **attributes: int) -> Any:
    shape = b.weight(16) if window else ""
    return b.add(
        "STFT",
        "x",
        b.constant(5, "int64"),
        shape,
        "" if window else b.constant(12, "int64"),
        **attributes,
    )


def aligned(b: Builder, **attributes: Any) -> Any:
    places = b.constant([1, 0, 1], "int64")
    return b.add(
        "RoiAlign",
        "x",
        "boxes",
        places,
        **{
            "output_height": 3,
            "output_width": 2,
            "sampling_ratio": 2,
            "spatial_scale": 0.5,
            **attributes,
        },
    )


def bent(b: Builder, more: bool, **attributes: Any) -> Any:
    given = ("shifts", b.weight(4), "mask") if more else ("shifts",)
    return b.add(
        "DeformConv",
        "x",
        b.weight(4, 4 // attributes.get("group", 1), 3, 2),
        *given,
        pads=[1, 0, 1, 1],
        strides=[2, 1],
        dilations=[1, 2],
        **attributes,
    )


def put_together(b: Builder) -> Any:
    told = b.constant([5, 6], "int64"), b.constant([2, 3], "int64")
    return b.add("Col2Im", "x", *told, strides=[1, 2], pads=[1, 0, 0, 2], dilations=[2, 1])


def overwritten(b: Builder, mode: str) -> Any:
    return b.add("TensorScatter", "x", "fresh", b.constant([1, 4], "int64"), mode=mode, axis=2)


def unpooled(b: Builder) -> Any:
    return b.add(
        "MaxUnpool",
        "x",
        b.constant([[[[1, 3], [9, 14]]]], "int64"),
        b.constant([1, 1, 5, 6], "int64"),
        kernel_shape=[2, 2],
        strides=[2, 2],
    )


def largest_and_places(b: Builder) -> Any:
    largest, places = b.add("MaxPool", "x", outputs=2, kernel_shape=[2, 2], strides=[1, 2])
    return b.add("Add", largest, b.add("Cast", places, to=b.dtype))


IMAGES = {"x": drawn(2, 3, 7, 8), "boxes": boxes(3)}
SHIFTED = {"x": drawn(2, 4, 6, 7), "shifts": 1.5 * drawn(2, 24, 3, 6), "mask": drawn(2, 12, 3, 6)}
LATER = 24
"""First version of ONNX's operators with TensorScatter."""
CASES: dict[str, tuple[Callable[[Builder], Any], Given, int]] = {
    "DFT": (lambda b: transform(b), {"x": drawn(2, 7, 3, 2)}, 20),
    "DFT longer": (lambda b: transform(b, 9), {"x": drawn(2, 7, 3, 1)}, 20),
    "DFT half": (lambda b: transform(b, 6, onesided=1), {"x": drawn(2, 7, 3, 1)}, 20),
    "DFT inverse": (lambda b: transform(b, axis=2, inverse=1), {"x": drawn(2, 7, 5, 2)}, 20),
    "DFT before 20": (lambda b: b.add("DFT", "x", axis=2), {"x": drawn(2, 7, 5, 1)}, 17),
    "STFT": (lambda b: frames(b, False), {"x": drawn(2, 40, 1)}, 17),
    "STFT window": (lambda b: frames(b, True, onesided=0), {"x": drawn(2, 40, 1)}, 17),
    "RoiAlign": (lambda b: aligned(b), IMAGES, 16),
    "RoiAlign corners": (
        lambda b: aligned(b, coordinate_transformation_mode="output_half_pixel"),
        IMAGES,
        16,
    ),
    "RoiAlign largest": (lambda b: aligned(b, mode="max"), IMAGES, 16),
    "RoiAlign adaptive": (lambda b: aligned(b, sampling_ratio=0, spatial_scale=1.0), IMAGES, 16),
    "RoiAlign adaptive corners": (
        lambda b: aligned(
            b,
            sampling_ratio=0,
            spatial_scale=1.5,
            output_height=2,
            coordinate_transformation_mode="output_half_pixel",
        ),
        IMAGES,
        16,
    ),
    "DeformConv": (
        lambda b: bent(b, False, group=2),
        {
            name: SHIFTED[name][:, :12] if name == "shifts" else SHIFTED[name]
            for name in ("x", "shifts")
        },
        19,
    ),
    "DeformConv mask": (lambda b: bent(b, True, offset_group=2), SHIFTED, 19),
    "Col2Im": (put_together, {"x": drawn(2, 18, 12)}, 18),
    "MaxUnpool": (unpooled, {"x": drawn(1, 1, 2, 2)}, 11),
    "MaxPool places": (largest_and_places, {"x": drawn(2, 3, 5, 6)}, 12),
    "ConvTranspose 3d": (
        lambda b: b.add(
            "ConvTranspose",
            "x",
            b.weight(4, 2, 2, 3, 2),
            b.weight(4),
            group=2,
            strides=[2, 1, 2],
            pads=[0, 1, 1, 0, 1, 0],
            output_padding=[1, 0, 0],
        ),
        {"x": drawn(2, 4, 3, 4, 2)},
        11,
    ),
    "TensorScatter": (
        lambda b: overwritten(b, "linear"),
        {"x": drawn(2, 3, 6, 2), "fresh": drawn(2, 3, 2, 2)},
        LATER,
    ),
    "TensorScatter circular": (
        lambda b: overwritten(b, "circular"),
        {"x": drawn(2, 3, 5, 2), "fresh": drawn(2, 3, 3, 2)},
        LATER,
    ),
    "Shrink": (lambda b: b.add("Shrink", "x", lambd=0.7, bias=0.3), {"x": drawn(4, 5)}, 9),
}
UNLIKE_REFERENCE = {"ConvTranspose 3d"}
"""Operators that ONNX's reference does not compute."""
UNLIKE_RUNTIME = {"RoiAlign largest", "MaxUnpool"}
"""Operators where ONNX Runtime differs from ONNX's reference."""


BY_RUNTIME_IN_QUICK = {*UNLIKE_REFERENCE, "DFT before 20", "RoiAlign adaptive corners"}
"""`make test` compares the others with ONNX's reference only."""
GRADIENTS_IN_QUICK = {"DFT half", "RoiAlign corners", "DeformConv mask", "MaxUnpool"}
"""One of each operator except the simplest, and except those lowered to the same operators."""


def built(name: str, path: Path, dtype: int = onnx.TensorProto.FLOAT) -> Path:
    make, given, opset = CASES[name]
    b = Builder({one: array.shape for one, array in given.items()}, dtype, opset)
    return b.save(path, make(b))


@in_modes(
    "name",
    sorted(CASES.keys() - UNLIKE_REFERENCE),
    # adaptive cases are also compared with ONNX Runtime, with boxes larger and smaller than the
    # image
    quick=CASES.keys() - {"RoiAlign adaptive"},
)
def test_rare_operators_equal_onnxs_reference(name: str, tmp_path: Path) -> None:
    source = built(name, tmp_path / "model.onnx")
    given = {one: array.astype(np.float32) for one, array in CASES[name][1].items()}
    expected = ReferenceEvaluator(str(source)).run(None, given)
    made = mf.from_onnx(source)(*map(ms.Tensor, given.values()))
    found = difference(name, np.asarray(expected[0]), made.asnumpy())
    assert found.agrees, found


@cases(
    "name",
    [
        pytest.param(name, marks=() if name in BY_RUNTIME_IN_QUICK else FULL)
        for name in sorted(CASES.keys() - UNLIKE_RUNTIME)
    ],
)
def test_rare_operators_equal_onnx_runtime(
    name: str, native: NativeWorkers, tmp_path: Path
) -> None:
    ms.set_context(mode=ms.PYNATIVE_MODE)
    source = built(name, tmp_path / "model.onnx")
    given = {one: array.astype(np.float32) for one, array in CASES[name][1].items()}
    same(mf.from_onnx(source), source, given, native)


@in_modes("name", CASES, quick=GRADIENTS_IN_QUICK)
def test_gradients_are_what_finite_differences_say(name: str, tmp_path: Path) -> None:
    net = mf.from_onnx(built(name, tmp_path / "model.onnx", DOUBLE))
    given = [array.astype(np.float64) for array in CASES[name][1].values()]
    share = drawn(*net(*map(ms.Tensor, given)).shape)

    def loss(*inputs: Any) -> Any:
        return (net(*inputs) * ms.Tensor(share)).sum()

    made = ms.grad(loss, tuple(range(len(given))))(*map(ms.Tensor, given))
    for place, gradient in enumerate(made if isinstance(made, tuple) else (made,)):
        way = np.random.default_rng(7).standard_normal(given[place].shape)
        ends = []
        for sign in (1, -1):
            moved = [
                one + sign * STEP * way if number == place else one
                for number, one in enumerate(given)
            ]
            ends.append(float((net(*map(ms.Tensor, moved)).asnumpy() * share).sum()))
        slope = (ends[0] - ends[1]) / (2 * STEP)
        assert (gradient.asnumpy() * way).sum() == pytest.approx(slope, rel=1e-4, abs=1e-6)


@in_pynative_first
def test_a_half_of_a_transform_goes_back(tmp_path: Path) -> None:
    b = Builder({"x": (3, 9, 1)}, opset=20)
    half = transform(b, onesided=1)
    source = b.save(tmp_path / "model.onnx", transform_back(b, half))
    x = drawn(3, 9, 1).astype(np.float32)
    assert difference("x", x, mf.from_onnx(source)(ms.Tensor(x)).asnumpy()).agrees


def transform_back(b: Builder, half: str) -> Any:
    return b.add("DFT", half, b.constant(9, "int64"), b.constant(1, "int64"), onesided=1, inverse=1)


@in_modes(
    "attributes, dtype",
    [
        ({}, "float32"),
        ({"sorted": 0}, "float16"),
        ({"axis": 0}, "int64"),
        ({"axis": 1}, "uint16"),
        ({"sorted": 0}, "uint64"),
        ({"axis": 1}, "uint64"),
        ({"axis": -1, "sorted": 0}, "bool"),
    ],
)
def test_unique_gives_values_indices_and_counts(
    attributes: dict[str, int], dtype: str, tmp_path: Path
) -> None:
    x = np.random.default_rng(4).integers(0, 3, (6, 2, 2)).astype(dtype)
    if dtype == "uint64":
        x += np.uint64((1 << 63) - 1)
    x[4] = x[1]
    number = onnx.helper.np_dtype_to_tensor_dtype(x.dtype)
    b = Builder({"x": x.shape}, number, 11)
    names = b.add("Unique", "x", outputs=4, **attributes)
    source = b.save(tmp_path / "model.onnx", *names, dtypes=dict.fromkeys(names[1:], 7))
    net = mf.from_onnx(source)
    for made, one in zip(net(ms.Tensor(x)), distinct(x, **attributes), strict=True):
        assert made.asnumpy().dtype == one.dtype
        np.testing.assert_array_equal(made.asnumpy(), one)


def distinct(x: np.ndarray, axis: int | None = None, sorted: int = 1) -> list[np.ndarray]:
    found, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    order = np.arange(len(first)) if sorted else np.argsort(first)
    parts = np.take(found, order, 0 if axis is None else axis)
    return [parts, first[order], np.argsort(order)[inverse.reshape(-1)], counts[order]]


@in_pynative_first
def test_what_is_there_once_passes_its_gradient_back(tmp_path: Path) -> None:
    b = Builder({"x": (5,)}, opset=11)
    net = mf.from_onnx(b.save(tmp_path / "model.onnx", b.add("Unique", "x")))
    weights = ms.Tensor(np.float32([1, 10, 100]))
    x = ms.Tensor(np.float32([3, 1, 3, 2, 1]))

    def loss(x: Any) -> Any:
        return (net(x) * weights).sum()

    assert ms.grad(loss)(x).asnumpy().tolist() == [100, 1, 0, 10, 0]


@in_modes(
    "dtypes, shape",
    itertools.product(
        [("float32", "int32"), ("int64", "float64"), ("bool", "uint8")], [(), (2, 3)]
    ),
)
def test_bits_are_read_as_another_dtype(
    dtypes: tuple[str, str], shape: tuple[int, ...], tmp_path: Path
) -> None:
    x = (3 * drawn(*shape)).astype(dtypes[0])
    before, behind = (onnx.helper.np_dtype_to_tensor_dtype(np.dtype(one)) for one in dtypes)
    b = Builder({"x": shape}, before, 26)
    made = b.add("BitCast", "x", to=behind)
    source = b.save(tmp_path / "model.onnx", made, dtypes={made: behind})
    found = mf.from_onnx(source)(ms.Tensor(x)).asnumpy()
    np.testing.assert_array_equal(found, x.view(dtypes[1]))
    assert found.dtype == dtypes[1]


@in_pynative_first
def test_a_body_is_run_for_each_of_a_sequence(native: NativeWorkers, tmp_path: Path) -> None:
    told = [onnx.helper.make_tensor_value_info(name, 1, ("n",)) for name in ("a", "c", "d")]
    body = onnx.helper.make_graph(
        [onnx.helper.make_node("Add", ["a", "c"], ["d"])], "inner", told[:2], told[2:]
    )
    b = Builder({"x": (3, 4), "y": (4,)}, opset=17)
    rows = b.add("SplitToSequence", "x", axis=0, keepdims=0)
    source = b.save(
        tmp_path / "model.onnx",
        b.add("ConcatFromSequence", b.add("SequenceMap", rows, "y", body=body), axis=0, new_axis=1),
    )
    x, y = drawn(3, 4).astype(np.float32), drawn(4).astype(np.float32)
    same(mf.from_onnx(source), source, {"x": x, "y": y}, native)


BOXES = np.float32(
    [
        [0, 0, 60, 40],
        [-30, -20, 50, 30],
        [3, 4, 3, 4],
        [5, 5, 4, 3],
        [1, 1, 1.5, 1.25],
        [90, 90, 120, 120],
        [-1, -1, 7, 7],
        [0, 0, 8, 8],
        [2, 2, 6, 4],
        [-200, -150, 200, 150],
        [7.5, 6.5, 8.5, 7.5],
        [-2, 3, -1, 30],
        [0, 0, 2e-9, 2e-9],
    ]
)
"""Larger and smaller than the image, outside it, empty, inverted."""


@in_modes(
    "where, scale",
    itertools.product(["half_pixel", "output_half_pixel"], [1.0, 0.25]),
    quick=[("half_pixel", 0.25), ("output_half_pixel", 1.0)],
)
def test_as_many_places_are_read_as_each_box_is_pixels_large(
    where: str, scale: float, native: NativeWorkers, tmp_path: Path
) -> None:
    b = Builder({"x": (2, 3, 7, 8), "boxes": ("n", 4)}, opset=16)
    numbers = b.constant(np.arange(len(BOXES)) % 2, "int64")
    source = b.save(
        tmp_path / "model.onnx",
        b.add(
            "RoiAlign",
            "x",
            "boxes",
            numbers,
            output_height=3,
            output_width=2,
            spatial_scale=scale,
            coordinate_transformation_mode=where,
        ),
    )
    x = drawn(2, 3, 7, 8).astype(np.float32)
    same(mf.from_onnx(source), source, {"x": x, "boxes": BOXES}, native)
    made = ms.grad(mf.from_onnx(source), (0, 1))(ms.Tensor(x), ms.Tensor(BOXES))
    assert all(np.isfinite(one.asnumpy()).all() for one in made)


def test_the_largest_of_places_that_boxes_decide_is_refused(tmp_path: Path) -> None:
    b = Builder({"x": (1, 2, 8, 8), "boxes": (3, 4)}, opset=16)
    source = b.save(
        tmp_path / "model.onnx",
        b.add("RoiAlign", "x", "boxes", b.constant([0, 0, 0], "int64"), mode="max"),
    )
    with pytest.raises(
        InputError, match=r"RoiAlign is not supported in a Cell: .*sampling_ratio 0"
    ):
        mf.from_onnx(source)


@cases("dtype", [onnx.TensorProto.FLOAT8E4M3FN, onnx.TensorProto.STRING])
def test_inputs_that_mindspore_has_no_dtype_for_are_refused(dtype: int, tmp_path: Path) -> None:
    b = Builder({"x": (3,)}, dtype, 19)
    made = b.add("Cast", "x", to=1)
    source = b.save(tmp_path / "model.onnx", made, dtypes={made: 1})
    with pytest.raises(InputError, match="x: MindSpore has no tensors of this dtype"):
        mf.from_onnx(source)


@in_pynative_first
def test_whole_numbers_without_a_sign_are_exponents(tmp_path: Path) -> None:
    b = Builder({"x": (3,)}, opset=15)
    source = b.save(tmp_path / "model.onnx", b.add("Pow", "x", b.constant([2, 3, 0], "uint32")))
    found = mf.from_onnx(source)(ms.Tensor(np.float32([1.5, -2, 0]))).asnumpy()
    assert found.tolist() == [2.25, -8, 1]


@in_pynative_first
def test_a_function_is_written_out_where_an_input_is_left_out(tmp_path: Path) -> None:
    given = {
        "q": drawn(2, 3, 16),
        "k": drawn(2, 3, 8),
        "v": drawn(2, 3, 6),
        "decay": -np.abs(drawn(2, 3, 2)),
    }
    b = Builder({name: array.shape for name, array in given.items()}, opset=27)
    made = b.add(
        "LinearAttention",
        "q",
        "k",
        "v",
        "",
        "decay",
        update_rule="gated",
        q_num_heads=4,
        kv_num_heads=2,
        outputs=2,
    )
    source = b.save(tmp_path / "model.onnx", *made)
    given = {name: array.astype(np.float32) for name, array in given.items()}
    expected = ReferenceEvaluator(str(source)).run(None, given)
    for one, found in zip(
        expected, mf.from_onnx(source)(*map(ms.Tensor, given.values())), strict=True
    ):
        agreed = difference("y", np.asarray(one), found.asnumpy())
        assert agreed.agrees, agreed
