"""Partitions a graph: decides which tensors are stored and which stages share a loop nest.

This module exceeds 500 lines because the partitioning algorithm and the cost rules belong together.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType

from tbe_impl.codegen.options import LoopChoice
from tbe_impl.codegen.planning.access_analysis import Accesses, accesses_of, extent_of, size_poly
from tbe_impl.codegen.planning.loop_orders import (
    Level,
    LoopPlan,
    Refusal,
    plan_natural_order,
    plan_requested_order,
    refuse_order,
)
from tbe_impl.codegen.planning.polynomials import ONE, ZERO, Poly
from tbe_impl.codegen.planning.reduction_loops import ReductionLoops, plan_requested_reduction
from tbe_impl.codegen.planning.scheduled_loops import ScheduledLoops, plan_scheduled_loops
from tbe_impl.dsl.expr import Binary, Call, Expr, Read, Reduce, walk
from tbe_impl.dsl.tensor import Operation, Tensor, consumers_of, stages_of
from tbe_impl.errors import CompileError
from tbe_impl.records import Record

MAX_THREAD_ROW_ELEMENTS = 1 << 16
"""Maximum number of elements of the result of a column reduction.

Each thread keeps its own partial sum for each of these elements.
"""


class Root(Record):
    """A tensor that a nest stores, and the tensor's indices in terms of the nest's loops.

    Attributes:
        tensor: the stored tensor.
        indices: one index for each dimension of the tensor.
        axes: maps the serial number (`IterVar.serial`) of each axis of the tensor's stage to the
            index of that axis. Reduced axes are included if they are loops of the nest.
        columns: whether the tensor is a column reduction. Its reduced axes are outer loops of the
            nest.
    """

    tensor: Tensor
    indices: tuple[Poly, ...]
    axes: Mapping[int, Poly]
    columns: bool = False

    @property
    def variables(self) -> frozenset[int]:
        """The serial numbers of the loops that the indices depend on."""
        return frozenset().union(*(index.variables for index in self.indices))


class LoopNest(Record):
    """A loop nest, which computes several tensors together.

    Attributes:
        roots: the stored tensors.
        loops: one pair (serial number, extent) for each loop index, in the order of the element
            loops (the loops over single elements). The order of the block loops (which step from
            block to block) has no influence on this list.
        levels: the loops, outermost first. There are more levels than `loops` when some levels
            iterate over blocks.
        along: whether the vectorized loop runs over a reduced axis. Otherwise, the vectorized loop
            is a loop of the nest itself.
        transposed: whether an input is contiguous along the second innermost loop and strided along
            the innermost loop.
        shared: position in `levels` of the parallel loop.
        grain: number of consecutive iterations of the parallel loop that stay on one thread; 0 for
            the default.
        asker: the stored tensor whose schedule requests the loops of the nest; None if no schedule
            requests them. Parts of the request that the nest does not follow are in `refusals`.
        runs: maps the serial number of a root's axis to the serial number of its loop index. Axes
            of extent 1 are absent.
        refusals: schedule requests that the nest does not follow.
        sums: the requested outer loops of a column reduction; None if none are requested.
        exact: the roles of the loops in `levels`, if a schedule fixes all data and reduction loops;
            otherwise None.
    """

    roots: tuple[Root, ...]
    loops: tuple[tuple[int, Poly], ...]
    levels: tuple[Level, ...]
    along: bool
    transposed: bool = False
    shared: int = 0
    grain: int = 0
    asker: Tensor | None = None
    runs: Mapping[int, int] = field(default_factory=dict)
    refusals: tuple[Refusal, ...] = ()
    sums: ReductionLoops | None = None
    exact: ScheduledLoops | None = None

    @property
    def vector(self) -> int | None:
        """Position of the vectorized level.

        None for a nest without loops, or when only the reductions are vectorized.
        """
        if self.exact is not None:
            return self.exact.vector
        return len(self.levels) - 1 if self.levels and not self.along else None

    @property
    def is_requested(self) -> bool:
        """Returns whether a schedule requested the loops of this nest."""
        return self.asker is not None

    def unstored_tensors(self, stored: Container[int]) -> dict[int, Tensor]:
        """Maps the ``id`` of each root and of each unstored transitive producer to the tensor."""
        return unstored_producers([root.tensor for root in self.roots], stored)


def unstored_producers(tensors: Iterable[Tensor], stored: Container[int]) -> dict[int, Tensor]:
    """Returns a dict from ``id`` to tensor for `tensors` and their transitive producers.

    Tensors whose ``id`` is in `stored`, and the producers of these tensors, are left out.
    """
    found: dict[int, Tensor] = {}
    waiting = list(tensors)
    while waiting:
        tensor = waiting.pop()
        if id(tensor) not in found and id(tensor) not in stored:
            found[id(tensor)] = tensor
            waiting += tensor.op.input_tensors
    return found


def sibling_full_reductions(
    tensor: Tensor, nest: LoopNest, stored: Container[int]
) -> Iterator[Tensor]:
    """If `tensor` is a full reduction, yields all full reductions that a nest reads.

    A full reduction is a reduction to one element. Each full reduction has its own nest, so the
    caller can compute all of them before `nest`. A full reduction that depends on another unstored
    full reduction is left out.

    Args:
        tensor: a tensor that the nest reads and that must be stored before it.
        nest: the nest.
        stored: ``id`` of the tensors that are complete before the nest.
    """
    if not _is_full_reduction(tensor):
        return
    roots = {id(root.tensor) for root in nest.roots}
    for one in nest.unstored_tensors(stored).values():
        if (
            _is_full_reduction(one)
            and id(one) not in roots
            and not any(
                _is_full_reduction(inner)
                for inner in unstored_producers([one], stored).values()
                if inner is not one
            )
        ):
            yield one


def _is_full_reduction(tensor: Tensor) -> bool:
    """Returns whether a tensor is a reduction to one element."""
    return (
        bool(tensor.op.body)
        and isinstance(tensor.op.body[tensor.value_index], Reduce)
        and not extents_of(tensor)
    )


def nests_of(
    stored: Sequence[Tensor],
    inputs: Iterable[Tensor],
    apart: Container[int] = (),
    orders: Mapping[int, Sequence[LoopChoice]] = MappingProxyType({}),
    sums: Mapping[int, Sequence[LoopChoice]] = MappingProxyType({}),
    exact: Mapping[int, Sequence[LoopChoice]] = MappingProxyType({}),
) -> tuple[LoopNest, ...]:
    """Partitions the computation of `stored` into loop nests, in execution order.

    Args:
        stored: tensors to compute and store, producers before consumers.
        inputs: tensors that are already in memory.
        apart: ``id`` of tensors that must be complete before any consumer reads them.
        orders: maps the ``id`` of a tensor to the requested loops over its data axes.
        sums: maps the ``id`` of a tensor to the requested loops over its reduction axes.
        exact: maps the ``id`` of a tensor to requested loops that cover data and reduction axes.
    """
    groups: list[list[Tensor]] = []
    place: dict[int, int] = {}
    known = {id(tensor) for tensor in inputs}
    summed: set[int] = set()
    alone = {id(tensor) for tensor in stored if id(tensor) in exact}

    def complete_before(number: int) -> set[int]:
        return known | {item for item, group in place.items() if group < number}

    for tensor in stored:
        needed = stored_inputs(tensor, {id(item) for item in stored} | known)
        for number, group in enumerate(groups):
            before = [
                place[item]
                for item in needed
                if item in place and (place[item] != number or item in apart or item in summed)
            ]
            if alone & {id(tensor), *map(id, group)}:
                continue
            if max(before, default=-1) < number and _can_share_nest(
                group, tensor, complete_before(number)
            ):
                group.append(tensor)
                place[id(tensor)] = number
                break
        else:
            place[id(tensor)] = len(groups)
            groups.append([tensor])
        if id(tensor) in alone or is_column_reduction(tensor, complete_before(place[id(tensor)])):
            summed.add(id(tensor))
    readable = set(known)
    nests = []
    for group in groups:
        loops = exact.get(id(group[0]))
        made = plan_scheduled_nest(group[0], readable, loops) if loops else None
        nests.append(made or _build_nest(group, readable, orders, sums))
        readable |= {id(tensor) for tensor in group}
    return tuple(nests)


def stored_inputs(tensor: Tensor, stored: Container[int]) -> set[int]:
    """Returns the ``id`` of each stored tensor that `tensor` reads, also via unstored stages."""
    found: set[int] = set()
    waiting: list[Operation] = [tensor.op]
    seen: set[int] = set()
    while waiting:
        op = waiting.pop()
        if id(op) in seen:
            continue
        seen.add(id(op))
        for item in op.input_tensors:
            if id(item) in stored:
                found.add(id(item))
            else:
                waiting.append(item.op)
    return found


def extents_of(tensor: Tensor) -> list[tuple[int, Poly]]:
    """Returns one pair (the axis's serial number, extent) for each data axis longer than one."""
    found = []
    for axis in tensor.op.axis:
        extent = size_poly(axis.extent)
        if extent is None:
            raise CompileError(f"a size of {tensor.name} is not a sum or product of sizes")
        if extent != ONE:
            found.append((axis.serial, extent))
    return found


def loops_of(tensor: Tensor, known: Collection[int]) -> list[tuple[int, Poly]]:
    """Returns the loops that compute a tensor, one for each axis longer than one.

    For a column reduction, the loops over the reduced axes come first.
    """
    own = extents_of(tensor)
    if not is_column_reduction(tensor, known):
        return own
    reduced = [(axis.serial, extent_of(axis)) for axis in tensor.op.reduce_axis]
    return [item for item in reduced if item[1] != ONE] + own


def is_column_reduction(tensor: Tensor, known: Collection[int]) -> bool:
    """Returns whether a tensor is a column reduction.

    A column reduction reduces leading axes, so that it can read its input row by row. If the
    element count of the result is known, this count is at most `MAX_THREAD_ROW_ELEMENTS`.
    """
    body, own = tensor.op.body[tensor.value_index], extents_of(tensor)
    if not isinstance(body, Reduce) or body.condition is not None or not own:
        return False
    count = math.prod((extent for _, extent in own), start=ONE)
    if count.constant is not None and count.constant > MAX_THREAD_ROW_ELEMENTS:
        return False
    reduced = [axis.serial for axis in body.axes if extent_of(axis) != ONE]
    environment = {
        axis.serial: Poly.variable(axis.serial) for axis in (*tensor.op.axis, *body.axes)
    }
    read = [address for _, address in accesses_of([body.source], environment, known).addresses]
    kept = {serial for serial, _ in own}
    # a value that is constant along a row, such as its mean, is computed before the row's loop
    walked = [a for a in read if a.variables & set(reduced) and a.variables & kept]
    return bool(walked) and all(_is_leading(address, reduced, own) for address in walked)


def _is_leading(address: Poly, reduced: Sequence[int], own: Sequence[tuple[int, Poly]]) -> bool:
    """Returns whether the strides of an address are those of a column reduction.

    The last data axis must have stride 1. Each reduced axis must have a larger stride than every
    data axis.
    """
    if address.coefficient(own[-1][0]) != ONE:
        return False
    steps = [address.coefficient(serial) for serial in reduced]
    kept = [address.coefficient(serial) for serial, _ in own]
    return all(
        outer is not None and inner is not None and _is_longer(outer, inner)
        for outer in steps
        for inner in kept
    )


def _is_longer(outer: Poly, inner: Poly) -> bool:
    if outer.constant is not None and inner.constant is not None:
        return outer.constant == 0 or outer.constant > inner.constant
    return max((len(m) for m, _ in outer.terms), default=0) > max(
        (len(m) for m, _ in inner.terms), default=0
    )


def _can_share_nest(group: Sequence[Tensor], tensor: Tensor, known: set[int]) -> bool:
    """Returns whether the nest that computes the tensors `group` can also compute `tensor`."""
    main = max(group, key=lambda item: len(loops_of(item, known)))
    one, other = ([size for _, size in loops_of(item, known)] for item in (main, tensor))
    short, long = sorted((one, other), key=len)
    if not short or long[: len(short)] != short:
        return False
    if len(short) == len(long):
        return _is_along_reduced_axis([main], known) == _is_along_reduced_axis([tensor], known)
    smaller, larger = (tensor, main) if len(other) < len(one) else (main, tensor)
    return (
        not is_column_reduction(smaller, known)
        and _has_reduction(smaller)
        and _has_common_strides(smaller, larger, known)
    )


def _has_reduction(tensor: Tensor) -> bool:
    """Returns whether a tensor is a reduction or depends on one, directly or indirectly."""
    waiting, seen = [tensor.op], set()
    while waiting:
        op = waiting.pop()
        if id(op) in seen:
            continue
        seen.add(id(op))
        if any(isinstance(body, Reduce) for body in op.body):
            return True
        waiting.extend(item.op for item in op.input_tensors if item.op.body)
    return False


def _accesses(tensor: Tensor, known: Iterable[int]) -> Accesses:
    environment = {axis.serial: Poly.variable(axis.serial) for axis in tensor.op.axis}
    return accesses_of([tensor.op.body[tensor.value_index]], environment, known)


def _has_common_strides(smaller: Tensor, larger: Tensor, known: set[int]) -> bool:
    """Returns whether both tensors read some input with equal strides along their common axes."""
    axes = list(zip(extents_of(smaller), extents_of(larger), strict=False))
    small, large = _accesses(smaller, known), _accesses(larger, known)
    steps = {
        (id(tensor), tuple(address.coefficient(pair[1][0]) for pair in axes))
        for tensor, address in large.addresses
    }
    return any(
        (id(tensor), tuple(address.coefficient(pair[0][0]) for pair in axes)) in steps
        for tensor, address in small.addresses
    )


def _is_along_reduced_axis(group: Sequence[Tensor], known: set[int]) -> bool:
    """Returns whether the tensors `group` should be vectorized along a reduced axis.

    Vectorization along a reduced axis is chosen in two cases: an input is contiguous along this
    axis but strided along the last loop, or each tensor of `group` has only one element.
    """
    for tensor in group:
        own = extents_of(tensor)
        if not own or is_column_reduction(tensor, known):
            continue
        last, axes = own[-1][0], {axis.serial for axis in tensor.op.axis}
        for _, address in _accesses(tensor, known).addresses:
            step = address.coefficient(last)
            if step is None or step in (ZERO, ONE):
                continue
            if any(address.coefficient(serial) == ONE for serial in address.variables - axes):
                return True
    return not any(extents_of(tensor) for tensor in group)


def _build_nest(
    group: Sequence[Tensor],
    readable: set[int],
    orders: Mapping[int, Sequence[LoopChoice]],
    sums: Mapping[int, Sequence[LoopChoice]],
) -> LoopNest:
    main = max(group, key=lambda item: len(loops_of(item, readable)))
    axes = loops_of(main, readable)
    found = Accesses()
    aligned: list[tuple[Tensor, dict[int, Poly]]] = []
    for tensor in group:
        columns = is_column_reduction(tensor, readable)
        body = tensor.op.body[tensor.value_index]
        all_axes = (*tensor.op.axis, *(tensor.op.reduce_axis if columns else ()))
        environment = {axis.serial: ZERO for axis in all_axes}
        for (serial, _), (loop, _) in zip(loops_of(tensor, readable), axes, strict=False):
            environment[serial] = Poly.variable(loop)
        aligned.append((tensor, environment))
        read = body.source if columns and isinstance(body, Reduce) else body
        one = accesses_of([read], environment, readable)
        found.addresses += one.addresses
        found.unmergeable |= one.unmergeable
        found.addresses.append((tensor, _own_address(tensor, environment)))
    full = [tensor for tensor in group if len(loops_of(tensor, readable)) == len(axes)]
    along = _is_along_reduced_axis(full, readable)
    columns = any(is_column_reduction(tensor, readable) for tensor in group)
    plan = plan_natural_order(axes, found)
    transposed = not along and not columns and _is_transposed(found, plan)
    asker = next((item for item in full if id(item) in orders), None) if axes else None
    if asker is not None:
        choices = _translate_to_nest_loops(orders[id(asker)], asker, axes, readable)
        if columns:
            plan = refuse_order(
                plan, choices, "sums over outer loops go through their rows in order"
            )
        elif transposed:
            plan = refuse_order(plan, choices, "a transpose goes through tiles of its own")
        elif len(full) < len(group):
            plan = refuse_order(plan, choices, "results with fewer axes are computed in its loops")
        else:
            plan = plan_requested_order(axes, found, choices, vector=not along)
    summer = next((item for item in full if columns and id(item) in sums), None)
    over_sums = None
    if summer is not None:
        plan, over_sums = _order_sums_first(plan, axes, sums[id(summer)], summer, found)
    assert plan.merged is not None
    collapsed = {serial: ZERO for serial, index in plan.merged.items() if serial != index}
    roots = []
    for tensor, environment in aligned:
        inner = {serial: index.substitute(collapsed) for serial, index in environment.items()}
        indices = tuple(inner[axis.serial] for axis in tensor.op.axis)
        roots.append(Root(tensor, indices, inner, is_column_reduction(tensor, readable)))
    # roots of outer levels come first, so that their values are complete when the inner loop begins
    roots.sort(key=lambda root: len(extents_of(root.tensor)))
    runs = {
        serial: plan.merged[loop]
        for tensor in group
        for (serial, _), (loop, _) in zip(loops_of(tensor, readable), axes, strict=False)
    }
    return LoopNest(
        tuple(roots),
        plan.loops,
        plan.levels,
        along,
        transposed,
        plan.shared,
        plan.grain,
        asker,
        runs,
        plan.refusals,
        over_sums,
    )


def plan_scheduled_nest(
    tensor: Tensor, readable: set[int], choices: Sequence[LoopChoice], *, whatever: bool = False
) -> LoopNest | None:
    """Builds the nest of one result with exactly the requested loops.

    Returns None if the loops do not cover each axis completely, if there is no loop over a data
    axis, or if no loop can be vectorized.

    Args:
        tensor: the result that the nest computes.
        readable: ``id`` of the tensors in memory.
        choices: the requested loops. They identify axes by serial number.
        whatever: whether to try one loop for each axis if the requested loops are unusable.
    """
    body = tensor.op.body[tensor.value_index]
    summed = [
        (axis.serial, extent_of(axis)) for axis in (body.axes if isinstance(body, Reduce) else ())
    ]
    axes = [(axis.serial, extent_of(axis)) for axis in tensor.op.axis]
    environment = {
        serial: ZERO if extent == ONE else Poly.variable(serial)
        for serial, extent in (*axes, *summed)
    }
    found = accesses_of([body.source if isinstance(body, Reduce) else body], environment, readable)
    made = plan_scheduled_loops(axes, summed, choices, found)
    if made is None and whatever:
        plain = [LoopChoice(((serial, 1),)) for serial, _ in (*axes, *summed)]
        made = plan_scheduled_loops(axes, summed, plain, found)
    if made is None:
        return None
    plan, exact = made
    indices = tuple(environment[axis.serial] for axis in tensor.op.axis)
    return LoopNest(
        (Root(tensor, indices, environment),),
        plan.loops,
        plan.levels,
        exact.vector >= exact.inside,
        shared=plan.shared,
        grain=plan.grain,
        asker=tensor,
        runs=plan.merged or {},
        refusals=plan.refusals,
        exact=exact,
    )


def _order_sums_first(
    plan: LoopPlan,
    axes: Sequence[tuple[int, Poly]],
    choices: Sequence[LoopChoice],
    summer: Tensor,
    found: Accesses,
) -> tuple[LoopPlan, ReductionLoops]:
    """Plans the requested reduction loops of a column reduction, outside its data loops.

    Returns a pair: a copy of `plan` to which the reduction loops are added, and the plan of the
    reduction loops alone.
    """
    own = extents_of(summer)
    inner = [*axes[len(axes) - len(own) :]]
    long = [axis.serial for axis in summer.op.reduce_axis if extent_of(axis) != ONE]
    outer = [*axes[: len(long)]]
    serials = {mine: loop for mine, (loop, _) in zip(long, outer, strict=True)}
    there = [
        replace(
            choice,
            parts=tuple((serials.get(serial, serial), step) for serial, step in choice.parts),
        )
        for choice in choices
    ]
    sums, rest = plan_requested_reduction(there, outer, found), plan_natural_order(inner, found)
    assert rest.merged is not None
    first = sums.levels[0].parts
    return replace(
        plan,
        loops=(*sums.loops, *rest.loops),
        levels=(*sums.levels, *rest.levels),
        grain=first[0][1] if len(first) == 1 else 0,
        merged={**sums.runs, **rest.merged},
    ), sums


def _translate_to_nest_loops(
    choices: Sequence[LoopChoice], asker: Tensor, axes: Sequence[tuple[int, Poly]], known: set[int]
) -> list[LoopChoice]:
    """Translates axis positions in requested loops to serial numbers of the nest's loops.

    An axis of extent 1 has no loop in the nest and is named by its own serial number.
    """
    own = {
        serial: loop for (serial, _), (loop, _) in zip(loops_of(asker, known), axes, strict=True)
    }
    serials = [own.get(axis.serial, axis.serial) for axis in asker.op.axis]
    return [
        replace(choice, parts=tuple((serials[place], step) for place, step in choice.parts))
        for choice in choices
        if all(place < len(serials) for place, _ in choice.parts)
    ]


def _is_transposed(found: Accesses, plan: LoopPlan) -> bool:
    if len(plan.loops) < 2:
        return False
    outer, inner = plan.loops[-2][0], plan.loops[-1][0]
    return any(
        address.coefficient(outer) == ONE and address.coefficient(inner) not in (ZERO, ONE)
        for _, address in found.addresses
    )


def _own_address(tensor: Tensor, environment: Mapping[int, Poly]) -> Poly:
    address, step = ZERO, ONE
    for axis in reversed(tensor.op.axis):
        index, extent = environment[axis.serial], size_poly(axis.extent)
        assert extent is not None
        address, step = address + index * step, step * extent
    return address


def may_overwrite(
    source: Tensor, target: Tensor, nests: Sequence[LoopNest], known: set[int]
) -> bool:
    """Returns whether `target` can overwrite `source` in memory.

    Each element of `target` must be written after the last read of `source` at the same position.
    Therefore, the nest that writes `target` may read `source` in two ways: at the position that is
    written, or in a reduction over the same row. Such a reduction is complete before the row is
    written. Later nests must not read `source`.
    """
    readable, written = set(known), False
    for nest in nests:
        own = next((root for root in nest.roots if root.tensor is target), None)
        if own is not None and (own.columns or nest.along or nest.transposed or nest.is_requested):
            return False
        for root in nest.roots:
            body = root.tensor.op.body[root.tensor.value_index]
            read = body.source if root.columns and isinstance(body, Reduce) else body
            for tensor, address in accesses_of([read], root.axes, readable).addresses:
                if tensor is not source:
                    continue
                if written or (own is not None and not _is_safe_to_overwrite(address, own, nest)):
                    return False
        written = written or own is not None
        readable |= {id(root.tensor) for root in nest.roots}
    return written


def _is_safe_to_overwrite(address: Poly, own: Root, nest: LoopNest) -> bool:
    place = _own_address(own.tensor, own.axes)
    if address == place:
        return True
    *outer, (last, _) = nest.loops
    return (
        bool(outer)
        and address.coefficient(last) == ZERO
        and all(address.coefficient(serial) == place.coefficient(serial) for serial, _ in outer)
    )


SLOW_FUNCTIONS = frozenset(
    "exp exp2 expm1 log log2 log10 log1p tanh sigmoid erf erfc ndtr ndtr_tanh tanh_softplus "
    "sin cos tan asin acos atan atan2 sinh cosh asinh acosh atanh pow".split()
)
"""Functions that take more time than a load from the L1 cache."""


MIN_BUFFERED_OPERATIONS = 4
"""Minimum number of operations that take more time than one store and one load in the L1 cache."""
SLOW_FUNCTION_COST = 10
"""Number of simple operations to which one slow function is equivalent."""


def stages_worth_buffering(outputs: Sequence[Tensor], stored: Container[int]) -> frozenset[int]:
    """Returns the ``id`` of unstored stages that are expensive and have more than one consumer."""
    users = consumers_of(outputs)
    operations: dict[int, int] = {}
    found = set()
    for op in stages_of(outputs):
        for tensor in op.outputs:
            if id(tensor) in stored or not op.body:
                continue
            body = op.body[tensor.value_index]
            if isinstance(body, Reduce):
                continue
            before = sum(operations.get(id(item), 0) for item in op.input_tensors)
            operations[id(tensor)] = min(operation_count(body) + before, MIN_BUFFERED_OPERATIONS)
            if (
                operations[id(tensor)] == MIN_BUFFERED_OPERATIONS
                and len(users.get(id(tensor), ())) > 1
            ):
                found.add(id(tensor))
    return frozenset(found)


def operation_count(node: Expr) -> int:
    """Counts the operations of an expression.

    A slow function counts as `SLOW_FUNCTION_COST`. The operations of stages that the expression
    reads are not counted.
    """
    if isinstance(node, Read) or not node.children:
        return 0
    own = SLOW_FUNCTION_COST if isinstance(node, Call) and node.name in SLOW_FUNCTIONS else 1
    return own + sum(map(operation_count, node.children))


COSTLY_FUNCTIONS = SLOW_FUNCTIONS | {"sqrt", "rsqrt", "rec"}
"""Functions that take more time than a repeated load from memory."""


def slow_stages(outputs: Sequence[Tensor], stored: Container[int]) -> frozenset[int]:
    """Returns the ``id`` of unstored stages that contain a costly function or a division."""
    return frozenset(
        id(tensor)
        for op in stages_of(outputs)
        for tensor in op.outputs
        if op.body and id(tensor) not in stored and _is_slow(op.body[tensor.value_index])
    )


def _is_slow(body: Expr) -> bool:
    return not isinstance(body, Reduce) and any(
        (isinstance(node, Call) and node.name in COSTLY_FUNCTIONS)
        or (isinstance(node, Binary) and node.op == "div")
        for node in walk(body)
    )
