"""Lowers the operations of `tbe_impl.dsl.ext` to operations that the CANN toolkit provides.

Float16 tensors are computed in float32, and the result is cast back. A result r differs from the
result of the extension operation by at most tol · (1 + |r|), where tol is 1e-2 for float16 and 1e-5
for float32. The bound holds for certain argument ranges; the tests list these ranges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tbe_impl.dsl.operation import with_name
from tbe_impl.dsl.operations.operation_table import OPERATIONS as W
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.gelu_constants import CUBIC, SIGMOID_SCALE, SQRT_HALF

HALF_PI = math.pi / 2


def _widen_arithmetic(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a lowering: its arguments are cast to float32, and its result is cast back.

    Float64 tensors are not cast to float32; a bool result is not cast back.
    """

    def build(*tensors: Tensor) -> Any:
        dtype = tensors[0].dtype
        inner = "float64" if dtype == "float64" else "float32"
        found = function(*(W["cast_to"](tensor, inner) for tensor in tensors))
        return found if found.dtype == "bool" else W["cast_to"](found, dtype)

    return with_name(build, name, function.__doc__)


def _polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """Returns c₀ + c₁x + c₂x² + …, by Horner's rule."""
    found = W["vmuls"](x, coefficients[-1])
    for coefficient in reversed(coefficients[1:-1]):
        found = W["vmul"](W["vadds"](found, coefficient), x)
    return W["vadds"](found, coefficients[0])


def _nonzero_sign(x: Tensor) -> Tensor:
    """Returns −1 for each element below 0, and 1 for every other element."""
    return W["vcmpsel"](x, 0.0, "lt", -1.0, 1.0)


def _tanh(x: Tensor) -> Tensor:
    small = W["vexp"](W["vmuls"](W["vabs"](x), -2.0))
    ratio = W["vdiv"](W["vadds"](W["vmuls"](small, -1.0), 1.0), W["vadds"](small, 1.0))
    return W["vmul"](ratio, _nonzero_sign(x))


def _sigmoid(x: Tensor) -> Tensor:
    return W["vrec"](W["vadds"](W["vexp"](W["vmuls"](x, -1.0)), 1.0))


def _erf(x: Tensor) -> Tensor:
    # Abramowitz and Stegun 7.1.26
    size = W["vabs"](x)
    t = W["vrec"](W["vadds"](W["vmuls"](size, 0.3275911), 1.0))
    series = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
    tail = W["vmul"](
        W["vmul"](_polynomial(t, series), t), W["vexp"](W["vmuls"](W["vmul"](size, size), -1.0))
    )
    return W["vmul"](W["vadds"](W["vmuls"](tail, -1.0), 1.0), _nonzero_sign(x))


def _erfc(x: Tensor) -> Tensor:
    return W["vadds"](W["vmuls"](_erf(x), -1.0), 1.0)


def _ndtr_tanh(x: Tensor) -> Tensor:
    bounded = W["vmaxs"](W["vmins"](x, 100.0), -100.0)
    square = W["vmul"](bounded, bounded)
    slope = W["vadds"](W["vmuls"](square, CUBIC * SIGMOID_SCALE), SIGMOID_SCALE)
    return _sigmoid(W["vmul"](bounded, slope))


def _tanh_softplus(x: Tensor) -> Tensor:
    power = W["vexp"](W["vmins"](x, 20.0))
    n = W["vmul"](power, W["vadds"](power, 2.0))
    return W["vdiv"](n, W["vadds"](n, 2.0))


def _reduce_range(x: Tensor, shift: float) -> tuple[Tensor, Tensor]:
    """Returns r = x − π·(k + shift) and (−1)^k, where k is the integer for which |r| ≤ π/2."""
    count = W["round"](W["vadds"](W["vmuls"](x, 1 / math.pi), -shift))
    whole = W["vadds"](W["cast_to"](count, x.dtype), shift)
    rest = x
    # π split into terms whose product with k is exact in float32 (Cody-Waite reduction)
    for piece in (
        3.140625,
        0.0009670257568359375,
        6.2771141529083251953125e-07,
        1.2154201256553420e-10,
    ):
        rest = W["vsub"](rest, W["vmuls"](whole, piece))
    even = W["vmuls"](W["cast_to"](count, x.dtype), 0.5)
    odd = W["vsub"](even, W["cast_to"](W["floor"](even), x.dtype))
    return rest, W["vadds"](W["vmuls"](odd, -4.0), 1.0)


def _sine_polynomial(x: Tensor) -> Tensor:
    square = W["vmul"](x, x)
    series = [(-1.0) ** k / math.factorial(2 * k + 1) for k in range(7)]
    return W["vmul"](_polynomial(square, series), x)


def _sin(x: Tensor) -> Tensor:
    rest, sign = _reduce_range(x, 0.0)
    return W["vmul"](_sine_polynomial(rest), sign)


def _cos(x: Tensor) -> Tensor:
    rest, sign = _reduce_range(x, 0.5)
    return W["vmuls"](W["vmul"](_sine_polynomial(rest), sign), -1.0)


