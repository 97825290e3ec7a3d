"""Traced NumPy formulas: the graph equals the formula on arrays, on both back ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.autodiff.reverse_mode import gradients
from tbe_impl.cpu import prepared_kernel
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Var
from tbe_impl.dsl.tensor import Tensor, stages_of
from tbe_impl.errors import InputError
from tbe_impl.interpreter import evaluate
from tbe_impl.runtime.store import Store
from tbe_impl.tracing.trace import trace
from tests.cases import FULL, cases
from tests.tbe_impl.dsl.differences import Derived, assert_derivatives

special = pytest.importorskip("scipy.special")
Formula = Callable[..., Any]
ULP = {"float16": 2.0**-9, "bfloat16": 2.0**-6, "float32": 2.0**-20, "float64": 2.0**-48}
RNG = np.random.default_rng(11)


def sample(shape: Sequence[int], dtype: str, low: float = 0.25, high: float = 3) -> np.ndarray:
    """Random values of the dtype."""
    if dtype == "bool":
        return RNG.integers(0, 2, shape).astype(bool)
    if np.dtype(dtype_of(dtype).numpy).kind in "iu":
        return RNG.integers(1, 5, shape).astype(dtype)
    return RNG.uniform(low, high, shape).astype(dtype_of(dtype).numpy)


def traced(formula: Formula, arrays: Sequence[np.ndarray]) -> tuple[list[Tensor], list[Tensor]]:
    """The inputs and outputs of the graph of a formula."""
    inputs = [dsl.placeholder(array.shape, str(array.dtype)) for array in arrays]
    return inputs, list(trace(formula, *inputs))


def assert_same(found: np.ndarray, wanted: Any, precision: str = "") -> None:
    """Raises unless two arrays are equal up to rounding."""
    wanted = np.asarray(wanted)
    assert found.dtype == wanted.dtype, (found.dtype, wanted.dtype)
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    name = precision or wanted.dtype.name
    if name not in ULP:
        np.testing.assert_array_equal(found, wanted)
        return
    one, other = found.astype(np.float64), wanted.astype(np.float64)
    size = np.max(np.abs(other), initial=0.125, where=np.isfinite(other))
    np.testing.assert_allclose(one, other, rtol=ULP[name], atol=ULP[name] * size)


def on_arrays(formula: Formula, arrays: Sequence[np.ndarray]) -> list[Any]:
    """NumPy's result."""
    with np.errstate(all="ignore"):
        found = formula(*(array.copy() for array in arrays))
    return list(listed(found))


