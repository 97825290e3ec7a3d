"""Implements ``topi``, TVM's operator library; operands are broadcast, but not cast implicitly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Any

import tbe_impl.dsl as dsl
from tbe_impl.compat.building import build, casting_auto_schedule
from tbe_impl.compat.shape_util import cast
from tbe_impl.dsl import ext
from tbe_impl.dsl.expr import Expr, as_expr, call, const, make_binary, select
from tbe_impl.dsl.operation import with_name
from tbe_impl.dsl.sizes import is_one
from tbe_impl.dsl.tensor import Tensor, as_shape, compute, placeholder
from tbe_impl.tracing.dtypes import broadcast_shapes


def _make_elementwise(name: str, scalar: Callable[..., Any]) -> Callable[..., Any]:
    """Creates an elementwise function of tensors and scalars.

    The function returns a tensor, or an expression if all its arguments are scalars.
    """

    def function(*given: Any) -> Any:
        tensors = [item for item in given if isinstance(item, Tensor)]
        if not tensors:
            return scalar(*map(as_expr, given))
        dtype = tensors[0].dtype
        shape = broadcast_shapes(f"topi.{name}", [tensor.shape for tensor in tensors])

        def element(*index: Expr) -> Any:
            return scalar(*(_operand_element(item, index, dtype) for item in given))

        return compute(shape, element, f"T_{name}")

    return with_name(
        function, name, f"Computes {name} element by element; the operands are broadcast."
    )


def _operand_element(item: Any, index: Sequence[Expr], dtype: str) -> Any:
    """Returns the element of the operand `item` that the result at `index` depends on.

    The operand is broadcast. A scalar operand is returned as an expression.
    """
    if isinstance(item, Tensor):
        own = index[len(index) - item.ndim :]
        return item(
            *(const(0) if is_one(size) else at for at, size in zip(own, item.shape, strict=True))
        )
    return item if isinstance(item, Expr) else const(item, dtype)


def _make_binary(operation: str) -> Callable[[Any, Any], Any]:
    return lambda x, y: make_binary(operation, x, y)


def _make_unary(name: str) -> Callable[[Any], Any]:
    return lambda x: call(name, x)


def clip(x: Tensor, a_min: float, a_max: float) -> Tensor:
    """Computes min(max(x, a_min), a_max)."""
    return _make_elementwise(
        "clip", lambda x, low, high: make_binary("min", make_binary("max", x, low), high)
    )(x, a_min, a_max)


def reshape(x: Tensor, newshape: Any) -> Tensor:
    """Returns the same elements in another shape."""
    return ext.reshape(x, newshape)


def expand_dims(x: Tensor, axis: int, num_newaxis: int = 1) -> Tensor:
    """Inserts `num_newaxis` axes of size 1 before an axis.

    A negative `axis` counts from the end; with −1, the new axes are the last axes.
    """
    at = axis if axis >= 0 else x.ndim + 1 + axis
    return ext.reshape(x, (*x.shape[:at], *[1] * num_newaxis, *x.shape[at:]))


def squeeze(x: Tensor, axis: Any = None) -> Tensor:
    """Removes the given axes, or all axes of size 1."""
    listed = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    gone = {at % x.ndim for at in listed if axis is not None or is_one(x.shape[at])}
    return ext.reshape(x, [size for at, size in enumerate(x.shape) if at not in gone] or [1])


def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Joins tensors of one shape along a new axis."""
    return dsl.concat([expand_dims(tensor, axis) for tensor in tensors], axis)


