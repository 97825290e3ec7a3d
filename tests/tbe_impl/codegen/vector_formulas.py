"""float64 formulas of the vector functions, their sample points, and error limits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

TYPES = {
    "i8": ("int8_t", np.int8),
    "i16": ("int16_t", np.int16),
    "i32": ("int32_t", np.int32),
    "i64": ("int64_t", np.int64),
    "u8": ("uint8_t", np.uint8),
    "u16": ("uint16_t", np.uint16),
    "u32": ("uint32_t", np.uint32),
    "u64": ("uint64_t", np.uint64),
    "f32": ("float", np.float32),
    "f64": ("double", np.float64),
}
FLOATS = {"f32": (24, -126, 128), "f64": (53, -1022, 1024)}


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)) without overflow."""
    power = np.exp(-np.abs(x))
    return np.where(x < 0, power, 1) / (1 + power)


def round_away(x: np.ndarray) -> np.ndarray:
    """To the nearest integer, halves away from zero."""
    size = np.trunc(np.abs(x))
    return np.copysign(size + (np.abs(x) - size >= 0.5), x)


def relu(x: np.ndarray) -> np.ndarray:
    """max(x, 0), NaN kept, +0 for -0."""
    return np.where(x > 0, x, np.where(np.isnan(x), x, 0))


def ndtr_tanh(x: np.ndarray) -> np.ndarray:
    """The logistic function of 2 √(2/π) (x + 0.044715 x³), without overflow."""
    constants = np.longdouble("1.595769121605730711759784867115"), np.longdouble("0.044715")
    twice, cubic = (np.asarray(c).astype(x.dtype) for c in constants)
    y = np.clip(x, -30, 30)
    return sigmoid(twice * (y + cubic * y**3))


def tanh_softplus(x: np.ndarray) -> np.ndarray:
    """tanh(ln(1 + e^x)), as n / (n + 2), n = e^x (e^x + 2)."""
    power = np.exp(np.minimum(x, 50))
    n = power * (power + 2)
    return n / (n + 2)


def _special(name: str) -> Callable[[np.ndarray], np.ndarray]:
    def function(x: np.ndarray) -> np.ndarray:
        from scipy import special

        return np.asarray(getattr(special, name)(x.astype(np.float64)))

    return function


# Function: formula, ULP limits for float32 and for float64.
FORMULAS: dict[str, tuple[Callable[..., np.ndarray], float, float]] = {
    "abs": (np.abs, 0, 0),
    "neg": (np.negative, 0, 0),
    "sqrt": (np.sqrt, 0.501, 0.501),
    "rec": (lambda x: 1 / x, 0.501, 0.501),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1.6, 1.6),
    "exp": (np.exp, 1.25, 1),
    "exp2": (np.exp2, 1.4, 1),
    "expm1": (np.expm1, 1.4, 1.3),
    "log": (np.log, 1, 1),
    "log2": (np.log2, 1.5, 1),
    "log10": (np.log10, 1.4, 1),
    "log1p": (np.log1p, 1, 1),
    "tanh": (np.tanh, 1.1, 1.5),
    "sigmoid": (sigmoid, 1.7, 1),
    "erf": (_special("erf"), 1.25, 1.7),
    "erfc": (_special("erfc"), 0.6, 2),
    "ndtr": (_special("ndtr"), 1.8, 4),
    "ndtr_tanh": (ndtr_tanh, 1.8, 1.5),
    "tanh_softplus": (tanh_softplus, 1.3, 1.5),
    "sin": (np.sin, 1.6, 1),
    "cos": (np.cos, 1.6, 1),
    "tan": (np.tan, 0.6, 1),
    "asin": (np.arcsin, 1.2, 1),
    "acos": (np.arccos, 1.2, 1.2),
    "atan": (np.arctan, 1.4, 1.2),
    "sinh": (np.sinh, 0.6, 2),
    "cosh": (np.cosh, 0.6, 2),
    "asinh": (np.arcsinh, 0.6, 2),
    "acosh": (np.arccosh, 0.6, 2),
    "atanh": (np.arctanh, 0.6, 2),
    "floor": (np.floor, 0, 0),
    "ceil": (np.ceil, 0, 0),
    "rint": (np.rint, 0, 0),
    "round_away": (round_away, 0, 0),
    "trunc": (np.trunc, 0, 0),
    "sign": (np.sign, 0, 0),
    "relu": (relu, 0, 0),
}
ONCE = {"rsqrt": 0.501}
"""Limits in ULP with FMA."""
BY_LIBRARY = ("erf", "erfc", "ndtr")
"""Functions without a long double form in SciPy, or with errors in its float64: the C library
replaces it.
"""


