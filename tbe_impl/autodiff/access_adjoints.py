"""Computes the adjoint of a read access, which is a scatter-add into the elements that were read.

The adjoint of a tensor x is ``x̄[p] = Σ value[i]``. The sum is taken over all points i of the
iteration space at which the stage reads x[p], and value[i] is the adjoint of the read at point i.

Affine indices with integer factors (identities, permutations, broadcasts, slices, windows,
flattened axes) are inverted: the equation *index = p* is solved for the axes of the stage. One new
stage then computes the adjoint and reduces over the axes that the equation leaves free.

All other indices are lowered to a segment sum over flat element positions.
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
    cast,
    const,
    make_binary,
    select,
)
from tbe_impl.dsl.linear_indices import (
    LinearForm,
    conjunction,
    linear_form,
    range_conditions,
    simplify_selects,
    subtract_indices,
)
from tbe_impl.dsl.operations.segments import OPERATIONS as SEGMENTS
from tbe_impl.dsl.sizes import is_one, is_same_size, product
from tbe_impl.dsl.substitute import substitute
from tbe_impl.dsl.tensor import Tensor, compute, fresh_name, static_shape

_SEGMENT_SUM = next(word for word in SEGMENTS if word.name == "unsorted_segment_sum")


@dataclass(frozen=True)
class ReadAccess:
    """A read of a tensor by a stage.

    Attributes:
        tensor: the tensor that is read.
        indices: index of the element that is read, one expression for each axis of the tensor.
        axes: axes of the stage, including its reduction axes.
        condition: predicate under which the stage uses the element. None if the stage always uses
            the element.
    """

    tensor: Tensor
    indices: tuple[Expr, ...]
    axes: tuple[IterVar, ...]
    condition: Expr | None = None


def scatter_add(places: ReadAccess, value: Expr, *, any_of: bool = False) -> Tensor:
    """Sums `value` over all points of a stage's iteration space that read the same tensor element.

    Args:
        places: the read access of the stage.
        value: an expression of the axes of the stage; bool if `any_of`.
        any_of: whether the values that belong to one element are combined by a logical or. If
            false, the values are summed.

    Returns:
        A tensor with the shape of the tensor that the stage reads.
    """
    if not any_of and _is_identity_access(places, value):
        assert isinstance(value, Read)
        return value.tensor
    solution = _solve_axes(places)
    if solution is None:
        return _scatter_by_segments(places, value, any_of=any_of)
    return _build_stage(places, value, solution, any_of=any_of)


def is_onto(places: ReadAccess) -> bool:
    """Whether the access provably reads every element of the tensor."""
    solution = _solve_axes(places)
    return solution is not None and places.condition is None and not solution.conditions


def _is_identity_access(places: ReadAccess, value: Expr) -> bool:
    """Whether the scatter-add of `value` gives exactly the tensor that `value` reads.

    The result is true if four conditions hold: `value` is a read of a tensor, this read and the
    access use the axes of the stage as indices, both tensors have the same shape and dtype, and the
    access has no predicate.
    """
    tensor = places.tensor
    return (
        isinstance(value, Read)
        and places.condition is None
        and value.dtype == tensor.dtype
        and len(value.indices) == len(places.indices) == len(places.axes)
        and all(
            one is other is axis and is_same_size(axis.extent, size) and is_same_size(size, wide)
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
    """The axes of a stage as functions of the tensor element that the stage reads.

    Attributes:
        index: new axes that iterate over the elements of the tensor.
        values: a dict from the ``id`` of each axis of the stage to the value of this axis. The
            value is an expression of `index` and `free`.
        free: new axes whose values the element does not determine. The adjoint sums over these
            axes.
        conditions: predicates on `index` and `free`. The stage reads the element only where all
            predicates hold.
    """

    index: list[IterVar]
    values: dict[int, Expr] = field(default_factory=dict)
    free: list[IterVar] = field(default_factory=list)
    conditions: list[Expr] = field(default_factory=list)

    def leave_free(self, axis: IterVar) -> None:
        """Replaces an axis of the stage by a free axis over its full range."""
        self.values[id(axis)] = free = IterVar(axis.dom, axis.name, "reduce")
        self.free.append(free)

    def new_free_axis(self, extent: Expr | int, name: str) -> IterVar:
        """Adds a free axis with `extent` values and returns it."""
        axis = IterVar(Range(extent), name, "reduce")
        self.free.append(axis)
        return axis


def _build_stage(places: ReadAccess, value: Expr, solution: _Solution, *, any_of: bool) -> Tensor:
    here = simplify_selects(substitute(value, solution.values))
    conditions = list(solution.conditions)
    if places.condition is not None:
        conditions.append(substitute(places.condition, solution.values))
    condition = conjunction(conditions)
    zero = const(0, here.dtype)
    if solution.free:
        body: Expr = Reduce("max" if any_of else "sum", here, solution.free, condition)
    else:
        body = here if condition is None else select(condition, here, zero)
    return compute(
        places.tensor.shape,
        lambda *index: substitute(
            body, {id(old): new for old, new in zip(solution.index, index, strict=True)}
        ),
        fresh_name("gradient"),
    )


def _solve_axes(places: ReadAccess) -> _Solution | None:
    """Solves the equations *index of the read = position of the element* for the stage's axes.

    Returns None if the equations cannot be solved.
    """
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
        unknown = [_unsolved_axes(form, own, solution) for form, _ in equations]
        chosen = min(range(len(equations)), key=lambda at: len(unknown[at]))
        form, target = equations.pop(chosen)
        _solve_equation(form, target, unknown[chosen], solution)
    for key, axis in own.items():
        if key not in solution.values:
            solution.leave_free(axis)
    rest = conjunction(solution.conditions)
    solution.conditions = [] if rest is None else [rest]
    return solution


def _unsolved_axes(
    form: LinearForm, own: dict[int, IterVar], solution: _Solution
) -> list[tuple[IterVar, int]]:
    return [
        (axis, factor)
        for axis, factor in form.axes()
        if id(axis) in own and id(axis) not in solution.values
    ]


def _solve_equation(
    form: LinearForm, target: Expr, unknown: list[tuple[IterVar, int]], solution: _Solution
) -> None:
    """Solves *form = target* for the axes in `unknown`; adds the axes' values to `solution`."""
    solving = _mixed_radix_order(unknown) if unknown else []
    if solving is None:
        solving = [max(unknown, key=_solve_priority)]
        for axis, _ in unknown:
            if axis is not solving[0][0]:
                solution.leave_free(axis)
    known = form.drop_symbols({id(axis): None for axis, _ in solving})
    rest = substitute(known.expression(), solution.values)
    if not solving:
        solution.conditions.append(_equality_condition(rest, target))
        return
    lacking = subtract_indices(target, rest)
    for axis, factor in solving:
        assert axis.dom is not None
        if factor < 0:
            lacking, factor = const(0) - lacking, -factor
        found = lacking if factor == 1 else make_binary("floordiv", lacking, const(factor))
        solution.values[id(axis)] = found
        solution.conditions += range_conditions(found, axis.dom.min, axis.extent)
        lacking = const(0) if factor == 1 else make_binary("floormod", lacking, const(factor))
    solution.conditions.append(_equality_condition(lacking, const(0)))


