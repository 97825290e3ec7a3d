"""Operations on two operands that have a quicker form: quotients, and extremes of a vector and a number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tbe_impl.backends.cpu import vector_types as vectors
from tbe_impl.backends.cpu.scope import Index, Value
from tbe_impl.dsl.expr import Binary, Call, Const, Expr, Read

if TYPE_CHECKING:
    from tbe_impl.backends.cpu.elaborate import Elaborator


def quotient_of(inside: Elaborator, node: Expr, environment: Mapping[int, Index]) -> Value | None:
    """x · (1 / y) as x / y; None where it is no such product, or where the inverse serves several steps of a loop.

    Nothing shows that one rounding is left out.
    """
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


def binary(inside: Elaborator, node: Binary, tag: str, a: Value, b: Value) -> Value:
    """Two vectors put together; ``tag`` is the kind of what comes out."""
    depth = max(a.depth, b.depth)
    if node.op == "div" and tag in ("f32", "f64") and b.depth < a.depth:
        inverse = inside.let(f"{tag}_rec({b.text})", tag, b.depth)
        return inside.let(f"{tag}_over({a.text}, {b.text}, {inverse.text})", tag, depth)
    return inside.let(_text_of(node, a, b), tag, depth)


def _text_of(node: Binary, a: Value, b: Value) -> str:
    for value, other in ((a, node.b), (b, node.a)):
        if isinstance(other, Const) and not isinstance(other.value, str):
            found = vectors.beside_number(node.op, a.tag, value.text, float(other.value))
            if found is not None:
                return found
    return vectors.binary(node.op, a.tag, a.text, b.text)
