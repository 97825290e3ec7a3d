"""Emits loads of stored tensors: contiguous vectors, broadcasts, tiles, gathers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.axis_merging import elements_of, flat_index, index_poly, size_poly
from tbe_impl.codegen.index_ranges import is_natural
from tbe_impl.codegen.loop_levels import Buffer, Index, NeedsBuffer, Value
from tbe_impl.codegen.polynomials import ONE, ZERO, Poly
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Read
from tbe_impl.dsl.tensor import Tensor

if TYPE_CHECKING:
    from tbe_impl.codegen.lowering import Elaborator

AHEAD_BYTES = 1 << 12
"""How far ahead of a row memory is asked for others: one short row is there too late, and many are gone again."""


def load(writer: Elaborator, tensor: Tensor, indices: Sequence[Index]) -> Value:
    """An element of a stored tensor."""
    buffer = writer.buffers[id(tensor)]
    if not all(isinstance(item, Poly) for item in indices):
        return _load_at(writer, tensor, indices)
    address = writer.address(buffer, indices)
    if _may_miss(writer, tensor, address):
        return _load_at(writer, tensor, indices)
    return _load_from(writer, tensor, address)


def load_flat(writer: Elaborator, node: Read, environment: Mapping[int, Index]) -> Value | None:
    """An element of a tensor whose indices are a place in it that is taken apart; of one that lies in memory."""
    known = {key: item if isinstance(item, Poly) else None for key, item in environment.items()}
    flat = flat_index(node)
    place = None if flat is None else index_poly(flat, known)
    if place is None:
        return None
    if id(node.tensor) not in writer.buffers:
        raise NeedsBuffer(node.tensor)
    if writer.buffers[id(node.tensor)].origin or _may_miss(writer, node.tensor, place):
        return None
    key = (id(node.tensor), ("flat", place))
    for scope in writer.chain:
        if key in scope.memo:
            return scope.memo[key]
    found = _load_from(writer, node.tensor, place)
    writer.remember(key, found)
    return found


def _load_from(writer: Elaborator, tensor: Tensor, address: Poly) -> Value:
    """The element at an address that is inside."""
    buffer, tag = writer.buffers[id(tensor)], vectors.tag_of(tensor.dtype)
    prefix = vectors.memory_of(buffer.dtype)
    depth = max(writer.depth_of(address.variables), buffer.depth)
    step = address.coefficient(writer.vector) if writer.vector is not None else ZERO
    place = f"{buffer.name} + {writer.text(address)}"
    if not step or not step.terms:
        return writer.fetched(f"{prefix}_one({place})", tag, depth)
    if step == ONE:
        if writer.count == "LANES":
            _prefetch(writer, address, buffer, depth)
            return writer.fetched(f"{prefix}_load({place})", tag, depth)
        return writer.fetched(f"{prefix}_load_part({place}, {writer.count})", tag, depth)
    if writer.tile and writer.tile.loop in address.variables - writer.ranges.known.keys():
        place, step = _tile_of(writer, tensor, address, step)
    return writer.fetched(
        f"{prefix}_gather({place}, {writer.text(step)}, {writer.count})", tag, depth
    )


def _tile_of(writer: Elaborator, tensor: Tensor, address: Poly, step: Poly) -> tuple[str, Poly]:
    """Where a tile of a tensor lies close together, and the step from lane to lane there.

    It is fetched line by line before the tile's loop: from far apart, the lines would drive each other out of the cache.
    """
    tile = writer.tile
    assert tile is not None and writer.vector is not None
    buffer = writer.buffers[id(tensor)]
    start, level = address - Poly.variable(tile.loop), writer.depth_of(frozenset({writer.vector}))
    # a loop inside the tile's, such as a reduction's, has not begun when tiles are fetched
    if address.coefficient(tile.loop) != ONE or writer.depth_of(start.variables) > level:
        return f"{buffer.name} + {writer.text(address)}", step
    name, c = f"t{next(writer.serial)}", dtype_of(buffer.dtype).c
    line = f"{buffer.name} + {writer.text(start)} + {tile.begin} + l*({writer.text(step)})"
    writer.chain[level].lines += [
        f"{c} {name}[LANES][{tile.steps}];",
        f"if ({tile.count} == {tile.steps}) for (int l = 0; l < {writer.count}; l++) memcpy({name}[l], {line}, sizeof {name}[l]);",
        f"else for (int l = 0; l < {writer.count}; l++) memcpy({name}[l], {line}, {tile.count}*sizeof({c}));",
    ]
    return f"&{name}[0][{writer.names[tile.loop]} - {tile.begin}]", Poly.of(tile.steps)


def _prefetch(writer: Elaborator, address: Poly, buffer: Buffer, depth: int) -> None:
    """While a row is finished from the cache, memory can bring the next ones.

    They come into the caches: processors were seen that take two and a half times as long where they are to come past them
    (``prefetchnta``) beside writes that go past them.
    """
    if writer.prefetch is None or writer.prefetch not in address.variables:
        return
    together = writer.together
    steps = together.steps if together is not None and together.loop == writer.prefetch else 1
    length = address.coefficient(writer.prefetch)
    if length is not None and length.constant:
        size = abs(length.constant) * dtype_of(buffer.dtype).bytes
        steps = max(steps, AHEAD_BYTES // size)
    following = address.substitute(
        {writer.prefetch: Poly.variable(writer.prefetch) + Poly.of(steps)}
    )
    writer.chain[depth].lines.append(f"fetch({buffer.name} + {writer.text(following)});")


def _load_at(writer: Elaborator, tensor: Tensor, indices: Sequence[Index]) -> Value:
    """Lane by lane; what lies outside is moved to the border (a select throws the element away)."""
    buffer, tag = writer.buffers[id(tensor)], vectors.tag_of(tensor.dtype)
    row = _load_of_row(writer, tensor, indices)
    if row is not None:
        return row
    terms, depth = [], buffer.depth
    origin = buffer.origin or [ZERO] * len(indices)
    for index, first, stride in zip(indices, origin, buffer.strides, strict=True):
        vector = writer.as_vector(index, "i64")
        depth = max(depth, vector.depth)
        begin = f" - {vectors.splat('i64', f'({writer.text(first)})')}" if first != ZERO else ""
        terms.append(f"({vector.text}{begin})*{vectors.splat('i64', f'({writer.text(stride)})')}")
    place = f"clip_index({' + '.join(terms) or vectors.splat('i64', '0')}, {writer.text(buffer.elements or elements_of(tensor))})"
    return writer.fetched(
        f"{vectors.memory_of(buffer.dtype)}_gather_at({buffer.name}, {place})", tag, depth
    )


def _load_of_row(writer: Elaborator, tensor: Tensor, indices: Sequence[Index]) -> Value | None:
    """Elements side by side in a row whose number was read; None where they are not."""
    buffer, number = writer.buffers[id(tensor)], writer.vector
    *rows, last = indices
    if (
        buffer.origin
        or number is None
        or not isinstance(last, Poly)
        or last.coefficient(number) != ONE
    ):
        return None
    if buffer.strides[-1] != ONE or _may_miss_end(writer, tensor, last):
        return None
    terms, depth = [], writer.depth_of(last.variables)
    for index, most, stride in _rows(tensor, rows, buffer.strides):
        level = index.depth if isinstance(index, Value) else writer.depth_of(index.variables)
        if (
            level >= writer.depth_of(frozenset({number}))
            or most is None
            or not is_natural(most - ONE)
        ):
            return None  # another row for each lane, or perhaps none at all
        place = f"clip_index({writer.as_vector(index, 'i64').text}, {writer.text(most)})"
        row = writer.let(place, "i64", level)
        terms.append(f"{row.text}[0]*({writer.text(stride)})")
        depth = max(depth, level)
    prefix, tag = vectors.memory_of(buffer.dtype), vectors.tag_of(tensor.dtype)
    place = " + ".join((buffer.name, *terms, writer.text(last)))
    if writer.count == "LANES":
        return writer.fetched(f"{prefix}_load({place})", tag, depth)
    return writer.fetched(f"{prefix}_load_part({place}, {writer.count})", tag, depth)


def _rows(
    tensor: Tensor, rows: Sequence[Index], strides: Sequence[Poly]
) -> list[tuple[Index, Poly | None, Poly]]:
    """What says which row: numbers, each with how many there are and how far it is from one to the next.

    Where nothing was read, loops over several axes may have become one, whose variable counts through all of them: only the
    place that the axes make together means something.
    """
    if any(isinstance(row, Value) for row in rows):
        return [
            (row, size_poly(size), stride)
            for row, size, stride in zip(rows, tensor.shape, strides, strict=False)
        ]
    place, size = ZERO, size_poly(tensor.shape[-1])
    for row, stride in zip(rows, strides, strict=False):
        assert isinstance(row, Poly)
        place = place + row * stride
    return [(place, None if size is None else elements_of(tensor) - size + ONE, ONE)]


def _may_miss_end(writer: Elaborator, tensor: Tensor, last: Poly) -> bool:
    """Whether a place in a row may lie outside of it."""
    bounds, size = (writer.joined or writer.ranges).bounds(last), size_poly(tensor.shape[-1])
    if bounds is None or size is None:
        return True
    return not is_natural(bounds[0]) or not is_natural(size - ONE - bounds[1])


def _may_miss(writer: Elaborator, tensor: Tensor, address: Poly) -> bool:
    """Whether an address may lie outside; for sizes of run time the operator's word is taken, but in a select."""
    bounds = (writer.joined or writer.ranges).bounds(address)
    if bounds is None or writer.buffers[id(tensor)].origin:
        return writer.inside_select > 0
    least, behind = bounds[0], elements_of(tensor) - ONE - bounds[1]
    if is_natural(least) and is_natural(behind):
        return False
    known = least.constant is not None and behind.constant is not None
    return known or writer.inside_select > 0