ONE: dict[str, Formula] = {
    **{
        name: getattr(np, name)
        for name in "exp exp2 expm1 log log2 log10 log1p sqrt square tanh sinh cosh sin cos tan "
        "arctan arcsinh floor ceil trunc rint "
        "reciprocal negative positive absolute fabs sign isnan isinf isfinite signbit deg2rad "
        "rad2deg logical_not".split()
    },
    "arcsin": lambda x: np.arcsin(x / 4),
    "arccos": lambda x: np.arccos(x / 4),
    "arctanh": lambda x: np.arctanh(x / 4),
    "arccosh": lambda x: np.arccosh(x + 1),
    "numbers": lambda x: 2 * x + 0.5 - x / 3 + 1 / (x + 1) + (3 - x),
    "a number of NumPy": lambda x: x * np.sqrt(2 / np.pi) + np.float32(1.5) - np.int64(2),
    "powers": lambda x: x**2 + x**3 + x**0.5 + x**-1 + x**1.5 + 2**x,
    "comparisons": lambda x: ((x > 1) & (x <= 2) | (x == 1.5)) ^ ~(x != 2),
    "remainders": lambda x: (x % 0.75, x // 0.75, np.fmod(x, 0.75), -x % 0.75, -x // 0.75),
    "where": lambda x: np.where(x > 1, x, 0) + np.where(x < 2, 1.0, x),
    "clip": lambda x: np.clip(x, 0.5, 2) + x.clip(min=1),
    "sum": lambda x: (
        x.sum(),
        np.sum(x, 1),
        np.sum(x, axis=(0, 2), keepdims=True),
        x.sum(-1, keepdims=True),
    ),
    "mean": lambda x: (x.mean(), np.mean(x, 1, keepdims=True)),
    "extremes": lambda x: (
        x.max(),
        np.min(x, 1),
        np.max(x, axis=(0, 1)),
        np.amin(x, -1, keepdims=True),
        np.ptp(x, 0),
    ),
    "spread": lambda x: (np.var(x, -1), x.std(0, ddof=1), np.var(x)),
    "prod": lambda x: np.prod(x, 1),
    "truth": lambda x: (
        np.all(x > 1, 1),
        np.any(x > 2),
        np.count_nonzero(x > 1, 0),
        (x > 1).sum(),
        (x > 1).mean(-1),
    ),
    "positions": lambda x: (x.argmax(1), np.argmin(x), np.argmax(x, -1, keepdims=True)),
    "running": lambda x: (np.cumsum(x, 1), x.cumsum(), np.add.accumulate(x, 2)),
    "by method": lambda x: (
        np.add.reduce(x),
        np.maximum.reduce(x, axis=1),
        np.multiply.reduce(x, -1, keepdims=True),
    ),
    "order": lambda x: (np.sort(x, 1), np.sort(x, axis=None)),
    "axes": lambda x: (
        x.T,
        x.transpose(1, 0, 2),
        np.transpose(x, (2, 0, 1)),
        np.swapaxes(x, 0, -1),
        np.moveaxis(x, 0, 2),
    ),
    "reshape": lambda x: (
        x.reshape(6, 4),
        np.reshape(x, (-1, 2)),
        x.ravel(),
        x.reshape([2, 1, 3, 4]),
        x.flatten() * 2,
    ),
    "new axes": lambda x: (
        x[:, None],
        x[..., None] * x[:, :, None, :1],
        np.expand_dims(x, (0, 2)),
        np.squeeze(x[:1]),
        x[:, :1].squeeze(1),
    ),
    "elements": lambda x: (x[1], x[-1, 2], x[:, 0], x[0, 1, 2], x[..., -1]),
    "slices": lambda x: (x[:, 1:], x[..., ::2], x[:, ::-1, -3:-1], x[1:, 0, 1:3], x[:, 5:]),
    "looked up": lambda x: (
        x[:, [2, 0, -1]],
        x[np.array([1, 0, 1])],
        np.take(x, [[0, 1], [2, 3]], 2),
        x.take([5, -2]),
    ),
    "joined": lambda x: (
        np.concatenate([x, x * 2], 1),
        np.stack([x, -x], -1),
        np.hstack([x, x]),
        np.vstack([x, x]),
        np.concatenate([x, x[0:1]], axis=None),
    ),
    "split": lambda x: tuple(np.split(x, 2, -1)) + tuple(np.array_split(x, [1], 1)),
    "repeated": lambda x: (
        np.tile(x, (2, 1, 2)),
        np.repeat(x, 3, 1),
        x.repeat(2),
        np.broadcast_to(x[:, :1], (2, 3, 4)),
    ),
    "turned": lambda x: (np.flip(x, 1), np.flip(x), np.roll(x, 1, 2), np.roll(x, -5)),
    "padded": lambda x: (np.pad(x, ((0, 0), (1, 2), (0, 3)), constant_values=1), np.pad(x, 1)),
    "triangles": lambda x: (np.tril(x), np.triu(x, 1)),
    "filled": lambda x: (np.zeros_like(x) + 1, np.full_like(x, 3), np.ones_like(x, dtype=bool)),
    "differences": lambda x: np.diff(x) + np.diff(x, axis=2, n=1),
    "constants": lambda x: (
        x * np.arange(4),
        x + np.arange(12).reshape(3, 4)[:, ::-1],
        x * np.array([1, 5, -2, 3]),
    ),
    "rounded": lambda x: (np.round(x), x.round(1)),
    "cast": lambda x: (x.astype("float32"), x.astype(np.int32), (x > 1).astype(x.dtype), x.copy()),
    "shapes": lambda x: x / x.shape[-1] + np.size(x) + len(x) + x.ndim + np.shape(x)[0],
    "in place": lambda x: in_place(x),
    "rows": lambda x: sum(row[0] for row in x),
    "nan_to_num": lambda x: np.nan_to_num(np.log(x - x.max()), nan=1.0),
    "one axis": lambda x: of_one_axis(x[0, 0]),
    "two axes": lambda x: of_two_axes(x[0]),
    "three axes": lambda x: of_three_axes(x),
}


def of_one_axis(x: Any) -> Any:
    return (
        *(np.vstack([x, x]), np.hstack([x, x]), np.concatenate([x, x])),
        *(np.stack([x, -x]), np.stack([x, -x], 1), np.stack([x, -x], -2)),
        *(x.T, np.transpose(x, (0,)), np.expand_dims(x, -1), np.expand_dims(x, (0, 2))),
        *(np.repeat(x, 2), np.tile(x, 2), np.tile(x, (3, 2)), np.broadcast_to(x, (3, 4))),
        *(np.roll(x, 1), np.roll(x, 4), np.roll(x, -7), np.flip(x)),
        *(np.pad(x, (1, 2)), np.pad(x, 1, constant_values=5)),
        *np.split(x, [1, 3]),
        *np.array_split(x, 3),
        *(np.cumsum(x), np.diff(x), np.argmax(x), np.argmin(x), np.sort(x)),
        *(x.sum(), x.mean(), x.max(), np.ptp(x), np.var(x, ddof=1), np.prod(x)),
        *(x.reshape(2, 2), x.reshape(1, 4), x.reshape(-1, 1), np.ravel(x), x[::2], x[-1]),
    )


def of_two_axes(x: Any) -> Any:
    return (
        *(np.vstack([x, x[0]]), np.hstack([x, x[:, :1]]), np.stack([x, -x], 1)),
        *(x.T, np.swapaxes(x, 0, 1), np.moveaxis(x, 0, -1)),
        *(np.tril(x), np.tril(x, 1), np.tril(x, -1), np.triu(x), np.triu(x, -1), np.triu(x, 2)),
        *(np.repeat(x, 2, 0), np.repeat(x, 2, -1), np.tile(x, 3), np.tile(x, (2, 1))),
        *(np.roll(x, 1, 0), np.roll(x, -1, -1), np.roll(x, 3, 0), np.flip(x, 0), np.flip(x, -1)),
        *(np.pad(x, ((1, 0), (0, 2)), constant_values=2), np.diff(x, axis=0), np.diff(x, n=2)),
        *(np.split(x, 3)[1], np.split(x, [1, 1], 1)[2], np.array_split(x, 3, 1)[0]),
        *(np.cumsum(x, 0), np.cumsum(x, -1), np.sort(x, 0), np.argmax(x, 0), np.argmin(x, -1)),
        *(np.squeeze(x[:1], 0), np.squeeze(x[:, 1:2]), np.squeeze(x[:1, :1])),
        *(np.var(x, 0), np.std(x, -1, keepdims=True), np.mean(x, (0, 1), keepdims=True)),
    )


def of_three_axes(x: Any) -> Any:
    return (
        *(np.moveaxis(x, (0, 1), (2, 0)), np.moveaxis(x, -1, 0), np.moveaxis(x, [2, 0], [0, 1])),
        *(np.transpose(x, (-1, 0, 1)), np.swapaxes(x, 1, 2), np.expand_dims(x, (-1, 1))),
        *(np.repeat(x, 2, 1), np.tile(x, (1, 2, 1)), np.tile(x, (2, 1, 1, 2))),
        *(np.roll(x, 2, 1), np.flip(x, (0, -1)), np.pad(x, ((1, 0), (0, 0), (2, 1)))),
        *(np.tril(x, 1), np.triu(x, -1), np.diff(x, axis=1), x.reshape(1, 2, 3, 4, 1)),
        *(x.reshape(2, 12), x.reshape(2, 3, 2, 2), np.argmax(x, 1), np.cumsum(x, 0)),
    )


def in_place(x: Any) -> Any:
    y = x * 1
    y += x
    y *= 2
    return y


TWO: dict[str, Formula] = {
    **{
        name: getattr(np, name)
        for name in "add subtract multiply divide maximum minimum fmax fmin power arctan2 hypot "
        "logaddexp copysign heaviside remainder "
        "floor_divide fmod less less_equal greater greater_equal equal not_equal logical_and "
        "logical_or logical_xor".split()
    },
    "relu of a sum": lambda x, y: np.maximum(x + y, 0),
    "outer": lambda x, y: np.multiply.outer(x[0], y[0]),
    "where": lambda x, y: np.where(x > y, x, y),
    "infinite": lambda x, y: np.logaddexp(np.log(x - x), np.log(y - y)),
    "distances": lambda x, y: np.sqrt(((x[:, None] - y[None]) ** 2).sum(-1)),
}
FLOATS = ("float16", "float32", "float64", "bfloat16")
INTEGERS = ("int8", "int32", "int64", "uint8")
WIDE_ONLY = {"nan_to_num"}
"""Formulas that depend on the dtype."""


def check(formula: Formula, arrays: Sequence[np.ndarray], cache: Store | None = None) -> None:
    """Raises unless a back end (with a cache both) equals NumPy; narrow floats compute in float32
    and round once.
    """
    inputs, outputs = traced(formula, arrays)
    narrow = arrays[0].dtype.name in ("float16", "bfloat16")
    wide = [
        array.astype(np.float32) if array.dtype.name in ("float16", "bfloat16") else array
        for array in arrays
    ]
    wanted = on_arrays(formula, wide)
    if narrow:
        own = [tensor.dtype for tensor in outputs]
        wanted = [
            np.asarray(item).astype(dtype_of(dtype).numpy)
            for item, dtype in zip(wanted, own, strict=True)
        ]
    given = {id(tensor): array for tensor, array in zip(inputs, arrays, strict=True)}
    results = [evaluate.run(outputs, given)]
    if cache is not None:
        kernel = prepared_kernel.prepare(outputs, inputs, name="traced", cache=cache)
        results.append(kernel.run(arrays, {}, 1))
    for found in results:
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other, arrays[0].dtype.name if narrow else "")


