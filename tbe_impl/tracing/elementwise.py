"""Lowers elementwise functions of NumPy and SciPy to DSL operations, by name.

A lowering takes tensors of one shape that were cast to the dtype in which NumPy computes. The
result has the dtype of NumPy's result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import COMPARISONS, Const, Expr, call, const, make_binary, select
from tbe_impl.dsl.ext import EXT_OPERATIONS
from tbe_impl.dsl.operations.casts import cast_to
from tbe_impl.dsl.operations.compare import vcmp, vlogic
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.tensor import Tensor, compute, fresh_name

Maker = Callable[..., Tensor]


def compute_elementwise(name: str, scalar: Callable[..., Any], *tensors: Tensor) -> Tensor:
    """Builds an elementwise stage from the function `scalar`; the stage has no DSL operation."""
    return compute(
        tensors[0].shape, lambda *i: scalar(*(tensor(*i) for tensor in tensors)), fresh_name(name)
    )


def _make_elementwise(name: str, scalar: Callable[..., Any]) -> Maker:
    return lambda *tensors: compute_elementwise(name, scalar, *tensors)


def _choose_by_dtype(*, truth: Maker, number: Maker) -> Maker:
    return lambda *tensors: (truth if tensors[0].dtype == "bool" else number)(*tensors)


def _logical_or(one: Tensor, other: Tensor) -> Tensor:
    return vlogic(one, other, "logic_or")


def _logical_and(one: Tensor, other: Tensor) -> Tensor:
    return vlogic(one, other, "logic_and")


def _logical_not(tensor: Tensor) -> Tensor:
    return vlogic(tensor, operation="logic_not")


_logical_xor = _make_elementwise("logical_xor", lambda x, y: make_binary("ne", x, y))


def _remainder(x: Expr, y: Expr) -> Any:
    """Returns x − floor(x / y)·y.

    The result has the sign of y. For floats, the result is the remainder of ``fmod``, plus y if the
    signs of the remainder and of y differ.
    """
    if not is_float(x.dtype):
        return make_binary("floormod", x, y)
    zero = const(0, x.dtype)
    rest = call("fmod", x, y)
    other_side = make_binary("ne", make_binary("lt", rest, zero), make_binary("lt", y, zero))
    return select(make_binary("and", make_binary("ne", rest, zero), other_side), rest + y, rest)


def _truncated_remainder(x: Expr, y: Expr) -> Any:
    return call("fmod", x, y) if is_float(x.dtype) else make_binary("truncmod", x, y)


def _has_sign_bit(x: Expr) -> Any:
    """Builds the condition that the sign bit of x is set.

    The condition holds for −0. The condition is false for every NaN, whatever its sign bit is.
    """
    below = make_binary("lt", x, const(0, x.dtype))
    return make_binary("or", below, make_binary("lt", call("rec", x), const(0, x.dtype)))


def _copysign(x: Expr, y: Expr) -> Any:
    size = call("abs", x)
    return select(_has_sign_bit(y), call("neg", size), size)


def _heaviside(x: Expr, y: Expr) -> Any:
    zero, one = const(0, x.dtype), const(1, x.dtype)
    step = select(make_binary("lt", x, zero), zero, select(make_binary("gt", x, zero), one, y))
    return select(call("isnan", x, dtype="bool"), x, step)


def _make_nan_ignoring(op: str) -> Callable[[Expr, Expr], Any]:
    def scalar(x: Expr, y: Expr) -> Any:
        found = make_binary(op, x, y)
        if not is_float(x.dtype):
            return found
        one, other = (call("isnan", item, dtype="bool") for item in (x, y))
        return select(one, y, select(other, x, found))

    return scalar


def _logaddexp(x: Expr, y: Expr) -> Any:
    """Returns max(x, y) + ln(1 + e^−|x − y|), or x if x and y are the same infinity."""
    found = make_binary("max", x, y) + call("log1p", call("exp", call("neg", call("abs", x - y))))
    endless = make_binary("and", make_binary("eq", x, y), call("isinf", x, dtype="bool"))
    return select(endless, x, found)


def _log_expit(x: Expr) -> Any:
    """Returns min(x, 0) − ln(1 + e^−|x|)."""
    small = call("log1p", call("exp", call("neg", call("abs", x))))
    return make_binary("min", x, const(0, x.dtype)) - small


def _xlogy(x: Expr, y: Expr) -> Any:
    none = make_binary("and", make_binary("eq", x, const(0, x.dtype)), _is_not_nan(y))
    return select(none, const(0, x.dtype), x * call("log", y))


def _is_not_nan(x: Expr) -> Any:
    return call("not", call("isnan", x, dtype="bool"), dtype="bool")


def _make_float_predicate(word: str, *, otherwise: bool) -> Maker:
    """Creates the lowering of the float predicate `word`, such as isnan.

    For an integer tensor, every element of the result is the constant `otherwise`.
    """

    def make(tensor: Tensor) -> Tensor:
        if is_float(tensor.dtype):
            return EXT_OPERATIONS[word](tensor)
        return compute_elementwise(word, lambda _: const(otherwise, "bool"), tensor)

    return make


def _make_rounding(function: str) -> Maker:
    """Creates the lowering of a rounding function that keeps the dtype.

    An integer tensor is returned unchanged.
    """
    return lambda x: (
        compute_elementwise(function, lambda e: call(function, e), x) if is_float(x.dtype) else x
    )


def _make_scaling(value: float) -> Maker:
    return lambda x: OPERATIONS["vmuls"](x, value)


def _power(x: Tensor, p: Tensor) -> Tensor:
    exponent = constant_of(p)
    simple = None if exponent is None else _POWERS.get(float(exponent.value))
    if exponent is not None and simple is not None and (is_float(x.dtype) or exponent.value >= 1):
        return simple(x)
    if is_float(x.dtype):
        return EXT_OPERATIONS["pow"](x, p)
    return compute_elementwise("power", lambda a, b: make_binary("pow", a, b), x, p)


def constant_of(tensor: Tensor) -> Const | None:
    """Returns the constant with which a tensor is filled.

    Returns None if the tensor is not defined by a constant.
    """
    body = tensor.op.body[tensor.value_index] if tensor.op.body else None
    return body if isinstance(body, Const) else None


_POWERS: Mapping[float, Maker] = {
    0.5: OPERATIONS["vsqrt"],
    -1.0: EXT_OPERATIONS["reciprocal"],
    1.0: lambda x: x,
    2.0: EXT_OPERATIONS["square"],
    3.0: lambda x: OPERATIONS["vmul"](EXT_OPERATIONS["square"](x), x),
}


def _absolute_value(x: Tensor) -> Tensor:
    if x.dtype.startswith(("uint", "bool")):
        return x
    return OPERATIONS["vabs"](x)


UFUNC_MAKERS: Mapping[str, Maker] = {
    "add": _choose_by_dtype(truth=_logical_or, number=OPERATIONS["vadd"]),
    "subtract": OPERATIONS["vsub"],
    "multiply": _choose_by_dtype(truth=_logical_and, number=OPERATIONS["vmul"]),
    "divide": OPERATIONS["vdiv"],
    "maximum": _choose_by_dtype(truth=_logical_or, number=OPERATIONS["vmax"]),
    "minimum": _choose_by_dtype(truth=_logical_and, number=OPERATIONS["vmin"]),
    "fmax": _make_elementwise("fmax", _make_nan_ignoring("max")),
    "fmin": _make_elementwise("fmin", _make_nan_ignoring("min")),
    "power": _power,
    "floor_divide": EXT_OPERATIONS["floor_divide"],
    "remainder": _make_elementwise("remainder", _remainder),
    "fmod": _make_elementwise("fmod", _truncated_remainder),
    "negative": EXT_OPERATIONS["neg"],
    "positive": lambda x: x,
    "absolute": _absolute_value,
    "fabs": _absolute_value,
    "sign": EXT_OPERATIONS["sign"],
    "square": _choose_by_dtype(truth=lambda x: x, number=EXT_OPERATIONS["square"]),
    "reciprocal": EXT_OPERATIONS["reciprocal"],
    "sqrt": OPERATIONS["vsqrt"],
    "exp": OPERATIONS["vexp"],
    "log": OPERATIONS["vlog"],
    "arctan2": EXT_OPERATIONS["atan2"],
    "hypot": _make_elementwise("hypot", lambda x, y: call("sqrt", x * x + y * y)),
    "logaddexp": _make_elementwise("logaddexp", _logaddexp),
    "copysign": _make_elementwise("copysign", _copysign),
    "heaviside": _make_elementwise("heaviside", _heaviside),
    "signbit": _make_elementwise(
        "signbit",
        lambda x: (
            _has_sign_bit(x) if is_float(x.dtype) else make_binary("lt", x, const(0, x.dtype))
        ),
    ),
    **{
        name: EXT_OPERATIONS[name]
        for name in "exp2 expm1 log2 log10 log1p sin cos tan sinh cosh tanh erf erfc ndtr".split()
    },
    **{f"arc{name}": EXT_OPERATIONS[f"a{name}"] for name in "sin cos tan sinh cosh tanh".split()},
    **{name: _make_rounding(name) for name in ("floor", "ceil", "trunc", "rint")},
    "deg2rad": _make_scaling(math.pi / 180),
    "radians": _make_scaling(math.pi / 180),
    "rad2deg": _make_scaling(180 / math.pi),
    "degrees": _make_scaling(180 / math.pi),
    "isnan": _make_float_predicate("isnan", otherwise=False),
    "isinf": _make_float_predicate("isinf", otherwise=False),
    "isfinite": _make_float_predicate("isfinite", otherwise=True),
    "logical_and": _logical_and,
    "logical_or": _logical_or,
    "logical_not": _logical_not,
    "logical_xor": _logical_xor,
    "bitwise_and": _choose_by_dtype(truth=_logical_and, number=OPERATIONS["vand"]),
    "bitwise_or": _choose_by_dtype(truth=_logical_or, number=OPERATIONS["vor"]),
    "bitwise_xor": _choose_by_dtype(truth=_logical_xor, number=OPERATIONS["vxor"]),
    "invert": _choose_by_dtype(truth=_logical_not, number=OPERATIONS["vnot"]),
    "left_shift": _make_elementwise("left_shift", lambda x, y: make_binary("shl", x, y)),
    "right_shift": _make_elementwise("right_shift", lambda x, y: make_binary("shr", x, y)),
    "expit": EXT_OPERATIONS["sigmoid"],
    "log_expit": _make_elementwise("log_expit", _log_expit),
    "xlogy": _make_elementwise("xlogy", _xlogy),
}
"""Name of a ufunc → a function that lowers a call of the ufunc."""

UFUNC_COMPARISONS = {
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
}
"""Name of a ufunc → the comparison operation of the DSL."""
assert set(UFUNC_COMPARISONS.values()) == COMPARISONS

LOGICAL_UFUNCS = frozenset({"logical_and", "logical_or", "logical_not", "logical_xor"})
"""Names of ufuncs on bool operands. Operands of any other dtype are cast to bool."""

PREDICATE_UFUNCS = frozenset({"isnan", "isinf", "isfinite", "signbit"})
"""Names of ufuncs that return bool and whose operand is not cast."""

SCALAR_OPERATIONS = {"add": "vadds", "multiply": "vmuls", "maximum": "vmaxs", "minimum": "vmins"}
"""Name of a ufunc → the DSL operation for a tensor and a scalar."""


def compare_elements(operation: str, one: Any, other: Any) -> Tensor:
    """Compares elementwise; returns a bool tensor."""
    return vcmp(one, other, operation)


def as_truth(tensor: Tensor) -> Tensor:
    """Casts a tensor to bool: an element becomes True if it is not 0."""
    return cast_to(tensor, "bool")
