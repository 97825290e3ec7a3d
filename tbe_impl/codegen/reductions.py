"""Lowers reductions: along a row with several accumulators, lane by lane, or over outer loops."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.loop_headers import open_levels, parallel_trip_count, restrict_to_thread
from tbe_impl.codegen.loop_levels import (
    Index,
    MissingBuffer,
    TensorBuffer,
    Value,
    polys_of,
)
from tbe_impl.codegen.passes.row_buffers import CACHE_LINE_BYTES
from tbe_impl.codegen.planning.access_analysis import accesses_of, extent_of
from tbe_impl.codegen.planning.polynomials import ONE, ZERO, Poly
from tbe_impl.codegen.planning.reduction_loops import (
    ReductionLoops,
    plan_natural_reduction,
    plan_requested_reduction,
)
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Const, Expr, Reduce, Select
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


def lower_reduction(
    writer: Lowering, tensor: Tensor, body: Reduce, environment: Mapping[int, Index]
) -> Value:
    """Lowers a reduction.

    If the lanes of a vector are different elements of the result, the reduction runs lane by lane.
    Otherwise, the reduction runs along a row.

    Args:
        writer: lowering of the nest.
        tensor, body: the result of the reduction, and its expression.
        environment: maps the serial number (`IterVar.serial`) of an axis to its index.
    """
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
    inner, loops, are_plain = _declare_reduction_loops(writer, tensor, environment)
    saved_chain, saved_vector = writer.chain, writer.vector
    writer.chain = writer.chain[: depth + 1]
    try:
        with writer.bind_sources([(contribution(body), inner)], are_plain=are_plain):
            if writer.vector is not None and writer.vector in writer.variables_down_to(depth):
                if id(tensor) not in writer.buffers and _has_row_per_lane(
                    writer, body, inner, loops
                ):
                    raise MissingBuffer(tensor)
                return _reduce_lanewise(writer, body, inner, loops, depth)
            writer.vector = None
            return _reduce_along_row(writer, body, inner, loops, depth)
    finally:
        writer.chain, writer.vector = saved_chain, saved_vector


def _declare_reduction_loops(
    writer: Lowering, tensor: Tensor, environment: Mapping[int, Index]
) -> tuple[dict[int, Index], ReductionLoops, bool]:
    """Declares the loops of a reduction.

    Returns:
        A triple: a map from the serial number of an axis to its index, the loops, and whether the
        reads require no index-set splitting.
    """
    body = reduce_of(tensor)
    axes = [(axis.serial, extent_of(axis)) for axis in body.axes]
    known = polys_of(environment) | {serial: Poly.variable(serial) for serial, _ in axes}
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
    return {**environment, **loops.indices(axes)}, loops, are_plain


def reduce_of(tensor: Tensor) -> Reduce:
    """Returns the body of a reduction."""
    body = tensor.op.body[tensor.value_index]
    assert isinstance(body, Reduce)
    return body


def _has_row_per_lane(
    writer: Lowering, body: Reduce, inner: Mapping[int, Index], loops: ReductionLoops
) -> bool:
    """Returns whether each lane reads its own long row.

    If so, a reduction along rows is faster.
    """
    assert writer.vector is not None
    ((last, _),) = loops.levels[loops.vector].parts
    length = writer.extents[last].constant
    if length is None or length < LONG_ROW:
        return False
    found = accesses_of([contribution(body)], polys_of(inner), writer.buffers)
    return any(
        address.coefficient(last) == ONE and address.coefficient(writer.vector) not in (ZERO, ONE)
        for _, address in found.addresses
    )


def _reduce_lanewise(
    writer: Lowering,
    body: Reduce,
    inner: Mapping[int, Index],
    loops: ReductionLoops,
    depth: int,
) -> Value:
    tag = vectors.tag_of(body.dtype)
    is_wide = is_wide_sum(body, [extent for _, extent in loops.loops])
    total = _declare_accumulator(writer, body, tag, depth, is_wide=is_wide)
    open_levels(writer, loops.levels, lambda: _emit_combination(writer, body, total, inner))
    if is_wide:
        return writer.define(ir.call("wide_rounded", total, kind=tag), depth)
    return Value(total, depth, depth)


def _reduce_along_row(
    writer: Lowering,
    body: Reduce,
    inner: Mapping[int, Index],
    loops: ReductionLoops,
    depth: int,
    *,
    shared: bool = False,
) -> Value:
    tag = vectors.tag_of(body.dtype)
    outer, inmost = loops.levels[: loops.vector], loops.levels[loops.vector + 1 :]
    ((serial, _),) = loops.levels[loops.vector].parts
    if depth:
        writer.hoist_reductions(
            contribution(body), inner, frozenset(item for item, _ in loops.loops)
        )
    is_wide = is_wide_sum(body, [extent for _, extent in loops.loops], LONG_SUM)
    total = _declare_accumulator(writer, body, tag, depth, is_wide=is_wide)
    closed = frozenset(item for level in loops.levels[loops.vector :] for item, _ in level.parts)

    def over_neighbours() -> None:
        if outer:
            # the first loop over a row fills the row buffers that later loops load
            writer.hoist_reductions(contribution(body), inner, closed)
        writer.emit_vector_loop(
            serial,
            lambda: open_levels(
                writer, inmost, lambda: _emit_combination(writer, body, total, inner)
            ),
            unroll=writer.options.accumulators,
            head=_load_peel_count(writer, body, inner, serial),
            accumulators=((total.name,),),
        )

    open_levels(writer, outer, over_neighbours, shared=shared)
    op = "wide_sum" if is_wide_sum(body, [writer.extents[serial]]) else body.op
    value: ir.Expr
    if is_wide:
        value = _rounded_sum(ir.call("wide_lanes", total, kind="f64"))
    elif op == "wide_sum":
        value = _rounded_sum(vectors.convert(total, "f64"))
    else:
        if tag == vectors.MASK:
            op = {"sum": "min", "max": "min", "prod": "max", "min": "max"}[op]
        value = ir.call(op, total, kind="scalar", prefix=row_prefix(tag))
    return writer.define(ir.Splat(tag, value), depth)


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


def _rounded_sum(lanes: ir.Expr) -> ir.Expr:
    """Returns the sum of float64 lanes, rounded to float32."""
    return ir.Cast("float", ir.call("sum", lanes, kind="double", prefix="f64"))


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
    found = accesses_of([contribution(body)], polys_of(inner), writer.buffers)
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


def _declare_accumulator(
    writer: Lowering, body: Reduce, tag: str, depth: int, *, is_wide: bool
) -> ir.Var:
    name, kind = f"a{next(writer.serial)}", ir.WIDE if is_wide else tag
    start = ir.Zero(ir.WIDE) if is_wide else vectors.literal(identity_of(body), tag)
    writer.chain[depth].body.append(ir.Let(name, kind, start, is_mutable=True))
    return ir.Var(name, kind)


def _emit_combination(
    writer: Lowering, body: Reduce, accumulator: ir.Var, inner: Mapping[int, Index]
) -> None:
    """Emits the statement that combines an accumulator with the reduction's next value."""
    value = writer.lower_expression(contribution(body), inner).expr
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
        return _reduce_lanewise(writer, body, axes, loops, depth)
    return _reduce_along_row(writer, body, axes, loops, depth)