@cases("name", ONE)
@cases("dtype", FLOATS)
def test_a_function_of_floats(name: str, dtype: str) -> None:
    if dtype in ("float16", "bfloat16") and name in WIDE_ONLY:
        pytest.skip("float32 is no reference")
    check(ONE[name], [sample((2, 3, 4), dtype)])


@cases("name", TWO)
@cases("dtype", FLOATS)
def test_a_function_of_two_tensors(name: str, dtype: str) -> None:
    check(TWO[name], [sample((3, 4), dtype), sample((3, 4), dtype)])


COMPUTING = (
    "numbers powers where clip truth extremes elements slices joined constants comparisons".split()
)
PLACING = ["looked up", "new axes", "remainders", "turned", "padded", "triangles"]


@cases(
    "names, dtype",
    [
        (COMPUTING, "float32"),
        (PLACING, "int8"),
        pytest.param(COMPUTING, "int8", marks=FULL),
        pytest.param(PLACING, "float32", marks=FULL),
    ],
    ids=["computing-float32", "placing-int8", "computing-int8", "placing-float32"],
)
def test_the_table_in_c(dtype: str, names: list[str], cache: Store) -> None:
    array = sample((2, 3, 4), dtype)
    chosen = [name for name in names if dtype == "float32" or name != "powers"]
    inputs, outputs = traced(
        lambda x: [one for name in chosen for one in listed(ONE[name](x))], [array]
    )
    wanted = evaluate.run(outputs, {id(inputs[0]): array})
    kernel = prepared_kernel.prepare(outputs, inputs, name="table", cache=cache)
    for one, other in zip(kernel.run([array], {}, 1), wanted, strict=True):
        assert_same(one, other)


