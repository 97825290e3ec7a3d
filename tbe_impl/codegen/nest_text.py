"""Formats the loop nests of a program as text: stored tensors, loops and parallel loops."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tbe_impl.codegen.options import Options
from tbe_impl.codegen.planning.access_analysis import size_poly
from tbe_impl.codegen.planning.loop_orders import Level
from tbe_impl.codegen.planning.partition import LoopNest, Root
from tbe_impl.codegen.planning.polynomials import ONE, Poly
from tbe_impl.codegen.planning.reduction_loops import ReductionLoops
from tbe_impl.codegen.program import Layout
from tbe_impl.dsl.expr import Reduce, Var
from tbe_impl.dsl.tensor import Tensor, stages_of, variables_of

INDENT = "  "


def show_nests(layout: Layout, options: Options) -> str:
    """Returns the nests as text, in execution order.

    The name of a merged index consists of the names of its axes, separated by dots.
    """
    return (
        "\n".join(line for nest in layout.nests for line in _Printer(layout, options, nest).lines())
        + "\n"
    )


class _Printer:
    def __init__(self, layout: Layout, options: Options, nest: LoopNest, *, is_tile: bool = False):
        self.layout, self.options, self.nest, self.is_tile = layout, options, nest, is_tile
        widest = max(nest.roots, key=lambda root: len(root.variables))
        axes = (*widest.tensor.op.axis, *widest.tensor.op.reduce_axis)
        self._in_tile = {axis.serial for axis in widest.tensor.op.axis} if is_tile else set()
        self.summed = {axis.serial for axis in widest.tensor.op.reduce_axis}
        self.names: dict[int, str] = {}
        for axis in axes:
            index = nest.runs.get(axis.serial)
            if index is not None:
                before = self.names.get(index)
                self.names[index] = f"{before}.{axis.name}" if before else axis.name
        self.names |= {
            item.serial: item.name
            for item in variables_of([widest.tensor])
            if isinstance(item, Var)
        }

    def lines(self) -> Iterator[str]:
        known: frozenset[int] = frozenset()
        stored: set[int] = set()
        indent, blocked = "", set[int]()
        for at, level in enumerate(self.nest.levels):
            yield (
                f"{indent}for "
                f"{_range_text(level, blocked, self.names, dict(self.nest.loops), self._in_tile)}"
                f":{self._remarks(at, level)}"
            )
            indent += INDENT
            blocked |= {serial for serial, step in level.parts if step > 1}
            known |= level.final_variables
            yield from self._tiles(at, indent)
            yield from self._roots(known, stored, indent, is_last=at == len(self.nest.levels) - 1)
        if not self.nest.levels:
            yield from self._roots(known, stored, "", is_last=True)

    def _roots(
        self, known: frozenset[int], stored: set[int], indent: str, *, is_last: bool
    ) -> Iterator[str]:
        for root in self.nest.roots:
            ready = root.variables <= known and not root.columns and self.nest.exact is None
            if id(root.tensor) not in stored and (ready or is_last):
                stored.add(id(root.tensor))
                if is_last:
                    yield from self._kept_row_comments(root, indent)
                sums = None if root.columns else self.layout.sums.get(id(root.tensor))
                for depth, line in enumerate(self._sums(root, sums) if sums else ()):
                    yield f"{indent}{INDENT * depth}{line}"
                deeper = INDENT * len(sums.levels) if sums else ""
                yield f"{indent}{deeper}{_statement_text(root)}"

    def _sums(self, root: Root, sums: ReductionLoops) -> Iterator[str]:
        """Yields a line ``for …`` for each reduction loop that a schedule requests for `root`."""
        names: dict[int, str] = {}
        for axis in root.tensor.op.reduce_axis:
            index = sums.runs.get(axis.serial)
            if index is not None:
                names[index] = f"{names[index]}.{axis.name}" if index in names else axis.name
        extents, blocked = dict(sums.loops), set[int]()
        along = self.nest.along or not self.nest.levels
        for at, level in enumerate(sums.levels):
            vectors = ["vectors"] if along and at == sums.vector else []
            unroll = [f"{level.unroll} at once"] if level.unroll and not vectors else []
            remarks = "; ".join(("summed up", *vectors, *unroll))
            yield f"for {_range_text(level, blocked, names, extents)}:  # {remarks}"
            blocked |= {serial for serial, step in level.parts if step > 1}

    def _tiles(self, at: int, indent: str) -> Iterator[str]:
        """Yields the text of the loops that compute tiles inside the loop at level `at`.

        The tiles are regions of other stages, and the loops of this nest read the tiles.
        """
        own = {id(root.tensor) for root in self.nest.roots}
        for tile in self.layout.tiles.values():
            if id(tile.reader) in own and tile.at == at:
                (root,) = tile.nest.roots
                sizes = " × ".join(_size_text(size, self.names) for size in tile.sizes)
                yield f"{indent}# a tile of {root.tensor.name}, {sizes}, lies in memory"
                inner = _Printer(self.layout, self.options, tile.nest, is_tile=True)
                yield from (f"{indent}{line}" for line in inner.lines())

    def _kept_row_comments(self, root: Root, indent: str) -> Iterator[str]:
        for op in stages_of([root.tensor]):
            for tensor in op.outputs:
                if id(tensor) in self.layout.stages_with_row_buffers:
                    yield f"{indent}# a row of {tensor.name} is kept for the next loop over it"

    def _remarks(self, at: int, level: Level) -> str:
        found = []
        if len(level.parts) > 1:
            found.append("fused")
        if at == self.nest.shared and not self.is_tile:
            grain = f", {self.nest.grain} steps at least" if self.nest.grain > 1 else ""
            found.append(f"threads share it{grain}")
        exact, vector = self.nest.exact, at == self.nest.vector
        unroll = level.unroll or (self.options.unroll if vector else 0)
        if exact is not None and level.variables & self.summed:
            found.append("summed up")
        if vector and exact is not None:
            found.append("vectors")
        elif vector:
            found.append(f"vectors, {unroll} at once" if unroll > 1 else "vectors")
        elif unroll > 1:
            found.append(f"{unroll} at once")
        if self.nest.transposed and at >= len(self.nest.levels) - 2:
            found.append("in tiles")
        return f"  # {'; '.join(found)}" if found else ""


def _range_text(
    level: Level,
    blocked: Collection[int],
    names: dict[int, str],
    extents: dict[int, Poly],
    tiled: Collection[int] = (),
) -> str:
    parts = []
    for serial, step in level.parts:
        extent = _size_text(extents[serial], names) if serial in extents else "?"
        all_of_it = "its tile" if serial in tiled else f"0..{extent}"
        whole = "its block" if serial in blocked else all_of_it
        parts.append(
            f"{names.get(serial, 'k')} in {whole}" + (f", {step} at a time" if step > 1 else "")
        )
    return " and ".join(parts)


def _statement_text(root: Root) -> str:
    tensor: Tensor = root.tensor
    place = f"{tensor.name}[{', '.join(axis.name for axis in tensor.op.axis)}]"
    body = tensor.op.body[tensor.value_index]
    if isinstance(body, Reduce):
        along = ", ".join(
            f"{axis.name} in 0..{_constant_text(size_poly(axis.extent))}" for axis in body.axes
        )
        how = "a row for each thread" if root.columns else f"along {along}"
        return f"{place} = {body.op} of {_truncate(str(body.source))}  # {how}"
    return f"{place} = {_truncate(str(body))}"


def _constant_text(size: Poly | None) -> str:
    return "?" if size is None or size.constant is None else str(size.constant)


def _size_text(size: Poly, names: dict[int, str]) -> str:
    if size == ONE or size.constant is not None:
        return str(size.constant)
    parts = [
        "*".join(
            [
                *([str(factor)] if factor != 1 or not term else []),
                *(names.get(one, "n") for one in term),
            ]
        )
        for term, factor in size.terms
    ]
    return " + ".join(parts)


def _truncate(text: str) -> str:
    text = (
        text[1:-1] if text.startswith("(") and text.endswith(")") and text.count("(") == 1 else text
    )
    return text if len(text) <= 80 else f"{text[:79]}…"