def lower_partial_reduction(
    writer: Lowering, tensor: Tensor, environment: Mapping[int, Index]
) -> tuple[Value, ir.Expr, int]:
    """Lowers the part of a reduction that one thread computes.

    The outermost loop runs from the C variable ``begin`` to ``end``.

    Returns:
        The partial result, the trip count of the outermost loop, and the number of
        consecutive iterations of this loop that stay on one thread.
    """
    inner, loops, are_plain = _declare_reduction_loops(writer, tensor, environment)
    body, first = reduce_of(tensor), loops.levels[0]
    steps = parallel_trip_count(writer, first)
    grain = max(64, first.parts[0][1]) if len(first.parts) == 1 else 1
    with writer.bind_sources([(contribution(body), inner)], are_plain=are_plain):
        value = _reduce_along_row(writer, body, inner, loops, 0, shared=True)
    writer.chain[0].body[:] = restrict_to_thread(writer, first, writer.chain[0].body)
    return value, steps, grain


def accumulate(
    writer: Lowering, tensor: Tensor, axes: Mapping[int, Poly], place: TensorBuffer
) -> None:
    """Accumulates an element of a column reduction into its row of partial sums.

    A float32 sum may have a row of float64 partial sums. The elements of the sum are then added in
    float64.
    """
    body = tensor.op.body[tensor.value_index]
    assert isinstance(body, Reduce)
    index = writer.address(place, [axes[axis.serial] for axis in tensor.op.axis])
    value = writer.lower_expression(body.source, axes).expr
    kind, tag, address = row_prefix(value.kind), value.kind, place.pointer(writer.index_expr(index))
    if place.dtype == "float64" and tag == "f32":
        writer.chain[-1].body.append(ir.Accumulate(address, value))
        return
    new = vectors.combine(body.op, tag, ir.Load(tag, kind, address), value)
    writer.chain[-1].body.append(ir.Store(kind, address, new))


def row_prefix(tag: str) -> str:
    """Returns the prefix of the C functions that load and store rows of vector kind `tag`."""
    return "i32" if tag == vectors.MASK else tag


def identity_of(body: Reduce) -> float | int | bool:
    """Returns the identity element of a reduction."""
    return vectors.identity(body.op, body.dtype)
