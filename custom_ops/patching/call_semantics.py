"""Classifies calls in the source of a Cell: functions, primitives, Cells and tensor methods."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from custom_ops.core.framework import nn, ops
from custom_ops.patching.partial_evaluation import KnownValue, Scope, is_of_framework

_KINDS: Mapping[str, tuple[str, ...]] = {
    "baddbmm": ("baddbmm", "baddbmm_ext"),
    "matmul": ("matmul", "bmm", "bmm_ext", "matmul_ext", "BatchMatMul", "MatMul", "batch_matmul"),
    "softmax": ("softmax", "softmax_ext", "Softmax"),
    "transpose": ("transpose", "Transpose", "permute"),
    "swapaxes": ("swapaxes", "swapdims", "transpose_ext_view"),
    "mul": ("mul", "Mul", "multiply"),
    "div": ("div", "RealDiv", "Div", "divide", "true_divide"),
    "add": ("add", "Add", "tensor_add"),
    "sub": ("sub", "Sub", "subtract"),
    "cast": ("cast", "Cast", "astype", "to", "float", "half", "bfloat16", "type_as"),
    "masked_fill": ("masked_fill", "MaskedFill"),
    "where": ("where", "select", "Select"),
    "dropout": ("dropout", "dropout_ext"),
    "relu": ("relu", "ReLU"),
    "gelu": ("gelu", "GeLU"),
    "silu": ("silu", "SiLU"),
    "leaky_relu": ("leaky_relu",),
    "contiguous": ("contiguous",),
    "reshape": ("reshape", "view", "Reshape", "mint_view"),
    "shape": ("shape", "Shape"),
    "dtype": ("DType",),
    "full_like": ("full_like", "full_like_ext"),
    "ones_like": ("ones_like", "ones_like_ext"),
    "zeros_like": ("zeros_like", "zeros_like_ext"),
}
KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names}
METHODS = frozenset(
    {
        "matmul",
        "bmm",
        "softmax",
        "transpose",
        "permute",
        "swapaxes",
        "mul",
        "div",
        "add",
        "astype",
        "to",
        "float",
        "half",
        "masked_fill",
        "contiguous",
        "reshape",
        "view",
        "sub",
        "type_as",
        "baddbmm",
        "bfloat16",
    }
)
_OPERATORS: Mapping[type, str] = {
    ast.MatMult: "matmul",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Add: "add",
    ast.Sub: "sub",
}


@dataclass(frozen=True)
class CallSemantics:
    """The operation that an expression computes.

    Attributes:
        kind: a key of `_KINDS`, or ``cell``.
        operands: positional operands. The first operand of a tensor method is the tensor.
        keywords: keyword arguments.
        called: the primitive, function or Cell. None for Python operators and tensor methods.
    """

    kind: str
    operands: tuple[ast.expr, ...]
    keywords: Mapping[str, ast.expr] = field(default_factory=dict)
    called: Any = None


def semantics_of(node: ast.AST, scope: Scope) -> CallSemantics | None:
    """Returns the operation of a call or operator node, or None if the operation is unknown."""
    if isinstance(node, ast.BinOp):
        kind = _OPERATORS.get(type(node.op))
        return CallSemantics(kind, (node.left, node.right)) if kind else None
    if not isinstance(node, ast.Call) or any(one.arg is None for one in node.keywords):
        return None
    if any(isinstance(one, ast.Starred) for one in node.args):
        return None
    keywords = {str(one.arg): one.value for one in node.keywords}
    called = scope.evaluate(node.func)
    if called is None:
        return _method(node, keywords, scope)
    return _function(called, tuple(node.args), keywords)


def _method(node: ast.Call, keywords: Mapping[str, ast.expr], scope: Scope) -> CallSemantics | None:
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in METHODS:
        return None
    if scope.evaluate(node.func.value) is not None:
        return None
    kind = KIND_OF[node.func.attr]
    if node.func.attr == "transpose" and len(node.args) == 2:
        kind = "swapaxes"
    return CallSemantics(kind, (node.func.value, *node.args), keywords)


def _function(
    called: KnownValue, operands: tuple[ast.expr, ...], keywords: Mapping[str, ast.expr]
) -> CallSemantics | None:
    value = called.value
    if isinstance(value, type):
        return None  # a constructor call
    if isinstance(value, nn.Cell):
        return CallSemantics("cell", operands, keywords, value)
    if isinstance(value, ops.Primitive):
        name, known = type(value).__name__, is_of_framework(type(value))
    else:
        name, known = getattr(value, "__name__", ""), is_of_framework(value)
    kind = KIND_OF.get(name) if known else None
    return CallSemantics(kind, operands, keywords, value) if kind else None


def activation_of(found: CallSemantics, scope: Scope) -> Any:
    """Returns a `mindspore.nn` Cell that computes the same activation as the call.

    The result is None if the called function or primitive is not an activation, or if the arguments
    of the call are unknown. If a Cell is called, the result is this Cell, even if the Cell is not
    an activation.
    """
    if found.kind == "cell":
        return found.called
    if len(found.operands) != 1 and found.kind != "leaky_relu":
        return None
    told = {name: scope.evaluate(value) for name, value in found.keywords.items()}
    values = {name: known.value for name, known in told.items() if known is not None}
    if len(values) < len(told):
        return None
    if found.kind == "relu" and not values:
        return nn.ReLU()
    if found.kind == "silu" and not values:
        return nn.SiLU()
    if found.kind == "gelu":
        approximate = values.pop("approximate", "none")
        if isinstance(found.called, ops.Primitive):
            approximate = "tanh"
        return None if values else nn.GELU(approximate == "tanh")
    if found.kind == "leaky_relu" and not values:
        slope = scope.evaluate(found.operands[1]) if len(found.operands) == 2 else KnownValue(0.2)
        return None if slope is None else nn.LeakyReLU(slope.value)
    return None
