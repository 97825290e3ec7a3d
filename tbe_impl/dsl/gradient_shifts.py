"""Extremes that a formula subtracts for the sake of its range only: softmax, log-softmax, logsumexp.

Seen as a number m of its own, the maximum of a row cancels in e^(x − m) / Σ e^(x − m): the derivative for m is 0 in exact
arithmetic, so the backward need not compute it. Every tensor is looked at as a function of m: it does not depend on m, or
is *something + k·m*, or *something · e^(k·m)*, or neither.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import Binary, Call, Cast, Const, Expr, Read, Reduce, reads
from tbe_impl.dsl.gradient_scalars import value_reads
from tbe_impl.dsl.tensor import Operation, Tensor


@dataclass(frozen=True)
class _Form:
    """How a value depends on m: *… + shift·m* or *… · e^(scale·m)*; never both."""

    shift: float = 0
    scale: float = 0


_FREE = _Form()


def cancelling(stages: Sequence[Operation], outputs: Sequence[Tensor]) -> set[int]:
    """``id`` of the extremes on which no output depends, seen as numbers of their own.

    Args:
        stages: of a graph, inputs first.
        outputs: those whose gradients are asked for.
    """
    wanted = {id(tensor) for tensor in outputs}
    return {
        id(op.outputs[0])
        for op in stages
        if len(op.body) == 1
        and isinstance(op.body[0], Reduce)
        and op.body[0].op in ("max", "min")
        and id(op.outputs[0]) not in wanted
        and is_float(op.outputs[0].dtype)
        and _cancels(op.outputs[0], stages, wanted)
    }


def _cancels(extreme: Tensor, stages: Sequence[Operation], wanted: Container[int]) -> bool:
    forms: dict[int, _Form] = {id(extreme): _Form(shift=1)}
    for op in stages:
        if op is extreme.op or not any(id(tensor) in forms for tensor in op.input_tensors):
            continue
        for at, tensor in enumerate(op.outputs):
            form = _of_stage(op, at, forms)
            if form is None or (form != _FREE and id(tensor) in wanted):
                return False
            if form != _FREE:
                forms[id(tensor)] = form
    return True


def _of_stage(op: Operation, at: int, forms: Mapping[int, _Form]) -> _Form | None:
    """How an output of a stage depends on m; None when that cannot be said."""
    if not op.body:
        return None
    body = op.body[at]
    if not isinstance(body, Reduce):
        return _of(body, forms)
    form = _of(body.source, forms)
    if form is None or form == _FREE:
        return form
    # Σ (… · e^(k·m)) has the factor too, and the largest of … + k·m the summand
    return form if (body.op == "sum" and form.scale) or (body.op != "sum" and form.shift) else None


def _of(node: Expr, forms: Mapping[int, _Form]) -> _Form | None:
    if not any(id(read.tensor) in forms for read in value_reads(node)):
        asks = any(id(read.tensor) in forms for read in reads(node))
        return None if asks else _FREE
    if isinstance(node, Read):
        return forms.get(id(node.tensor), _FREE)
    if isinstance(node, Cast) and is_float(node.dtype) and is_float(node.value.dtype):
        return _of(node.value, forms)
    if isinstance(node, Call) and len(node.args) == 1:
        return _called(node.name, _of(node.args[0], forms))
    if isinstance(node, Binary):
        one, other = _of(node.a, forms), _of(node.b, forms)
        return None if one is None or other is None else _of_two(node, one, other)
    return None


def _called(name: str, form: _Form | None) -> _Form | None:
    if form is None:
        return None
    if name == "exp" and not form.scale:
        return _Form(scale=form.shift)
    if name == "log" and not form.shift:
        return _Form(shift=form.scale)
    if name == "neg":
        return _Form(-form.shift, form.scale)
    if name in ("rec", "sqrt", "rsqrt") and not form.shift:
        return _Form(scale=form.scale * {"rec": -1, "sqrt": 0.5, "rsqrt": -0.5}[name])
    return None


def _of_two(node: Binary, one: _Form, other: _Form) -> _Form | None:
    if node.op in ("add", "sub"):
        if one == other and one.scale:
            return one
        sign = 1 if node.op == "add" else -1
        return None if one.scale or other.scale else _Form(one.shift + sign * other.shift)
    if node.op in ("mul", "div"):
        for form, factor in ((one, node.b), (other, node.a)):
            if form.shift:
                whole = isinstance(factor, Const) and (node.op == "mul" or factor is node.b)
                times = float(factor.value) if whole else 0.0  # type: ignore[attr-defined]
                return _Form(form.shift * (times if node.op == "mul" else 1 / times)) if times else None  # fmt: skip
        sign = 1 if node.op == "mul" else -1
        return _Form(scale=one.scale + sign * other.scale)
    if node.op in ("max", "min") and one == other and not one.scale:
        return one
    return None
