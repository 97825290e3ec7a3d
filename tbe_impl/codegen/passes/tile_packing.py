"""Tile packing: copies tiles of transposed tensors to the stack, so that lanes are close together.

A vector loop inside a loop over tiles reads a tensor that is strided along the vector loop, and
contiguous along the tile. Each lane then reads a cache line of its own, and lines that are far
apart evict each other. The pass copies the rows of the tile first.

Before::

    for i_tile in 0..n step 16, blocks of i:
      vector j in 0..m:
        for i in 0..n:
          let v: f32 = load f32 p[n * j + i] by n
          body

After::

    for i_tile in 0..n step 16, blocks of i:
      let i_steps: index = i_tile_end - i_tile
      vector j in 0..m:
        pack t0: LANES rows of i_steps from p[n * j + i_tile] by n
        for i in 0..n:
          let v: f32 = load f32 &t0[0][i - i_tile] by 16
          body

It pays most where the distance between lanes is a multiple of a page, because the lines of such
lanes share few cache sets: a transpose of 1,024 x 1,024 float32 elements takes 2.7 times as long
without the pass. Measured by `benchmarks.passes`.
"""

from __future__ import annotations

import functools
from dataclasses import replace

from tbe_impl.codegen import loop_ir as ir


def pack_tiles(function: ir.Function) -> ir.Function:
    """Packs the tiles in a function; runs before loop restriction."""
    types = {
        node.name: node.kind.removesuffix(" *")
        for node in function.declarations
        if isinstance(node, ir.Let)
    }

    def change(node: ir.Stmt) -> tuple[ir.Stmt, ...]:
        return (_TileLoop(node, types).pack() if isinstance(node, ir.For) else node,)

    return replace(function, body=ir.map_statements(function.body, change, frozenset({ir.For})))


class _TileLoop:
    """A loop over tiles; `types` maps the name of a pointer to the C type of its elements."""

    def __init__(self, loop: ir.For, types: dict[str, str]):
        self.loop, self.types = loop, types
        self.first = ir.Var(loop.name)
        self.length = ir.Var(f"{loop.over}_steps")
        self.count = 0

    def pack(self) -> ir.For:
        """Returns the loop with packed tiles."""
        loop = self.loop
        if not loop.over:
            return loop
        body = [
            self._pack_row(node) if isinstance(node, ir.VectorLoop) else node for node in loop.body
        ]
        if not self.count:
            return loop
        length = ir.op("sub", loop.block_end, self.first)
        return replace(loop, body=(ir.Let(self.length.name, ir.INDEX, length), *body))

    def _pack_row(self, row: ir.VectorLoop) -> ir.VectorLoop:
        """Returns a vector loop that packs the tiles before the loop over a tile."""
        whole: list[ir.Stmt] = []
        for node in row.whole:
            if isinstance(node, ir.For) and self._is_whole(node):
                packed = self._packed_tiles(node.body)
                whole += packed.values()
                node = ir.rebuild(node, functools.partial(self._read, packed))
            whole.append(node)
        return replace(row, whole=tuple(whole))

    def _packed_tiles(self, body: tuple[ir.Stmt, ...]) -> dict[ir.Load, ir.PackTile]:
        """Maps each load of a tile to the copy of that tile."""
        inside = {node.name for node in ir.walk(body) if isinstance(node, (ir.Let, ir.For))}
        packed: dict[ir.Load, ir.PackTile] = {}
        for load in ir.walk(body):
            tile = self._tile_of(load, inside) if isinstance(load, ir.Load) else None
            if isinstance(load, ir.Load) and tile is not None and load not in packed:
                packed[load] = tile
                self.count += 1
        return packed

    def _is_whole(self, node: ir.For) -> bool:
        """Whether a loop covers the whole tile, not only a piece of it (index-set splitting)."""
        return node.name == self.loop.over and (node.begin, node.end) == (ir.ZERO, self.loop.end)

    def _tile_of(self, load: ir.Load, inside: set[str]) -> ir.PackTile | None:
        """Returns the copy of the tile that `load` reads, None if the load reads no such tile."""
        place, step = load.place, self.loop.step
        if load.stride in (ir.ZERO, ir.ONE) or not isinstance(place, ir.Pointer):
            return None
        (address,) = place.offsets
        assert isinstance(place.base, ir.Var) and isinstance(step, ir.Int)
        along = ((self.loop.over,), 1)
        if not isinstance(address, ir.Index) or along not in address.terms:
            return None
        start = ir.Index(tuple(term for term in address.terms if term != along))
        if start.variables & (inside | {self.loop.over}) or place.base.name not in self.types:
            return None
        return ir.PackTile(
            f"t{self.count}",
            self.types[place.base.name],
            ir.Pointer(place.base, (start, self.first)),
            load.stride,
            ir.LANES,
            self.length,
            step.value,
        )

    def _read(self, packed: dict[ir.Load, ir.PackTile], node: ir.Node) -> ir.Node:
        if not isinstance(node, ir.Load) or node not in packed:
            return node
        tile, column = packed[node], ir.op("sub", ir.Var(self.loop.over), self.first)
        place = ir.AddressOf(ir.Element(tile.name, (ir.Int(0), column)))
        return replace(node, place=place, stride=ir.index_of(tile.steps))
