"""Unroll and jam: computes several iterations of a loop over rows at once.

Before: ``for r in 0..n jam 4: vector i: v = p[64 * r + i]; a = a + v``.
After: ``for r in 0..n step 4: vector i: v = p[64 * r + i]; a = a + v; v_r1 = p[64 * r + 64 + i];
a_r1 = a_r1 + v_r1; …``, then a loop over the remaining rows.

A statement that depends on the row gets a copy for each row. All other statements, such as the load
of a bias, occur once. A column reduction loads and stores its accumulators once for all rows. Each
row has row buffers and accumulators of its own. A row buffer carries a row from one loop to a later
loop. A jammed loop has fewer accumulators for each row. The loop over the remaining rows has the
same, smaller number of accumulators for a row. Therefore, equal rows have bitwise equal sums.

The pass pays for column reductions. It also pays for short rows, because a loop over a short row
has a high start-up cost. Four short rows at once are 1.1 to 3 times as fast as one row at a time;
long rows are up to twice as slow (`tbe_impl.codegen.passes.short_rows`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.passes.loop_fission import used_names
from tbe_impl.codegen.passes.software_pipelining import row_buffers


def jam_rows(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """Unrolls and jams all loops with `For.jam`, if that is legal."""
    names = row_buffers(body)
    arrays = [node for node in body if isinstance(node, (ir.Alloc, ir.Let)) and node.name in names]
    buffers: dict[str, ir.Stmt] = {}

    def change(node: ir.Stmt) -> tuple[ir.Stmt, ...]:
        if not isinstance(node, ir.For) or not node.jam or not _is_jammable(node):
            return (node,)
        jam, several = _Jam(node, arrays), ir.Int(node.jam)
        inside = tuple(jam.jam(node.body))
        buffers.update(
            (jam.name_of(array.name, row), jam.copy(array, row))
            for array in arrays
            if array.name in jam.arrays
            for row in jam.rows[1:]
        )
        loops = (
            ir.Let(node.name, ir.INDEX, node.begin, is_mutable=True),
            ir.For(node.name, None, node.end, inside, several, several),
            ir.For(node.name, None, node.end, node.body),
        )
        return (ir.Block(loops),)

    found = ir.map_statements(body, change)
    rows = max((node.jam for node in ir.walk(body) if isinstance(node, ir.For)), default=0)
    if found is body or not rows:
        return body
    return (
        *buffers.values(),
        *ir.map_statements(found, lambda node: (_limit_unrolling(node, rows),)),
    )


def _is_jammable(rows: ir.For) -> bool:
    """Returns whether a loop over rows can be jammed.

    All inner loops must have the same bounds in each row. The body of the loop must contain no
    condition, block or packed tile.
    """
    for node in ir.walk(rows.body):
        if isinstance(node, (ir.If, ir.Block, ir.PackTile)):
            return False
        if isinstance(node, (ir.For, ir.VectorLoop)):
            end = node.end if isinstance(node, ir.For) else node.limit
            if node.begin is None or rows.name in ir.names_in((node.begin, end)):
                return False
    return True


def _limit_unrolling(node: ir.Stmt, rows: int) -> ir.Stmt:
    """Divides the unroll factor (number of accumulators) of a reduction loop by `rows`.

    The loop over the remaining rows is treated in the same way.
    """
    if isinstance(node, ir.VectorLoop) and node.accumulators:
        return replace(node, unroll=max(1, node.unroll // rows))
    return node


class _Jam:
    """Computes several rows at once.

    Attributes:
        rows: the numbers of the rows.
        arrays: names of the row buffers that the loop fills, and of the arrays that contain these
            buffers.
        varying: the names whose values differ between rows.
    """

    def __init__(self, loop: ir.For, arrays: Sequence[ir.Alloc | ir.Let]):
        self.row, self.rows = loop.name, range(loop.jam)
        stores = (node for node in ir.walk(loop.body) if isinstance(node, ir.Store))
        stored = {name for node in stores for name in ir.names_in(node.place)}
        filled = (array for array in arrays if array.name in stored)
        self.arrays = {name for array in filled for name in ir.names_in(array)}
        self.varying = {self.row, *self.arrays}
        self.accumulators: set[str] = set()
        self.shared: dict[str, str] = {}
        self.defined: dict[ir.Expr | None, str] = {}

    def name_of(self, name: str, row: int) -> str:
        """Returns the name that a variable or an array has in the copy for a row."""
        own = f"{name}_r{row}" if row and name in self.varying else name
        return self.shared.get(own, own)

    def jam(self, body: Sequence[ir.Stmt]) -> Iterator[ir.Stmt]:
        """Yields the statements of all rows.

        The statements are divided into parts (`_ends_part`). All rows get their copies of one part
        before the first row gets a copy of the next part.
        """
        part: list[ir.Stmt] = []
        outer = dict(self.defined)
        for node in body:
            if isinstance(node, (ir.For, ir.VectorLoop)):
                yield from self._copy_part(part)
                yield self._jam_loop(node)
                part = []
                continue
            part.append(node)
            if self._ends_part(node):
                yield from self._copy_part(part)
                part = []
        yield from self._copy_part(part)
        self.defined = outer

    def _ends_part(self, node: ir.Stmt) -> bool:
        """Returns whether a part of the statements ends after `node`.

        A part ends after the definition of an accumulator, and after a definition that uses only
        accumulators. A part also ends after a statement that is no definition, such as a store, if
        the statement accesses no row buffer.
        """
        if isinstance(node, ir.Let):
            used = used_names(node)
            return node.is_mutable or (bool(used) and used <= self.accumulators)
        return self.arrays.isdisjoint(ir.names_in(node))

    def _jam_loop(self, node: ir.For | ir.VectorLoop) -> ir.Stmt:
        if isinstance(node, ir.For):
            return replace(node, body=tuple(self.jam(node.body)))
        groups = {
            tuple(self.name_of(name, row) for name in group): None
            for group in node.accumulators
            for row in self.rows
        }
        return replace(node, whole=tuple(self.jam(node.whole)), accumulators=tuple(groups))

    def _copy_part(self, part: Sequence[ir.Stmt]) -> Iterator[ir.Stmt]:
        """Yields a copy of straight-line statements for each of the jammed rows."""
        *before, last = part or (None,)
        is_sum = isinstance(last, (ir.Store, ir.Accumulate)) and not self._varies(last.place)
        for row in self.rows:
            for node in before if is_sum else part:
                yield from self._copy_statement(node, row)
        if isinstance(last, (ir.Store, ir.Accumulate)) and is_sum:
            yield self._sum_rows(last)

    def _varies(self, node: ir.Node) -> bool:
        return not self.varying.isdisjoint(ir.names_in(node))

    def _copy_statement(self, node: ir.Stmt, row: int) -> Iterator[ir.Stmt]:
        """Yields the copy of a statement for a row, or nothing if an equal copy exists."""
        if not isinstance(node, ir.Let):
            if not row or self._varies(node):
                yield self.copy(node, row)
            return
        if node.is_mutable:
            self.accumulators.add(node.name)
        if node.is_mutable or not self.varying.isdisjoint(used_names(node)):
            self.varying.add(node.name)
        elif row:
            return
        new = self.copy(node, row)
        is_constant = not node.is_mutable and self.arrays.isdisjoint(used_names(node))
        same = self.defined.setdefault(new.value, new.name) if is_constant else new.name
        if same != new.name:
            self.shared[new.name] = same
        else:
            yield new

    def copy(self, item: ir.Item, row: int) -> ir.Item:
        """Returns the copy of a statement or an expression for a row."""

        def change(node: ir.Node) -> ir.Node:
            if isinstance(node, ir.Index):
                return node.shift(self.row, row) if self.row in node.variables else node
            if isinstance(node, ir.Var) and node.name == self.row:
                return ir.op("add", node, ir.Int(row))
            if isinstance(node, ir.Element):
                return replace(node, array=self.name_of(node.array, row))
            if isinstance(node, (ir.Var, ir.Let, ir.Alloc)):
                name = self.name_of(node.name, row)
                return replace(node, name=name) if name != node.name else node
            return node

        return ir.rebuild(item, change) if row or self.shared else item

    def _sum_rows(self, node: ir.Store | ir.Accumulate) -> ir.Stmt:
        """Returns one statement that combines the values of all rows with an element in memory.

        A store adds the values to the element in the order of the rows, so that the sum equals that
        of sequential rows. If the element has a wider dtype (`Accumulate`), the values are first
        added to each other.
        """
        values = [self.copy(node.value, row) for row in self.rows]
        if isinstance(node, ir.Accumulate):
            return replace(node, value=_add_pairwise(values))
        total = values[0]
        for value in values[1:]:

            def change(inner: ir.Node, so_far: ir.Expr = total) -> ir.Node:
                is_element = isinstance(inner, ir.Load) and inner.place == node.place
                return so_far if is_element else inner

            total = ir.rebuild(value, change)
        return replace(node, value=total)


def _add_pairwise(values: Sequence[ir.Expr]) -> ir.Expr:
    """Adds values as a balanced tree, which minimises the number of roundings of each value."""
    if len(values) == 1:
        return values[0]
    middle = len(values) // 2
    halves = _add_pairwise(values[:middle]), _add_pairwise(values[middle:])
    return ir.Op("add", halves, values[0].kind)
