"""NaN, infinities, signed zeros, subnormals and extreme values; limits of integers."""

from __future__ import annotations

import platform
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.dsl import ext
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import make_binary
from tbe_impl.runtime.store import Store
from tests.cases import FULL, cases
from tests.tbe_impl.codegen.graphs import assert_same, prepare, run_both

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
TINY, HUGE = 2.0**-149, 3.4e38


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of special values in both orders, with 3 rows more than the vectors hold."""
    limits: Any = ml_dtypes.finfo(dtype_of(dtype).numpy)
    smallest, largest = float(limits.smallest_subnormal), float(limits.max)
    values = [
        np.nan,
        np.inf,
        -np.inf,
        0.0,
        -0.0,
        1.0,
        -1.5,
        smallest,
        -smallest,
        largest,
        -largest,
        0.5,
    ]
    first = np.repeat(values, len(values)).astype(dtype_of(dtype).numpy)
    return first, np.tile(values, len(values)).astype(dtype_of(dtype).numpy)


@cases(
    "dtype",
    ["bfloat16", "float32", *(pytest.param(dtype, marks=FULL) for dtype in ("float16", "float64"))],
)
def test_special_floats_through_words(dtype: str, cache: Store) -> None:
    def build(x: Any, y: Any) -> list[Any]:
        words = [
            dsl.vadd,
            dsl.vsub,
            dsl.vmul,
            dsl.vdiv,
            dsl.vaddrelu,
            dsl.vsubrelu,
            dsl.vmod,
            ext.fmod,
            ext.floor_divide,
        ]
        found = [word(x, y) for word in words]
        found += [dsl.vcmp(x, y, name) for name in ("eq", "ne", "lt", "gt", "ge", "le")]
        found += [dsl.vcmpsel(x, y, name, x, y) for name in ("eq", "ne", "lt", "gt", "ge", "le")]
        found += [
            dsl.vabs(x),
            dsl.vrelu(x),
            dsl.vlrelu(x, 0.5),
            dsl.vsqrt(x),
            dsl.vrec(x),
            ext.sign(x),
            ext.neg(x),
            ext.square(x),
        ]
        found += [dsl.vsignbit(x), ext.isnan(x), ext.isinf(x), ext.isfinite(x), ext.rint(x)]
        found += [
            dsl.vsel(dsl.vcmp(x, y, "lt"), x, 2.0),
            dsl.vmla(x, y, x),
            dsl.vmuls(x, 0.0),
            dsl.vadds(x, -0.0),
        ]
        return found

    for rounding in ("accurate", "device") if dtype in ("float16", "bfloat16") else ("accurate",):
        for found, wanted in run_both(build, *pairs(dtype), cache=cache, rounding=rounding):
            assert_same(found, wanted)


@cases(
    "dtype",
    ["float16", "float32", *(pytest.param(dtype, marks=FULL) for dtype in ("bfloat16", "float64"))],
)
def test_extremes_keep_nan(dtype: str, cache: Store) -> None:
    def build(x: Any, y: Any) -> list[Any]:
        return [
            dsl.vmax(x, y),
            dsl.vmin(x, y),
            dsl.vmaxs(x, 0.5),
            dsl.vmins(x, -1.0),
            dsl.clip(x, 1.0, -1.0),
        ]

    x, y = pairs(dtype)
    for found, wanted in run_both(build, x, y, cache=cache):
        assert_same(found, wanted, signs=False)
        assert np.isnan(found.astype(np.float64)[np.isnan(x.astype(np.float64))]).all()


@cases(
    "dtype",
    ["float32", *(pytest.param(dtype, marks=FULL) for dtype in ("float16", "bfloat16", "float64"))],
)
def test_reductions_keep_nan_and_infinity(dtype: str, cache: Store) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 2, (8, 37)).astype(dtype_of(dtype).numpy)
    x[0, 36], x[1, 0], x[2, 17], x[3, 5], x[3, 6] = np.nan, np.nan, np.inf, np.inf, -np.inf
    x[4, 20], x[5, :] = -np.inf, -np.inf

    def build(t: Any) -> list[Any]:
        words = [dsl.reduce_max, dsl.reduce_min, dsl.reduce_sum, dsl.reduce_prod]
        return [
            word(t, axis, keep)
            for word in words
            for axis, keep in ((1, True), (0, False), ([0, 1], False))
        ]

    for threads in (1, 2):
        found = run_both(build, x, cache=cache, threads=threads, parallel_elements=2)
        for one, wanted in found:
            a, b = one.astype(np.float64), wanted.astype(np.float64)
            np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
            infinite = np.isinf(b)
            np.testing.assert_array_equal(a[infinite], b[infinite])


@cases(
    "dtype",
    ["bfloat16", "float32", *(pytest.param(dtype, marks=FULL) for dtype in ("float16", "float64"))],
)
def test_subnormal_numbers_are_not_flushed(dtype: str, cache: Store) -> None:
    limits: Any = ml_dtypes.finfo(dtype_of(dtype).numpy)
    x = (np.arange(-20, 21) * float(limits.smallest_subnormal)).astype(dtype_of(dtype).numpy)
    for found, wanted in run_both(
        lambda t: [dsl.vadd(t, t), dsl.vmuls(t, 3.0), dsl.vabs(t)], x, cache=cache
    ):
        assert_same(found, wanted)


@cases(
    "dtype",
    ["float32", *(pytest.param(dtype, marks=FULL) for dtype in ("float16", "bfloat16", "float64"))],
)
def test_floats_to_integers_saturate(dtype: str, cache: Store) -> None:
    numbers = [
        0.0,
        -0.0,
        0.5,
        -0.5,
        2.5,
        -2.5,
        127.4,
        127.9,
        -128.9,
        255.9,
        256.0,
        32767.5,
        65535.9,
        65536.0,
        2.0**31 - 1,
        2.0**31,
        -(2.0**31),
        2.0**32 - 1,
        2.0**32,
        2.0**63,
        -(2.0**63),
        2.0**64,
        1e30,
        -1e30,
        np.inf,
        -np.inf,
        np.nan,
    ]
    with np.errstate(all="ignore"):
        x = np.array(numbers).astype(dtype_of(dtype).numpy)

    def build(t: Any) -> list[Any]:
        found = [dsl.cast_to(t, name) for name in (*INTEGERS, "bool")]
        return found + [
            dsl.OPERATIONS[word](t, name)
            for word in ("floor", "ceil", "round", "trunc", "round_half_up")
            for name in ("int8", "uint32")
        ]

    for found, wanted in run_both(build, x, cache=cache):
        assert_same(found, wanted)
    (first, _), *_ = run_both(lambda t: dsl.cast_to(t, "int8"), x, cache=cache)
    assert first[-1] == 0
    assert first[-3] == 127


@cases(
    "dtype",
    [pytest.param(dtype, marks=() if dtype in ("int8", "uint32") else FULL) for dtype in INTEGERS],
)
def test_edges_of_integers(dtype: str, cache: Store) -> None:
    limits = np.iinfo(dtype)
    values = np.array(
        [0, 1, 2, 3, 7, limits.max, limits.max - 1, limits.min, limits.min + 1, limits.max // 2],
        dtype,
    )
    if limits.min:
        values = np.concatenate([values, np.array([-1, -2, -7], dtype)])
    x, y = np.repeat(values, len(values)), np.tile(values, len(values))

    def build(a: Any, b: Any) -> list[Any]:
        found = [
            word(a, b)
            for word in (
                dsl.vadd,
                dsl.vsub,
                dsl.vmul,
                dsl.vdiv,
                dsl.vmax,
                dsl.vmin,
                ext.floor_divide,
            )
        ]
        found += [
            dsl.compute(a.shape, lambda i, op=op: make_binary(op, a(i), b(i)))
            for op in ("floordiv", "floormod", "truncdiv", "truncmod")
        ]
        found += [
            dsl.compute(a.shape, lambda i, op=op: make_binary(op, a(i), b(i) & (limits.bits - 1)))
            for op in ("shl", "shr")
        ]
        found += [
            dsl.vabs(a),
            dsl.vrelu(a),
            ext.neg(a),
            ext.square(a),
            ext.sign(a),
            dsl.vnot(a),
            dsl.vrec(a),
        ]
        found += [dsl.vcmp(a, b, name) for name in ("lt", "ge", "eq")]
        return found + [
            dsl.cast_to(a, name)
            for name in (*INTEGERS, "float32", "float64", "bool")
            if name != dtype
        ]

    for found, wanted in run_both(build, x, y, cache=cache):
        assert_same(found, wanted)
    quotient = run_both(dsl.vdiv, x, y, cache=cache)[0][0]
    assert (quotient[y == 0] == 0).all()


@cases(
    "dtype",
    [pytest.param(dtype, marks=() if dtype in ("int16",) else FULL) for dtype in INTEGERS],
)
def test_sums_and_products_of_integers_wrap_around(dtype: str, cache: Store) -> None:
    x = np.full((3, 41), np.iinfo(dtype).max, dtype)
    x[1] = np.iinfo(dtype).min
    build = lambda t: [  # noqa: E731
        word(t, axis)
        for word in (dsl.reduce_sum, dsl.reduce_prod, dsl.reduce_max, dsl.reduce_min)
        for axis in (0, 1, [0, 1])
    ]
    for found, wanted in run_both(build, x, cache=cache):
        assert_same(found, wanted)


def test_truth_values_are_ordered(cache: Store) -> None:
    x, y = np.array([False, False, True, True] * 5), np.array([False, True, False, True] * 5)
    names = ("eq", "ne", "lt", "le", "gt", "ge")
    both = run_both(lambda a, b: [dsl.vcmp(a, b, name) for name in names], x, y, cache=cache)
    for name, (found, wanted) in zip(names, both, strict=True):
        assert_same(found, wanted)
        np.testing.assert_array_equal(found, getattr(x.astype(int), f"__{name}__")(y.astype(int)))


@cases("dtype", ["bool", "int8", "float16", "float32"])
def test_all_of_nothing_is_true_and_any_is_false(dtype: str, cache: Store) -> None:
    x = np.zeros((3, 0), dtype)
    found = run_both(lambda t: [dsl.reduce_all(t, 1), dsl.reduce_any(t, 1)], x, cache=cache)
    for (one, wanted), value in zip(found, (1, 0), strict=True):
        assert_same(one, wanted)
        np.testing.assert_array_equal(one, np.full(3, value, dtype))


WIDTHS: list[dict[str, Any]] = [{}, {"vector_bits": 128}, {"vector_bits": 256}]
if platform.machine() in ("x86_64", "AMD64"):
    WIDTHS += [{"march": "x86-64-v3"}, {"march": "x86-64-v3", "vector_bits": 512}]


@cases("options", WIDTHS, ids=str, quick=1, per_item=2)
def test_exp_at_every_width(options: dict[str, Any], full: bool, cache: Store) -> None:
    """Within 2 ULP on a million values; neighbours that need a slow path do not change a value's
    result.
    """
    random = np.random.default_rng(8)
    usual = random.uniform(-87, 87, 1 << (20 if full else 16)).astype(np.float32)
    small = np.ldexp(random.uniform(-1, 1, 1 << 16), random.integers(-150, 0, 1 << 16))
    beside = random.uniform(-104.5, 89, 1 << 16)
    x = np.concatenate([usual, small.astype(np.float32), beside.astype(np.float32)])
    kernel, _, _ = prepare(dsl.vexp, x, cache=cache, **options)
    (found,) = kernel.run([x], {}, 1)
    with np.errstate(over="ignore"):
        wanted = np.exp(x.astype(np.float64))
        unit = np.maximum(np.spacing(np.minimum(wanted, HUGE).astype(np.float32)), TINY)
        assert (np.isinf(found) == (wanted >= 2.0**128 * (1 - 2.0**-25))).all()
    finite = np.isfinite(found)
    assert (np.abs(found[finite] - wanted[finite]) <= 2 * unit[finite]).all()
    for rare in (np.nan, np.inf, -np.inf, 88.8, -100.0, 3e38):
        other = x.copy()
        other[::5] = rare
        (again,) = kernel.run([other], {}, 1)
        same = np.arange(len(x)) % 5 != 0
        np.testing.assert_array_equal(again[same], found[same])
        assert len({again[::5].tobytes()[n : n + 4] for n in range(0, 400, 4)}) == 1


@cases("options", WIDTHS[::-1], ids=str, quick=1, per_item=2)
def test_sigmoid_at_every_width(options: dict[str, Any], full: bool, cache: Store) -> None:
    """Within 2.2 ULP; values beyond the tables and NaN do not change the result of a neighbour near
    0.
    """
    random = np.random.default_rng(9)
    usual = random.uniform(-7.7, 7.7, 1 << (20 if full else 17)).astype(np.float32)
    wide = random.uniform(-12, 12, 1 << (18 if full else 15))
    small = np.ldexp(random.uniform(-1, 1, 1 << 16), random.integers(-150, 0, 1 << 16))
    beyond = random.uniform(-110, 110, 1 << (18 if full else 15))
    powers = [
        sign * 2.0**exponent * step
        for sign in (-1, 1)
        for exponent in range(3, 127)
        for step in (0.8, 1, 1.6)
    ]
    # with the first cell's value it adds to 2 or 0, in the positions of a sum's last bits
    odd = [-(2.0**22) - steps / 2 for steps in range(-64, 65)]
    x = np.concatenate(
        [usual, *(one.astype(np.float32) for one in (wide, small, beyond, np.array(powers + odd)))]
    )
    kernel, _, _ = prepare(lambda t: [dsl.ext.sigmoid(t)], x, cache=cache, **options)
    (found,) = kernel.run([x], {}, 1)
    with np.errstate(over="ignore"):
        wanted = 1 / (1 + np.exp(-x.astype(np.float64)))
    assert (
        np.abs(found - wanted) <= 2.2 * np.maximum(np.spacing(wanted.astype(np.float32)), TINY)
    ).all()
    for rare in (
        7.75,
        -8.25,
        11.2,
        -11.2,
        12.5,
        -13.5,
        30.0,
        -80.0,
        -(2.0**22) - 8,
        np.inf,
        np.nan,
    ):
        other = usual.copy()
        other[::5] = rare
        (again,) = kernel.run([np.concatenate([other, x[usual.size :]])], {}, 1)
        same = np.arange(usual.size) % 5 != 0
        np.testing.assert_array_equal(again[: usual.size][same], found[: usual.size][same])


def extreme(name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The maximum or minimum of `x` and `y`, with +0 above −0; NaN if one is."""
    first = (
        (x > y) | ((x == y) & ~np.signbit(x))
        if name == "max"
        else (x < y) | ((x == y) & np.signbit(x))
    )
    return np.where(np.isnan(x) | np.isnan(y), np.asarray(np.nan, x.dtype), np.where(first, x, y))


