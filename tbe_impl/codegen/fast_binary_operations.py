"""Faster forms of binary operations: quotients, and extremes of a vector and a scalar."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.loop_levels import Index, Value
from tbe_impl.dsl.expr import Binary, Call, Const, Expr, Read

if TYPE_CHECKING:
    from tbe_impl.codegen.lowering import Elaborator


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
    if node.op == "div" and tag in ("f32", "f64"):
        factor = _exact_inverse(_number(node.b), tag)
        if factor:
            return inside.let(f"({a.text} * {vectors.literal(factor, tag)})", tag, depth)
        if b.depth < a.depth:
            inverse = inside.let(f"{tag}_rec({b.text})", tag, b.depth)
            is_far = inside.let(f"{tag}_is_far({inverse.text})", vectors.FLAG, b.depth)
            over = inside.short.get(id(node), "over")
            return inside.let(
                f"{tag}_{over}({a.text}, {b.text}, {inverse.text}, {is_far.text})", tag, depth
            )
    return inside.let(_text_of(node, a, b), tag, depth)


def _number(expr: Expr) -> float:
    """What an expression is everywhere; 0 where that is not written there."""
    while isinstance(expr, Read) and len(expr.tensor.op.body) == 1:
        expr = expr.tensor.op.body[0]
    return float(expr.value) if isinstance(expr, Const) and not isinstance(expr.value, str) else 0.0


def _exact_inverse(number: float, tag: str) -> float:
    """The inverse of a power of two, by which a product is bit by bit the quotient; 0 for any other number."""
    mantissa, exponent = math.frexp(number)
    return (
        1 / number
        if abs(mantissa) == 0.5 and abs(exponent - 1) <= (126 if tag == "f32" else 1022)
        else 0.0
    )


def _text_of(node: Binary, a: Value, b: Value) -> str:
    for value, other in ((a, node.b), (b, node.a)):
        if isinstance(other, Const) and not isinstance(other.value, str):
            found = vectors.beside_number(node.op, a.tag, value.text, float(other.value))
            if found is not None:
                return found
    return vectors.binary(node.op, a.tag, a.text, b.text)
