"""Lowers reductions: along a row with several accumulators, lane by lane, or over outer loops."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.loop_headers import open_levels, parallel_trip_count, range_of
from tbe_impl.codegen.loop_levels import (
    THREAD_RANGE,
    Index,
    MissingBuffer,
    TensorBuffer,
    Value,
)
from tbe_impl.codegen.planning.access_analysis import accesses_of, extent_of
from tbe_impl.codegen.planning.partition import operation_count
from tbe_impl.codegen.planning.polynomials import ONE, ZERO, Poly
from tbe_impl.codegen.planning.reduction_loops import (
    ReductionLoops,
    plan_natural_reduction,
    plan_requested_reduction,
)
from tbe_impl.codegen.row_buffers import CACHE_LINE_BYTES, MAX_ROW_STEPS
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Const, Expr, Reduce, Select, reads
from tbe_impl.dsl.tensor import Tensor

if TYPE_CHECKING:
    from tbe_impl.codegen.lowering import Lowering


MIN_ALIGNED_ROW = 512
"""Minimum number of elements of a row for which loop peeling to a cache line is profitable."""

LONG_ROW = 64
"""Minimum number of elements of a long row."""

WIDE_SUM = 256
"""Minimum number of elements of a float32 sum that accumulates in float64 and rounds once.

