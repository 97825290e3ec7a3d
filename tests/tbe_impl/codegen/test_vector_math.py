"""Vector mathematics of generated kernels by instruction set, against NumPy and SciPy.

One driver in C loops over arrays. float32 is compared with float64, float64 with long double;
errors are in units in the last place of the exact result, so that gradual underflow counts in full.
"""

from __future__ import annotations

import ctypes
import itertools
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tbe_impl
from tests.cases import FULL, cases
from tests.tbe_impl.codegen.vector_formulas import (
    BY_LIBRARY,
    FLOATS,
    FORMULAS,
    ONCE,
    TYPES,
    check,
    distance,
    edges,
    points,
)

HEADERS = Path(tbe_impl.__file__).parent / "codegen" / "include"
COMPILER = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
X86 = platform.machine() in ("x86_64", "AMD64")
FLAGS = (
    "-std=gnu11 -ffp-contract=off -fno-math-errno -Wall -Wextra -Werror -Wno-psabi -shared -fPIC"
)
VARIANTS = {
    "native": "-O3 -march=native",
    "generic": "-O1 -march=native -DVECTOR_GENERIC",
    "as on Zen 4": "-O1 -march=native -D__znver4__",
    **({"avx2": "-O3 -march=x86-64-v3", "sse2": "-O1 -march=x86-64 -DLANES=4"} if X86 else {}),
}
if X86 and "avx2" not in Path("/proc/cpuinfo").read_text("utf-8"):
    del VARIANTS["avx2"]
QUICK_VARIANTS = tuple(name for name in VARIANTS if name not in ("as on Zen 4", "avx2"))
"""Variants of `make test`, compiled without optimization in half the time; golden texts hold the
AVX2 headers.
"""
REDUCED = 20
"""Divisor of the number of points for all variants but the first."""

UNARY = (
    "abs neg sqrt rec rsqrt exp exp2 expm1 log log2 log10 log1p tanh sigmoid erf erfc ndtr "
    "ndtr_tanh tanh_softplus sin cos "
    "tan asin acos atan sinh cosh asinh acosh atanh floor ceil rint round_away trunc sign relu"
).split()
IN_HALF = ("exp", "log", "tanh", "sigmoid", "erf", "rec")
"""Half-precision functions of all variants but the first."""
CORE = (
    "abs neg sqrt rec rsqrt exp log tanh sigmoid erf floor ceil rint round_away trunc sign relu"
).split()
"""Functions of `make test` for all variants but the first: those with instructions or tables."""
EIGHT_LANES = {"sigmoid": 2.2}
"""Limits in ULP where a register holds a table of eight entries."""
TO_HALF = ("exp_to_half", "sigmoid_to_half")
"""Accurate enough for half-precision results only."""
OF_DEFICIT = "exp_of_deficit"
"""The exponential of a rounded non-positive difference."""
BINARY = "pow atan2 fmod floormod maximum minimum max_so_far".split()
CORE_BINARY = ("maximum", "minimum", "max_so_far")
CONVERSIONS = tuple(itertools.permutations(TYPES, 2))
"""Type of the result and type of the number."""

