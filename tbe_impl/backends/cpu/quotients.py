"""Products with an inverse as quotients, where nothing shows that one rounding is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tbe_impl.backends.cpu.scope import Index, Value
from tbe_impl.dsl.expr import Binary, Call, Expr, Read

if TYPE_CHECKING:
    from tbe_impl.backends.cpu.elaborate import Elaborator


def quotient_of(inside: Elaborator, node: Expr, environment: Mapping[int, Index]) -> Value | None:
    """x · (1 / y) as x / y; None where it is no such product, or where the inverse serves several steps of a loop."""
    if not isinstance(node, Binary) or node.op != "mul":
        return None
    for one, other in (node.children, reversed(node.children)):
        if not isinstance(other, Read) or not other.tensor.op.body:
            continue
        tensor, body = other.tensor, other.tensor.op.body[other.tensor.value_index]
        if not isinstance(body, Call) or body.name != "rec" or id(body) not in inside.short:
            continue
        indices = [inside.index(item, environment) for item in other.indices]
        in_memory = id(tensor) in inside.buffers or id(tensor) in inside.kept
        if in_memory or inside.repeats(indices):
            continue
        axes = dict(zip((axis.serial for axis in tensor.op.axis), indices, strict=True))
        above, below = inside.expression(one, environment), inside.expression(body.args[0], axes)
        if below.depth >= above.depth:
            return inside.let(f"({above.text} / {below.text})", below.tag, below.depth)
    return None
