"""Finds the original sizes of axes that were merged into one axis of a tensor.

The size of the merged axis is a product of variables. Each variable is the size of one original
axis. See `tbe_impl.compat.gather_variants` for the operators that merge axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tbe_impl.dsl.expr import Binary, Expr, Var


def merged_variables(shape: Sequence[Expr]) -> tuple[Var, ...]:
    """Returns the variables in a shape that are the original sizes of merged axes, in order."""
    return tuple(one for size in shape for one in _variables(size))


def split_merged_sizes(shape: Sequence[Expr], values: Mapping[int, int | float]) -> tuple[int, ...]:
    """Returns the original sizes of the merged axes in a shape.

    The result is empty if no axis of the shape was merged.

    Args:
        shape: shape of a tensor.
        values: maps the ``id`` of each variable to its value.
    """
    return tuple(int(values[id(one)]) for one in merged_variables(shape))


def _variables(size: Expr) -> Iterator[Var]:
    if isinstance(size, Var):
        if size.axis is not None:
            yield size
    elif isinstance(size, Binary) and size.op == "mul":
        yield from _variables(size.a)
        yield from _variables(size.b)
