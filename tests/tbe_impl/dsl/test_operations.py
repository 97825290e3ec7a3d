"""Every DSL operation by dtype and shape against float64, by expression and by formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.dsl.ext import EXT_OPERATIONS
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tests.cases import FULL, cases
from tests.tbe_impl.dsl.graphs import FLOATS, INTEGERS, SHAPES, assert_near, compute, values

MIXED = ("float16", "float32", "int32")
BITS = ("int16", "uint16", "int32", "uint8")


@dataclass(frozen=True)
class Case:
    """An elementwise operation: its call, its float64 formula, its dtypes and arguments."""

    word: str
    oracle: Callable[..., Any]
    call: Callable[..., Any] | None = None
    arity: int = 1
    dtypes: tuple[str, ...] = FLOATS
    low: float = -4
    high: float = 4
    result: str = ""
    times: float = 2


def _truncated(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(y == 0, 0, np.trunc(x / np.where(y == 0, 1, y)))


ALL = (*FLOATS, *INTEGERS)
CASES = (
    Case("vadd", lambda x, y: x + y, arity=2, dtypes=ALL, high=3),
    Case("vsub", lambda x, y: x - y, arity=2, dtypes=FLOATS + INTEGERS[:4]),
    Case("vmul", lambda x, y: x * y, arity=2, dtypes=ALL),
    Case("vdiv", lambda x, y: x / y, arity=2, low=0.5),
    Case("vdiv", _truncated, arity=2, dtypes=INTEGERS),
    Case("vmax", np.maximum, arity=2, dtypes=ALL),
    Case("vmin", np.minimum, arity=2, dtypes=ALL),
    Case("vmod", lambda x, y: x - np.floor(x / y) * y, arity=2, low=0.5, times=16),
    Case("vand", lambda x, y: x.astype(int) & y.astype(int), arity=2, dtypes=BITS),
    Case("vor", lambda x, y: x.astype(int) | y.astype(int), arity=2, dtypes=BITS),
    Case("vxor", lambda x, y: x.astype(int) ^ y.astype(int), arity=2, dtypes=BITS),
    Case("vnot", lambda x: ~x.astype(int), dtypes=("int16", "int32")),
    Case("vaddrelu", lambda x, y: np.maximum(x + y, 0), arity=2),
    Case("vsubrelu", lambda x, y: np.maximum(x - y, 0), arity=2),
    Case("vadds", lambda x: x + 1.5, lambda w, x: w(x, 1.5)),
    Case("vadds", lambda x: x + 1, lambda w, x: w(x, 1.5), dtypes=INTEGERS),
    Case("vmuls", lambda x: x * 0, lambda w, x: w(x, 0.5), dtypes=INTEGERS),
    Case("vmuls", lambda x: x * -2.5, lambda w, x: w(x, -2.5)),
    Case("vmaxs", lambda x: np.maximum(x, 0.5), lambda w, x: w(x, 0.5)),
    Case("vmins", lambda x: np.minimum(x, 0.5), lambda w, x: w(x, dsl.const(0.5))),
    Case("vexp", np.exp),
    Case("vexp", lambda x: np.trunc(np.exp(x)), dtypes=INTEGERS),
    Case("vsqrt", lambda x: np.trunc(np.sqrt(x)), dtypes=INTEGERS, low=0),
    Case("vrec", lambda x: _truncated(np.ones_like(x), x), dtypes=INTEGERS),
    Case("vlog", np.log, lambda w, x: w(x, priority_flag=1), low=0.1),
    Case("vabs", np.abs, dtypes=FLOATS + INTEGERS[:4]),
    Case("vrec", lambda x: 1 / x, lambda w, x: w(x, "high_precision"), low=0.1),
    Case("vsqrt", np.sqrt, low=0),
    Case("vrsqrt", lambda x: 1 / np.sqrt(x), low=0.1),
    Case("vrelu", lambda x: np.maximum(x, 0), dtypes=ALL),
    Case("vlrelu", lambda x: np.where(x > 0, x, x * 0.25), lambda w, x: w(x, 0.25)),
    Case("vlrelu", lambda x: np.maximum(x, 0)),
    Case("vaxpy", lambda x, y: 2 * x + y, lambda w, x, y: w(x, y, 2), arity=2),
    Case("vmla", lambda x, y, z: x * y + z, arity=3, times=64),
    Case("vmadd", lambda x, y, z: x * z + y, arity=3, times=64),
    Case("vmaddrelu", lambda x, y, z: np.maximum(x * z + y, 0), arity=3, times=64),
    Case("floor", np.floor, dtypes=ALL, result="int32"),
    Case("ceil", np.ceil, dtypes=ALL, result="int32"),
    Case("round", np.rint, dtypes=ALL, result="int32"),
    Case("trunc", np.trunc, dtypes=ALL, result="int32"),
    Case("round_half_up", lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), result="int32"),
    Case("round_d", lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), result="int32"),
    Case(
        "cast_to_round",
        lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
        lambda w, x: w(x, "int32"),
        result="int32",
    ),
    Case("floor", np.floor, lambda w, x: w(x, "float32"), result="float32"),
    Case("clip", lambda x: np.clip(x, -1, 2), lambda w, x: w(x, 2, -1)),
    Case("clip", lambda x: x * 0 + 1, lambda w, x: w(x, -1, 1)),
    Case("round_to", lambda x: np.clip(x, -1, 2), lambda w, x: w(x, 2.0, -1.0)),
    Case("vsignbit", np.signbit, dtypes=FLOATS + INTEGERS[:4]),
    Case(
        "calculate_one_or_zero", lambda x: x > 0, lambda w, x: w(x, x.shape, x.dtype), dtypes=MIXED
    ),
    Case("vcmpsel", lambda x, y: np.where(x < y, x, y), arity=2, dtypes=ALL),
    Case("vcmpsel", lambda x: np.where(x < 2, x, 0), dtypes=ALL),
    Case("vcmpsel", lambda x: np.where(x >= 1, 7, x), lambda w, x: w(x, 1, "ge", 7, x), dtypes=ALL),
    Case(
        "vcmpsel",
        lambda x, y, z: np.where(x != 1, y, z),
        lambda w, x, y, z: w(x, 1, "ne", y, z),
        arity=3,
        dtypes=ALL,
    ),
    Case("vlogic", np.logical_and, arity=2, dtypes=("bool",), result="bool"),
    Case(
        "vlogic",
        np.logical_or,
        lambda w, x, y: w(x, y, "logic_or"),
        arity=2,
        dtypes=("bool",),
        result="bool",
    ),
    Case(
        "vlogic",
        np.logical_not,
        lambda w, x: w(x, operation="logic_not"),
        dtypes=("bool",),
        result="bool",
    ),
    *(
        Case(
            "vcmp",
            getattr(np, oracle),
            lambda w, x, y, o=name: w(x, y, o),
            arity=2,
            dtypes=ALL,
            result="bool",
        )
        for name, oracle in {
            "eq": "equal",
            "ne": "not_equal",
            "lt": "less",
            "gt": "greater",
            "le": "less_equal",
            "ge": "greater_equal",
        }.items()
    ),
    Case("vcmp", lambda x: x < 1, lambda w, x: w(x, 1.0), dtypes=ALL, result="bool"),
    *(
        Case("cast_to", lambda x: x, lambda w, x, d=dtype: w(x, d), dtypes=ALL, low=0, result=dtype)
        for dtype in FLOATS
    ),
    *(
        Case("cast_to", np.trunc, lambda w, x, d=dtype: w(x, d), dtypes=ALL, low=0, result=dtype)
        for dtype in INTEGERS
    ),
    Case("cast_to", lambda x: x != 0, lambda w, x: w(x, "bool"), dtypes=ALL, result="bool"),
    Case(
        "cast_to",
        lambda x: np.trunc(np.maximum(x - 0.5, -128)),
        lambda w, x: w(x, "int8", False),
        dtypes=("float16",),
        result="int8",
    ),
)


def _ndtr_tanh(x: np.ndarray) -> np.ndarray:
    # ½ · (1 + tanh) would cancel for negative x
    return 1 / (1 + np.exp(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


EXT_CASES = (
    Case("tanh", np.tanh),
    Case("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
    Case("erf", lambda x: _special("erf", x)),
    Case("erfc", lambda x: _special("erfc", x), times=64),
    Case("ndtr", lambda x: _special("ndtr", x), times=64),
    Case("ndtr_tanh", _ndtr_tanh, times=8),
    Case("tanh_softplus", lambda x: np.tanh(np.logaddexp(x, 0))),
    Case("sin", np.sin),
    Case("cos", np.cos),
    Case("tan", np.tan, low=-1, high=1),
    Case("asin", np.arcsin, low=-1, high=1),
    Case("acos", np.arccos, low=-1, high=1),
    Case("atan", np.arctan),
    Case("atan2", np.arctan2, arity=2),
    Case("sinh", np.sinh),
    Case("cosh", np.cosh),
    Case("asinh", np.arcsinh),
    Case("acosh", np.arccosh, low=1),
    Case("atanh", np.arctanh, low=-0.9, high=0.9),
    Case("exp2", np.exp2),
    Case("expm1", np.expm1),
    Case("log1p", np.log1p, low=-0.9),
    Case("log2", np.log2, low=0.1),
    Case("log10", np.log10, low=0.1),
    Case("sign", np.sign, dtypes=FLOATS + INTEGERS[:4]),
    Case("neg", np.negative, dtypes=FLOATS + INTEGERS[:4]),
    Case("rint", np.rint),
    Case("fmod", np.fmod, arity=2, low=0.5, times=16),
    Case("pow", np.power, arity=2, low=0.1, times=8),
    Case("floor_divide", lambda x, y: np.floor(x / y), arity=2, low=0.5),
    Case(
        "floor_divide",
        lambda x, y: np.where(y == 0, 0, np.floor(x / np.where(y == 0, 1, y))),
        arity=2,
        dtypes=INTEGERS,
    ),
    Case("square", np.square, dtypes=ALL),
    Case("reciprocal", lambda x: 1 / x, low=0.1),
    Case("reciprocal", lambda x: _truncated(np.ones_like(x), x), dtypes=INTEGERS),
    Case("isnan", np.isnan, result="bool"),
    Case("isinf", np.isinf, result="bool"),
    Case("isfinite", np.isfinite, result="bool"),
)


def _special(name: str, x: np.ndarray) -> np.ndarray:
    import scipy.special

    found: np.ndarray = getattr(scipy.special, name)(x)
    return found


SELDOM = ("int16", "uint16", "uint32", "uint64")
"""Integer dtypes that only `make test-all` covers; `make test` takes similar widths."""


def _rows(table: Sequence[Case]) -> list[Any]:
    """Each operation with each of its dtypes."""
    return [
        pytest.param(
            case,
            dtype,
            id=f"{case.word} of {dtype} to {case.result or dtype}",
            marks=FULL if dtype in SELDOM else (),
        )
        for case in table
        for dtype in case.dtypes
    ]


def _check(case: Case, word: Any, dtype: str, rounding: str, times: float, *, full: bool) -> None:
    """In all shapes, or in every second one in `make test`."""
    failed = []
    for shape in SHAPES if full else SHAPES[::2]:
        arrays = [values(shape, dtype, case.low, case.high, seed) for seed in range(case.arity)]
        build = (lambda *x: case.call(word, *x)) if case.call else word
        try:
            (found,) = compute(build, *arrays, rounding=rounding)
            with np.errstate(all="ignore"):
                wanted = case.oracle(*(array.astype(np.float64) for array in arrays))
            assert_near(found, wanted, case.result or dtype, times=times)
        except AssertionError as error:
            failed.append(f"shape {shape}: {error}")
    assert not failed, "\n\n".join(failed)


@cases("case, dtype", _rows(CASES), per_item=200)
def test_words_of_cann(case: Case, dtype: str, full: bool) -> None:
    _check(case, OPERATIONS[case.word], dtype, "accurate", case.times, full=full)


@cases("case, dtype", _rows(EXT_CASES), per_item=200)
def test_words_of_ext(case: Case, dtype: str, full: bool) -> None:
    _check(case, EXT_OPERATIONS[case.word], dtype, "accurate", case.times, full=full)


@cases("case, dtype", _rows(CASES[:40:3]), per_item=200)
@cases("rounding", ["device", "float64"])
def test_the_other_roundings(case: Case, dtype: str, rounding: str, full: bool) -> None:
    _check(case, OPERATIONS[case.word], dtype, rounding, 16 * case.times, full=full)


def test_special_values(subtests: pytest.Subtests) -> None:
    edges = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 65504.0], np.float16)
    nan = [True] + [False] * 7
    for name, build in {
        "vmaxs": lambda x: dsl.vmaxs(x, 0.0),
        "vmins": lambda x: dsl.vmins(x, 0.0),
        "vrelu": dsl.vrelu,
        "clip": lambda x: dsl.clip(x, 1.0, -1.0),
        "vmax": lambda x: dsl.vmax(x, dsl.vabs(x)),
    }.items():
        with subtests.test(name):
            (found,) = compute(build, edges)
            np.testing.assert_array_equal(np.isnan(found), nan)
    (whole,) = compute(lambda x: dsl.cast_to(x, "int8"), edges)
    assert whole.tolist() == [0, 127, -128, 0, 0, 1, -1, 127]
    (bit,) = compute(dsl.vsignbit, edges)
    assert bit.tolist() == [0, 0, 1, 0, 1, 0, 1, 0]
    assert np.isnan(compute(lambda x: dsl.reduce_max(x, 0), edges)[0]).all()
    for name, wanted in {"isnan": nan, "isinf": [False, True, True] + [False] * 5}.items():
        with subtests.test(name):
            assert compute(EXT_OPERATIONS[name], edges)[0].tolist() == wanted


def test_integers_wrap_around_and_divide_by_nothing_to_0() -> None:
    top, zero = np.array([127, -128], np.int8), np.zeros(2, np.int8)
    assert compute(lambda x: dsl.vadds(x, 1), top)[0].tolist() == [-128, -127]
    assert compute(dsl.vdiv, top, zero)[0].tolist() == [0, 0]
    wide = top.astype(np.int32)
    assert compute(dsl.vmod, wide, zero.astype(np.int32))[0].tolist() == [0, 0]
    assert compute(EXT_OPERATIONS["reciprocal"], zero)[0].tolist() == [0, 0]
    assert compute(lambda x: dsl.cast_to(x, "uint8"), top)[0].tolist() == [127, 128]


@cases("dtype", ["int32", "uint32"])
def test_remainders_of_large_integers_are_exact(dtype: str) -> None:
    """They do not fit in float32."""
    x = np.array([2**24 + 1, 2**30 + 7, 2**31 - 1, 12345], dtype)
    y = np.array([10, 1000, 2, 7], dtype)
    assert compute(dsl.vmod, x, y)[0].tolist() == (x % y).tolist()


@cases("mode", ["bool", "bit"])
@cases("dtype", ["float16", "float32", "int32"])
@cases("shape", [(8,), (3, 16), (2, 3, 24)], ids=str)
def test_selecting_by_what_was_compared(mode: str, dtype: str, shape: tuple[int, ...]) -> None:
    x, y = values(shape, dtype, seed=1), values(shape, dtype, seed=2)
    (found,) = compute(lambda a, b: dsl.vsel(dsl.vcmp(a, b, "gt", mode), a, b), x, y)
    np.testing.assert_array_equal(found, np.maximum(x, y))
    (found,) = compute(lambda a: dsl.vsel(dsl.vcmp(a, 1, "le", mode), a, 9), x)
    np.testing.assert_array_equal(found, np.where(x <= 1, x, np.asarray(9, dtype)))
    (found,) = compute(lambda a: dsl.vsel(dsl.vcmp(a, 1, "le", mode), 2.0, 3), x)
    assert found.dtype == np.float16
    np.testing.assert_array_equal(found, np.where(x <= 1, 2, 3))


def test_bits_lie_as_the_device_has_them() -> None:
    x = np.array([1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1], np.float16)
    (found,) = compute(lambda a: dsl.vcmp(a, 0.0, "gt", "bit"), x)
    assert found.dtype == np.uint8
    assert found.tolist() == [1, 0b10000110]


@cases("size", [1, 7, 9, 37])
def test_bits_beyond_the_end_are_0_and_select_nothing(size: int) -> None:
    x = values((3, size), "float32", seed=3)
    (bits,) = compute(lambda a: dsl.vcmp(a, -9.0, "gt", "bit"), x)
    assert bits.shape == (3, -(-size // 8))
    assert np.unpackbits(bits, axis=-1).sum() == 3 * size
    (found,) = compute(lambda a: dsl.vsel(dsl.vcmp(a, 0.0, "gt", "bit"), a, 9.0), x)
    np.testing.assert_array_equal(found, np.where(x > 0, x, np.float32(9)))
    (found,) = compute(lambda a: dsl.vsel(dsl.vcmp(a, 0.0, "gt", "bit"), 1, 2), x)
    np.testing.assert_array_equal(found, np.where(x > 0, 1, 2))


def test_every_word_is_tested_or_known_to_be_elsewhere() -> None:
    elsewhere = {
        "vsel",
        "broadcast",
        "transpose",
        "concat",
        "split",
        "set_value",
        "sum",
        "reduce_sum",
        "reduce_max",
        "reduce_min",
        "reduce_prod",
        "reduce_all",
        "reduce_any",
        "reduce_mean",
        "tuple_sum",
        "gather",
        "gather_nd",
        "scatter",
        "inplace_add",
        "inplace_sub",
        "inplace_update",
        "reduce_window",
        "pooling2d",
        "pooling3d",
        "dilation",
        "matmul",
        "batch_matmul",
        "gemm",
        "conv",
        "conv2d",
        "conv3d",
        "conv2d_backprop_input",
        "conv2d_backprop_input_compute",
        "conv2d_backprop_filter",
        "conv2d_backprop_filter_compute",
        "conv3d_backprop_input",
        "conv3d_backprop_filter",
        "depthwise_conv2d",
        "depthwise_conv2d_compute",
        "vgcd",
        "conv3d_backprop_input_compute",
        "conv3d_backprop_filter_compute",
        "pooling3d_max_grad_grad",
        "scatter_nd",
        "depthwise_conv2d_backprop_filter_d_compute",
        "depthwise_conv2d_backprop_input_d_compute",
    } | {f"unsorted_segment_{kind}" for kind in ("sum", "mean", "prod", "max", "min")}
    assert {case.word for case in CASES} | elsewhere == set(OPERATIONS)


def test_no_word_of_ext_is_a_word_of_cann() -> None:
    assert set(OPERATIONS).isdisjoint(EXT_OPERATIONS)
    assert dsl.vadd is OPERATIONS["vadd"]
    assert dsl.ext.tanh is EXT_OPERATIONS["tanh"]
    for missing in ("vsubs", "tanh"):
        assert missing not in OPERATIONS
        with pytest.raises(AttributeError, match=missing):
            getattr(dsl, missing)


def test_every_word_explains_itself() -> None:
    assert [
        word.name
        for word in (*OPERATIONS.values(), *EXT_OPERATIONS.values())
        if not word.build.__doc__
    ] == []