def listed(found: Any) -> Sequence[Any]:
    """A tuple of one or several outputs."""
    return found if isinstance(found, (tuple, list)) else [found]


OF_INTEGERS = [
    "numbers",
    "sum",
    "mean",
    "extremes",
    "truth",
    "running",
    "axes",
    "elements",
    "slices",
    "joined",
    "constants",
    "absolute",
    "square",
    "sqrt",
    "exp",
    "floor",
    "negative",
    "cast",
    "comparisons",
    "positions",
    "clip",
    "isnan",
]


@cases("name", OF_INTEGERS)
@cases("dtype", INTEGERS)
def test_a_function_of_integers(name: str, dtype: str) -> None:
    if dtype == "uint8" and name in ("numbers", "constants", "negative"):
        pytest.skip("NumPy 1 and 2 differ in the dtype of −1 beside uint8")
    check(ONE[name], [sample((2, 3, 4), dtype)])


@cases(
    "formula",
    [
        lambda x, y: x + y,
        lambda x, y: x * y - 1.5,
        lambda x, y: np.maximum(x, y),
        lambda x, y: x / y,
        lambda x, y: x < y,
        lambda x, y: np.where(x > 1, x, y),
        lambda x, y: np.concatenate([x, y]),
        lambda x, y: np.logical_and(x, y),
    ],
)
@cases(
    "pair",
    [
        ("float32", "float64"),
        ("float16", "float32"),
        ("int32", "float32"),
        ("int8", "uint8"),
        ("bool", "int32"),
        ("bool", "float32"),
        ("int64", "float16"),
    ],
)
def test_dtypes_meet_as_in_numpy(formula: Formula, pair: tuple[str, str]) -> None:
    arrays = [sample((3, 4), dtype) for dtype in pair]
    inputs, outputs = traced(formula, arrays)
    (wanted,) = on_arrays(formula, arrays)
    (found,) = evaluate.run(outputs, {id(t): a for t, a in zip(inputs, arrays, strict=True)})
    assert_same(found, wanted, "float16" if wanted.dtype == np.float16 else "")


