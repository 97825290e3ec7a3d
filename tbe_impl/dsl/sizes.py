"""Checks axes and compares sizes symbolically."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tbe_impl.dsl.expr import Binary, Call, Cast, Const, Expr, const
from tbe_impl.dsl.linear_indices import linear_form
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.errors import InputError


def is_same_size(one: Expr, other: Expr) -> bool:
    """Whether two sizes are provably equal.

    Two sizes are provably equal in three cases: they are the same number or variable, they have
    equal affine forms, or they apply the same operator to provably equal operands.
    """
    if one is other:
        return True
    if isinstance(one, Const) and isinstance(other, Const):
        return bool(one.value == other.value)
    first, second = linear_form(one), linear_form(other)
    if first is not None and second is not None:
        away = first.add_scaled(second, -1)
        return not away.parts and away.constant == 0
    if type(one) is not type(other) or not isinstance(one, (Binary, Call, Cast)):
        return False
    heads = [getattr(node, "op", getattr(node, "name", node.dtype)) for node in (one, other)]
    return heads[0] == heads[1] and all(map(is_same_size, one.children, other.children))


def is_one(size: Expr) -> bool:
    """Whether a size is provably 1."""
    return isinstance(size, Const) and bool(size.value == 1)


def check_axis(word: str, tensor: Tensor, axis: Any, argument: str = "axis") -> int:
    """Converts `axis` to a non-negative integer.

    Raises:
        InputError: `axis` is not an integer, or `tensor` has no such axis.
    """
    number = axis.value if isinstance(axis, Const) else axis
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise InputError(
            f"{word} takes whole numbers for {argument}",
            place=str(user_location()),
            expected="an integer",
            got=repr(axis),
        )
    whole = int(number)
    if not -tensor.ndim <= whole < max(tensor.ndim, 1):
        raise InputError(
            f"{word}: {tensor.name} has no such axis",
            place=str(user_location()),
            expected=f"{argument} from {-tensor.ndim} to {tensor.ndim - 1}",
            got=str(whole),
        )
    return whole % max(tensor.ndim, 1)


def check_axes(word: str, tensor: Tensor, axis: Any, argument: str = "axis") -> tuple[int, ...]:
    """Converts one or several axes to a sorted list of non-negative integers without duplicates.

    Raises:
        InputError: `axis` is None, or `tensor` has no such axis.
    """
    if axis is None:
        raise InputError(
            f"{word} needs {argument}",
            place=str(user_location()),
            expected="an integer or a list of integers",
            got="None",
            remedy=f"For all axes pass {list(range(tensor.ndim))}",
        )
    several = axis if isinstance(axis, (list, tuple, range, set)) else [axis]
    found = {check_axis(word, tensor, item, argument) for item in several}
    return tuple(sorted(found if tensor.ndim else ()))


def match_axis_runs(one: Sequence[Expr], other: Sequence[Expr]) -> list[tuple[range, range]]:
    """Splits two shapes with equal element counts into matching runs of adjacent axes.

    The result is a list of pairs (axes of `one`, axes of `other`). The two runs of a pair have the
    same number of elements and are as short as possible. If a size is 0, a single pair contains all
    axes.

    >>> match_axis_runs([const(6), const(4), const(5)], [const(2), const(3), const(20)])
    [(range(0, 1), range(0, 2)), (range(1, 3), range(2, 3))]
    """
    if any(isinstance(size, Const) and not size.value for size in (*one, *other)):
        return [(range(len(one)), range(len(other)))]
    found = []
    first = (0, 0)
    ends = {_factor_product(other[:end]): end for end in reversed(range(1, len(other) + 1))}
    for at in range(1, len(one)):
        end = ends.get(_factor_product(one[:at]))
        if end is not None and first[0] < at and first[1] < end < len(other):
            found.append((range(first[0], at), range(first[1], end)))
            first = at, end
    return [*found, (range(first[0], len(one)), range(first[1], len(other)))]


def _factor_product(sizes: Sequence[Expr]) -> tuple[int, tuple[int, ...]]:
    """Returns a canonical form of a product: its constant factor and the `id` of each other factor.

    The ids are sorted.
    """
    known, others, left = 1, [], list(sizes)
    while left:
        size = left.pop()
        if isinstance(size, Const):
            known *= int(size.value)
        elif isinstance(size, Binary) and size.op == "mul":
            left += [size.a, size.b]
        else:
            others.append(id(size))
    return known, tuple(sorted(others))


def product(sizes: Sequence[Expr]) -> Expr:
    """Returns the product of `sizes`; for a shape, this is the number of elements."""
    total: Expr = const(1)
    for size in sizes:
        total = total * size
    return total
