"""Row buffers: the first loop over a row stores values that later loops over the row load.

Before::

    for r in 0..m:
      ...
      vector i in 0..n:
        let v1: f32 = exp(...)
        a = sum of it and v1
      vector j in 0..n:
        let v2: f32 = exp(...)
        store f32 p1[n * r + j] = v2 * ...

After::

    alloc row0: float[n]
    for r in 0..m:
      ...
      vector i in 0..n:
        let v1: f32 = exp(...)
        store f32 row0[i] = v1
        a = sum of it and v1
      vector j in 0..n:
        let v2: f32 = load f32 row0[j]
        store f32 p1[n * r + j] = v2 * ...

Two values are equal if their expressions are equal when the loop variables have the same name and
each operand is replaced by its own expression (value numbering). The pass stores only the results
of stages that are worth it (`stages_worth_buffering`), and only rows that are constant in length
and fit the L1 cache. A value that a later loop does not load is not stored. Statements that only
computed a loaded value are removed.

It pays for values that take more time than one store and one load in the L1 cache, such as the
exponentials of a softmax. Measured by `benchmarks.passes`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.records import Record

CACHE_LINE_BYTES = 64
MAX_ROW_STEPS = 1 << 13
"""Maximum length of a row buffer; a few such buffers fit the stack and the L1 cache."""

ROW_INDEX = "<row index>"
"""Name of the loop variable in a value whose loop does not matter."""


class RowValue(Record):
    """A value that a loop over a row has computed for each element.

    Attributes:
        name: the variable in that loop.
        kind: its kind.
        steps: exclusive end of the loop.
        names: the variables outside the loop on which the value depends.
    """

    name: str
    kind: str
    steps: int
    names: frozenset[str]


Available = dict[int, RowValue]
"""Maps the number of a value to the loop that has computed it."""


def buffer_rows(
    body: tuple[ir.Stmt, ...], worth: Container[str], offset: int
) -> tuple[ir.Stmt, ...]:
    """Adds row buffers to the statements of a function.

    Args:
        body: the statements.
        worth: the variables whose values are worth a row buffer.
        offset: number of bytes between the start of a cache line and the first element of an array.
    """
    rows = _RowBuffers(worth)
    rows.plan(body, {})
    if not rows.loads:
        return body
    arrays = [line for value in rows.buffers.values() for line in _declare(*value, offset)]
    return (*arrays, *ir.map_statements(body, rows.rewrite, frozenset({ir.VectorLoop})))


class _RowBuffers:
    """Plans row buffers, then rewrites the loops.

    Attributes:
        loads: maps a variable to the buffer from which its value is loaded.
        buffers: maps a variable that is stored to the name of its buffer, and the value.
    """

    def __init__(self, worth: Container[str]):
        self.worth = worth
        self.loads: dict[str, str] = {}
        self.buffers: dict[str, tuple[str, RowValue]] = {}
        self.numbers: dict[ir.Expr, int] = {}

    def plan(
        self,
        body: Iterable[ir.Stmt],
        available: Available,
        restricted: frozenset[str] = frozenset(),
    ) -> None:
        """Plans the loads of `body`, and adds the values of its loops to `available`.

        Loops over the variables `restricted` do not cover their whole range.
        """
        for node in body:
            if isinstance(node, ir.VectorLoop):
                self._plan_row(node, available, is_whole=node.name not in restricted)
            elif isinstance(node, ir.Restrict):
                self.plan(node.body, available, restricted | {node.name})
            elif isinstance(node, ir.For):
                inside = dict(available)
                self.plan(node.body, inside, restricted)
                own = {node.name, *(one.name for one in node.body if isinstance(one, ir.Let))}
                if node.over or _constant(node.end):
                    available |= {key: one for key, one in inside.items() if not one.names & own}

    def _plan_row(self, loop: ir.VectorLoop, available: Available, *, is_whole: bool) -> None:
        begin, end = _constant(loop.begin), _constant(loop.limit)
        if begin is None or end is None or end > MAX_ROW_STEPS:
            return
        values = self._values(loop, end)
        needed = ir.names_in([node for node in loop.whole if not isinstance(node, ir.Let)])
        found: Available = {}
        for node in reversed(loop.whole):
            if not isinstance(node, ir.Let) or node.name not in needed or node.value is None:
                continue
            number, value = values[node.name]
            before = available.get(number) if node.name in self.worth else None
            if before is not None and before.steps >= end and before.name != node.name:
                buffer = self.buffers.setdefault(before.name, (f"row{len(self.buffers)}", before))
                self.loads[node.name] = buffer[0]
                continue
            needed |= ir.names_in(node.value)
            if node.name in self.worth and loop.accumulators and is_whole and not begin:
                found[number] = value
        available |= found

    def _values(self, loop: ir.VectorLoop, steps: int) -> dict[str, tuple[int, RowValue]]:
        """Numbers the values of a loop; equal values have equal numbers."""
        found: dict[str, tuple[int, RowValue]] = {}
        names = {loop.name: ROW_INDEX}
        for node in loop.whole:
            if not isinstance(node, ir.Let) or node.value is None:
                continue
            used = ir.names_in(node.value)
            outside = set(used) - {loop.name}
            for name in used & found.keys():
                outside = (outside - {name}) | found[name][1].names
            key = ir.rebuild(ir.rename(node.value, names), _sort_terms)
            number = self.numbers.setdefault(key, len(self.numbers))
            names[node.name] = f"<value {number}>"
            found[node.name] = number, RowValue(node.name, node.kind, steps, frozenset(outside))
        return found

    def rewrite(self, loop: ir.Stmt) -> tuple[ir.Stmt, ...]:
        """Returns a vector loop with loads from row buffers and stores to them."""
        if not isinstance(loop, ir.VectorLoop):
            return (loop,)
        index = ir.Var(loop.name)
        whole: list[ir.Stmt] = []
        for node in loop.whole:
            if isinstance(node, ir.Let) and node.name in self.loads:
                place = ir.Pointer(ir.Var(self.loads[node.name], "pointer"), (index,))
                node = replace(node, value=ir.Load(node.kind, node.kind, place))
            whole.append(node)
            if isinstance(node, ir.Let) and node.name in self.buffers:
                place = ir.Pointer(ir.Var(self.buffers[node.name][0], "pointer"), (index,))
                whole.append(ir.Store(node.kind, place, ir.Var(node.name, node.kind)))
        is_changed = any(
            isinstance(node, ir.Let) and node.name in self.loads for node in loop.whole
        )
        return (replace(loop, whole=_without_unused(whole) if is_changed else tuple(whole)),)


def _sort_terms(node: ir.Node) -> ir.Node:
    """Sorts the terms of a polynomial; their order depends on the order of the loops."""
    return ir.Index(tuple(sorted(node.terms))) if isinstance(node, ir.Index) else node


def _without_unused(body: list[ir.Stmt]) -> tuple[ir.Stmt, ...]:
    """Removes the definitions that no statement uses (dead code elimination)."""
    needed: set[str] = set()
    found: list[ir.Stmt] = []
    for node in reversed(body):
        if isinstance(node, ir.Let) and not node.is_mutable and node.name not in needed:
            continue
        needed |= ir.names_in(node)
        found.append(node)
    return tuple(reversed(found))


def _constant(value: ir.Expr | None) -> int | None:
    return value.constant if isinstance(value, ir.Index) else None


def _declare(name: str, value: RowValue, offset: int) -> list[ir.Stmt]:
    """Declares a row buffer with the same alignment as the arrays."""
    c, size = ("float", 4) if value.kind == "f32" else ("double", 8)
    if not offset:
        return [ir.Alloc(name, c, (ir.Int(value.steps),), CACHE_LINE_BYTES)]
    lines, behind = f"{name}_lines", offset // size
    start = ir.Pointer(ir.Var(lines, "pointer"), (ir.Int(behind),))
    return [
        ir.Alloc(lines, c, (ir.Int(value.steps + behind),), CACHE_LINE_BYTES),
        ir.Let(name, f"{c} *", start),
    ]