def test_truth_values_add_and_multiply_as_in_numpy(cache: Store) -> None:
    arrays = [sample((9,), "bool"), sample((9,), "bool")]
    check(
        lambda x, y: (
            x + y,
            x * y,
            np.maximum(x, y),
            x ^ y,
            x & y,
            ~x,
            x + 1,
            x * 1.5,
            x.sum(),
            x.mean(),
        ),
        arrays,
        cache,
    )


def test_integers_bit_by_bit(cache: Store) -> None:
    arrays = [sample((9,), "int32"), sample((9,), "int32")]
    check(
        lambda x, y: (
            x & y,
            x | y,
            x ^ y,
            ~x,
            x << y,
            x >> 1,
            x % y,
            -x // y,
            np.fmod(-x, y),
            x**2,
        ),
        arrays,
        cache,
    )


PRODUCTS: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((3, 4), (4, 5)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((4,), (4,)),
    ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((2, 3, 4), (4,)),
    ((4,), (2, 4, 5)),
]


@cases("shapes", PRODUCTS)
def test_products_of_matrices(shapes: Any) -> None:
    arrays = [sample(shape, "float64") for shape in shapes]
    check(lambda x, y: (x @ y, np.matmul(x, y) * 2), arrays)


def softmax(x: Any, axis: int = -1) -> Any:
    power = np.exp(x - x.max(axis, keepdims=True))
    return power / power.sum(axis, keepdims=True)


def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    away = x - np.mean(x, -1, keepdims=True)
    return away / np.sqrt(np.mean(away**2, -1, keepdims=True) + 1e-5) * scale + shift


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    length = q.shape[-2]
    late = np.arange(length)[None, :] > np.arange(length)[:, None]
    return softmax(np.where(late, -1e9, scores)) @ v


def rotary(x: Any, cos: Any, sin: Any) -> Any:
    half = x.shape[-1] // 2
    return x * cos + np.concatenate([-x[..., half:], x[..., :half]], axis=-1) * sin


OPERATORS: dict[str, tuple[Formula, list[tuple[int, ...]]]] = {
    "softmax": (softmax, [(6, 24)]),
    "layer_norm": (layer_norm, [(6, 24), (24,), (24,)]),
    "gelu": (lambda x: x * 0.5 * (1 + special.erf(x / np.sqrt(2))), [(6, 24)]),
    "gelu by tanh": (
        lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        [(6, 24)],
    ),
    "silu": (lambda x: x * special.expit(x), [(6, 24)]),
    "mish": (lambda x: x * np.tanh(np.logaddexp(x, 0)), [(6, 24)]),
    "normal": (lambda x: x * special.ndtr(x) + special.erfc(x) + special.xlogy(x, x), [(6, 24)]),
    "add relu": (lambda x, y: np.maximum(x + y, 0), [(6, 24), (24,)]),
    "dense": (lambda x, w, b: np.maximum(x @ w.T + b, 0), [(6, 24), (5, 24), (5,)]),
    "attention": (attention, [(2, 5, 8), (2, 5, 8), (2, 5, 8)]),
    "rotary": (rotary, [(2, 5, 8), (5, 8), (5, 8)]),
}


