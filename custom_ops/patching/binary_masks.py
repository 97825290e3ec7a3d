"""Recognises masks of zeros and ones, and equal expressions, in the source of a Cell."""

from __future__ import annotations

import ast
from itertools import pairwise

import numpy as np

from custom_ops.core.framework import ms
from custom_ops.patching.call_semantics import semantics_of
from custom_ops.patching.data_flow import Flow
from custom_ops.patching.partial_evaluation import Scope
from custom_ops.patching.scalar_constants import value_of

_DEPTH = 8
_VALUE_PRESERVING = (
    "tril",
    "triu",
    "expand_dims",
    "unsqueeze",
    "broadcast_to",
    "reshape",
    "view",
    "swapaxes",
    "transpose",
)
"""Functions whose results contain only elements of the argument, and zeros."""


def is_zero_or_one(node: ast.expr, flow: Flow, scope: Scope, depth: int = _DEPTH) -> bool:
    """Whether each element of the expression's value is 0 or 1 in every call.

    The function recognises comparisons, and constant tensors of the Cell whose elements are 0 or 1.
    The comparisons and tensors may be sliced, cast or transposed.
    """
    if depth == 0:
        return False
    node = flow.origin(node) if isinstance(node, ast.Name) else node
    known = scope.evaluate(node)
    if known is not None and isinstance(known.value, ms.Tensor):
        return _is_zero_or_one_tensor(known.value)
    if isinstance(node, ast.Compare):
        return True
    if isinstance(node, ast.Subscript):
        return is_zero_or_one(node.value, flow, scope, depth - 1)
    if value_of(node, flow, scope) in (0.0, 1.0):
        return True
    if not isinstance(node, ast.Call | ast.BinOp):
        return False
    found = semantics_of(node, scope)
    if found is not None and found.kind == "cast":
        return is_zero_or_one(found.operands[0], flow, scope, depth - 1)
    if found is not None and found.kind == "mul":
        return all(is_zero_or_one(one, flow, scope, depth - 1) for one in found.operands)
    if not isinstance(node, ast.Call):
        return False
    name = ast.unparse(node.func).split(".")[-1]
    if name in ("ones", "zeros"):
        return True
    if name not in _VALUE_PRESERVING:
        return False
    is_method = isinstance(node.func, ast.Attribute) and not _is_module(node.func.value, scope)
    given = [node.func.value] if is_method else node.args[:1]  # type: ignore[attr-defined]
    return bool(given) and is_zero_or_one(given[0], flow, scope, depth - 1)


def _is_module(node: ast.expr, scope: Scope) -> bool:
    known = scope.evaluate(node)
    return known is not None and type(known.value).__name__ == "module"


def _is_zero_or_one_tensor(tensor: ms.Tensor) -> bool:
    if isinstance(tensor, ms.Parameter) and tensor.requires_grad:
        return False
    if tensor.dtype == ms.bool_:
        return True
    numbers = tensor.astype(ms.float32).asnumpy()
    return bool(np.all((numbers == 0) | (numbers == 1)))


def is_same_expression(one: ast.expr, other: ast.expr, flow: Flow) -> bool:
    """Whether two expressions have the same text and read the same definitions of names."""
    if ast.unparse(one) != ast.unparse(other):
        return False
    names = [
        [flow.reaching.get(id(part)) for part in ast.walk(each) if isinstance(part, ast.Name)]
        for each in (one, other)
    ]
    return all(first == second for first, second in pairwise(names))