DRIVER = r"""
#include "vector_math.h"
int lanes(void) { return LANES; }
void reference_erf(const long double *x, long double *y, long n) {
    for (long i = 0; i < n; i++) y[i] = __builtin_erfl(x[i]);
}
void reference_erfc(const long double *x, long double *y, long n) {
    for (long i = 0; i < n; i++) y[i] = __builtin_erfcl(x[i]);
}
void reference_ndtr(const long double *x, long double *y, long n) {
    const long double factor = -0.707106781186547524400844362104849039L;
    for (long i = 0; i < n; i++) y[i] = __builtin_erfcl(x[i] * factor) / 2;
}
#define UNARY(t, c, f)                                                                      \
    void run_##t##_##f(const c *x, c *y, long n) {                                          \
        long i = 0;                                                                         \
        for (; i + LANES <= n; i += LANES) t##_store(y + i, t##_##f(t##_load(x + i)));      \
        if (i < n) t##_store_part(y + i, t##_##f(t##_load_part(x + i, n - i)), n - i);      \
    }
#if defined(__SSE__)
void keep_subnormals(long keep) {
    const unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(keep ? before & ~0x8040u : before | 0x8040u);
}
#else
void keep_subnormals(long keep) { (void)keep; }
#endif
#define BINARY(t, c, f)                                                                     \
    void run_##t##_##f(const c *a, const c *b, c *y, long n) {                              \
        long i = 0;                                                                         \
        for (; i + LANES <= n; i += LANES)                                                  \
            t##_store(y + i, t##_##f(t##_load(a + i), t##_load(b + i)));                    \
        if (i < n)                                                                          \
            t##_store_part(y + i, t##_##f(t##_load_part(a + i, n - i),                      \
                                          t##_load_part(b + i, n - i)), n - i);             \
    }
#define HALF(h, f)                                                                          \
    void run_##h##_##f(const uint16_t *x, uint16_t *y, long n) {                            \
        for (long i = 0; i + LANES <= n; i += LANES) h##_store(y + i, f32_##f(h##_load(x + i))); \
    }
#define ROUND(h, t, c)                                                                      \
    void round_##h##_##t(const c *x, uint16_t *y, long n) {                                 \
        for (long i = 0; i + LANES <= n; i += LANES)                                        \
            u16_store(y + i, h##_from_##t(t##_load(x + i)));                                \
    }
#define WIDEN(h)                                                                            \
    void widen_##h(const uint16_t *x, float *y, long n) {                                   \
        for (long i = 0; i + LANES <= n; i += LANES) f32_store(y + i, h##_load(x + i));     \
    }
#define CONVERT(to, c, from, d)                                                             \
    void convert_##to##_##from(const d *x, c *y, long n) {                                  \
        for (long i = 0; i + LANES <= n; i += LANES)                                        \
            to##_store(y + i, to##_from_##from(from##_load(x + i)));                        \
    }
#define MEMORY(t, c)                                                                        \
    void part_##t(const c *x, c *y, int n) { t##_store_part(y, t##_load_part(x, n), n); }   \
    void whole_of_part_##t(const c *x, c *y, int n) { t##_store(y, t##_load_part(x, n)); }  \
    void stream_##t(const c *x, c *y) { t##_stream(y, t##_load(x)); stream_fence(); }       \
    void splat_##t(const c *x, c *y) { t##_store(y, t##_splat(x[0])); }
#define BLEND(t, c, m)                                                                      \
    void select_##t(const uint8_t *k, const c *a, const c *b, c *y) {                       \
        t##_store(y, t##_select(m##_mask_from_u8(u8_load(k)), t##_load(a), t##_load(b)));   \
    }
#define MASK(m, o)                                                                          \
    void mask_##m##_##o(const uint8_t *k, uint8_t *y) {                                     \
        u8_store(y, u8_from_##o##_mask(o##_mask_from_##m##_mask(m##_mask_from_u8(u8_load(k))))); \
    }
#define OVER(t, c)                                                                          \
    void over_##t(const c *x, c *y) {                                                       \
        y[0] = t##_sum(t##_load(x)), y[1] = t##_prod(t##_load(x));                          \
        y[2] = t##_max(t##_load(x)), y[3] = t##_min(t##_load(x));                           \
    }
#define TEST(t, m, f)                                                                       \
    void test_##t##_##f(const void *x, uint8_t *y, long n) {                                \
        for (long i = 0; i + LANES <= n; i += LANES)                                        \
            u8_store(y + i, u8_from_##m##_mask(                                             \
                t##_##f(t##_load((const __typeof__(((t##v){0})[0]) *)x + i))));             \
    }
"""


@dataclass(frozen=True)
class Content:
    """Contents of a variant's driver: unary functions, those in half precision, binary functions,
    conversions.
    """

    unary: Sequence[str]
    in_half: Sequence[str]
    binary: Sequence[str]
    conversions: Sequence[tuple[str, str]]