def dtypes_of_operators() -> Iterator[Any]:
    """With float32 an operator is compiled, which ``make test`` does for some."""
    for name in OPERATORS:
        yield pytest.param(name, "float64", id=f"{name}-float64")
        seldom = name in (
            "gelu",
            "gelu by tanh",
            "silu",
            "mish",
            "normal",
            "add relu",
            "dense",
            "softmax",
        )
        yield pytest.param(name, "float32", id=f"{name}-float32", marks=FULL if seldom else ())


@cases("name, dtype", [*dtypes_of_operators()])
def test_operators(name: str, dtype: str, cache: Store) -> None:
    formula, shapes = OPERATORS[name]
    arrays = [sample(shape, dtype) for shape in shapes]
    check(formula, arrays, cache if dtype == "float32" else None)


@cases("name", OPERATORS)
def test_a_traced_formula_can_be_differentiated(name: str) -> None:
    formula, shapes = OPERATORS[name]
    arrays = [sample(shape, "float64") for shape in shapes]
    inputs, outputs = traced(formula, arrays)
    assert_derivatives(Derived(outputs, inputs), arrays)


LATE: dict[str, Formula] = {
    "softmax": lambda x, y: softmax(x),
    "sums": lambda x, y: (x.sum(), x.mean(-1), np.var(x, -1, keepdims=True, ddof=1)),
    "two tensors": lambda x, y: np.maximum(x + y, 0) * x.shape[-1],
    "reshaped": lambda x, y: (
        x.reshape(x.shape[0] * x.shape[1]),
        x.reshape(-1),
        x.ravel() * y.size,
    ),
    "parts": lambda x, y: (x[:, 1:], x[:, -2:], x[-1], x[:, ::-1], x[:, :-1] + x[:, 1:], x[:, 0]),
    "axes": lambda x, y: (
        x.T @ y,
        np.concatenate([x, y], 1),
        np.stack([x, y]),
        x[:, None] * y[None],
    ),
    "scaled": lambda x, y: x / np.sqrt(x.shape[-1]) + (x.shape[-1] - 1) // 2,
}


@cases(
    "name",
    [
        pytest.param(
            name,
            id=name,
            marks=FULL if name in ("softmax", "two tensors", "reshaped", "scaled") else (),
        )
        for name in LATE
    ],
)
def test_sizes_that_are_known_late(name: str, cache: Store, subtests: pytest.Subtests) -> None:
    n = Var("n", bound=(1, None))
    inputs = [dsl.placeholder((3, n), "float32") for _ in range(2)]
    outputs = list(trace(LATE[name], *inputs))
    kernel = prepared_kernel.prepare(outputs, inputs, name="late", cache=cache)
    for size in (3, 17):
        arrays = [sample((3, size), "float32") for _ in range(2)]
        wanted = on_arrays(LATE[name], arrays)
        given = {id(tensor): array for tensor, array in zip(inputs, arrays, strict=True)}
        with subtests.test(name, back_end="numpy", size=size):
            for one, other in zip(evaluate.run(outputs, given, {id(n): size}), wanted, strict=True):
                assert_same(one, other)
        with subtests.test(name, back_end="cpu", size=size):
            for one, other in zip(kernel.run(arrays, {id(n): size}, 1), wanted, strict=True):
                assert_same(one, other)


@cases(
    "asks",
    [lambda n: n == 3, lambda n: n > 1, lambda n: bool(n), lambda n: range(n), lambda n: n != 3],
)
def test_a_formula_that_asks_for_a_size_that_is_known_late(asks: Callable[[Any], Any]) -> None:
    x = dsl.placeholder((3, Var("n")))
    with pytest.raises(InputError, match="asks for a size that is known at run time only"):
        trace(lambda x: (asks(x.shape[1]), x)[1], x)
    assert trace(lambda x: x * (x.shape == (x + 1).shape), x)[0].dtype == "float32"


