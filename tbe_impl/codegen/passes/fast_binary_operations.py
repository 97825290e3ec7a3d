"""Lowers quotients to faster forms, and max or min of a vector and a scalar to faster calls."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.loop_levels import Index, Value
from tbe_impl.dsl.expr import Binary, Call, Const, Expr, Read

if TYPE_CHECKING:
    from tbe_impl.codegen.lowering import Lowering


def lower_reciprocal_product(
    inside: Lowering, node: Expr, environment: Mapping[int, Index]
) -> Value | None:
    """Lowers x · (1 / y) to x / y, which saves one rounding.

    Returns None for any other product. Also returns None when several iterations use the same
    reciprocal: computing it once and multiplying is then cheaper.
    """
    if not isinstance(node, Binary) or node.op != "mul":
        return None
    for one, other in (node.children, reversed(node.children)):
        if not isinstance(other, Read) or not other.tensor.op.body:
            continue
        tensor, body = other.tensor, other.tensor.op.body[other.tensor.value_index]
        if not isinstance(body, Call) or body.name != "rec" or id(body) not in inside.short:
            continue
        indices = [inside.lower_index(item, environment) for item in other.indices]
        in_memory = id(tensor) in inside.buffers or id(tensor) in inside.kept
        if in_memory or inside.is_recomputed(indices):
            continue
        axes = dict(zip((axis.serial for axis in tensor.op.axis), indices, strict=True))
        above, below = (
            inside.lower_expression(one, environment),
            inside.lower_expression(body.args[0], axes),
        )
        if below.depth >= above.depth:
            return inside.let(ir.Op("div", (above.expr, below.expr), below.tag), below.depth)
    return None


def lower_binary(inside: Lowering, node: Binary, tag: str, a: Value, b: Value) -> Value:
    """Lowers a binary operation on two vectors to loop IR.

    `tag` is the kind (loop IR type) of the result.
    """
    depth = max(a.depth, b.depth)
    if node.op == "div" and tag in ("f32", "f64"):
        factor = _exact_reciprocal(_constant_value(node.b), tag)
        if factor:
            return inside.let(ir.Op("mul", (a.expr, vectors.literal(factor, tag)), tag), depth)
        if b.depth < a.depth:
            inverse = inside.let(ir.Call("rec", (b.expr,), tag, tag), b.depth)
            is_far = inside.let(ir.Call("is_far", (inverse.expr,), ir.FLAG, tag), b.depth)
            over = inside.short.get(id(node), "over")
            operands = (a.expr, b.expr, inverse.expr, is_far.expr)
            return inside.let(ir.Call(over, operands, tag, tag), depth)
    return inside.let(_binary_expr(node, a, b), depth)


def _constant_value(expr: Expr) -> float:
    """Returns the value of a constant expression.

    Returns 0 for any other expression. A read of a stage is constant if the expression that the
    stage computes is constant.
    """
    while isinstance(expr, Read) and len(expr.tensor.op.body) == 1:
        expr = expr.tensor.op.body[0]
    return float(expr.value) if isinstance(expr, Const) and not isinstance(expr.value, str) else 0.0


def _exact_reciprocal(number: float, tag: str) -> float:
    """Returns the reciprocal of a power of two if it is a normal number; otherwise returns 0."""
    mantissa, exponent = math.frexp(number)
    return (
        1 / number
        if abs(mantissa) == 0.5 and abs(exponent - 1) <= (126 if tag == "f32" else 1022)
        else 0.0
    )


def _binary_expr(node: Binary, a: Value, b: Value) -> ir.Expr:
    for value, other in ((a, node.b), (b, node.a)):
        if isinstance(other, Const) and not isinstance(other.value, str):
            found = vectors.binary_with_scalar(node.op, a.tag, value.expr, float(other.value))
            if found is not None:
                return found
    return vectors.binary(node.op, a.tag, a.expr, b.expr)