def edges(t: str) -> np.ndarray:
    """Critical points: zeros, infinities, limits of overflow and underflow, ties, signs."""
    info = np.finfo(TYPES[t][1])
    digits, low, high = FLOATS[t]
    border = [
        high * np.log(2),
        (low - digits) * np.log(2),
        low * np.log(2),
        high,
        low,
        low - digits,
    ]
    base = [
        0,
        np.inf,
        np.nan,
        info.max,
        info.tiny,
        info.smallest_subnormal,
        info.eps,
        1,
        0.5,
        1.5,
        2.5,
    ]
    base += [0.25, 0.75, 4 / 3, np.pi / 4, np.pi / 2, np.pi, 1e6, 2.0 ** (digits - 1), 2.0**digits]
    base += [0.6, 0.625, 0.8, 0.9375, 10, 10.5, 26.6, *border]
    with np.errstate(over="ignore"):
        values = np.array(base, dtype=TYPES[t][1])
        near = np.concatenate([values, np.nextafter(values, -np.inf), np.nextafter(values, np.inf)])
    return np.concatenate([near, -near]).astype(TYPES[t][1])


def points(t: str, count: int, seed: int = 3) -> np.ndarray:
    """All critical points, random bit patterns of finite values, values in the non-flat range."""
    generator = np.random.default_rng(seed)
    real = TYPES[t][1]
    width = np.uint32 if t == "f32" else np.uint64
    bits = generator.integers(0, np.iinfo(width).max, count, dtype=width, endpoint=True).view(real)
    plain = [generator.uniform(-k, k, count // 8) for k in (1, 4, 30, FLOATS[t][2] * 0.75)]
    small = np.exp(generator.uniform(-20, 0, count // 8)) * generator.choice([-1, 1], count // 8)
    return np.concatenate([edges(t), bits[np.isfinite(bits)], *plain, small, 1 + small]).astype(
        real
    )


def distance(t: str, got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """|got - exact| in units in the last place of `exact`; infinite for a wrong NaN or zero."""
    digits, low, high = FLOATS[t]
    wide = np.longdouble
    g, e = got.astype(wide), exact.astype(wide)
    limit = np.ldexp(wide(1), high)
    wrong = (np.isnan(g) != np.isnan(e)) | ((e == 0) & (np.signbit(g) != np.signbit(e)))
    # An overflowing result counts as the first value beyond the range.
    e = np.where(
        np.abs(e) >= limit * (1 - np.ldexp(wide(1), -digits - 1)), np.copysign(limit, e), e
    )
    g = np.where(np.isinf(g), np.copysign(limit, g), g)
    exponent = np.clip(np.frexp(np.where(e == 0, 1e-300, e))[1] - 1, low, high - 1)
    units = np.abs(g - e) / np.ldexp(wide(1), np.where(e == 0, low, exponent) - (digits - 1))
    return np.where(wrong, np.inf, np.where(np.isnan(e), 0, units)).astype(np.float64)


def check(t: str, allowed: float, got: np.ndarray, exact: np.ndarray, *inputs: np.ndarray) -> None:
    """Raise unless every element is within `allowed` units."""
    away = distance(t, got, exact)
    worst = int(np.argmax(away))
    at = ", ".join(repr(x[worst]) for x in inputs)
    text = f"{away[worst]:.3f} units at {at}: got {got[worst]!r}, exact {exact[worst]!r}"
    assert away[worst] <= allowed, text
