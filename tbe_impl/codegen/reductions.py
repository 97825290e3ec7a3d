"""Emits reductions: along a row with several accumulators, lane by lane, or over outer loops."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.axis_merging import accesses_of, extent_of
from tbe_impl.codegen.loop_headers import open_levels, parted_steps, range_of
from tbe_impl.codegen.loop_levels import Buffer, Index, NeedsBuffer, Value
from tbe_impl.codegen.partition import operations_of
from tbe_impl.codegen.polynomials import ONE, ZERO, Poly
from tbe_impl.codegen.reduction_loops import SumLoops, asked_sum, natural_sum
from tbe_impl.codegen.row_buffers import LINE_BYTES, ROW_STEPS
from tbe_impl.codegen.source_comments import mark_of
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Const, Expr, Reduce, Select, reads
from tbe_impl.dsl.tensor import Tensor

if TYPE_CHECKING:
    from tbe_impl.codegen.lowering import Elaborator


LONG_ROW_IN_LINES = 512
"""Elements of a row from which on it pays to begin at a line."""

LONG_ROW = 64
"""Elements from which on a row is long."""

WIDE_SUM = 256
"""Elements from which on what is added one after the other is added in float64, and rounded once: of float32, along a row what several
accumulators have found, and everything where one has it all."""

LONG_SUM = 1 << 14
"""Elements from which on the accumulators along a row are of float64 themselves."""

LONG_STEP = 24
"""Operations of a step from which on it takes longer than its sum has to be waited for."""


def reduce(
    writer: Elaborator, tensor: Tensor, body: Reduce, environments: Sequence[Mapping[int, Index]]
) -> list[Value]:
    """A reduction, lane by lane if the lanes are different elements, else along a row.

    Args:
        writer: what writes the nest.
        tensor, body: what is reduced.
        environments: the indices of each of the steps that are computed at once; they differ in the first step only.
    """
    environment = environments[0]
    if any(isinstance(item, Value) for item in environment.values()):
        raise NeedsBuffer(tensor)
    used = frozenset(
        serial
        for item in environment.values()
        if isinstance(item, Poly)
        for serial in item.variables
    )
    depth = writer.depth_of(used)
    if depth == 0 or not writer.changed_by(depth) <= used:
        # some loop around it does not change it, or threads: it would be computed again and again
        raise NeedsBuffer(tensor)
    inners, loops, are_plain = _announce(writer, tensor, environments)
    saved_chain, saved_vector, saved_count = writer.chain, writer.vector, writer.count
    saved_filling = writer.filling
    writer.chain = writer.chain[: depth + 1]
    try:
        with writer.computing(
            [(contribution(body), inner) for inner in inners], are_plain=are_plain
        ):
            if writer.vector is not None and writer.vector in writer.changed_by(depth):
                if id(tensor) not in writer.buffers and _is_far_apart(
                    writer, body, inners[0], loops
                ):
                    raise NeedsBuffer(tensor)
                return _lanewise(writer, body, inners, loops, depth)
            writer.vector, writer.count = None, "LANES"
            return _along(writer, body, inners, loops, depth)
    finally:
        writer.chain, writer.vector, writer.count = saved_chain, saved_vector, saved_count
        writer.filling = saved_filling


def _announce(
    writer: Elaborator, tensor: Tensor, environments: Sequence[Mapping[int, Index]]
) -> tuple[list[dict[int, Index]], SumLoops, bool]:
    """What its axes are in each of the environments, the loops over those that it sums up, whether what it reads is plain."""
    body, environment = _body(tensor), environments[0]
    axes = [(axis.serial, extent_of(axis)) for axis in body.axes]
    known = {key: item if isinstance(item, Poly) else None for key, item in environment.items()}
    known |= {serial: Poly.variable(serial) for serial, _ in axes}
    found = accesses_of([contribution(body)], known, writer.buffers)
    are_plain = found.are_plain
    # of a tile two axes are not one
    found.fixed |= {
        item
        for t, address in found.addresses
        if writer.buffers[id(t)].origin
        for item in address.variables
    }
    choices = writer.sums.get(id(tensor))
    loops = asked_sum(choices, axes, found) if choices else natural_sum(axes, found)
    if choices:
        writer.summed[id(tensor)] = loops
    for serial, extent in loops.loops:
        writer.loop_variable(serial, extent)
    own = loops.indices(axes)
    return [{**one, **own} for one in environments], loops, are_plain


def _body(tensor: Tensor) -> Reduce:
    body = tensor.op.body[tensor.value_index]
    assert isinstance(body, Reduce)
    return body


def _is_far_apart(
    writer: Elaborator, body: Reduce, inner: Mapping[int, Index], loops: SumLoops
) -> bool:
    """Whether it reads long rows, each in a lane of its own: along the rows, and stored, it is several times as quick."""
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


def _lanewise(
    writer: Elaborator,
    body: Reduce,
    inners: Sequence[Mapping[int, Index]],
    loops: SumLoops,
    depth: int,
) -> list[Value]:
    tag = vectors.tag_of(body.dtype)
    is_wide = is_wide_sum(body, [extent for _, extent in loops.loops])
    names = [_accumulator(writer, body, tag, depth, is_wide=is_wide) for _ in inners]

    def step() -> None:
        for name, inner in _at_once(writer, names, inners):
            value = writer.expression(contribution(body), inner).text
            combined = (
                f"wide_add({name}, {value})"
                if is_wide
                else one_more(writer, body, tag, name, value)
            )
            writer.chain[-1].lines.append(f"{name} = {combined};{mark_of(writer.stage)}")

    open_levels(writer, loops.levels, step)
    if is_wide:
        return [writer.fetched(f"wide_rounded({name})", tag, depth) for name in names]
    return [Value(name, tag, depth) for name in names]


def _along(
    writer: Elaborator,
    body: Reduce,
    inners: Sequence[Mapping[int, Index]],
    loops: SumLoops,
    depth: int,
    *,
    shared: bool = False,
) -> list[Value]:
    tag = vectors.tag_of(body.dtype)
    outer, inmost = loops.levels[: loops.vector], loops.levels[loops.vector + 1 :]
    ((serial, _),) = loops.levels[loops.vector].parts
    number = 1 if _waits_for_nothing(writer, body, serial) else writer.accumulators
    if depth:
        for _, inner in _at_once(writer, inners, inners):
            writer.settle(contribution(body), inner, frozenset(item for item, _ in loops.loops))
    is_wide = is_wide_sum(body, [extent for _, extent in loops.loops], LONG_SUM)
    rows = [
        [_accumulator(writer, body, tag, depth, is_wide=is_wide) for _ in range(number)]
        for _ in inners
    ]
    neutral = vectors.literal(identity_of(body), tag)

    def step(copy: int) -> None:
        for names, inner in _at_once(writer, rows, inners):
            text = writer.expression(contribution(body), inner).text
            if writer.count != "LANES":
                text = vectors.select(tag, f"lanes_below({writer.count})", text, neutral)
            combined = (
                f"wide_add({names[copy]}, {text})"
                if is_wide
                else one_more(writer, body, tag, names[copy], text)
            )
            writer.chain[-1].lines.append(f"{names[copy]} = {combined};{mark_of(writer.stage)}")

    closed = frozenset(item for level in loops.levels[loops.vector :] for item, _ in level.parts)

    def over_neighbours() -> None:
        if outer:
            # the loop that comes first fills rows for the later ones
            for _, inner in _at_once(writer, inners, inners):
                writer.settle(contribution(body), inner, closed)
        if not inmost:
            writer.filling = serial
        if shared and not outer:
            writer.parts[serial] = ("begin", "end")
        begin, end = range_of(writer, serial)
        writer.vector_loop(
            serial,
            lambda copy: open_levels(writer, inmost, lambda: step(copy)),
            unroll=number,
            begin=begin,
            end=end,
            head=_rest_of_line(writer, body, inners[0], serial),
        )

    open_levels(writer, outer, over_neighbours, shared=shared)
    op = "wide_sum" if is_wide_sum(body, [writer.extents[serial]]) else body.op
    if is_wide:
        return [
            writer.fetched(
                vectors.splat(tag, f"(float)f64_sum(wide_lanes({_nested(names)}))"), tag, depth
            )
            for names in rows
        ]
    return [
        writer.fetched(vectors.splat(tag, _across(op, tag, names)), tag, depth) for names in rows
    ]


def is_wide_sum(body: Reduce, extents: Sequence[Poly], least: int = WIDE_SUM) -> bool:
    """Whether a reduction over so many steps, or over nobody knows how many, is a sum of float32 that is kept in float64 until it is rounded."""
    if body.op != "sum" or vectors.tag_of(body.dtype) != "f32":
        return False
    lengths = [extent.constant for extent in extents]
    known = [length for length in lengths if length is not None]
    return len(known) < len(lengths) or math.prod(known) >= least


def _nested(names: Sequence[str]) -> str:
    return functools.reduce(lambda one, other: f"wide_both({one}, {other})", names)


def _across(op: str, tag: str, accumulators: Sequence[str]) -> str:
    """One number of what accumulators have found, lane by lane."""
    if op == "wide_sum":
        return f"(float)f64_sum({' + '.join(f'f64_from_f32({one})' for one in accumulators)})"
    total, *others = accumulators
    for other in others:
        total = combine(op, tag, total, other)
    if tag == vectors.MASK:
        op = {"sum": "min", "max": "min", "prod": "max", "min": "max"}[op]
    return f"{row_kind(tag)}_{op}({total})"


def _rest_of_line(writer: Elaborator, body: Reduce, inner: Mapping[int, Index], serial: int) -> str:
    """How many steps a loop along rows is from a line of the cache, as the arrays lie; empty where that is not known, or too few.

    It is the same wherever they lie: sums are added in one order.
    """
    length = writer.extents[serial].constant
    if not writer.options.offset or length is None or length < LONG_ROW_IN_LINES:
        return ""
    known = {key: item if isinstance(item, Poly) else None for key, item in inner.items()}
    found = accesses_of([contribution(body)], known, writer.buffers)
    sizes = {
        dtype_of(tensor.dtype).bytes
        for tensor, address in found.addresses
        if address.coefficient(serial) == ONE
    }
    if len(sizes) != 1:
        return ""
    (size,) = sizes
    return (
        f"{(LINE_BYTES - writer.options.offset) // size} % LANES"
        if length * size % LINE_BYTES == 0
        else ""
    )


def _waits_for_nothing(writer: Elaborator, body: Reduce, serial: int) -> bool:
    """Whether a step of a sum along a row computes so much that no step waits for the sum: one accumulator is as quick then.

    Of long rows several are kept all the same, since less is lost where fewer numbers are added to one.
    """
    length = writer.extents[serial].constant
    if length is None or length > ROW_STEPS:
        return False
    there = {key for scope in writer.chain for key, *_ in scope.rows} | writer.buffers.keys()
    waiting, operations = [contribution(body)], 0
    while waiting and operations < LONG_STEP:
        expression = waiting.pop()
        operations += operations_of(expression)
        for tensor in {id(one.tensor): one.tensor for one in reads(expression)}.values():
            made = tensor.op.body
            if made and id(tensor) not in there and not isinstance(made[0], Reduce):
                there.add(id(tensor))
                waiting.append(made[tensor.value_index])
    return operations >= LONG_STEP


Item = TypeVar("Item")


def _at_once(
    writer: Elaborator, items: Sequence[Item], inners: Sequence[Mapping[int, Index]]
) -> Iterator[tuple[Item, Mapping[int, Index]]]:
    """Each of the environments with what belongs to it, while its step is the one that is written."""
    if len(inners) == 1:
        yield items[0], inners[0]
        return
    for step in writer.steps_together():
        yield items[step], inners[step]


def _accumulator(writer: Elaborator, body: Reduce, tag: str, depth: int, *, is_wide: bool) -> str:
    name = f"a{next(writer.serial)}"
    kind, start = (
        ("wide_sum", "{0}")
        if is_wide
        else (vectors.c_type(tag), vectors.literal(identity_of(body), tag))
    )
    writer.chain[depth].lines.append(f"{kind} {name} = {start};")
    return name


def contribution(body: Reduce) -> Expr:
    """What a reduction takes of each step: nothing where its condition is false."""
    if body.condition is None:
        return body.source
    return Select(body.condition, body.source, Const(identity_of(body), body.dtype))


def sum_inside(
    writer: Elaborator, body: Reduce, axes: Mapping[int, Index], loops: SumLoops, *, lanes: bool
) -> Value:
    """What the loops `loops`, right here, sum up of a reduction; lane by lane, or along one of them."""
    depth = len(writer.chain) - 1
    if lanes:
        return _lanewise(writer, body, [axes], loops, depth)[0]
    return _along(writer, body, [axes], loops, depth)[0]


def part_of_reduction(
    writer: Elaborator, tensor: Tensor, environment: Mapping[int, Index]
) -> tuple[Value, str, int]:
    """A reduction of everything from step ``begin`` to ``end`` of its outermost loop.

    Returns:
        Its value, how many steps there are, and how many of them stay on one thread.
    """
    (inner,), loops, are_plain = _announce(writer, tensor, [environment])
    body, first = _body(tensor), loops.levels[0]
    steps = parted_steps(writer, first)
    grain = max(64, first.parts[0][1]) if len(first.parts) == 1 else 1
    with writer.computing([(contribution(body), inner)], are_plain=are_plain):
        return _along(writer, body, [inner], loops, 0, shared=True)[0], steps, grain


def accumulate(writer: Elaborator, tensor: Tensor, axes: Mapping[int, Poly], place: Buffer) -> None:
    """Adds an element of a reduction's source to the row in which the reduction is summed up, which may be wider than its result.

    Steps that are computed at once are added in their order, so that the sum is the same; to a wider row their own sum is added.
    """
    body = tensor.op.body[tensor.value_index]
    assert isinstance(body, Reduce)
    values: dict[str, list[Value]] = {}
    for _ in writer.steps_together():
        own = {serial: writer.moved(index) for serial, index in axes.items()}
        index = writer.address(place, [own[axis.serial] for axis in tensor.op.axis])
        values.setdefault(writer.text(index), []).append(writer.expression(body.source, own))
    for at, added in values.items():
        kind, tag = row_kind(added[0].tag), added[0].tag
        address, part = f"{place.name} + {at}", writer.count != "LANES"
        texts = [value.text for value in added]
        if place.dtype == "float64" and tag == "f32":
            value = _in_pairs(body.op, tag, texts)
            line = (
                f"wide_add_part({address}, {value}, {writer.count});"
                if part
                else f"wide_add_at({address}, {value});"
            )
        else:
            new = (
                f"{kind}_load_part({address}, {writer.count})"
                if part
                else f"{kind}_load({address})"
            )
            for text in texts:
                new = combine(body.op, tag, new, text)
            line = (
                f"{kind}_store_part({address}, {new}, {writer.count});"
                if part
                else f"{kind}_store({address}, {new});"
            )
        writer.chain[-1].lines.append(line)


def _in_pairs(op: str, tag: str, values: Sequence[str]) -> str:
    """What values are together, each of which has gone through as few roundings as there can be."""
    if len(values) == 1:
        return values[0]
    middle = len(values) // 2
    return combine(
        op, tag, *(_in_pairs(op, tag, half) for half in (values[:middle], values[middle:]))
    )


def row_kind(tag: str) -> str:
    """The prefix of loads and stores of a row of vectors in working precision."""
    return "i32" if tag == vectors.MASK else tag


def one_more(writer: Elaborator, body: Reduce, tag: str, so_far: str, value: str) -> str:
    """What a reduction of this graph has found, and one value more: in the short form that it may have, else as `combine` has it."""
    if id(body) in writer.short and tag in ("f32", "f64"):
        return f"{tag}_{writer.short[id(body)]}({value}, {so_far})"
    return combine(body.op, tag, so_far, value)


def combine(op: str, tag: str, so_far: str, value: str) -> str:
    """What a reduction has found, and one value more."""
    if op == "max" and tag in ("f32", "f64"):
        return f"{tag}_max_so_far({so_far}, {value})"
    name = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}[op]
    return vectors.binary(name, tag, so_far, value)


def identity_of(body: Reduce) -> float | int | bool:
    """What changes no result of a reduction."""
    return identity(body.op, body.dtype)


def identity(op: str, dtype: str) -> float | int | bool:
    """What changes no result of ``sum``, ``prod``, ``max`` or ``min`` in a dtype."""
    if op in ("sum", "prod"):
        return 0 if op == "sum" else 1
    kind, bits = dtype_of(dtype).kind, dtype_of(dtype).bytes * 8
    if kind == "float":
        return float("-inf") if op == "max" else float("inf")
    if kind == "bool":
        return op == "min"
    if kind == "uint":
        return 0 if op == "max" else (1 << bits) - 1
    return -(1 << (bits - 1)) if op == "max" else (1 << (bits - 1)) - 1
