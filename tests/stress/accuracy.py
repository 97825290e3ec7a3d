"""Rows 13 and 14: every compiled unary operation on all half-precision inputs and 1M float32."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import tbe_impl.dsl as dsl
from tbe_impl import load_operator, ops
from tbe_impl.dsl.dtypes import dtype_of
from tests.stress.kernels import kernel_of
from tests.stress.parts import Row, Stress
from tests.tbe_impl.codegen.vector_formulas import FORMULAS, distance, points

Oracle = Callable[[np.ndarray], np.ndarray]
ROUNDINGS = {
    "floor": "floor",
    "ceil": "ceil",
    "rint": "round",
    "round_away": "round_d",
    "trunc": "trunc",
}
WORDS: Mapping[str, tuple[Callable[[Any], Any], Oracle]] = {
    **{
        f"v{name}": (dsl.OPERATIONS[f"v{name}"], FORMULAS[name][0])
        for name in ("abs", "sqrt", "rec", "rsqrt", "exp", "log", "relu")
    },
    **{
        word: (lambda x, word=word: dsl.OPERATIONS[word](x, x.dtype), FORMULAS[name][0])
        for name, word in ROUNDINGS.items()
    },
    **{
        name: (dsl.ext.EXT_OPERATIONS[name], formula)
        for name, (formula, *_) in FORMULAS.items()
        if name in dsl.ext.EXT_OPERATIONS
    },
    "square": (dsl.ext.EXT_OPERATIONS["square"], np.square),
    "reciprocal": (dsl.ext.EXT_OPERATIONS["reciprocal"], lambda x: 1 / x),
    "vmuls": (lambda x: dsl.vmuls(x, 3.0), lambda x: x * 3.0),
    "vadds": (lambda x: dsl.vadds(x, 1.5), lambda x: x + 1.5),
}
"""Name of an operation → the operation, and its formula in float64."""

MANY = 1 << 16
GELU_ULP, GELU_FROM = 4.0, -0.5
"""Below, 1 + e^… amplifies the error of its exponent."""


def _words(stress: Stress, short: int) -> list[str]:
    return list(WORDS) if stress.full else sorted(stress.chance.sample(sorted(WORDS), short))


def _computed(names: list[str], x: np.ndarray) -> tuple[np.ndarray, ...]:
    kernel = kernel_of(lambda t: [WORDS[name][0](t) for name in names], x)
    kernel.compiled  # raises where a call would continue without it
    found: tuple[np.ndarray, ...] = kernel(x)
    return found


@np.errstate(all="ignore")
def halves(stress: Stress) -> str:
    """All 65,536 patterns of float16 and bfloat16, and the neighbours by value."""
    names, differ, total, failures = _words(stress, 8), 0, 0, []
    for dtype in ("float16", "bfloat16"):
        real = dtype_of(dtype).numpy
        x = np.arange(65536, dtype=np.uint16).view(real)
        for name, got in zip(names, _computed(names, x), strict=True):
            exact = WORDS[name][1](x.astype(np.float64)).astype(real)
            away = _steps(got, exact)
            worst = int(np.argmax(away))
            if away[worst] > 1:
                failures.append(
                    f"{dtype} {name}({x[worst]!r}) = {got[worst]!r}, exact {exact[worst]!r}"
                )
            differ, total = differ + int(np.count_nonzero(away)), total + x.size
    assert not failures, f"{len(failures)} words: " + "; ".join(failures)
    return (
        f"{len(names)} words × 2 dtypes: at most 1 ULP, {100 - 100 * differ / total:.2f} % of "
        f"{total:,} the rounded float64"
    )


def _steps(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Number of values between; large if one of them is NaN or has the other sign."""
    orders = []
    for values in (got, exact):
        bits = values.view(np.int16).astype(np.int32)
        # patterns of negative numbers decrease
        orders.append(np.where(bits < 0, -(bits & 0x7FFF) - MANY, bits))
    none = [np.isnan(values) for values in (got, exact)]
    return np.where(
        none[0] & none[1], 0, np.where(none[0] | none[1], MANY, np.abs(orders[0] - orders[1]))
    )


@np.errstate(all="ignore")
def singles(stress: Stress) -> str:
    """A million patterns of finite float32 values, special values, and values in the non-flat
    range.
    """
    names, failures = _words(stress, 8), []
    x = points("f32", stress.times(1_000_000, 20_000), stress.seed)
    worst_of_all, worst_name = 0.0, ""
    for name, got in zip(names, _computed(names, x), strict=True):
        exact = WORDS[name][1](x.astype(np.float64))
        away = distance("f32", got, exact)
        worst = int(np.argmax(away))
        if away[worst] > 2:
            failures.append(
                f"{name}({x[worst]!r}) = {got[worst]!r}, exact {exact[worst]!r}: {away[worst]:.2f} "
                f"ULP"
            )
        if away[worst] > worst_of_all:
            worst_of_all, worst_name = float(away[worst]), name
    assert not failures, f"{len(failures)} words: " + "; ".join(failures)
    gelu = _gelu(x)
    assert gelu <= GELU_ULP, f"gelu: {gelu:.2f} ULP from {GELU_FROM} on"
    return (
        f"{len(names)} words × {x.size:,} points: at most {worst_of_all:.2f} ULP ({worst_name}); "
        f"gelu {gelu:.2f} ULP"
    )


def _gelu(x: np.ndarray) -> float:
    """The largest error of gelu by its tanh formula, outside the range of cancellation."""
    given = {"shape": x.shape, "dtype": "float32"}
    kernel = load_operator(Path(ops.__file__).with_name("gelu.py")).build(given, given, soc="cpu")
    kernel.compiled  # raises where a call would continue without it
    wide = x.astype(np.float64)
    exact = wide / (1 + np.exp(-2 * np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3)))
    away = distance("f32", kernel(x), exact)
    return float(np.max(away[(x >= GELU_FROM) & (x < 1e12)]))


ROWS = (
    Row(
        13,
        "all 65,536 float16 and bfloat16 inputs of unary words",
        "≤ 1 ULP of the rounded float64",
        halves,
    ),
    Row(14, "a million float32 inputs of unary words", "≤ 2 ULP, gelu ≤ 4", singles),
)