def _mixed_radix_order(unknown: list[tuple[IterVar, int]]) -> list[tuple[IterVar, int]] | None:
    """Sorts axes by descending factor if their factors form a mixed-radix number system.

    In a mixed-radix system, every value has exactly one combination of axis values (digits).
    Returns None if the factors do not form a mixed-radix system.
    """
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


def _solve_priority(part: tuple[IterVar, int]) -> tuple[int, int]:
    """Returns a sort key with which `max` selects the longest axis.

    If a data axis and a reduction axis are equally long, the data axis is selected.
    """
    axis, _ = part
    extent = axis.extent
    return (int(extent.value) if isinstance(extent, Const) else 1 << 40, axis.kind == "data")


def _equality_condition(one: Expr, other: Expr) -> Expr:
    found = make_binary("eq", one, other)
    return const(found, "bool") if isinstance(found, bool) else found


def _equations(places: ReadAccess, solution: _Solution) -> list[tuple[LinearForm, Expr]] | None:
    """Returns the equations *linear form = target* of all indices.

    Indices of the form ``base // weight % modulus`` with the same base are combined into one
    equation. Returns None if an index is neither affine nor of this form, or if indices cannot be
    combined.
    """
    found: list[tuple[LinearForm, Expr]] = []
    groups: list[tuple[Expr, list[tuple[int, int | None, IterVar]]]] = []
    for index, place in zip(places.indices, solution.index, strict=True):
        form = linear_form(index)
        if form is not None:
            found.append((form, place))
            continue
        digit = _match_digit(index)
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
        form, target = linear_form(base), _compose_digits(base, members, solution)
        if form is None or target is None:
            return None
        found.append((form, target))
    return found


