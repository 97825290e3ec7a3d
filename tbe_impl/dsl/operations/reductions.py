"""DSL operations that reduce a tensor over axes: sum, product, extremes, mean, all, any."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from tbe_impl.dsl.array_semantics import Array, reduce
from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import Const, Expr, IterVar, Range, Reduce, cast, const, make_binary
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.operation import DslOperation, check_same_shape_and_dtype, check_tensor, with_name
from tbe_impl.dsl.operations.casts import cast_to
from tbe_impl.dsl.operations.elementwise import OPERATIONS as ARITHMETIC
from tbe_impl.dsl.sizes import check_axes, product
from tbe_impl.dsl.tensor import DslCall, Tensor, compute, fresh_name
from tbe_impl.errors import InputError

_vmuls = next(word for word in ARITHMETIC if word.name == "vmuls")


def reduced_shape(tensor: Tensor, axes: Sequence[int], keepdims: bool) -> tuple[Expr, ...]:
    """Returns the shape of `tensor` after a reduction over `axes`.

    The shape is (1,) for a full reduction without `keepdims`.
    """
    if keepdims:
        return tuple(const(1) if axis in axes else size for axis, size in enumerate(tensor.shape))
    left = tuple(size for axis, size in enumerate(tensor.shape) if axis not in axes)
    return left or (const(1),)


def _reduction_stage(
    word: str,
    op: str,
    tensors: Sequence[Tensor],
    axis: Any,
    keepdims: Any,
) -> Any:
    """Creates one stage that reduces each of `tensors` over the same axes."""
    first = tensors[0]
    axes = check_axes(word, first, axis)
    keep = bool(keepdims)
    over = {axis: IterVar(Range(first.shape[axis]), f"k{axis}", "reduce") for axis in axes}

    def body(*index: Expr) -> list[Expr]:
        rest = iter(index)
        at: list[Expr] = []
        for position in range(first.ndim):
            if position in over:
                at.append(over[position])
                if keep:
                    next(rest)
            else:
                at.append(next(rest))
        sources: list[Expr] = [tensor(*at) for tensor in tensors]
        # a reduction over no axes is the identity, and has no reduction loop
        return [Reduce(op, source, tuple(over.values())) for source in sources] if over else sources

    use = DslCall(word, tuple(tensors), {"axes": axes, "keepdims": keep})
    made = compute(
        reduced_shape(first, axes, keep),
        body,
        fresh_name(word),
        f"{'tuple_' if len(tensors) > 1 else ''}reduce_{op}",
        word=use,
    )
    return made


def _make_reduction(name: str, op: str, formula: str, instruction: str = "") -> DslOperation:
    def build(raw_tensor: Tensor, axis: Any, keepdims: bool = False, *_: Any, **__: Any) -> Tensor:
        # priority flags and impl_mode select between device instructions; they have no effect here
        (made,) = _reduction_stage(name, op, (check_tensor(name, raw_tensor),), axis, keepdims)
        return made

    return DslOperation(
        name,
        with_name(
            build,
            name,
            (
                f"Computes {formula} over the axes `axis`, an integer or a list. Negative axes "
                "count from the end. "
                "The result of a full reduction without `keepdims` has the shape (1,)."
            ),
        ),
        functools.partial(_reshape_reduced, op),
        instruction,
    )


def _reshape_reduced(op: str, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Reduces `x` over `axes`; a full reduction gives the shape (1,) instead of ()."""
    found: Array = reduce(op, x, axes, keepdims=keepdims)
    return found.reshape(1) if found.ndim == 0 and not keepdims else found


def _make_truth_reduction(name: str, op: str, formula: str) -> DslOperation:
    def build(raw_tensor: Tensor, axis: Any, keepdims: bool = False) -> Tensor:
        tensor = check_tensor(name, raw_tensor)
        # For bool, min is logical and, and max is logical or. Over no elements, all gives True and
        # any gives False.
        (made,) = _reduction_stage(name, op, (cast_to(tensor, "bool"),), axis, keepdims)
        return cast_to(made, tensor.dtype)

    return DslOperation(
        name,
        with_name(
            build,
            name,
            f"Computes, over the axes `axis`, {formula}: 0 or 1 in the tensor's dtype.",
        ),
        functools.partial(_reshape_reduced, op),
    )


def tuple_sum(
    input_tensor_list: Sequence[Tensor], axis: Any, keepdims: bool = False
) -> list[Tensor]:
    """Sums several tensors of one shape over the same axes, in one stage.

    Returns:
        A list with one tensor for each input.
    """
    if not isinstance(input_tensor_list, (list, tuple)) or len(input_tensor_list) < 2:
        raise InputError(
            "tuple_sum takes several tensors",
            place=str(user_location()),
            expected="a list of two tensors or more",
            got=repr(input_tensor_list),
            remedy="`reduce_sum` takes one",
        )
    tensors = [check_tensor("tuple_sum", item) for item in input_tensor_list]
    for other in tensors[1:]:
        check_same_shape_and_dtype("tuple_sum", tensors[0], other)
    return _reduction_stage("tuple_sum", "sum", tensors, axis, keepdims)


def _tuple_sum(*arrays: Array, axes: tuple[int, ...], keepdims: bool) -> tuple[Array, ...]:
    return tuple(_reshape_reduced("sum", array, axes, keepdims) for array in arrays)


def reduce_mean(
    raw_tensor: Tensor, axis: Any, keepdims: bool = False, *_: Any, **__: Any
) -> Tensor:
    """Computes the mean over the axes `axis`: the sum, multiplied by 1 / count.

    For an integer tensor, the multiplication is done in float32, and the product is truncated.
    """
    tensor = check_tensor("reduce_mean", raw_tensor)
    axes = check_axes("reduce_mean", tensor, axis)
    total: Tensor = REDUCE_SUM(tensor, list(axes), keepdims)
    count = product([tensor.shape[axis] for axis in axes])
    dtype = tensor.dtype if is_float(tensor.dtype) else "float32"
    if isinstance(count, Const):
        share: Any = 1 / count.value if count.value else float("inf")
    else:
        wide = "float64" if dtype == "float64" else "float32"
        share = make_binary("div", const(1.0, wide), cast(wide, count))
    return cast_to(_vmuls(cast_to(total, dtype), share), tensor.dtype)


REDUCE_SUM = _make_reduction("reduce_sum", "sum", "the sum", "vcadd")

OPERATIONS = (
    REDUCE_SUM,
    _make_reduction("sum", "sum", "the sum", "vcadd"),
    _make_reduction("reduce_max", "max", "the largest element (or NaN)", "vcmax"),
    _make_reduction("reduce_min", "min", "the smallest element (or NaN)", "vcmin"),
    _make_reduction("reduce_prod", "prod", "the product"),
    _make_truth_reduction("reduce_all", "min", "whether all elements are non-zero"),
    _make_truth_reduction("reduce_any", "max", "whether any element is non-zero"),
    DslOperation("tuple_sum", tuple_sum, _tuple_sum, "vcadd"),
    DslOperation("reduce_mean", reduce_mean),
)