def _atan(x: Tensor) -> Tensor:
    size = W["vabs"](x)
    small = W["vmin"](size, W["vrec"](size))
    # atan t = π/8 + atan((t − c) / (1 + c·t)), c = tan π/8
    c = math.sqrt(2) - 1
    near = W["vdiv"](W["vadds"](small, -c), W["vadds"](W["vmuls"](small, c), 1.0))
    square = W["vmul"](near, near)
    series = [(-1.0) ** k / (2 * k + 1) for k in range(9)]
    angle = W["vadds"](W["vmul"](_polynomial(square, series), near), math.pi / 8)
    turned = W["vadds"](W["vmuls"](angle, -1.0), HALF_PI)
    return W["vmul"](W["vcmpsel"](size, 1.0, "gt", turned, angle), _nonzero_sign(x))


def _asin(x: Tensor) -> Tensor:
    other = W["vmul"](W["vadds"](W["vmuls"](x, -1.0), 1.0), W["vadds"](x, 1.0))
    return _atan(W["vdiv"](x, W["vsqrt"](other)))


def _atan2(y: Tensor, x: Tensor) -> Tensor:
    angle = _atan(W["vdiv"](y, x))
    half = W["vmuls"](_nonzero_sign(y), math.pi)
    left = W["vcmpsel"](x, 0.0, "lt", W["vadd"](angle, half), angle)
    still = W["vcmpsel"](W["vmax"](W["vabs"](x), W["vabs"](y)), 0.0, "eq", 0.0, left)
    return still


def _asinh(x: Tensor) -> Tensor:
    size = W["vabs"](x)
    root = W["vsqrt"](W["vadds"](W["vmul"](size, size), 1.0))
    return W["vmul"](W["vlog"](W["vadd"](size, root)), _nonzero_sign(x))


def _acosh(x: Tensor) -> Tensor:
    root = W["vsqrt"](W["vmul"](W["vadds"](x, -1.0), W["vadds"](x, 1.0)))
    return W["vlog"](W["vadd"](x, root))


def _atanh(x: Tensor) -> Tensor:
    ratio = W["vdiv"](W["vadds"](x, 1.0), W["vadds"](W["vmuls"](x, -1.0), 1.0))
    return W["vmuls"](W["vlog"](ratio), 0.5)


def _pow(x: Tensor, y: Tensor) -> Tensor:
    size = W["vexp"](W["vmul"](W["vlog"](W["vabs"](x)), y))
    half = W["vmuls"](y, 0.5)
    odd = W["vsub"](half, W["cast_to"](W["floor"](half), y.dtype))
    signed = W["vmul"](size, W["vadds"](W["vmuls"](odd, -4.0), 1.0))
    return W["vcmpsel"](x, 0.0, "lt", signed, size)


def _fmod(x: Tensor, y: Tensor) -> Tensor:
    whole = W["cast_to"](W["trunc"](W["vdiv"](x, y)), x.dtype)
    return W["vsub"](x, W["vmul"](whole, y))


_FLOAT32_EXPANSIONS: Mapping[str, Callable[..., Any]] = {
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "erf": _erf,
    "erfc": _erfc,
    "ndtr": lambda x: W["vmuls"](_erfc(W["vmuls"](x, -SQRT_HALF)), 0.5),
    "ndtr_tanh": _ndtr_tanh,
    "tanh_softplus": _tanh_softplus,
    "sin": _sin,
    "cos": _cos,
    "tan": lambda x: W["vdiv"](_sin(x), _cos(x)),
    "asin": _asin,
    "acos": lambda x: W["vadds"](W["vmuls"](_asin(x), -1.0), HALF_PI),
    "atan": _atan,
    "atan2": _atan2,
    "sinh": lambda x: W["vmuls"](W["vsub"](W["vexp"](x), W["vexp"](W["vmuls"](x, -1.0))), 0.5),
    "cosh": lambda x: W["vmuls"](W["vadd"](W["vexp"](x), W["vexp"](W["vmuls"](x, -1.0))), 0.5),
    "asinh": _asinh,
    "acosh": _acosh,
    "atanh": _atanh,
    "log1p": lambda x: W["vlog"](W["vadds"](x, 1.0)),
    "expm1": lambda x: W["vadds"](W["vexp"](x), -1.0),
    "exp2": lambda x: W["vexp"](W["vmuls"](x, math.log(2))),
    "log2": lambda x: W["vmuls"](W["vlog"](x), 1 / math.log(2)),
    "log10": lambda x: W["vmuls"](W["vlog"](x), 1 / math.log(10)),
    "pow": _pow,
    "isnan": lambda x: W["vcmp"](x, x, "ne"),
    "isinf": lambda x: W["vcmp"](W["vabs"](x), math.inf, "eq"),
    "isfinite": lambda x: W["vcmp"](W["vabs"](x), math.inf, "lt"),
    "sign": lambda x: W["vcmpsel"](x, 0.0, "lt", -1.0, W["vcmpsel"](x, 0.0, "gt", 1.0, x)),
    "rint": lambda x: W["cast_to"](W["round"](x), x.dtype),
    "fmod": _fmod,
    "neg": lambda x: W["vmuls"](x, -1.0),
    "square": lambda x: W["vmul"](x, x),
    "reciprocal": W["vrec"],
    "floor_divide": lambda x, y: W["cast_to"](W["floor"](W["vdiv"](x, y)), x.dtype),
}

EXPANSIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        **{name: _widen_arithmetic(name, rule) for name, rule in _FLOAT32_EXPANSIONS.items()},
        "where": W["vsel"],
    }
)
"""Maps an extension operation's name to its expansion. Operations on whole axes have none."""
