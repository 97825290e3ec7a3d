"""Common subexpression elimination: computes equal values of nested scopes once.

Before::

    for r in 0..m:
      let v0: f32 = load f32 p0[r] one
      vector i in 0..n:
        ...
      let v5: f32 = load f32 p0[r] one
      let v6: f32 = v5 + 1

After::

    for r in 0..m:
      let v0: f32 = load f32 p0[r] one
      vector i in 0..n:
        ...
      let v6: f32 = v0 + 1

A value is available after its definition, in the same scope and in the scopes inside. Two loads of
an array are equal only if the function does not store to this array. Lowering computes each stage
once in a scope, so that the pass mainly finds values that loop-invariant code motion moved out of
different loops. It pays for loads, which a C compiler must repeat after a store. Measured by
`benchmarks.passes`.
"""

from __future__ import annotations

from dataclasses import replace

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.passes.loop_invariant_code_motion import stored_arrays


def merge_equal_values(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """Replaces each value that an enclosing scope has already computed."""
    return _merge(body, {}, {}, stored_arrays(body))


def _merge(
    body: tuple[ir.Stmt, ...],
    outer: dict[ir.Expr, str],
    names: dict[str, str],
    stored: set[str],
) -> tuple[ir.Stmt, ...]:
    """Merges the values in `body`.

    Args:
        body: the statements of a scope.
        outer: maps each available value to its variable.
        names: maps each removed variable to the variable that replaces it.
        stored: arrays to which the function stores.
    """
    known = dict(outer)
    found: list[ir.Stmt] = []
    for node in body:
        if isinstance(node, ir.Let) and not node.is_mutable and node.value is not None:
            value = ir.rename(node.value, names) if names else node.value
            if value in known:
                names[node.name] = known[value]
                continue
            if stored.isdisjoint(ir.names_in(value)):
                known[value] = node.name
            found.append(node if value is node.value else replace(node, value=value))
        elif node.bodies:
            inner = {
                name: _merge(getattr(node, name), known, names, stored) for name in node.bodies
            }
            found.append(replace(node, **inner))
        else:
            found.append(ir.rename(node, names) if names else node)
    return tuple(found)