def content_of(name: str, *, full: bool) -> Content:
    """All of it, or the part of `make test`."""
    if name == "native":
        return Content(UNARY, UNARY if full else IN_HALF, BINARY, CONVERSIONS)
    if full:
        return Content(UNARY, IN_HALF, BINARY, CONVERSIONS)
    with_floats = [pair for pair in CONVERSIONS if not FLOATS.keys().isdisjoint(pair)]
    return Content(CORE, ("exp", "sigmoid", "rec"), CORE_BINARY, with_floats)


def _driver(content: Content) -> str:
    lines = [DRIVER]
    for function in content.unary:
        lines += [f"UNARY({t}, {TYPES[t][0]}, {function})" for t in FLOATS]
        if function in content.in_half:
            lines += [f"HALF({half}, {function})" for half in ("f16", "bf16")]
    lines += [f"HALF({half}, {function})" for half in ("f16", "bf16") for function in TO_HALF]
    lines.append(f"UNARY(f32, float, {OF_DEFICIT})")
    for function in content.binary:
        lines += [f"BINARY({t}, {TYPES[t][0]}, {function})" for t in FLOATS]
    for half in ("f16", "bf16"):
        lines += [f"ROUND({half}, f32, float)", f"ROUND({half}, f64, double)", f"WIDEN({half})"]
    for to, source in content.conversions:
        lines.append(f"CONVERT({to}, {TYPES[to][0]}, {source}, {TYPES[source][0]})")
    for t, (c, _) in TYPES.items():
        lines += [f"MEMORY({t}, {c})", f"BLEND({t}, {c}, i{t[1:]})"]
        if t[1:] in ("32", "64"):
            lines.append(f"OVER({t}, {c})")
    lines += [
        f"MASK({a}, {b})" for a, b in itertools.product(("i8", "i16", "i32", "i64"), repeat=2)
    ]
    for f in ("isnan", "isinf", "isfinite"):
        lines += [f"TEST(f32, i32, {f})", f"TEST(f64, i64, {f})"]
    return "\n".join(lines) + "\n"


class Driver:
    """The compiled driver of one instruction set: call(name, array …, number …)."""

    def __init__(self, name: str, library: Path, *, full: bool):
        self.name, self._library = name, ctypes.CDLL(str(library))
        self.lanes = int(self._library.lanes())
        self.content = content_of(name, full=full)
        self.share = 1 if name == "native" and full else REDUCED

    def call(self, name: str, *arguments: Any) -> None:
        """Runs one function on arrays and integers."""
        plain = [
            ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else ctypes.c_long(a)
            for a in arguments
        ]
        getattr(self._library, name)(*plain)

    def map(self, name: str, *inputs: np.ndarray, dtype: Any = None) -> np.ndarray:
        """One result for each element."""
        out = np.empty(inputs[0].shape, dtype or inputs[0].dtype)
        self.call(name, *inputs, out, inputs[0].size)
        return out


@pytest.fixture(scope="module")
def drivers(full: bool, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Driver]:
    """The driver of every variant, compiled in parallel."""
    if COMPILER is None:
        pytest.skip("no C compiler")
    place = tmp_path_factory.mktemp("vector_math")
    running = {}
    for name in VARIANTS if full else QUICK_VARIANTS:
        target, source = place / f"{name}.so", place / f"{name}.c"
        source.write_text(_driver(content_of(name, full=full)))
        flags = VARIANTS[name] if full else re.sub("-O.", "-O0", VARIANTS[name])
        command = [COMPILER, *FLAGS.split(), *flags.split(), f"-I{HEADERS}", str(source)]
        running[name] = (
            target,
            subprocess.Popen(
                [*command, "-o", str(target), "-lm"], stderr=subprocess.PIPE, text=True
            ),
        )
    messages = {name: process.communicate(timeout=280)[1] for name, (_, process) in running.items()}
    failed = {name: messages[name] for name, (_, one) in running.items() if one.returncode}
    assert not failed, failed
    return {name: Driver(name, target, full=full) for name, (target, _) in running.items()}