def test_the_derivative_of_softplus_at_0() -> None:
    x, g = dsl.placeholder((3,), "float64"), dsl.placeholder((3,), "float64")
    (y,) = trace(lambda t: np.logaddexp(t, 0), x)
    (found,) = gradients([y], [x], [g])
    assert found is not None
    given = {id(x): np.array([0.0, 800, -800]), id(g): np.ones(3)}
    np.testing.assert_array_equal(evaluate.run([found], given)[0], [0.5, 1, 0])


def test_attributes_go_by_name_and_plain_inputs_come_back() -> None:
    x = dsl.placeholder((4,))
    scaled, same = trace(lambda x, beta, axis: (x * beta, x), x, beta=2.0, axis=0)
    assert same is x
    assert scaled.dtype == "float32"


def branches(x: Any) -> Any:
    return x if x.sum() > 0 else -x


def writes(x: Any) -> Any:
    x[0] = 1
    return x


def changes_a_view(x: Any) -> Any:
    y = x * 1
    row = y[0]
    row += 1
    return y


def python_number(x: Any) -> Any:
    import math

    return math.exp(x)


@cases(
    "formula, what",
    [
        (lambda x: np.linalg.norm(x), "np.linalg.norm cannot be traced"),
        (lambda x: np.median(x), "np.median cannot be traced"),
        (lambda x: np.einsum("ij->j", x), "np.einsum cannot be traced"),
        (lambda x: np.cbrt(x), "np.cbrt cannot be traced"),
        (lambda x: special.gamma(x), "gamma cannot be traced"),
        (lambda x: special.softmax(x), "softmax cannot be traced"),
        (lambda x: np.asarray(x), "makes a NumPy array of a tensor"),
        (lambda x: np.sum(x, where=x > 0), "expected np.sum(a, axis, dtype, keepdims)"),
        (lambda x: np.add(x, x, where=x > 0), "np.add with where cannot be traced"),
        (lambda x: x.tobytes(), "the method tobytes of arrays cannot be traced"),
        (lambda x: x[x > 0], "the shape of what truth values choose"),
        (lambda x: x[[0, 1], [1, 2]], "looking up along several axes"),
        (lambda x: x[5], "no such element; expected -2 to 1, got 5"),
        (lambda x: x[0, 0, 0], "too many indices"),
        (lambda x: x + np.ones((3, 3)), "the shapes cannot be broadcast"),
        (lambda x: x + 1j, "a value whose type is not supported"),
        (lambda x: x & x, "bitwise_and has no meaning for these dtypes"),
        (
            lambda x: x * np.random.default_rng(0).normal(size=(50, 2, 3)),
            "a long array of constants",
        ),
        (lambda x: x.astype("complex64"), "the language has no such dtype"),
        (lambda x: x.sum(5), "no such axis; expected -2 to 1, got 5"),
        (lambda x: None, "the formula gives no array"),
        (branches, "the formula branches on values"),
        (writes, "writes into elements"),
        (changes_a_view, "of which there is a view"),
        (python_number, "makes a Python number of values"),
    ],
)
def test_what_cannot_be_traced_says_so(formula: Formula, what: str) -> None:
    with pytest.raises(InputError) as caught:
        trace(formula, dsl.placeholder((2, 3)))
    assert what in str(caught.value)
    assert "test_tracing.py:" in str(caught.value.place)


def test_a_power_by_a_small_number_is_a_product() -> None:
    (y,) = trace(lambda x: x**2 + x**3 + x**0.5, dsl.placeholder((2, 3)))
    words = {op.dsl_call.name for op in stages_of([y]) if op.dsl_call}
    assert words == {"square", "vmul", "vsqrt", "vadd"}


def test_the_stages_know_the_line_of_the_formula() -> None:
    (y,) = trace(lambda x: np.sum(np.exp(x), axis=0), dsl.placeholder((2, 3)))
    assert y.op.location is not None
    assert y.op.location.file.endswith("test_tracing.py")
    assert "np.sum(np.exp" in y.op.location.text
