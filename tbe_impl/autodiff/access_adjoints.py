"""The adjoint of reading: values at places of a stage's loops, brought to the elements from which they were read.

``x̄[p] = Σ value[i]`` over all i at which x was read at p. For indices that are sums of axes with whole factors (identities,
permutations, broadcasts, parts, windows, flattened axes) the equation *index = p* is solved for the axes; what remains free
is summed up, in one stage. For all others the places are counted and the values summed up by segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tbe_impl.dsl.expr import (
    Binary,
    Const,
    Expr,
    IterVar,
    Range,
    Read,
    Reduce,
    binary,
    cast,
    const,
    select,
)
from tbe_impl.dsl.linear_indices import Linear, all_of, linear, minus, settled, within
from tbe_impl.dsl.segments import WORDS as SEGMENTS
from tbe_impl.dsl.sizes import is_one, product, same_size
from tbe_impl.dsl.substitute import substitute
from tbe_impl.dsl.tensor import Tensor, compute, fresh_name, static_shape

_SEGMENT_SUM = next(word for word in SEGMENTS if word.name == "unsorted_segment_sum")


@dataclass(frozen=True)
class Places:
    """Where a stage reads a tensor.

    Attributes:
        tensor: what is read.
        indices: of the element.
        axes: of the stage, those that it reduces among them.
        condition: holds where the element counts; None for everywhere.
    """

    tensor: Tensor
    indices: tuple[Expr, ...]
    axes: tuple[IterVar, ...]
    condition: Expr | None = None


def gathered(places: Places, value: Expr, *, any_of: bool = False) -> Tensor:
    """For each element of the tensor the sum of `value` over the places where it is read.

    Args:
        places: where that is.
        value: an expression of the axes; bool for `any_of`.
        any_of: whether it holds at one of the places, instead of the sum.
    """
    if not any_of and _is_whole(places, value):
        assert isinstance(value, Read)
        return value.tensor
    solution = _solved(places)
    if solution is None:
        return _by_segments(places, value, any_of=any_of)
    return _stage(places, value, solution, any_of=any_of)


def is_onto(places: Places) -> bool:
    """Whether every element of the tensor is surely read."""
    solution = _solved(places)
    return solution is not None and places.condition is None and not solution.conditions


def _is_whole(places: Places, value: Expr) -> bool:
    """Whether the value is an element of another tensor of the same shape, at the place that is read."""
    tensor = places.tensor
    return (
        isinstance(value, Read)
        and places.condition is None
        and value.dtype == tensor.dtype
        and len(value.indices) == len(places.indices) == len(places.axes)
        and all(
            one is other is axis and same_size(axis.extent, size) and same_size(size, wide)
            for one, other, axis, size, wide in zip(
                value.indices,
                places.indices,
                places.axes,
                tensor.shape,
                value.tensor.shape,
                strict=True,
            )
        )
    )


@dataclass
class _Solution:
    """Values of the axes for an element of the tensor.

    Attributes:
        index: the axes of the tensor.
        values: ``id`` of an axis of the stage → its value.
        free: new axes to reduce over.
        conditions: hold where there is a solution.
    """

    index: list[IterVar]
    values: dict[int, Expr] = field(default_factory=dict)
    free: list[IterVar] = field(default_factory=list)
    conditions: list[Expr] = field(default_factory=list)

    def leave_free(self, axis: IterVar) -> None:
        """Reduces over all values of an axis of the stage."""
        self.values[id(axis)] = free = IterVar(axis.dom, axis.name, "reduce")
        self.free.append(free)

    def over(self, extent: Expr | int, name: str) -> IterVar:
        """A new axis to reduce over."""
        axis = IterVar(Range(extent), name, "reduce")
        self.free.append(axis)
        return axis


def _stage(places: Places, value: Expr, solution: _Solution, *, any_of: bool) -> Tensor:
    here = settled(substitute(value, solution.values))
    conditions = list(solution.conditions)
    if places.condition is not None:
        conditions.append(substitute(places.condition, solution.values))
    condition = all_of(conditions)
    zero = const(0, here.dtype)
    if solution.free:
        body: Expr = Reduce("max" if any_of else "sum", here, solution.free, condition)
    else:
        body = here if condition is None else select(condition, here, zero)
    made: Tensor = compute(
        places.tensor.shape,
        lambda *index: substitute(
            body, {id(old): new for old, new in zip(solution.index, index, strict=True)}
        ),
        fresh_name("gradient"),
    )
    return made


def _solved(places: Places) -> _Solution | None:
    """The axes of the stage as functions of the axes of the tensor; None when they cannot be had."""
    index = [IterVar(Range(size), f"p{at}") for at, size in enumerate(places.tensor.shape)]
    solution = _Solution(index)
    own = {id(axis): axis for axis in places.axes}
    for key, axis in own.items():
        if is_one(axis.extent):
            assert axis.dom is not None
            solution.values[key] = axis.dom.min
    equations = _equations(places, solution)
    if equations is None:
        return None
    while equations:
        unknown = [_unknown(form, own, solution) for form, _ in equations]
        chosen = min(range(len(equations)), key=lambda at: len(unknown[at]))
        form, target = equations.pop(chosen)
        _solve(form, target, unknown[chosen], solution)
    for key, axis in own.items():
        if key not in solution.values:
            solution.leave_free(axis)
    rest = all_of(solution.conditions)
    solution.conditions = [] if rest is None else [rest]
    return solution


def _unknown(
    form: Linear, own: dict[int, IterVar], solution: _Solution
) -> list[tuple[IterVar, int]]:
    return [
        (axis, factor)
        for axis, factor in form.axes()
        if id(axis) in own and id(axis) not in solution.values
    ]


def _solve(
    form: Linear, target: Expr, unknown: list[tuple[IterVar, int]], solution: _Solution
) -> None:
    """Takes *form = target* into the solution."""
    solving = _digits(unknown) if unknown else []
    if solving is None:
        solving = [max(unknown, key=_weight)]
        for axis, _ in unknown:
            if axis is not solving[0][0]:
                solution.leave_free(axis)
    known = form.without({id(axis): None for axis, _ in solving})
    rest = substitute(known.expression(), solution.values)
    if not solving:
        solution.conditions.append(_equal(rest, target))
        return
    lacking = minus(target, rest)
    for axis, factor in solving:
        assert axis.dom is not None
        if factor < 0:
            lacking, factor = const(0) - lacking, -factor
        found = lacking if factor == 1 else binary("floordiv", lacking, const(factor))
        solution.values[id(axis)] = found
        solution.conditions += within(found, axis.dom.min, axis.extent)
        lacking = const(0) if factor == 1 else binary("floormod", lacking, const(factor))
    solution.conditions.append(_equal(lacking, const(0)))


def _digits(unknown: list[tuple[IterVar, int]]) -> list[tuple[IterVar, int]] | None:
    """The axes from the greatest factor on, when each place is reached in one way: as the digits of a number."""
    ordered = sorted(unknown, key=lambda part: part[1])
    below = 0
    for at, (axis, factor) in enumerate(ordered):
        assert axis.dom is not None
        if at and factor <= below:
            return None
        extent, low = axis.extent, axis.dom.min
        whole = isinstance(extent, Const) and isinstance(low, Const) and low.value == 0
        if at < len(ordered) - 1:
            if factor < 1 or not whole:
                return None
            below += factor * (int(extent.value) - 1)  # type: ignore[attr-defined]
    return ordered[::-1]


def _weight(part: tuple[IterVar, int]) -> tuple[int, int]:
    """The longest axis is solved for, those of the stage's outputs before those that it reduces."""
    axis, _ = part
    extent = axis.extent
    return (int(extent.value) if isinstance(extent, Const) else 1 << 40, axis.kind == "data")


