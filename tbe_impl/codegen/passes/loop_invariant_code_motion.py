"""Loop-invariant code motion: computes a value before the loops that do not change it.

Lowering emits each value in the innermost loop. A value whose operands do not change in this loop
is moved before the loop, and further outwards as long as this holds. A load stays inside a loop
that stores to the same array.

Before::

    for r in 0..m:
      vector i in 0..n:
        let v0: f32 = load f32 p0[r] one
        let v1: f32 = rec(v0)
        let v2: f32 = load f32 p1[n * r + i]
        let v3: f32 = v2 * v1
        store f32 p2[n * r + i] = v3

After::

    for r in 0..m:
      let v0: f32 = load f32 p0[r] one
      let v1: f32 = rec(v0)
      vector i in 0..n:
        let v2: f32 = load f32 p1[n * r + i]
        let v3: f32 = v2 * v1
        store f32 p2[n * r + i] = v3

With GCC 12, which moves most of these values itself, kernels take equally long without the pass
(`benchmarks.passes`: 1.00 to 1.01). Other passes need it: common subexpressions are found only in
one scope, and row buffers only if the operands outside the loops are the same variables.
"""

from __future__ import annotations

from dataclasses import replace

from tbe_impl.codegen import loop_ir as ir


def hoist_invariants(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """Moves the loop-invariant values in `body` to the outermost legal loops."""
    return _hoist(body, {})


def stored_arrays(body: tuple[ir.Stmt, ...]) -> set[str]:
    """Returns the names of the arrays and variables to which statements store or assign."""
    found: set[str] = set()
    for node in body:
        for name in node.bodies:
            found |= stored_arrays(getattr(node, name))
        if isinstance(node, (ir.Store, ir.Accumulate)):
            found |= ir.names_in(_array_of(node.place))
        elif isinstance(node, (ir.Assign, ir.Reduce)):
            found |= ir.names_in(_array_of(node.target))
    return found


def _array_of(place: ir.Expr) -> ir.Expr:
    """Returns a place without its indices."""
    if isinstance(place, ir.AddressOf):
        place = place.element
    if isinstance(place, ir.Element):
        return replace(place, indices=())
    return place.base if isinstance(place, ir.Pointer) else place


def _hoist(body: tuple[ir.Stmt, ...], uses: dict[str, set[str]]) -> tuple[ir.Stmt, ...]:
    """Hoists values out of the loops in `body`; `uses` caches the names that each value uses."""
    found: list[ir.Stmt] = []
    for node in body:
        if not node.bodies:
            found.append(node)
            continue
        inner = {name: _hoist(getattr(node, name), uses) for name in node.bodies}
        if isinstance(node, (ir.For, ir.VectorLoop)):
            name = "body" if isinstance(node, ir.For) else "whole"
            moved, inner[name] = _split_invariants(node, inner[name], uses)
            found += moved
        found.append(replace(node, **inner))
    return tuple(found)


def _split_invariants(
    loop: ir.For | ir.VectorLoop, body: tuple[ir.Stmt, ...], uses: dict[str, set[str]]
) -> tuple[list[ir.Stmt], tuple[ir.Stmt, ...]]:
    """Returns the values in `body` that the loop does not change, and the other statements."""
    varying = {loop.name} | stored_arrays(body)
    if isinstance(loop, ir.For) and loop.over:
        varying |= {loop.block_end.name, loop.over}
    moved: list[ir.Stmt] = []
    stay: list[ir.Stmt] = []
    for node in body:
        if isinstance(node, ir.Let) and not node.is_mutable and node.value is not None:
            if node.name not in uses:
                uses[node.name] = ir.names_in(node.value)
            if uses[node.name].isdisjoint(varying):
                moved.append(node)
                continue
        if isinstance(node, (ir.Let, ir.Alloc, ir.PackTile)):
            varying.add(node.name)
        stay.append(node)
    return moved, tuple(stay)