In a sum along a row with several accumulators, only the combination of the accumulators uses
float64.
"""

LONG_SUM = 1 << 14
"""Minimum number of elements of a row sum whose accumulators are themselves float64."""

LONG_STEP = 24
"""Minimum number of operations that make a step longer than the latency of its addition."""


def lower_reduction(
    writer: Lowering, tensor: Tensor, body: Reduce, environments: Sequence[Mapping[int, Index]]
) -> list[Value]:
    """Lowers a reduction.

    Reduces lane by lane when the lanes are different elements of the result, else along a row.

    Args:
        writer: lowering of the nest.
        tensor, body: the reduction.
        environments: for each jammed iteration, a map from the serial number of an axis to its
            index. The maps differ only in the iteration.

    Returns:
        One value for each environment.
    """
    environment = environments[0]
    if any(isinstance(item, Value) for item in environment.values()):
        raise MissingBuffer(tensor)
    used = frozenset(
        serial
        for item in environment.values()
        if isinstance(item, Poly)
        for serial in item.variables
    )
    depth = writer.depth_of(used)
    if depth == 0 or not writer.variables_down_to(depth) <= used:
        # the reduction does not depend on some enclosing loop or on the thread partition, so
        # each iteration or thread would recompute it
        raise MissingBuffer(tensor)
    inners, loops, are_plain = _declare_reduction_loops(writer, tensor, environments)
    saved_chain, saved_vector = writer.chain, writer.vector
    saved_filling = writer.filling
    writer.chain = writer.chain[: depth + 1]
    try:
        with writer.bind_sources(
            [(contribution(body), inner) for inner in inners], are_plain=are_plain
        ):
            if writer.vector is not None and writer.vector in writer.variables_down_to(depth):
                if id(tensor) not in writer.buffers and _has_row_per_lane(
                    writer, body, inners[0], loops
                ):
                    raise MissingBuffer(tensor)
                return _reduce_lanewise(writer, body, inners, loops, depth)
            writer.vector = None
            return _reduce_along_row(writer, body, inners, loops, depth)
    finally:
        writer.chain, writer.vector = saved_chain, saved_vector
        writer.filling = saved_filling


def _declare_reduction_loops(
    writer: Lowering, tensor: Tensor, environments: Sequence[Mapping[int, Index]]
) -> tuple[list[dict[int, Index]], ReductionLoops, bool]:
    """Declares the loops of a reduction.

    Returns:
        For each environment a map from the serial number of an axis to its index; the loops;
        whether the reads require no index-set splitting.
    """
    body, environment = reduce_of(tensor), environments[0]
    axes = [(axis.serial, extent_of(axis)) for axis in body.axes]
    known = {key: item if isinstance(item, Poly) else None for key, item in environment.items()}
    known |= {serial: Poly.variable(serial) for serial, _ in axes}
    found = accesses_of([contribution(body)], known, writer.buffers)
    are_plain = found.is_split_free
    # in a tile, consecutive axes are not contiguous and cannot merge
    found.unmergeable |= {
        item
        for t, address in found.addresses
        if writer.buffers[id(t)].origin
        for item in address.variables
    }
    choices = writer.sums.get(id(tensor))
    loops = (
        plan_requested_reduction(choices, axes, found)
        if choices
        else plan_natural_reduction(axes, found)
    )
    if choices:
        writer.summed[id(tensor)] = loops
    for serial, extent in loops.loops:
        writer.declare_loop(serial, extent)
    own = loops.indices(axes)
    return [{**one, **own} for one in environments], loops, are_plain


def reduce_of(tensor: Tensor) -> Reduce:
    """Returns the body of a reduction."""
    body = tensor.op.body[tensor.value_index]
    assert isinstance(body, Reduce)
    return body


def _has_row_per_lane(
    writer: Lowering, body: Reduce, inner: Mapping[int, Index], loops: ReductionLoops
) -> bool:
    """Returns whether each lane reads a long row of its own; reducing along rows is then faster."""
    assert writer.vector is not None
    ((last, _),) = loops.levels[loops.vector].parts
    length = writer.extents[last].constant
    if length is None or length < LONG_ROW:
        return False
    known = {key: item if isinstance(item, Poly) else None for key, item in inner.items()}
    found = accesses_of([contribution(body)], known, writer.buffers)
    return any(
        address.coefficient(last) == ONE and address.coefficient(writer.vector) not in (ZERO, ONE)
        for _, address in found.addresses
    )


def _reduce_lanewise(
    writer: Lowering,
    body: Reduce,
    inners: Sequence[Mapping[int, Index]],
    loops: ReductionLoops,
    depth: int,
) -> list[Value]:
    tag = vectors.tag_of(body.dtype)
    is_wide = is_wide_sum(body, [extent for _, extent in loops.loops])
    names = [_declare_accumulator(writer, body, tag, depth, is_wide=is_wide) for _ in inners]

    def step() -> None:
        for name, inner in _iterate_jammed_steps(writer, names, inners):
            value = writer.lower_expression(contribution(body), inner).expr
            _emit_combination(writer, body, name, value)

    open_levels(writer, loops.levels, step)
    if is_wide:
        return [writer.define(ir.call("wide_rounded", name, kind=tag), depth) for name in names]
    return [Value(name, depth) for name in names]


def _reduce_along_row(
    writer: Lowering,
    body: Reduce,
    inners: Sequence[Mapping[int, Index]],
    loops: ReductionLoops,
    depth: int,
    *,
    shared: bool = False,
) -> list[Value]:
    tag = vectors.tag_of(body.dtype)
    outer, inmost = loops.levels[: loops.vector], loops.levels[loops.vector + 1 :]
    ((serial, _),) = loops.levels[loops.vector].parts
    number = 1 if _is_compute_bound(writer, body, serial) else writer.accumulators
    if depth:
        for _, inner in _iterate_jammed_steps(writer, inners, inners):
            writer.hoist_reductions(
                contribution(body), inner, frozenset(item for item, _ in loops.loops)
            )
    is_wide = is_wide_sum(body, [extent for _, extent in loops.loops], LONG_SUM)
    rows = [
        [_declare_accumulator(writer, body, tag, depth, is_wide=is_wide) for _ in range(number)]
        for _ in inners
    ]

    def step() -> None:
        for names, inner in _iterate_jammed_steps(writer, rows, inners):
            value = writer.lower_expression(contribution(body), inner).expr
            _emit_combination(writer, body, names[0], value)

    closed = frozenset(item for level in loops.levels[loops.vector :] for item, _ in level.parts)

    def over_neighbours() -> None:
        if outer:
            # the first loop over a row fills the row buffers that later loops load
            for _, inner in _iterate_jammed_steps(writer, inners, inners):
                writer.hoist_reductions(contribution(body), inner, closed)
        if not inmost:
            writer.filling = serial
        if shared and not outer:
            writer.parts[serial] = THREAD_RANGE
        writer.emit_vector_loop(
            serial,
            lambda: open_levels(writer, inmost, step),
            covered=range_of(writer, serial),
            unroll=number,
            head=_load_peel_count(writer, body, inners[0], serial),
            accumulators=tuple(tuple(one.name for one in names) for names in rows),
        )

    open_levels(writer, outer, over_neighbours, shared=shared)
    op = "wide_sum" if is_wide_sum(body, [writer.extents[serial]]) else body.op
    if is_wide:
        return [
            writer.define(
                ir.Splat(
                    tag, _rounded_sum(ir.call("wide_lanes", _combine_wide(names), kind="f64"))
                ),
                depth,
            )
            for names in rows
        ]
    return [
        writer.define(ir.Splat(tag, _reduce_across_lanes(op, tag, names)), depth) for names in rows
    ]


def is_wide_sum(body: Reduce, extents: Sequence[Poly], least: int = WIDE_SUM) -> bool:
    """Returns whether a reduction is a float32 sum over `least` steps or more.

    Such a sum is accumulated in float64 and then rounded. Returns True for a float32 sum if the
    number of steps is unknown.
    """
    if body.op != "sum" or vectors.tag_of(body.dtype) != "f32":
        return False
    lengths = [extent.constant for extent in extents]
    known = [length for length in lengths if length is not None]
    return len(known) < len(lengths) or math.prod(known) >= least


def _combine_wide(accumulators: Sequence[ir.Expr]) -> ir.Expr:
    return functools.reduce(
        lambda one, other: ir.call("wide_both", one, other, kind=ir.WIDE), accumulators
    )


def _rounded_sum(lanes: ir.Expr) -> ir.Expr:
    """Returns the sum of float64 lanes, rounded to float32."""
    return ir.Cast("float", ir.call("sum", lanes, kind="double", prefix="f64"))


def _reduce_across_lanes(op: str, tag: str, accumulators: Sequence[ir.Expr]) -> ir.Expr:
    """Reduces the accumulators across lanes to one scalar."""
    if op == "wide_sum":
        wide = [vectors.convert(one, "f64") for one in accumulators]
        return _rounded_sum(
            functools.reduce(lambda one, other: ir.Op("add", (one, other), "f64"), wide)
        )
    total, *others = accumulators
    for other in others:
        total = vectors.combine(op, tag, total, other)
    if tag == vectors.MASK:
        op = {"sum": "min", "max": "min", "prod": "max", "min": "max"}[op]
    return ir.call(op, total, kind="scalar", prefix=row_prefix(tag))


def _load_peel_count(
    writer: Lowering, body: Reduce, inner: Mapping[int, Index], serial: int
) -> ir.Expr | None:
    """Returns how many steps a row loop peels to reach the start of a cache line.

    Returns None if the number is unknown or peeling is not profitable. The number never depends on
    the run-time address, so that sums always have the same order of additions.
    """
    length = writer.extents[serial].constant
    if not writer.options.offset or length is None or length < MIN_ALIGNED_ROW:
        return None
    known = {key: item if isinstance(item, Poly) else None for key, item in inner.items()}
    found = accesses_of([contribution(body)], known, writer.buffers)
    sizes = {
        dtype_of(tensor.dtype).bytes
        for tensor, address in found.addresses
        if address.coefficient(serial) == ONE
    }
    if len(sizes) != 1:
        return None
    (size,) = sizes
    if length * size % CACHE_LINE_BYTES:
        return None
    return ir.op("mod", ir.Int((CACHE_LINE_BYTES - writer.options.offset) // size), ir.LANES)


def _is_compute_bound(writer: Lowering, body: Reduce, serial: int) -> bool:
    """Returns whether a step of a row reduction hides the latency of its addition.

    One accumulator then suffices. Returns False for long rows, because with several accumulators
    each accumulator adds fewer values and loses less precision.
    """
    length = writer.extents[serial].constant
    if length is None or length > MAX_ROW_STEPS:
        return False
    there = {key for scope in writer.chain for key, *_ in scope.rows} | writer.buffers.keys()
    waiting, operations = [contribution(body)], 0
    while waiting and operations < LONG_STEP:
        expression = waiting.pop()
        operations += operation_count(expression)
        for tensor in {id(one.tensor): one.tensor for one in reads(expression)}.values():
            made = tensor.op.body
            if made and id(tensor) not in there and not isinstance(made[0], Reduce):
                there.add(id(tensor))
                waiting.append(made[tensor.value_index])
    return operations >= LONG_STEP


Item = TypeVar("Item")


def _iterate_jammed_steps(
    writer: Lowering, items: Sequence[Item], inners: Sequence[Mapping[int, Index]]
) -> Iterator[tuple[Item, Mapping[int, Index]]]:
    """Enters each jammed iteration in turn, and yields its element of `items` and of `inners`."""
    if len(inners) == 1:
        yield items[0], inners[0]
        return
    for step in writer.jammed_steps():
        yield items[step], inners[step]


def _declare_accumulator(
    writer: Lowering, body: Reduce, tag: str, depth: int, *, is_wide: bool
) -> ir.Var:
    name, kind = f"a{next(writer.serial)}", ir.WIDE if is_wide else tag
    start = ir.Zero(ir.WIDE) if is_wide else vectors.literal(identity_of(body), tag)
    writer.chain[depth].body.append(ir.Let(name, kind, start, is_mutable=True))
    return ir.Var(name, kind)


def _emit_combination(writer: Lowering, body: Reduce, accumulator: ir.Var, value: ir.Expr) -> None:
    """Combines an accumulator with one more value."""
    is_float = accumulator.kind in ("f32", "f64")
    function = writer.short.get(id(body), "") if is_float else ""
    writer.chain[-1].body.append(
        ir.Reduce(accumulator, body.op, value, function, stage=writer.stage_number)
    )


def contribution(body: Reduce) -> Expr:
    """Returns the operand of each step of a reduction.

    Where the reduction's condition is false, the operand is the identity element.
    """
    if body.condition is None:
        return body.source
    return Select(body.condition, body.source, Const(identity_of(body), body.dtype))


def lower_inner_reduction(
    writer: Lowering, body: Reduce, axes: Mapping[int, Index], loops: ReductionLoops, *, lanes: bool
) -> Value:
    """Lowers a reduction over the loops `loops`: lane by lane if `lanes` is true, else by row."""
    depth = len(writer.chain) - 1
    if lanes:
        return _reduce_lanewise(writer, body, [axes], loops, depth)[0]
    return _reduce_along_row(writer, body, [axes], loops, depth)[0]


def lower_partial_reduction(
    writer: Lowering, tensor: Tensor, environment: Mapping[int, Index]
) -> tuple[Value, ir.Expr, int]:
    """Lowers the part of a reduction that one thread computes.

    The outermost loop runs from the C variable ``begin`` to ``end``.

    Returns:
        The partial result, the trip count of the outermost loop, and the number of
        consecutive iterations of this loop that stay on one thread.
    """
    (inner,), loops, are_plain = _declare_reduction_loops(writer, tensor, [environment])
    body, first = reduce_of(tensor), loops.levels[0]
    steps = parallel_trip_count(writer, first)
    grain = max(64, first.parts[0][1]) if len(first.parts) == 1 else 1
    with writer.bind_sources([(contribution(body), inner)], are_plain=are_plain):
        return _reduce_along_row(writer, body, [inner], loops, 0, shared=True)[0], steps, grain


def accumulate(
    writer: Lowering, tensor: Tensor, axes: Mapping[int, Poly], place: TensorBuffer
) -> None:
    """Accumulates an element of a column reduction into its row of partial sums.

    Jammed iterations are added in order, so that jamming does not change the sum. If the row has a
    wider dtype than the result, the jammed iterations are summed before they are added to the row.
    """
    body = reduce_of(tensor)
    values: dict[ir.Index, list[ir.Expr]] = {}
    for _ in writer.jammed_steps():
        own = {serial: writer.shift_index(index) for serial, index in axes.items()}
        index = writer.address(place, [own[axis.serial] for axis in tensor.op.axis])
        values.setdefault(writer.index_expr(index), []).append(
            writer.lower_expression(body.source, own).expr
        )
    for at, added in values.items():
        kind, tag, address = row_prefix(added[0].kind), added[0].kind, place.pointer(at)
        if place.dtype == "float64" and tag == "f32":
            total = _combine_pairwise(body.op, tag, added)
            writer.chain[-1].body.append(ir.Accumulate(address, total))
            continue
        new: ir.Expr = ir.Load(tag, kind, address)
        for value in added:
            new = vectors.combine(body.op, tag, new, value)
        writer.chain[-1].body.append(ir.Store(kind, address, new))


def _combine_pairwise(op: str, tag: str, values: Sequence[ir.Expr]) -> ir.Expr:
    """Combines values as a balanced tree, which minimises the number of roundings of each value."""
    if len(values) == 1:
        return values[0]
    middle = len(values) // 2
    return vectors.combine(
        op, tag, *(_combine_pairwise(op, tag, half) for half in (values[:middle], values[middle:]))
    )


def row_prefix(tag: str) -> str:
    """Returns the prefix of the C functions that load and store rows of vector kind `tag`."""
    return "i32" if tag == vectors.MASK else tag


def identity_of(body: Reduce) -> float | int | bool:
    """Returns the identity element of a reduction."""
    return vectors.identity(body.op, body.dtype)