def _equal(one: Expr, other: Expr) -> Expr:
    found = binary("eq", one, other)
    return const(found, "bool") if isinstance(found, bool) else found


def _equations(places: Places, solution: _Solution) -> list[tuple[Linear, Expr]] | None:
    """A linear form for each index and what it has to be; None when an index is none."""
    found: list[tuple[Linear, Expr]] = []
    groups: list[tuple[Expr, list[tuple[int, int | None, IterVar]]]] = []
    for index, place in zip(places.indices, solution.index, strict=True):
        form = linear(index)
        if form is not None:
            found.append((form, place))
            continue
        digit = _digit(index)
        if digit is None:
            return None
        base, weight, modulus = digit
        for known, members in groups:
            if known is base:
                members.append((weight, modulus, place))
                break
        else:
            groups.append((base, [(weight, modulus, place)]))
    for base, members in groups:
        form, target = linear(base), _composed(base, members, solution)
        if form is None or target is None:
            return None
        found.append((form, target))
    return found


def _digit(index: Expr) -> tuple[Expr, int, int | None] | None:
    """An index ``base // weight % modulus``."""
    modulus, weight = None, 1
    if isinstance(index, Binary) and index.op == "floormod" and isinstance(index.b, Const):
        modulus, index = int(index.b.value), index.a
    while isinstance(index, Binary) and index.op == "floordiv" and isinstance(index.b, Const):
        weight, index = weight * int(index.b.value), index.a
    positive = weight > 0 and (modulus is None or modulus > 0)
    return (index, weight, modulus) if positive else None


