"""Elementwise functions of NumPy and SciPy said in the language, by name.

Each gets tensors of one shape and of the dtype in which NumPy computes; what it gives has NumPy's result dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from tbe_impl.dsl.casts import cast_to
from tbe_impl.dsl.compare import vcmp, vlogic, vsel
from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import COMPARISONS, Const, Expr, binary, call, const, select
from tbe_impl.dsl.ext import EXT_WORDS
from tbe_impl.dsl.operation_table import WORDS
from tbe_impl.dsl.tensor import Tensor, compute, fresh_name

Maker = Callable[..., Tensor]


def each(name: str, scalar: Callable[..., Any], *tensors: Tensor) -> Tensor:
    """A stage without a word that computes each element from those at the same place."""
    made: Tensor = compute(
        tensors[0].shape, lambda *i: scalar(*(tensor(*i) for tensor in tensors)), fresh_name(name)
    )
    return made


def _raw(name: str, scalar: Callable[..., Any]) -> Maker:
    return lambda *tensors: each(name, scalar, *tensors)


def _by_kind(*, truth: Maker, number: Maker) -> Maker:
    return lambda *tensors: (truth if tensors[0].dtype == "bool" else number)(*tensors)


def _either(one: Tensor, other: Tensor) -> Tensor:
    return vlogic(one, other, "logic_or")


def _both(one: Tensor, other: Tensor) -> Tensor:
    return vlogic(one, other, "logic_and")


def _not(tensor: Tensor) -> Tensor:
    return vlogic(tensor, operation="logic_not")


_differ = _raw("logical_xor", lambda x, y: binary("ne", x, y))


def _remainder(x: Expr, y: Expr) -> Any:
    """x − floor(x / y)·y, of floats without rounding; the sign is that of y."""
    if not is_float(x.dtype):
        return binary("floormod", x, y)
    zero = const(0, x.dtype)
    rest = call("fmod", x, y)
    other_side = binary("ne", binary("lt", rest, zero), binary("lt", y, zero))
    return select(binary("and", binary("ne", rest, zero), other_side), rest + y, rest)


def _truncated(x: Expr, y: Expr) -> Any:
    return call("fmod", x, y) if is_float(x.dtype) else binary("truncmod", x, y)


def _negative_bit(x: Expr) -> Any:
    """Whether the sign bit is set."""
    below = binary("lt", x, const(0, x.dtype))
    return binary("or", below, binary("lt", call("rec", x), const(0, x.dtype)))


def _copysign(x: Expr, y: Expr) -> Any:
    size = call("abs", x)
    return select(_negative_bit(y), call("neg", size), size)


def _heaviside(x: Expr, y: Expr) -> Any:
    zero, one = const(0, x.dtype), const(1, x.dtype)
    step = select(binary("lt", x, zero), zero, select(binary("gt", x, zero), one, y))
    return select(call("isnan", x, dtype="bool"), x, step)


def _without_nan(op: str) -> Callable[[Expr, Expr], Any]:
    def scalar(x: Expr, y: Expr) -> Any:
        found = binary(op, x, y)
        if not is_float(x.dtype):
            return found
        one, other = (call("isnan", item, dtype="bool") for item in (x, y))
        return select(one, y, select(other, x, found))

    return scalar


def _logaddexp(x: Expr, y: Expr) -> Any:
    """max(x, y) + ln(1 + e^−|x − y|); of two equal infinities the infinity."""
    found = binary("max", x, y) + call("log1p", call("exp", call("neg", call("abs", x - y))))
    endless = binary("and", binary("eq", x, y), call("isinf", x, dtype="bool"))
    return select(endless, x, found)


def _log_expit(x: Expr) -> Any:
    """min(x, 0) − ln(1 + e^−|x|)."""
    small = call("log1p", call("exp", call("neg", call("abs", x))))
    return binary("min", x, const(0, x.dtype)) - small


def _xlogy(x: Expr, y: Expr) -> Any:
    none = binary("and", binary("eq", x, const(0, x.dtype)), _number(y))
    return select(none, const(0, x.dtype), x * call("log", y))


def _number(x: Expr) -> Any:
    return call("not", call("isnan", x, dtype="bool"), dtype="bool")


def _of_floats(word: str, *, otherwise: bool) -> Maker:
    """A question that integers answer without being looked at."""

    def make(tensor: Tensor) -> Tensor:
        if is_float(tensor.dtype):
            made: Tensor = EXT_WORDS[word](tensor)
            return made
        return each(word, lambda _: const(otherwise, "bool"), tensor)

    return make


def _same_if_whole(function: str) -> Maker:
    """A rounding: floats stay floats, as NumPy has it, and integers are what they are."""
    return lambda x: each(function, lambda e: call(function, e), x) if is_float(x.dtype) else x


def _factor(value: float) -> Maker:
    return lambda x: WORDS["vmuls"](x, value)


def _power(x: Tensor, p: Tensor) -> Tensor:
    exponent = number_in(p)
    simple = None if exponent is None else _POWERS.get(float(exponent.value))
    if exponent is not None and simple is not None and (is_float(x.dtype) or exponent.value >= 1):
        return simple(x)
    if is_float(x.dtype):
        made: Tensor = EXT_WORDS["pow"](x, p)
        return made
    return each("power", lambda a, b: binary("pow", a, b), x, p)


def number_in(tensor: Tensor) -> Const | None:
    """The number that a tensor holds everywhere, if that is known."""
    body = tensor.op.body[tensor.value_index] if tensor.op.body else None
    return body if isinstance(body, Const) else None


_POWERS: Mapping[float, Maker] = {
    0.5: WORDS["vsqrt"],
    -1.0: EXT_WORDS["reciprocal"],
    1.0: lambda x: x,
    2.0: EXT_WORDS["square"],
    3.0: lambda x: WORDS["vmul"](EXT_WORDS["square"](x), x),
}


def _absolute(x: Tensor) -> Tensor:
    if x.dtype.startswith(("uint", "bool")):
        return x
    made: Tensor = WORDS["vabs"](x)
    return made


ELEMENTWISE: Mapping[str, Maker] = {
    "add": _by_kind(truth=_either, number=WORDS["vadd"]),
    "subtract": WORDS["vsub"],
    "multiply": _by_kind(truth=_both, number=WORDS["vmul"]),
    "divide": WORDS["vdiv"],
    "maximum": _by_kind(truth=_either, number=WORDS["vmax"]),
    "minimum": _by_kind(truth=_both, number=WORDS["vmin"]),
    "fmax": _raw("fmax", _without_nan("max")),
    "fmin": _raw("fmin", _without_nan("min")),
    "power": _power,
    "floor_divide": EXT_WORDS["floor_divide"],
    "remainder": _raw("remainder", _remainder),
    "fmod": _raw("fmod", _truncated),
    "negative": EXT_WORDS["neg"],
    "positive": lambda x: x,
    "absolute": _absolute,
    "fabs": _absolute,
    "sign": EXT_WORDS["sign"],
    "square": _by_kind(truth=lambda x: x, number=EXT_WORDS["square"]),
    "reciprocal": EXT_WORDS["reciprocal"],
    "sqrt": WORDS["vsqrt"],
    "exp": WORDS["vexp"],
    "log": WORDS["vlog"],
    "arctan2": EXT_WORDS["atan2"],
    "hypot": _raw("hypot", lambda x, y: call("sqrt", x * x + y * y)),
    "logaddexp": _raw("logaddexp", _logaddexp),
    "copysign": _raw("copysign", _copysign),
    "heaviside": _raw("heaviside", _heaviside),
    "signbit": _raw(
        "signbit",
        lambda x: _negative_bit(x) if is_float(x.dtype) else binary("lt", x, const(0, x.dtype)),
    ),
    **{
        name: EXT_WORDS[name]
        for name in "exp2 expm1 log2 log10 log1p sin cos tan sinh cosh tanh erf erfc ndtr".split()
    },
    **{f"arc{name}": EXT_WORDS[f"a{name}"] for name in "sin cos tan sinh cosh tanh".split()},
    **{name: _same_if_whole(name) for name in ("floor", "ceil", "trunc", "rint")},
    "deg2rad": _factor(math.pi / 180),
    "radians": _factor(math.pi / 180),
    "rad2deg": _factor(180 / math.pi),
    "degrees": _factor(180 / math.pi),
    "isnan": _of_floats("isnan", otherwise=False),
    "isinf": _of_floats("isinf", otherwise=False),
    "isfinite": _of_floats("isfinite", otherwise=True),
    "logical_and": _both,
    "logical_or": _either,
    "logical_not": _not,
    "logical_xor": _differ,
    "bitwise_and": _by_kind(truth=_both, number=WORDS["vand"]),
    "bitwise_or": _by_kind(truth=_either, number=WORDS["vor"]),
    "bitwise_xor": _by_kind(truth=_differ, number=WORDS["vxor"]),
    "invert": _by_kind(truth=_not, number=WORDS["vnot"]),
    "left_shift": _raw("left_shift", lambda x, y: binary("shl", x, y)),
    "right_shift": _raw("right_shift", lambda x, y: binary("shr", x, y)),
    "expit": EXT_WORDS["sigmoid"],
    "log_expit": _raw("log_expit", _log_expit),
    "xlogy": _raw("xlogy", _xlogy),
}
"""Name of a ufunc → what it is here."""

COMPARE = {
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
}
"""Name of a ufunc → the comparison."""
assert set(COMPARE.values()) == COMPARISONS

LOGICAL = frozenset({"logical_and", "logical_or", "logical_not", "logical_xor"})
"""Functions of truth values, which other numbers become first."""

QUESTIONS = frozenset({"isnan", "isinf", "isfinite", "signbit"})
"""Functions that look at numbers in their own dtype and give truth values."""

SCALAR_WORDS = {"add": "vadds", "multiply": "vmuls", "maximum": "vmaxs", "minimum": "vmins"}
"""Name of a ufunc → the word for a tensor and a number."""


def chosen(condition: Tensor, one: Any, other: Any) -> Tensor:
    """`one` where `condition` holds, else `other`; numbers have to stand beside a tensor."""
    return vsel(condition, one, other)


def compared(operation: str, one: Any, other: Any) -> Tensor:
    """A bool tensor."""
    return vcmp(one, other, operation)


def as_truth(tensor: Tensor) -> Tensor:
    """Whether elements are other than 0."""
    return cast_to(tensor, "bool")