def of_variants(functions: Sequence[str] = ("",), core: Sequence[str] = ("",)) -> list[Any]:
    """Rows of a variant and a function: `make test` takes all functions of the first, and `core` of
    some others.
    """
    quick = [
        (name, f) for name in QUICK_VARIANTS for f in (functions if name == "native" else core)
    ]
    return [
        pytest.param(name, *([f] if f else []), marks=() if (name, f) in quick else FULL)
        for name in VARIANTS
        for f in functions
    ]


assert list(FORMULAS) == UNARY


@cases("variant, function", of_variants(UNARY, CORE))
@np.errstate(all="ignore")
def test_unary_float32(drivers: dict[str, Driver], variant: str, function: str) -> None:
    driver = drivers[variant]
    formula, allowed, _ = FORMULAS[function]
    allowed = allowed if driver.name == "sse2" else ONCE.get(function, allowed)
    allowed = EIGHT_LANES.get(function, allowed) if driver.lanes == 8 else allowed
    x = points("f32", 640_000 // driver.share)
    check("f32", allowed, driver.map(f"run_f32_{function}", x), formula(x.astype(np.float64)), x)


@cases("variant", of_variants())
@np.errstate(all="ignore")
def test_exponential_of_a_deficit(drivers: dict[str, Driver], variant: str) -> None:
    """As accurate as for a rounded argument: error 4e-9 |x| above exp's; half an ULP of x is 6e-8
    |x|.
    """
    driver = drivers[variant]
    x = -np.abs(points("f32", 640_000 // driver.share))
    got, exact = driver.map(f"run_f32_{OF_DEFICIT}", x), np.exp(x.astype(np.float64))
    allowed, away = 1.25 + 4e-9 * 2.0**24 * np.abs(x), distance("f32", got, exact)
    worst = int(np.argmax(np.where(np.isnan(allowed), 0, away - allowed)))
    assert not away[worst] > allowed[worst], (
        f"{away[worst]:.3f} units at {x[worst]!r}: got {got[worst]!r}"
    )
    assert np.array_equal(np.isnan(got), np.isnan(x))
    beside = np.repeat(x[:20_000], 2)
    beside[1::2] = -100
    again = driver.map(f"run_f32_{OF_DEFICIT}", beside)[::2]
    np.testing.assert_array_equal(again, got[:20_000], "a number has one result")


@cases("variant, function", of_variants(("log", "log2", "log10"), ("log",)))
def test_logarithms_where_subnormal_numbers_are_taken_for_zero(
    drivers: dict[str, Driver], variant: str, function: str
) -> None:
    """As in threads of frameworks: among ordinary values alone, flushed subnormals would go
    unnoticed.
    """
    driver = drivers[variant]
    x = np.full(4 * driver.lanes, 0.75, np.float32)
    x[::3] = np.linspace(1e-44, 1.1e-38, x[::3].size)
    exact = getattr(np, function)(x.astype(np.float64))
    driver.call("keep_subnormals", 0)
    found = driver.map(f"run_f32_{function}", x)
    driver.call("keep_subnormals", 1)
    np.testing.assert_allclose(found[found > -np.inf], exact[found > -np.inf], rtol=1e-6)
    assert (x[found == -np.inf] < 2.0**-126).all()


@cases("variant, function", of_variants(UNARY, CORE))
@np.errstate(all="ignore")
def test_unary_float64(drivers: dict[str, Driver], variant: str, function: str) -> None:
    driver = drivers[variant]
    formula, _, allowed = FORMULAS[function]
    allowed = allowed if driver.name == "sse2" else ONCE.get(function, allowed)
    x = points("f64", 20_000 // min(driver.share, 5))
    wide = x.astype(np.longdouble)
    exact = driver.map(f"reference_{function}", wide) if function in BY_LIBRARY else formula(wide)
    check("f64", allowed, driver.map(f"run_f64_{function}", x), exact, x)


@cases("half", ["f16", "bf16"])
@cases("variant", of_variants())
@np.errstate(all="ignore")
def test_all_half_precision_inputs(drivers: dict[str, Driver], variant: str, half: str) -> None:
    driver = drivers[variant]
    real = np.float16 if half == "f16" else ml_dtypes.bfloat16
    bits = np.arange(65536, dtype=np.uint16)
    x = bits.view(real).astype(np.float64)
    for function in (*driver.content.in_half, *TO_HALF):
        got = driver.map(f"run_{half}_{function}", bits).view(real)
        exact = np.asarray(FORMULAS[function.removesuffix("_to_half")][0](x)).astype(real)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(exact), function)
        # Neighbours in value are neighbours as integers, after negative ones are mirrored.
        order = [v.view(np.int16).astype(np.int32) for v in (got, exact)]
        order = [np.where(o < 0, -(o & 0x7FFF), o) for o in order]
        away = np.where(np.isnan(exact), 0, np.abs(order[0] - order[1]))
        worst = int(np.argmax(away))
        assert away[worst] <= 1, f"{function}({x[worst]}) = {got[worst]}, exact {exact[worst]}"
    for function in TO_HALF:
        beside = np.repeat(bits, 2)
        beside[1::2] = np.array(-100, real).view(np.uint16)
        found = (driver.map(f"run_{half}_{function}", one) for one in (bits, beside))
        alone, again = (one.view(real).astype(np.float64).ravel() for one in found)
        np.testing.assert_array_equal(again[::2], alone, f"{function}: a number has one result")


def pairs(t: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of special values; powers that do not overflow; integer exponents; random bits;
    ordinary values.
    """
    generator = np.random.default_rng(5)
    real = TYPES[t][1]
    info = np.finfo(real)
    some = [
        0,
        1,
        2,
        3,
        0.5,
        2.5,
        1e10,
        2.0**24 + 1,
        np.inf,
        np.nan,
        info.max,
        info.tiny,
        info.smallest_subnormal,
    ]
    special = np.array([*some, *(-np.array(some))], real)
    left, right = (v.ravel() for v in np.meshgrid(special, special))
    base = np.exp(generator.uniform(-80, 80, count))
    exponent = generator.uniform(-1, 1, count) * 100 / np.maximum(np.abs(np.log(base)), 0.01)
    negative, whole = -np.exp(generator.uniform(-5, 5, count)), generator.integers(-20, 20, count)
    plain = generator.uniform(-10, 10, (2, count))
    bits = [generator.permutation(points(t, count, seed)[: count // 2]) for seed in (7, 11)]
    return (
        np.concatenate([left, base, negative, plain[0], bits[0]]).astype(real),
        np.concatenate([right, exponent, whole, plain[1], bits[1]]).astype(real),
    )


def maximum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """NumPy's, with +0 above -0."""
    return np.where((a == 0) & (b == 0), np.where(np.signbit(a), b, a), np.maximum(a, b))


def minimum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """NumPy's, with -0 below +0."""
    return np.where((a == 0) & (b == 0), np.where(np.signbit(a), a, b), np.minimum(a, b))


def max_so_far(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """NumPy's, with the first of two zeros."""
    return np.where((a == 0) & (b == 0), a, np.maximum(a, b))


# Function: formula, ULP limits for float32 and float64, whether the formula uses the type itself.
BINARY_FORMULAS: dict[str, tuple[Callable[..., np.ndarray], float, float, bool]] = {
    "pow": (np.power, 0.6, 1, False),
    "atan2": (np.arctan2, 0.6, 2, False),
    "fmod": (np.fmod, 0, 0, False),
    "floormod": (np.mod, 0, 0, True),
    "maximum": (maximum, 0, 0, False),
    "minimum": (minimum, 0, 0, False),
    "max_so_far": (max_so_far, 0, 0, False),
}


@cases("t", FLOATS)
@cases("variant, function", of_variants(BINARY, CORE_BINARY))
@np.errstate(all="ignore")
def test_binary(drivers: dict[str, Driver], variant: str, function: str, t: str) -> None:
    driver = drivers[variant]
    formula, *allowed, own = BINARY_FORMULAS[function]
    a, b = pairs(t, (60_000 if t == "f32" else 6_000) // driver.share)
    wide = TYPES[t][1] if own else (np.float64 if t == "f32" else np.longdouble)
    got = driver.map(f"run_{t}_{function}", a, b)
    check(t, allowed[t == "f64"], got, formula(a.astype(wide), b.astype(wide)), a, b)


@cases("variant", of_variants())
@np.errstate(all="ignore")
def test_half_types_are_rounded_once_to_nearest_even(
    drivers: dict[str, Driver], variant: str
) -> None:
    driver = drivers[variant]
    x = points("f32", 320_000 // driver.share)[: 320_000 // driver.share // 16 * 16]
    ties = (np.arange(65536, dtype=np.uint32) << 13) + 0x38000000 - (1 << 27) + (1 << 12)
    wide = np.concatenate([x, ties.view(np.float32)])
    double = points("f64", 80_000 // driver.share, 13) * 1.0
    double = np.concatenate([double, np.exp(np.random.default_rng(1).uniform(-20, 12, 4096))])
    double = np.concatenate(
        [double, np.float64(1) + 2.0**-11 * np.array([1, 1 + 2**-40, 1 - 2**-40] * 16)]
    )
    double = double[: double.size // 16 * 16]
    for source, values in (("f32", wide), ("f64", double)):
        got = driver.map(f"round_f16_{source}", values, dtype=np.uint16).view(np.float16)
        np.testing.assert_array_equal(got, values.astype(np.float16))
        np.testing.assert_array_equal(np.signbit(got), np.signbit(values))
    got = driver.map("round_bf16_f32", wide, dtype=np.uint16).view(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(
        got.astype(np.float32), wide.astype(ml_dtypes.bfloat16).astype(np.float32)
    )
    tie = np.float64(1) + 2.0**-8 * np.array([1, 1 + 2**-40, 1 - 2**-40, 3] * 4)
    got = driver.map("round_bf16_f64", tie, dtype=np.uint16).view(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(got.astype(np.float64), [1, 1 + 2**-7, 1, 1 + 2**-6] * 4)


@cases("variant", of_variants())
def test_half_types_are_widened_exactly(drivers: dict[str, Driver], variant: str) -> None:
    driver = drivers[variant]
    bits = np.arange(65536, dtype=np.uint16)
    for half, real in (("f16", np.float16), ("bf16", ml_dtypes.bfloat16)):
        got = driver.map(f"widen_{half}", bits, dtype=np.float32)
        exact = bits.view(real).astype(np.float32)
        np.testing.assert_array_equal(got, exact)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(exact))
        quiet = got[np.isnan(got)].view(np.uint32) & 0x400000
        assert half == "bf16" or bool(np.all(quiet))


def whole(x: np.ndarray, real: Any) -> np.ndarray:
    """A float converted to integer by the policy: truncated, saturated, 0 for NaN."""
    info = np.iinfo(real)
    plain = [
        0 if np.isnan(v) else info.max if v >= info.max else max(info.min, v)
        for v in x.astype(np.float64)
    ]
    return np.array([int(v) for v in plain], dtype=object).astype(real)


@cases("variant", of_variants())
@np.errstate(all="ignore")
def test_conversions(drivers: dict[str, Driver], variant: str) -> None:
    driver = drivers[variant]
    generator = np.random.default_rng(9)
    for source, (_, real) in TYPES.items():
        if source in FLOATS:
            borders = [
                s * (2.0**k + d)
                for k in (7, 8, 15, 16, 31, 32, 63, 64)
                for d in (-1, 0, 1)
                for s in (1, -1)
            ]
            x = np.concatenate(
                [np.array(borders, real), edges(source), generator.normal(0, 300, 512).astype(real)]
            )
        else:
            info = np.iinfo(real)
            x = generator.integers(info.min, info.max, 1024, dtype=real, endpoint=True)
            x[:3] = info.min, info.max, 0
        x = x[: x.size // 16 * 16]
        for to, (_, target) in TYPES.items():
            if (to, source) not in driver.content.conversions:
                continue
            exact = whole(x, target) if source in FLOATS and to not in FLOATS else x.astype(target)
            got = driver.map(f"convert_{to}_{source}", x, dtype=target)
            np.testing.assert_array_equal(got, exact, f"{source} to {to}")


@cases("variant", of_variants())
def test_partial_accesses_touch_their_lanes_only(drivers: dict[str, Driver], variant: str) -> None:
    driver = drivers[variant]
    for t, (_, real) in TYPES.items():
        x = np.arange(1, 41, dtype=real)
        for n in range(driver.lanes + 1):
            y = np.full(40, 77, real)
            driver.call(f"part_{t}", x[1:], y[3:], n)
            np.testing.assert_array_equal(y[3 : 3 + n], x[1 : 1 + n], f"{t} {n}")
            assert np.all(y[:3] == 77) and np.all(y[3 + n :] == 77), (t, n)
            driver.call(f"whole_of_part_{t}", x, y, n)
            expected = np.where(np.arange(driver.lanes) < n, x[: driver.lanes], 0)
            np.testing.assert_array_equal(y[: driver.lanes], expected, f"{t} {n}")
        room = np.zeros(512, np.uint8)
        start = -room.ctypes.data % 128
        y = room[start : start + driver.lanes * x.itemsize].view(real)
        driver.call(f"stream_{t}", x, y)
        np.testing.assert_array_equal(y, x[: driver.lanes], t)
        driver.call(f"splat_{t}", x[4:], y)
        np.testing.assert_array_equal(y, np.full(driver.lanes, 5), t)


@cases("variant", of_variants())
def test_reading_a_part_touches_nothing_behind_it(drivers: dict[str, Driver], variant: str) -> None:
    driver = drivers[variant]
    import mmap

    page = mmap.PAGESIZE
    room = mmap.mmap(-1, 2 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(room))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(address + page), page, 0) != 0:
        pytest.skip("no page can be protected here")
    for t, (_, real) in TYPES.items():
        size = np.dtype(real).itemsize
        for n in range(1, driver.lanes + 1):
            last = np.frombuffer(
                (ctypes.c_char * (n * size)).from_address(address + page - n * size), real
            )
            y = np.zeros(driver.lanes, real)
            driver.call(f"part_{t}", last, y, n)
            driver.call(f"part_{t}", y, last, n)
            np.testing.assert_array_equal(y, 0)
    libc.mprotect(ctypes.c_void_p(address + page), page, 3)


@cases("variant", of_variants())
def test_select_and_masks(drivers: dict[str, Driver], variant: str) -> None:
    driver = drivers[variant]
    n = driver.lanes
    chosen = np.random.default_rng(2).integers(0, 2, 16).astype(np.uint8)
    for t, (_, real) in TYPES.items():
        a, b, y = np.arange(16, dtype=real), np.arange(100, 116, dtype=real), np.zeros(16, real)
        driver.call(f"select_{t}", chosen, a, b, y)
        np.testing.assert_array_equal(y[:n], np.where(chosen, a, b)[:n], t)
    for a_mask, b_mask in itertools.product(("i8", "i16", "i32", "i64"), repeat=2):
        out = np.zeros(16, np.uint8)
        driver.call(f"mask_{a_mask}_{b_mask}", chosen, out)
        np.testing.assert_array_equal(out[:n], chosen[:n])


@cases("variant", of_variants())
@np.errstate(all="ignore")
def test_reductions_over_lanes_are_exact(drivers: dict[str, Driver], variant: str) -> None:
    driver = drivers[variant]
    n = driver.lanes
    for t in ("f32", "f64", "i32", "i64", "u32", "u64"):
        real = TYPES[t][1]
        x = np.array([3, 7, 2, 9, 1, 5, 4, 8, 11, 6, 12, 2, 1, 3, 10, 5], real)[:n]
        for turn in range(n):
            y = np.zeros(4, real)
            driver.call(f"over_{t}", np.roll(x, turn), y)
            assert y.tolist() == [x.sum(), x.prod(dtype=real), x.max(), x.min()], t
            if t in FLOATS:
                driver.call(f"over_{t}", np.roll(np.where(np.arange(n) == 0, np.nan, x), turn), y)
                assert np.all(np.isnan(y)), t
        if t[0] in "iu":
            info = np.iinfo(real)
            spread = np.array([info.min, info.max] * (n // 2), real)
            driver.call(f"over_{t}", spread, y)
            assert y[2] == info.max and y[3] == info.min, t


@cases("variant", of_variants())
def test_kinds_of_numbers(drivers: dict[str, Driver], variant: str) -> None:
    driver = drivers[variant]
    for t, (_, real) in (("f32", TYPES["f32"]), ("f64", TYPES["f64"])):
        x = edges(t)
        x = x[: x.size // 16 * 16].astype(real)
        for function in ("isnan", "isinf", "isfinite"):
            got = driver.map(f"test_{t}_{function}", x, dtype=np.uint8)
            np.testing.assert_array_equal(got, getattr(np, function)(x), function)


EXPONENTIALS = """
#include "vector_math.h"
void run(const float *x, float *y, long n) {
    for (long i = 0; i + LANES <= n; i += LANES) f32_store(y + i, f32_exp(f32_load(x + i)));
}
"""


def test_exp_with_a_table(tmp_path: Path) -> None:
    """All special values, every 4099th bit pattern, and the neighbourhood of exponent changes."""
    if not COMPILER:
        pytest.skip("there is no C compiler")
    source, library = tmp_path / "exponentials.c", tmp_path / "exponentials.so"
    source.write_text(EXPONENTIALS)
    flags = [*FLAGS.split(), "-O2", "-I", str(HEADERS)]
    march = ["-march=native"] if X86 else []
    subprocess.run([COMPILER, *flags, *march, str(source), "-o", str(library), "-lm"], check=True)
    bits = np.arange(0, 1 << 32, 4099, dtype=np.uint64).astype(np.uint32).view(np.float32)
    near = np.linspace(-104.5, 89.5, 1 << 20, dtype=np.float32)
    edges = np.array(
        [
            0,
            -0.0,
            np.inf,
            -np.inf,
            np.nan,
            87,
            -87,
            88.72284,
            88.7229,
            -103.97208,
            -104,
            1e-45,
            3e38,
        ],
        np.float32,
    )
    x = np.concatenate(
        [edges, bits, near, np.zeros(-(edges.size + bits.size + near.size) % 16, np.float32)]
    )
    y = np.empty_like(x)
    call = ctypes.CDLL(str(library)).run
    call(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data), ctypes.c_long(x.size))
    with np.errstate(all="ignore"):
        exact = np.exp(x.astype(np.float64))
        rounded = exact.astype(np.float32)
    plain = np.isfinite(rounded) & np.isfinite(y)
    np.testing.assert_array_equal(
        y[~plain & (exact < 3.402e38)], rounded[~plain & (exact < 3.402e38)]
    )
    np.testing.assert_array_equal(y[np.isnan(x)], rounded[np.isnan(x)])
    np.testing.assert_array_equal(y[exact > 3.4029e38], np.inf)
    unit = np.ldexp(1.0, np.maximum(np.frexp(exact[plain])[1], -125) - 24)
    assert (np.abs(y[plain] - exact[plain]) / unit).max() < 1.1