def _match_digit(index: Expr) -> tuple[Expr, int, int | None] | None:
    """Matches an index ``base // weight % modulus``; returns (base, weight, modulus).

    `modulus` is None if the index has no remainder operator. If the weight or the modulus is not
    positive, the function returns None instead of a tuple.
    """
    modulus, weight = None, 1
    if isinstance(index, Binary) and index.op == "floormod" and isinstance(index.b, Const):
        modulus, index = int(index.b.value), index.a
    while isinstance(index, Binary) and index.op == "floordiv" and isinstance(index.b, Const):
        weight, index = weight * int(index.b.value), index.a
    positive = weight > 0 and (modulus is None or modulus > 0)
    return (index, weight, modulus) if positive else None


def _compose_digits(
    base: Expr, members: list[tuple[int, int | None, IterVar]], solution: _Solution
) -> Expr | None:
    """Builds the value of `base` from its digits, with a free axis for each missing digit.

    A digit is an index ``base // weight % modulus``. Returns None if the digits overlap, if a
    weight is not a multiple of weight · modulus of the next lower digit, or if the range of a digit
    is unknown.
    """
    total: Expr = const(0)
    reached = 1
    for weight, modulus, place in sorted(members, key=lambda member: member[0]):
        if weight % reached or reached == 0:
            return None
        if weight > reached:
            total = total + solution.new_free_axis(weight // reached, "r") * reached
        total = total + place * weight
        if modulus is not None and not isinstance(place.extent, Const):
            return None
        if modulus is not None:
            solution.conditions += range_conditions(place, const(0), const(modulus))
        reached = weight * modulus if modulus is not None else 0
    if reached:
        most = _upper_bound(base)
        if most is None:
            return None
        if most >= reached:
            total = total + solution.new_free_axis(most // reached + 1, "q") * reached
    return total


def _upper_bound(base: Expr) -> int | None:
    """Returns the largest value of a non-negative index, or None if it is unknown."""
    form = linear_form(base)
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


def _scatter_by_segments(places: ReadAccess, value: Expr, *, any_of: bool) -> Tensor:
    """Lowers the scatter-add to a segment sum; the segment id is the flat element position.

    Values with an out-of-range index are dropped.
    """
    tensor = places.tensor
    sizes = static_shape(tensor)
    count = product(tensor.shape)
    wide = sizes is None or int(count.value) >= 1 << 31  # type: ignore[attr-defined]
    whole = "int64" if wide else "int32"

    def shift_axes(index: Sequence[Expr]) -> dict[int, Expr]:
        starts = [axis.dom.min for axis in places.axes if axis.dom is not None]
        return {
            id(old): now + start for old, now, start in zip(places.axes, index, starts, strict=True)
        }

    def place(*index: Expr) -> Expr:
        new = shift_axes(index)
        flat: Expr = const(0, whole)
        conditions: list[Expr] = []
        for at, size in zip(places.indices, tensor.shape, strict=True):
            here = cast(whole, substitute(at, new))
            conditions += range_conditions(here, const(0, whole), cast(whole, size))
            flat = flat * cast(whole, size) + here
        if places.condition is not None:
            conditions.append(substitute(places.condition, new))
        condition = conjunction(conditions)
        return flat if condition is None else select(condition, flat, const(-1, whole))

    def matches_segment(*index: Expr) -> Expr:
        found = substitute(value, shift_axes(index))
        return cast("float32", found) if any_of else found

    extents = [axis.extent for axis in places.axes]
    numbers = compute(extents, place, fresh_name("gradient_places"))
    values = compute(extents, matches_segment, fresh_name("gradient_values"))
    rows: Tensor = _SEGMENT_SUM(values, numbers, count)
    made = reshape_to(rows, tensor.shape)
    if not any_of:
        return made
    return compute(
        made.shape, lambda *i: make_binary("gt", made(*i), const(0, "float32")), fresh_name("gate")
    )


def reshape_to(tensor: Tensor, shape: Sequence[Expr]) -> Tensor:
    """Reshapes `tensor` to `shape`."""
    from tbe_impl.dsl.operations.ext_arrays import reshape

    return reshape(tensor, list(shape))
