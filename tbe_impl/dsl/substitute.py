"""Substitutes nodes and tensors in an expression."""

from __future__ import annotations

from collections.abc import Mapping

from tbe_impl.dsl.expr import (
    Binary,
    Call,
    Cast,
    Expr,
    Read,
    Reduce,
    Select,
    make_binary,
    walk,
)
from tbe_impl.dsl.tensor import Tensor

NO_TENSORS: Mapping[int, Tensor] = {}
NO_VALUES: Mapping[int, Expr] = {}


def substitute(
    expression: Expr,
    values: Mapping[int, Expr] = NO_VALUES,
    tensors: Mapping[int, Tensor] = NO_TENSORS,
) -> Expr:
    """Returns `expression` with some of its nodes and tensors replaced.

    Args:
        expression: the expression; it is not changed.
        values: a dict from the ``id`` of a node to the node that replaces it.
        tensors: a dict from the ``id`` of a tensor to the tensor that is read instead.
    """
    new: dict[int, Expr] = {}
    for node in walk(expression):
        given = values.get(id(node))
        new[id(node)] = _rebuild_node(node, new, tensors) if given is None else given
    return new[id(expression)]


def _rebuild_node(node: Expr, new: Mapping[int, Expr], tensors: Mapping[int, Tensor]) -> Expr:
    parts = [new[id(child)] for child in node.children]
    changed = any(part is not child for part, child in zip(parts, node.children, strict=True))
    if isinstance(node, Read):
        tensor = tensors.get(id(node.tensor), node.tensor)
        return Read(tensor, parts) if changed or tensor is not node.tensor else node
    if not changed:
        return node
    if isinstance(node, Binary):
        made = make_binary(node.op, *parts)
        return made if isinstance(made, Expr) else Binary(node.op, parts[0], parts[1], node.dtype)
    if isinstance(node, Call):
        return Call(node.name, parts, node.dtype)
    if isinstance(node, Cast):
        return Cast(node.dtype, parts[0])
    if isinstance(node, Select):
        return Select(*parts)
    if isinstance(node, Reduce):
        return Reduce(node.op, parts[0], node.axes, parts[1] if len(parts) > 1 else None)
    return node
