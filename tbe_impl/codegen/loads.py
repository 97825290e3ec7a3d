"""Emits loads of stored tensors: contiguous vectors, broadcasts, tiles and gathers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.loop_levels import Index, MissingBuffer, TensorBuffer, Value
from tbe_impl.codegen.planning.access_analysis import (
    element_count,
    flat_index,
    index_poly,
    size_poly,
)
from tbe_impl.codegen.planning.index_ranges import is_nonnegative
from tbe_impl.codegen.planning.polynomials import ONE, ZERO, Poly
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Read
from tbe_impl.dsl.tensor import Tensor

if TYPE_CHECKING:
    from tbe_impl.codegen.lowering import Lowering

PREFETCH_DISTANCE_BYTES = 1 << 12
"""Prefetch distance in bytes.

A prefetch of the next short row arrives too late; rows far ahead are evicted before their use.
"""


def emit_load(writer: Lowering, tensor: Tensor, indices: Sequence[Index]) -> Value:
    """Loads an element of a stored tensor."""
    buffer = writer.buffers[id(tensor)]
    if not all(isinstance(item, Poly) for item in indices):
        return _emit_clipped_gather(writer, tensor, indices)
    address = writer.address(buffer, indices)
    if _may_be_out_of_bounds(writer, tensor, address):
        return _emit_clipped_gather(writer, tensor, indices)
    return _emit_load_at_address(writer, tensor, address)


def emit_flat_load(writer: Lowering, node: Read, environment: Mapping[int, Index]) -> Value | None:
    """Loads an element whose indices are quotients and remainders of one flat index.

    Returns None if the indices have another form, or if the flat index may be out of bounds.

    Raises:
        MissingBuffer: the tensor is not stored.
    """
    known = {key: item if isinstance(item, Poly) else None for key, item in environment.items()}
    flat = flat_index(node)
    place = None if flat is None else index_poly(flat, known)
    if place is None:
        return None
    if id(node.tensor) not in writer.buffers:
        raise MissingBuffer(node.tensor)
    if writer.buffers[id(node.tensor)].origin or _may_be_out_of_bounds(writer, node.tensor, place):
        return None
    key = (id(node.tensor), ("flat", place))
    for scope in writer.chain:
        if key in scope.memo:
            return scope.memo[key]
    found = _emit_load_at_address(writer, node.tensor, place)
    writer.memoize(key, found)
    return found


def _emit_load_at_address(writer: Lowering, tensor: Tensor, address: Poly) -> Value:
    """Loads the element of a stored tensor at an address that is in bounds."""
    buffer, tag = writer.buffers[id(tensor)], vectors.tag_of(tensor.dtype)
    prefix = vectors.memory_prefix(buffer.dtype)
    depth = max(writer.depth_of(address.variables), buffer.depth)
    step = address.coefficient(writer.vector) if writer.vector is not None else ZERO
    place = f"{buffer.name} + {writer.index_text(address)}"
    if not step or not step.terms:
        return writer.define(f"{prefix}_one({place})", tag, depth)
    if step == ONE:
        if writer.count == "LANES":
            _emit_prefetch(writer, address, buffer, depth)
            return writer.define(f"{prefix}_load({place})", tag, depth)
        return writer.define(f"{prefix}_load_part({place}, {writer.count})", tag, depth)
    if writer.tile and writer.tile.loop in address.variables - writer.ranges.known.keys():
        place, step = _pack_tile(writer, tensor, address, step)
    return writer.define(
        f"{prefix}_gather({place}, {writer.index_text(step)}, {writer.count})", tag, depth
    )


def _pack_tile(writer: Lowering, tensor: Tensor, address: Poly, step: Poly) -> tuple[str, Poly]:
    """Copies a tile of a tensor to a small contiguous array before the loop over the tile.

    The tile is copied row by row. Without this copy, cache lines that are far apart would evict
    each other.

    Returns:
        The address of the element at `address` in the copy, and the stride from lane to lane. If
        the tile cannot be copied, address and stride in the tensor itself.
    """
    tile = writer.tile
    assert tile is not None and writer.vector is not None
    buffer = writer.buffers[id(tensor)]
    start, level = address - Poly.variable(tile.loop), writer.depth_of(frozenset({writer.vector}))
    # tiles are packed in front of the tile loop, where variables of inner loops are not defined
    if address.coefficient(tile.loop) != ONE or writer.depth_of(start.variables) > level:
        return f"{buffer.name} + {writer.index_text(address)}", step
    name, c = f"t{next(writer.serial)}", dtype_of(buffer.dtype).c
    line = (
        f"{buffer.name} + {writer.index_text(start)} + {tile.begin} + l*({writer.index_text(step)})"
    )
    writer.chain[level].lines += [
        f"{c} {name}[LANES][{tile.steps}];",
        (
            f"if ({tile.count} == {tile.steps}) for (int l = 0; l < {writer.count}; l++) "
            f"memcpy({name}[l], {line}, sizeof {name}[l]);"
        ),
        (
            f"else for (int l = 0; l < {writer.count}; l++) "
            f"memcpy({name}[l], {line}, {tile.count}*sizeof({c}));"
        ),
    ]
    return f"&{name}[0][{writer.names[tile.loop]} - {tile.begin}]", Poly.from_int(tile.steps)


def _emit_prefetch(writer: Lowering, address: Poly, buffer: TensorBuffer, depth: int) -> None:
    """Emits a prefetch of a later row, which runs while the current row is processed.

    The prefetch loads into all cache levels. ``prefetchnta``, which does not, was up to 2.5 times
    slower on some processors in loops with non-temporal stores.
    """
    if writer.prefetch is None or writer.prefetch not in address.variables:
        return
    together = writer.together
    steps = together.steps if together is not None and together.loop == writer.prefetch else 1
    length = address.coefficient(writer.prefetch)
    if length is not None and length.constant:
        size = abs(length.constant) * dtype_of(buffer.dtype).bytes
        steps = max(steps, PREFETCH_DISTANCE_BYTES // size)
    following = address.substitute(
        {writer.prefetch: Poly.variable(writer.prefetch) + Poly.from_int(steps)}
    )
    writer.chain[depth].lines.append(f"fetch({buffer.name} + {writer.index_text(following)});")


def _emit_clipped_gather(writer: Lowering, tensor: Tensor, indices: Sequence[Index]) -> Value:
    """Loads each lane from its own address; addresses out of bounds are clamped.

    The lanes with clamped addresses do not matter: the enclosing select does not choose them.
    """
    buffer, tag = writer.buffers[id(tensor)], vectors.tag_of(tensor.dtype)
    row = _emit_indexed_row_load(writer, tensor, indices)
    if row is not None:
        return row
    terms, depth = [], buffer.depth
    origin = buffer.origin or [ZERO] * len(indices)
    for index, first, stride in zip(indices, origin, buffer.strides, strict=True):
        vector = writer.index_vector(index, "i64")
        depth = max(depth, vector.depth)
        begin = (
            f" - {vectors.splat('i64', f'({writer.index_text(first)})')}" if first != ZERO else ""
        )
        terms.append(
            f"({vector.text}{begin})*{vectors.splat('i64', f'({writer.index_text(stride)})')}"
        )
    place = (
        f"clip_index({' + '.join(terms) or vectors.splat('i64', '0')}, "
        f"{writer.index_text(buffer.elements or element_count(tensor))})"
    )
    return writer.define(
        f"{vectors.memory_prefix(buffer.dtype)}_gather_at({buffer.name}, {place})", tag, depth
    )


def _emit_indexed_row_load(
    writer: Lowering, tensor: Tensor, indices: Sequence[Index]
) -> Value | None:
    """Loads a contiguous vector from a row whose index may itself be loaded from memory.

    This is the access of an embedding lookup. Returns None if the read has another form.
    """
    buffer, number = writer.buffers[id(tensor)], writer.vector
    *rows, last = indices
    if (
        buffer.origin
        or number is None
        or not isinstance(last, Poly)
        or last.coefficient(number) != ONE
    ):
        return None
    if buffer.strides[-1] != ONE or _may_pass_row_end(writer, tensor, last):
        return None
    terms, depth = [], writer.depth_of(last.variables)
    for index, most, stride in _row_terms(tensor, rows, buffer.strides):
        level = index.depth if isinstance(index, Value) else writer.depth_of(index.variables)
        if (
            level >= writer.depth_of(frozenset({number}))
            or most is None
            or not is_nonnegative(most - ONE)
        ):
            return None  # the row varies across lanes, or may not exist
        place = f"clip_index({writer.index_vector(index, 'i64').text}, {writer.index_text(most)})"
        row = writer.let(place, "i64", level)
        terms.append(f"{row.text}[0]*({writer.index_text(stride)})")
        depth = max(depth, level)
    prefix, tag = vectors.memory_prefix(buffer.dtype), vectors.tag_of(tensor.dtype)
    place = " + ".join((buffer.name, *terms, writer.index_text(last)))
    if writer.count == "LANES":
        return writer.define(f"{prefix}_load({place})", tag, depth)
    return writer.define(f"{prefix}_load_part({place}, {writer.count})", tag, depth)


def _row_terms(
    tensor: Tensor, rows: Sequence[Index], strides: Sequence[Poly]
) -> list[tuple[Index, Poly | None, Poly]]:
    """Returns the terms of a row's address: index, exclusive upper bound and stride of each.

    If an index is loaded from memory, there is one term per index. Otherwise, there is one term for
    the whole address, because a merged loop has one variable for several axes: an index of one of
    these axes alone is then meaningless.
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
    return [(place, None if size is None else element_count(tensor) - size + ONE, ONE)]


def _may_pass_row_end(writer: Lowering, tensor: Tensor, last: Poly) -> bool:
    """Returns whether an index into a row may be out of bounds."""
    bounds, size = (writer.joined or writer.ranges).bounds(last), size_poly(tensor.shape[-1])
    if bounds is None or size is None:
        return True
    return not is_nonnegative(bounds[0]) or not is_nonnegative(size - ONE - bounds[1])


def _may_be_out_of_bounds(writer: Lowering, tensor: Tensor, address: Poly) -> bool:
    """Returns whether an address may be out of bounds.

    If this is unknown, for example because of run-time sizes, returns True inside a select and
    False elsewhere.
    """
    bounds = (writer.joined or writer.ranges).bounds(address)
    if bounds is None or writer.buffers[id(tensor)].origin:
        return writer.inside_select > 0
    least, behind = bounds[0], element_count(tensor) - ONE - bounds[1]
    if is_nonnegative(least) and is_nonnegative(behind):
        return False
    known = least.constant is not None and behind.constant is not None
    return known or writer.inside_select > 0