def concatenate(a_tuple: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Concatenates tensors along an axis."""
    return dsl.concat(list(a_tuple), axis)


def full(shape: Any, dtype: str, fill_value: Any) -> Tensor:
    """Returns a tensor filled with one value."""
    number = fill_value if isinstance(fill_value, Expr) else const(fill_value, dtype)
    return compute(as_shape(shape), lambda *_: number, "T_full")


def elemwise_sum(xs: Sequence[Tensor]) -> Tensor:
    """Returns the sum of the tensors."""
    return reduce(FUNCTIONS["add"], xs)


def _make_reduction(name: str, word: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def function(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
        return word(data, list(range(data.ndim)) if axis is None else axis, keepdims)

    return with_name(
        function, name, f"Computes {name} over axes; a reduction over all axes has the shape (1,)."
    )


def tf_round_cce(
    shape: Any,
    dtype: str,
    kernel_name: str = "cce_tf_round",
    need_build: bool = False,
    need_print: bool = False,
) -> None:
    """Builds a complete operator that rounds to the nearest integer, with ties to even."""
    _build_operator(lambda x: ext.rint(x), shape, dtype, kernel_name)


def tf_tile_cce(
    shape: Any,
    dtype: str,
    multiples: Any,
    kernel_name: str = "cce_tf_tile",
    need_build: bool = False,
    need_print: bool = False,
) -> None:
    """Builds a complete operator that repeats a tensor; `multiples` has one number per axis."""
    _build_operator(lambda x: ext.tile(x, multiples), shape, dtype, kernel_name)


def _build_operator(
    word: Callable[[Tensor], Tensor], shape: Any, dtype: str, kernel_name: str
) -> None:
    x = placeholder(shape, dtype, "x")
    made = word(x)
    build(casting_auto_schedule(made), {"name": kernel_name, "tensor_list": [x, made]})


PREBUILT_OPERATORS: Mapping[str, Mapping[str, Callable[..., None]]] = MappingProxyType(
    {"tf_round": {"tf_round_cce": tf_round_cce}, "tf_tile": {"tf_tile_cce": tf_tile_cce}}
)
"""Maps a module in ``topi.cce`` to a dict of its prebuilt operators by name."""

FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        **{
            name: _make_elementwise(name, _make_binary(operation))
            for name, operation in {
                "add": "add",
                "subtract": "sub",
                "multiply": "mul",
                "divide": "div",
                "floor_divide": "floordiv",
                "mod": "truncmod",
                "floor_mod": "floormod",
                "maximum": "max",
                "minimum": "min",
                "power": "pow",
                "left_shift": "shl",
                "right_shift": "shr",
                "bitwise_and": "bitand",
                "bitwise_or": "bitor",
                "bitwise_xor": "bitxor",
                "logical_and": "and",
                "logical_or": "or",
                "equal": "eq",
                "not_equal": "ne",
                "greater": "gt",
                "greater_equal": "ge",
                "less": "lt",
                "less_equal": "le",
            }.items()
        },
        **{
            name: _make_elementwise(name, _make_unary(name))
            for name in (
                "exp",
                "log",
                "sqrt",
                "rsqrt",
                "tanh",
                "sigmoid",
                "erf",
                "sin",
                "cos",
                "floor",
                "ceil",
                "trunc",
                "abs",
            )
        },
        "negative": _make_elementwise("negative", _make_unary("neg")),
        "sign": lambda x: ext.sign(x),
        "where": _make_elementwise("where", select),
        "identity": _make_elementwise("identity", lambda x: x),
        "cast": cast,
        "clip": clip,
        "reshape": reshape,
        "expand_dims": expand_dims,
        "squeeze": squeeze,
        "stack": stack,
        "concatenate": concatenate,
        "transpose": lambda x, axes=None: dsl.transpose(
            x, axes if axes is not None else [*reversed(range(x.ndim))]
        ),
        "broadcast_to": lambda x, shape: dsl.broadcast(x, shape),
        "tile": lambda x, reps: ext.tile(x, reps),
        "full": full,
        "full_like": lambda x, fill_value: full(x.shape, x.dtype, fill_value),
        "elemwise_sum": elemwise_sum,
        "sum": _make_reduction("sum", dsl.reduce_sum),
        "prod": _make_reduction("prod", dsl.reduce_prod),
        "max": _make_reduction("max", dsl.reduce_max),
        "min": _make_reduction("min", dsl.reduce_min),
        "all": _make_reduction("all", dsl.reduce_all),
        "any": _make_reduction("any", dsl.reduce_any),
    }
)
"""Maps a name in ``topi`` to its function."""
