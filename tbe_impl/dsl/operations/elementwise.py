"""Elementwise DSL operations: arithmetic, unary functions and fused combinations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tbe_impl.dsl.array_semantics import convert, divide
from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.dsl.expr import Expr, call, cast, const, make_binary
from tbe_impl.dsl.functions import FUNCTIONS
from tbe_impl.dsl.operation import (
    DslOperation,
    check_scalar,
    check_tensor,
    elementwise_stage,
    with_name,
)
from tbe_impl.dsl.tensor import Tensor


def maximum(x: Any, y: Any) -> Expr:
    """Returns the larger of two scalars, or NaN if a scalar is NaN."""
    return make_binary("max", x, y)


def minimum(x: Any, y: Any) -> Expr:
    """Returns the smaller of two scalars, or NaN if a scalar is NaN."""
    return make_binary("min", x, y)


def floor_modulo(x: Expr, y: Expr) -> Expr:
    """Returns x − floor(x / y)·y.

    Integers of at most 16 bits are computed in float32, and wider integers in float64.
    """
    if is_float(x.dtype):
        return x - call("floor", x / y) * y
    wide = "float64" if x.dtype in ("float64", "int64", "uint64", "int32", "uint32") else "float32"
    a, b = cast(wide, x), cast(wide, y)
    return cast(x.dtype, a - call("floor", a / b) * b)


def _floor_modulo(x: Any, y: Any) -> Any:
    wide = np.float64 if x.dtype.itemsize > 2 and x.dtype != np.float32 else np.float32
    a, b = x.astype(wide), y.astype(wide)
    return convert(a - np.floor(a / b) * b, x.dtype)


def _make_binary(
    name: str, formula: str, tag: str, scalar: Callable[..., Any], numpy: Callable[..., Any]
) -> DslOperation:
    def build(lhs: Tensor, rhs: Tensor) -> Tensor:
        return elementwise_stage(name, tag, (lhs, rhs), scalar)

    return DslOperation(
        name,
        with_name(
            build,
            name,
            (
                f"Computes {formula} for two tensors of one shape and dtype. The result has the "
                "same shape and dtype."
            ),
        ),
        numpy,
        name,
    )


INTEGER_FUNCTIONS = frozenset({"abs", "relu", "bitnot", "neg", "sign"})
"""Functions that are evaluated on integers directly, without a conversion to float."""


def _compute_dtype(dtype: str) -> str:
    """Returns the float dtype that is used to compute a function of integer tensors."""
    return "float64" if dtype_of(dtype).bytes >= 4 else "float32"


def _make_unary(
    name: str, formula: str, tag: str, function: str, instruction: str = ""
) -> DslOperation:
    whole = function in INTEGER_FUNCTIONS

    def scalar(x: Expr) -> Expr:
        if whole or is_float(x.dtype):
            return call(function, x)
        if function == "rec":
            return make_binary("div", const(1, x.dtype), x)
        return cast(x.dtype, call(function, cast(_compute_dtype(x.dtype), x)))

    def build(raw_tensor: Tensor, *_: Any, **__: Any) -> Tensor:
        # priority flags and impl_mode select between device instructions; they have no effect here
        return elementwise_stage(name, tag, (raw_tensor,), scalar)

    def numpy(x: Any) -> Any:
        known = FUNCTIONS[function].numpy
        if whole or function == "rec" or x.dtype.kind not in "iub":
            return known(x)
        return convert(known(x.astype(_compute_dtype(str(x.dtype)))), x.dtype)

    return DslOperation(
        name,
        with_name(
            build,
            name,
            (
                f"Computes {formula} for each element x. The result has the tensor's shape and "
                "dtype; an integer result is truncated."
            ),
        ),
        numpy,
        instruction or name,
    )


def _make_scalar_binary(
    name: str, formula: str, tag: str, scalar: Callable[..., Any], numpy: Callable[..., Any]
) -> DslOperation:
    def build(raw_tensor: Tensor, scalar_value: Any) -> Tensor:
        tensor = check_tensor(name, raw_tensor, "the first argument")
        number = check_scalar(name, scalar_value, tensor.dtype)
        return elementwise_stage(
            name, tag, (tensor,), lambda x: scalar(x, number), {"scalar": number}
        )

    return DslOperation(
        name,
        with_name(build, name, f"Computes {formula}. The scalar is cast to the tensor's dtype."),
        numpy,
        name,
    )


def _make_ternary(
    name: str, formula: str, scalar: Callable[..., Any], numpy: Callable[..., Any]
) -> DslOperation:
    def build(tensor_0: Tensor, tensor_1: Tensor, tensor_2: Tensor) -> Tensor:
        return elementwise_stage(
            name, f"elewise_multiple_{name[1:]}", (tensor_0, tensor_1, tensor_2), scalar
        )

    return DslOperation(
        name,
        with_name(
            build, name, f"Computes {formula} for tensors t0, t1, t2 of one shape and dtype."
        ),
        numpy,
        name,
    )


def _zero_like(x: Expr) -> Expr:
    return const(0, x.dtype)


def _relu(x: Any) -> Any:
    return np.maximum(x, np.zeros((), x.dtype))


def vlrelu(raw_tensor: Tensor, alpha: Any = 0) -> Tensor:
    """Computes leaky ReLU of each element: x if x > 0, and alpha·x otherwise. NaN gives NaN."""
    tensor = check_tensor("vlrelu", raw_tensor)
    slope = check_scalar("vlrelu", alpha, tensor.dtype, "alpha")
    return elementwise_stage(
        "vlrelu",
        "elewise_single_lrelu",
        (tensor,),
        lambda x: maximum(x, _zero_like(x)) + minimum(x, _zero_like(x)) * slope,
        {"scalar": slope},
    )


def _vlrelu(x: Any, scalar: Any) -> Any:
    return np.maximum(x, np.zeros((), x.dtype)) + np.minimum(x, np.zeros((), x.dtype)) * scalar


def vaxpy(lhs: Tensor, rhs: Tensor, scalar: Any) -> Tensor:
    """Returns scalar·lhs + rhs."""
    number = check_scalar("vaxpy", scalar, check_tensor("vaxpy", lhs).dtype)
    return elementwise_stage(
        "vaxpy",
        "elewise_binary_scalar_axpy",
        (lhs, rhs),
        lambda x, y: x * number + y,
        {"scalar": number},
    )


OPERATIONS = (
    _make_binary("vadd", "lhs + rhs", "elewise_binary_add", lambda x, y: x + y, np.add),
    _make_binary("vsub", "lhs − rhs", "elewise_binary_sub", lambda x, y: x - y, np.subtract),
    _make_binary("vmul", "lhs · rhs", "elewise_binary_mul", lambda x, y: x * y, np.multiply),
    _make_binary("vdiv", "lhs / rhs", "elewise_binary_div", lambda x, y: x / y, divide),
    _make_binary("vmax", "max(lhs, rhs)", "elewise_binary_max", maximum, np.maximum),
    _make_binary("vmin", "min(lhs, rhs)", "elewise_binary_min", minimum, np.minimum),
    _make_binary(
        "vmod", "lhs − floor(lhs / rhs)·rhs", "elewise_binary_mod", floor_modulo, _floor_modulo
    ),
    _make_binary(
        "vgcd",
        "the greatest common divisor of lhs and rhs",
        "elewise_binary_gcd",
        lambda x, y: call("gcd", x, y),
        np.gcd,
    ),
    _make_binary(
        "vand", "the bitwise lhs & rhs", "elewise_binary_and", lambda x, y: x & y, np.bitwise_and
    ),
    _make_binary(
        "vor", "the bitwise lhs | rhs", "elewise_binary_or", lambda x, y: x | y, np.bitwise_or
    ),
    _make_binary(
        "vxor", "the bitwise lhs ^ rhs", "elewise_binary_xor", lambda x, y: x ^ y, np.bitwise_xor
    ),
    _make_binary(
        "vaddrelu",
        "max(lhs + rhs, 0)",
        "elewise_binary_addrelu",
        lambda x, y: maximum(x + y, _zero_like(x)),
        lambda x, y: _relu(x + y),
    ),
    _make_binary(
        "vsubrelu",
        "max(lhs − rhs, 0)",
        "elewise_binary_subrelu",
        lambda x, y: maximum(x - y, _zero_like(x)),
        lambda x, y: _relu(x - y),
    ),
    _make_scalar_binary(
        "vadds",
        "x + scalar",
        "elewise_single_VS_add",
        lambda x, s: x + s,
        lambda x, scalar: x + scalar,
    ),
    _make_scalar_binary(
        "vmuls",
        "x · scalar",
        "elewise_single_VS_mul",
        lambda x, s: x * s,
        lambda x, scalar: x * scalar,
    ),
    _make_scalar_binary(
        "vmaxs",
        "max(x, scalar)",
        "elewise_single_VS_max",
        maximum,
        lambda x, scalar: np.maximum(x, scalar),
    ),
    _make_scalar_binary(
        "vmins",
        "min(x, scalar)",
        "elewise_single_VS_min",
        minimum,
        lambda x, scalar: np.minimum(x, scalar),
    ),
    _make_unary("vexp", "e^x", "elewise_single_exp", "exp"),
    _make_unary("vlog", "ln x", "elewise_single_log", "log", "vln"),
    _make_unary("vabs", "|x|", "elewise_single_abs", "abs"),
    _make_unary("vrec", "1 / x", "elewise_single_rec", "rec"),
    _make_unary("vsqrt", "√x", "elewise_single_sqrt", "sqrt"),
    _make_unary("vrsqrt", "1 / √x", "elewise_single_rsqrt", "rsqrt"),
    _make_unary("vrelu", "max(x, 0)", "elewise_single_relu", "relu"),
    _make_unary("vnot", "the bitwise complement of x", "elewise_single_not", "bitnot"),
    DslOperation("vlrelu", vlrelu, _vlrelu, "vlrelu"),
    DslOperation("vaxpy", vaxpy, lambda x, y, scalar: x * scalar + y, "vaxpy"),
    _make_ternary("vmla", "t0 · t1 + t2", lambda x, y, z: x * y + z, lambda x, y, z: x * y + z),
    _make_ternary("vmadd", "t0 · t2 + t1", lambda x, y, z: x * z + y, lambda x, y, z: x * z + y),
    _make_ternary(
        "vmaddrelu",
        "max(t0 · t2 + t1, 0)",
        lambda x, y, z: maximum(x * z + y, _zero_like(x)),
        lambda x, y, z: _relu(x * z + y),
    ),
)