def _composed(
    base: Expr, members: list[tuple[int, int | None, IterVar]], solution: _Solution
) -> Expr | None:
    """The number that has the given digits; what is between them is free."""
    total: Expr = const(0)
    reached = 1
    for weight, modulus, place in sorted(members, key=lambda member: member[0]):
        if weight % reached or reached == 0:
            return None
        if weight > reached:
            total = total + solution.over(weight // reached, "r") * reached
        total = total + place * weight
        if modulus is not None and not isinstance(place.extent, Const):
            return None
        if modulus is not None:
            solution.conditions += within(place, const(0), const(modulus))
        reached = weight * modulus if modulus is not None else 0
    if reached:
        most = _bound(base)
        if most is None:
            return None
        if most >= reached:
            total = total + solution.over(most // reached + 1, "q") * reached
    return total


def _bound(base: Expr) -> int | None:
    """The greatest value of an index that is never below 0, when it is known."""
    form = linear(base)
    if form is None:
        return None
    most = form.constant
    for symbol, factor in form.parts.values():
        if not isinstance(symbol, IterVar) or not isinstance(symbol.extent, Const) or factor < 0:
            return None
        assert symbol.dom is not None
        if not isinstance(symbol.dom.min, Const) or symbol.dom.min.value < 0:
            return None
        most += factor * (int(symbol.dom.min.value) + int(symbol.extent.value) - 1)
    return most if form.constant >= 0 else None


def _by_segments(places: Places, value: Expr, *, any_of: bool) -> Tensor:
    """Each value added to the element whose number is counted first; what lies outside counts for nothing."""
    tensor = places.tensor
    sizes = static_shape(tensor)
    count = product(tensor.shape)
    wide = sizes is None or int(count.value) >= 1 << 31  # type: ignore[attr-defined]
    whole = "int64" if wide else "int32"

    def moved(index: Sequence[Expr]) -> dict[int, Expr]:
        starts = [axis.dom.min for axis in places.axes if axis.dom is not None]
        return {
            id(old): now + start for old, now, start in zip(places.axes, index, starts, strict=True)
        }

    def place(*index: Expr) -> Expr:
        new = moved(index)
        flat: Expr = const(0, whole)
        conditions: list[Expr] = []
        for at, size in zip(places.indices, tensor.shape, strict=True):
            here = cast(whole, substitute(at, new))
            conditions += within(here, const(0, whole), cast(whole, size))
            flat = flat * cast(whole, size) + here
        if places.condition is not None:
            conditions.append(substitute(places.condition, new))
        condition = all_of(conditions)
        return flat if condition is None else select(condition, flat, const(-1, whole))

    def given(*index: Expr) -> Expr:
        found = substitute(value, moved(index))
        return cast("float32", found) if any_of else found

    extents = [axis.extent for axis in places.axes]
    numbers = compute(extents, place, fresh_name("gradient_places"))
    values = compute(extents, given, fresh_name("gradient_values"))
    rows: Tensor = _SEGMENT_SUM(values, numbers, count)
    made = shaped(rows, tensor.shape)
    if not any_of:
        return made
    truth: Tensor = compute(
        made.shape, lambda *i: binary("gt", made(*i), const(0, "float32")), fresh_name("gate")
    )
    return truth


def shaped(tensor: Tensor, shape: Sequence[Expr]) -> Tensor:
    """The same elements in another shape."""
    from tbe_impl.dsl.ext_arrays import reshape

    return reshape(tensor, list(shape))