@cases("options", WIDTHS, ids=str, sample=1)
@cases("dtype", ["float32", "float64"])
def test_extremes_at_every_width(dtype: str, options: dict[str, Any], cache: Store) -> None:
    numbers = (0.0, -0.0, 0.5, -1.5, 1e-60, -1e-60, 1e30, float("inf"), float("-inf"), float("nan"))

    def build(x: Any, y: Any) -> list[Any]:
        found = [dsl.vmax(x, y), dsl.vmin(x, y), dsl.reduce_max(x, 0), dsl.reduce_min(x, 0)]
        for number in numbers:
            found += [dsl.vmaxs(x, number), dsl.vmins(x, number)]
        return found

    x, y = pairs(dtype)
    kernel, _, _ = prepare(build, x, y, cache=cache, **options)
    greatest, least, top, bottom, *beside = kernel.run([x, y], {}, 1)
    assert_same(greatest, extreme("max", x, y))
    assert_same(least, extreme("min", x, y))
    assert np.isnan(top).all()
    assert np.isnan(bottom).all()
    for place, number in enumerate(numbers):
        one = np.full_like(x, number)
        assert_same(beside[2 * place], extreme("max", x, one))
        assert_same(beside[2 * place + 1], extreme("min", x, one))


@cases("options", WIDTHS, ids=str, sample=1)
@cases("dtype", ["float32", "float64"])
def test_rows_over_one_number(dtype: str, options: dict[str, Any], cache: Store) -> None:
    """Rounded like NumPy's quotients despite the row's inverse, except within one ULP near
    subnormals.
    """
    values = np.unique(pairs(dtype)[0])
    limits = np.finfo(dtype)
    random = np.random.default_rng(3)
    exponents = random.integers(limits.minexp + 40, limits.maxexp - 40, (2, 4000))
    below, above = np.ldexp(random.uniform(-2, 2, exponents.shape), exponents).astype(dtype)
    y = np.concatenate([values, [-0.0], below]).astype(dtype)[:, None]
    x = np.broadcast_to(np.concatenate([values, [-0.0], above[:100]]), (len(y), len(values) + 101))
    x = np.ascontiguousarray(x.astype(dtype))

    def build(a: Any, b: Any) -> list[Any]:
        return [
            dsl.vdiv(a, dsl.broadcast(b, a.shape)),
            dsl.vdiv(a, dsl.broadcast(3.0, a.shape, dtype)),
        ]

    kernel, _, _ = prepare(build, x, y, cache=cache, **options)
    assert f"f{limits.bits}_over(" in kernel.source
    with np.errstate(all="ignore"):
        for found, wanted in zip(
            kernel.run([x, y], {}, 1), (x / y, x / x.dtype.type(3)), strict=True
        ):
            subnormal = (np.abs(wanted) < limits.smallest_normal * 2.0**60) | (
                np.abs(x) < limits.smallest_normal * 2.0**60
            )
            assert_same(found[~subnormal], wanted[~subnormal])
            np.testing.assert_allclose(
                found[subnormal], wanted[subnormal], rtol=limits.eps, atol=limits.smallest_subnormal
            )
            np.testing.assert_array_equal(
                np.signbit(found[subnormal]), np.signbit(wanted[subnormal])
            )
