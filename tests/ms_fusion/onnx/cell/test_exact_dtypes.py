"""Operators whose values or dtypes MindSpore would change: exact integers and extreme values."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import mindspore as ms
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import ms_fusion as mf
from tbe_impl.errors import InputError
from tests.ms_fusion.onnx.cell.modes import in_modes, in_pynative_first
from tests.ms_fusion.onnx.fuse.models import OPSET, Builder

Written = Callable[[Builder], str]


def made(
    write: Written, given: dict[str, np.ndarray], path: Path, opset: int = OPSET
) -> np.ndarray:
    first = next(iter(given.values()))
    shapes = {name: one.shape for name, one in given.items()}
    b = Builder(shapes, helper.np_dtype_to_tensor_dtype(first.dtype), opset)
    found: np.ndarray = mf.from_onnx(b.save(path / "model.onnx", write(b)))(
        *map(ms.Tensor, given.values())
    ).asnumpy()
    assert found.dtype == first.dtype
    return found


def numbers(dtype: str, count: int = 500) -> dict[str, np.ndarray]:
    """Large ones, and divisors of all sizes."""
    random, most = np.random.default_rng(7), np.iinfo(dtype)
    x, y = (random.integers(most.min, most.max, count, dtype) for _ in range(2))
    y >>= random.integers(0, most.bits - 1, count).astype(dtype)
    return {"x": x, "y": np.where(y == 0, np.array(3, dtype), y)}


WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")


@in_modes("dtype", WHOLE)
def test_remainders_of_whole_numbers_are_exact(dtype: str, tmp_path: Path) -> None:
    given = numbers(dtype)
    found = made(lambda b: b.add("Mod", "x", "y", fmod=1), given, tmp_path)
    np.testing.assert_array_equal(found, np.fmod(*given.values()))


@in_modes("dtype", WHOLE)
def test_remainders_with_the_sign_of_the_divisor_are_exact(dtype: str, tmp_path: Path) -> None:
    given = numbers(dtype)
    found = made(lambda b: b.add("Mod", "x", "y"), given, tmp_path)
    np.testing.assert_array_equal(found, np.mod(*given.values()))


@in_pynative_first
def test_remainders_of_a_constant_and_by_one(tmp_path: Path) -> None:
    x = numbers("int64")["x"]
    by = made(
        lambda b: b.add("Mod", "x", b.constant(-(10**9), "int64"), fmod=1), {"x": x}, tmp_path
    )
    np.testing.assert_array_equal(by, np.fmod(x, -(10**9)))
    of = made(
        lambda b: b.add("Mod", b.constant(2**62 + 1, "int64"), "x", fmod=1), {"x": x}, tmp_path
    )
    np.testing.assert_array_equal(of, np.fmod(2**62 + 1, x))


@in_modes("dtype", ["float16", "float32", "float64"])
def test_remainders_of_fractions_are_exact(dtype: str, tmp_path: Path) -> None:
    x = np.array([60000, -60000, 5.5, -5.5, 3, -3, 0.7], dtype)
    y = np.array([7, 0.3, -0.1, 0.1, np.inf, -np.inf, 0.7], dtype)
    found = made(lambda b: b.add("Mod", "x", "y", fmod=1), {"x": x, "y": y}, tmp_path)
    np.testing.assert_array_equal(found, np.fmod(x, y))


@in_pynative_first
def test_remainders_of_bfloat16_are_exact(tmp_path: Path) -> None:
    b = Builder({"x": (3,)}, TensorProto.BFLOAT16)
    net = mf.from_onnx(b.save(tmp_path / "model.onnx", b.add("Mod", "x", b.weight(1), fmod=1)))
    y = numpy_helper.to_array(b.weights[0]).astype(np.float32)
    x = ms.Tensor(np.array([1000, -3e5, 0.5], np.float32)).astype(ms.bfloat16)
    given = x.astype(ms.float32).asnumpy()
    np.testing.assert_array_equal(net(x).astype(ms.float32).asnumpy(), np.fmod(given, y))


def test_remainders_that_mindspore_rounds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="remainders of uint64"):
        made(lambda b: b.add("Mod", "x", "y", fmod=1), numbers("uint64"), tmp_path)


REDUCED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "ReduceSum": lambda x: x.sum(1),
    "ReduceProd": lambda x: x.prod(1),
    "ReduceL1": lambda x: np.abs(x).sum(1),
    "ReduceL2": lambda x: np.sqrt((x * x).sum(1)),
    "ReduceSumSquare": lambda x: (x * x).sum(1),
    "ReduceLogSum": lambda x: np.log(x.sum(1)),
}


@in_modes("op, dtype", itertools.product(REDUCED, ["int32", "int64"]))
def test_reductions_of_whole_numbers_keep_their_dtype(op: str, dtype: str, tmp_path: Path) -> None:
    x = np.array([[1, 6, 2], [4, -3, 7]], dtype)
    found = made(lambda b: b.add(op, "x", b.constant([1], "int64"), keepdims=0), {"x": x}, tmp_path)
    np.testing.assert_array_equal(found, REDUCED[op](x).astype(dtype))


@in_modes("largest", [0, 1])
def test_the_largest_of_float64_are_not_those_of_float32(largest: int, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    # many are equal, and many differ by less than float32 resolves
    x = random.integers(0, 5, (3, 200, 2)) + 1e-12 * random.integers(0, 3, (3, 200, 2))
    order = np.argsort(-x if largest else x, 1, kind="stable")[:, :50]

    def write(b: Builder) -> str:
        values, places = b.add(
            "TopK", "x", b.constant([50], "int64"), outputs=2, axis=1, largest=largest
        )
        told: str = b.add(
            "Add", b.add("Mul", b.add("Cast", places, to=b.dtype), b.constant(10.0)), values
        )
        return told

    found = made(write, {"x": x}, tmp_path)
    np.testing.assert_array_equal(found, order * 10.0 + np.take_along_axis(x, order, 1))


@in_pynative_first
def test_softplus_keeps_small_results(tmp_path: Path) -> None:
    x = np.linspace(-80, 80, 400, dtype=np.float32)
    found = made(lambda b: b.add("Softplus", "x"), {"x": x}, tmp_path)
    np.testing.assert_allclose(found, np.logaddexp(0, x.astype(np.float64)), rtol=5e-5)


HALVES: dict[str, tuple[Written, tuple[float, ...], tuple[float, ...]]] = {
    "ReduceL2": (lambda b: b.add("ReduceL2", "x", b.constant([0], "int64")), (300, 400), (500,)),
    "ReduceLogSum": (
        lambda b: b.add("ReduceLogSum", "x", b.constant([0], "int64")),
        (5e4, 5e4),
        (11.513,),
    ),
    "LpNormalization": (lambda b: b.add("LpNormalization", "x", axis=0), (300, 400), (0.6, 0.8)),
    "LpNormalization, p = 1": (
        lambda b: b.add("LpNormalization", "x", axis=0, p=1),
        (6e4, 4e4),
        (0.6, 0.4),
    ),
    "LRN": (
        lambda b: b.add(
            "Reshape",
            b.add("LRN", b.add("Reshape", "x", b.constant([1, 4, 1, 1], "int64")), size=3),
            b.constant([4], "int64"),
        ),
        (300, 300, 300, 300),
        (69.7, 53.34, 53.34, 69.7),
    ),
    "Gemm": (
        lambda b: b.add(
            "Gemm",
            b.add("Reshape", "x", b.constant([1, 4], "int64")),
            b.constant(np.full((4, 1), 300, "float16")),
            b.constant(np.ones(1, "float16")),
            alpha=0.001,
            beta=2.0,
        ),
        (300, 300, 300, 300),
        (362.0,),
    ),
}
"""Intermediates that overflow half precision: the operator, its x, its result."""


@in_modes("name", HALVES)
def test_half_precision_does_not_overflow_on_the_way(name: str, tmp_path: Path) -> None:
    write, x, expected = HALVES[name]
    found = made(write, {"x": np.array(x, np.float16)}, tmp_path)
    np.testing.assert_allclose(found.reshape(-1), expected, rtol=2e-3)
