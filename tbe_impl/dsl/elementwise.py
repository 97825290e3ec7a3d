"""Words that compute each element from the elements at the same place: arithmetic, functions, and their combinations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tbe_impl.dsl.array_semantics import convert, divide
from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.dsl.expr import Expr, binary, call, cast, const
from tbe_impl.dsl.functions import FUNCTIONS
from tbe_impl.dsl.operation import Word, check_scalar, check_tensor, elementwise
from tbe_impl.dsl.tensor import Tensor


def maximum(x: Any, y: Any) -> Expr:
    """The larger of two scalars; NaN when one of them is."""
    found: Expr = binary("max", x, y)
    return found


def minimum(x: Any, y: Any) -> Expr:
    """The smaller of two scalars; NaN when one of them is."""
    found: Expr = binary("min", x, y)
    return found


def floor_modulo(x: Expr, y: Expr) -> Expr:
    """x − floor(x / y)·y; of integers in float32 if they fit, else in float64."""
    if is_float(x.dtype):
        found: Expr = x - call("floor", x / y) * y
        return found
    wide = "float64" if x.dtype in ("float64", "int64", "uint64", "int32", "uint32") else "float32"
    a, b = cast(wide, x), cast(wide, y)
    return cast(x.dtype, a - call("floor", a / b) * b)


def _floor_modulo(x: Any, y: Any) -> Any:
    wide = np.float64 if x.dtype.itemsize > 2 and x.dtype != np.float32 else np.float32
    a, b = x.astype(wide), y.astype(wide)
    return convert(a - np.floor(a / b) * b, x.dtype)


def _two(
    name: str, formula: str, tag: str, scalar: Callable[..., Any], numpy: Callable[..., Any]
) -> Word:
    def build(lhs: Tensor, rhs: Tensor) -> Tensor:
        return elementwise(name, tag, (lhs, rhs), scalar)

    build.__name__ = name
    build.__doc__ = f"{formula}; two tensors of one shape and dtype, which the result has too."
    return Word(name, build, numpy, name)


WHOLE = frozenset({"abs", "relu", "bitnot", "neg", "sign"})
"""Functions that have a meaning for integers."""


def _wide(dtype: str) -> str:
    """The float in which a function of integers is computed."""
    return "float64" if dtype_of(dtype).bytes >= 4 else "float32"


def _one(name: str, formula: str, tag: str, function: str, instruction: str = "") -> Word:
    whole = function in WHOLE

    def scalar(x: Expr) -> Expr:
        if whole or is_float(x.dtype):
            return call(function, x)
        if function == "rec":
            found: Expr = binary("div", const(1, x.dtype), x)
            return found
        return cast(x.dtype, call(function, cast(_wide(x.dtype), x)))

    def build(raw_tensor: Tensor, *_: Any, **__: Any) -> Tensor:
        # a priority flag and an impl_mode choose between instructions of the device; here all are exact
        return elementwise(name, tag, (raw_tensor,), scalar)

    def numpy(x: Any) -> Any:
        known = FUNCTIONS[function].numpy
        if whole or function == "rec" or x.dtype.kind not in "iub":
            return known(x)
        return convert(known(x.astype(_wide(str(x.dtype)))), x.dtype)

    build.__name__ = name
    build.__doc__ = (
        f"{formula} of a tensor; the result has its shape and dtype (of integers it is cut)."
    )
    return Word(name, build, numpy, instruction or name)


def _with_scalar(
    name: str, formula: str, tag: str, scalar: Callable[..., Any], numpy: Callable[..., Any]
) -> Word:
    def build(raw_tensor: Tensor, scalar_value: Any) -> Tensor:
        tensor = check_tensor(name, raw_tensor, "the first argument")
        number = check_scalar(name, scalar_value, tensor.dtype)
        return elementwise(name, tag, (tensor,), lambda x: scalar(x, number), {"scalar": number})

    build.__name__ = name
    build.__doc__ = f"{formula}; the scalar is re-typed to the tensor's dtype."
    return Word(name, build, numpy, name)


def _three(name: str, formula: str, scalar: Callable[..., Any], numpy: Callable[..., Any]) -> Word:
    def build(tensor_0: Tensor, tensor_1: Tensor, tensor_2: Tensor) -> Tensor:
        return elementwise(
            name, f"elewise_multiple_{name[1:]}", (tensor_0, tensor_1, tensor_2), scalar
        )

    build.__name__ = name
    build.__doc__ = f"{formula}; three tensors of one shape and dtype."
    return Word(name, build, numpy, name)


def _zero(x: Expr) -> Expr:
    return const(0, x.dtype)


def _relu(x: Any) -> Any:
    return np.maximum(x, np.zeros((), x.dtype))


def vlrelu(raw_tensor: Tensor, alpha: Any = 0) -> Tensor:
    """x where x > 0, else alpha·x; NaN stays."""
    tensor = check_tensor("vlrelu", raw_tensor)
    slope = check_scalar("vlrelu", alpha, tensor.dtype, "alpha")
    return elementwise(
        "vlrelu",
        "elewise_single_lrelu",
        (tensor,),
        lambda x: maximum(x, _zero(x)) + minimum(x, _zero(x)) * slope,
        {"scalar": slope},
    )


def _vlrelu(x: Any, scalar: Any) -> Any:
    return np.maximum(x, np.zeros((), x.dtype)) + np.minimum(x, np.zeros((), x.dtype)) * scalar


def vaxpy(lhs: Tensor, rhs: Tensor, scalar: Any) -> Tensor:
    """scalar·lhs + rhs."""
    number = check_scalar("vaxpy", scalar, check_tensor("vaxpy", lhs).dtype)
    return elementwise(
        "vaxpy",
        "elewise_binary_scalar_axpy",
        (lhs, rhs),
        lambda x, y: x * number + y,
        {"scalar": number},
    )


WORDS = (
    _two("vadd", "lhs + rhs", "elewise_binary_add", lambda x, y: x + y, np.add),
    _two("vsub", "lhs − rhs", "elewise_binary_sub", lambda x, y: x - y, np.subtract),
    _two("vmul", "lhs · rhs", "elewise_binary_mul", lambda x, y: x * y, np.multiply),
    _two("vdiv", "lhs / rhs", "elewise_binary_div", lambda x, y: x / y, divide),
    _two("vmax", "max(lhs, rhs)", "elewise_binary_max", maximum, np.maximum),
    _two("vmin", "min(lhs, rhs)", "elewise_binary_min", minimum, np.minimum),
    _two("vmod", "lhs − floor(lhs / rhs)·rhs", "elewise_binary_mod", floor_modulo, _floor_modulo),
    _two(
        "vgcd",
        "the greatest common divisor",
        "elewise_binary_gcd",
        lambda x, y: call("gcd", x, y),
        np.gcd,
    ),
    _two("vand", "lhs & rhs, bit by bit", "elewise_binary_and", lambda x, y: x & y, np.bitwise_and),
    _two("vor", "lhs | rhs, bit by bit", "elewise_binary_or", lambda x, y: x | y, np.bitwise_or),
    _two("vxor", "lhs ^ rhs, bit by bit", "elewise_binary_xor", lambda x, y: x ^ y, np.bitwise_xor),
    _two(
        "vaddrelu",
        "max(lhs + rhs, 0)",
        "elewise_binary_addrelu",
        lambda x, y: maximum(x + y, _zero(x)),
        lambda x, y: _relu(x + y),
    ),
    _two(
        "vsubrelu",
        "max(lhs − rhs, 0)",
        "elewise_binary_subrelu",
        lambda x, y: maximum(x - y, _zero(x)),
        lambda x, y: _relu(x - y),
    ),
    _with_scalar(
        "vadds",
        "x + scalar",
        "elewise_single_VS_add",
        lambda x, s: x + s,
        lambda x, scalar: x + scalar,
    ),
    _with_scalar(
        "vmuls",
        "x · scalar",
        "elewise_single_VS_mul",
        lambda x, s: x * s,
        lambda x, scalar: x * scalar,
    ),
    _with_scalar(
        "vmaxs",
        "max(x, scalar)",
        "elewise_single_VS_max",
        maximum,
        lambda x, scalar: np.maximum(x, scalar),
    ),
    _with_scalar(
        "vmins",
        "min(x, scalar)",
        "elewise_single_VS_min",
        minimum,
        lambda x, scalar: np.minimum(x, scalar),
    ),
    _one("vexp", "e^x", "elewise_single_exp", "exp"),
    _one("vlog", "ln x", "elewise_single_log", "log", "vln"),
    _one("vabs", "|x|", "elewise_single_abs", "abs"),
    _one("vrec", "1 / x", "elewise_single_rec", "rec"),
    _one("vsqrt", "√x", "elewise_single_sqrt", "sqrt"),
    _one("vrsqrt", "1 / √x", "elewise_single_rsqrt", "rsqrt"),
    _one("vrelu", "max(x, 0)", "elewise_single_relu", "relu"),
    _one("vnot", "not x, bit by bit", "elewise_single_not", "bitnot"),
    Word("vlrelu", vlrelu, _vlrelu, "vlrelu"),
    Word("vaxpy", vaxpy, lambda x, y, scalar: x * scalar + y, "vaxpy"),
    _three("vmla", "t0 · t1 + t2", lambda x, y, z: x * y + z, lambda x, y, z: x * y + z),
    _three("vmadd", "t0 · t2 + t1", lambda x, y, z: x * z + y, lambda x, y, z: x * z + y),
    _three(
        "vmaddrelu",
        "max(t0 · t2 + t1, 0)",
        lambda x, y, z: maximum(x * z + y, _zero(x)),
        lambda x, y, z: _relu(x * z + y),
    ),
)
