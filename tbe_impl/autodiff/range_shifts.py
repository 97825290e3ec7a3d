"""Extremes that a formula subtracts for the sake of its range only: softmax, log-softmax, logsumexp.

Seen as a number m of its own, the maximum of a row cancels in e^(x − m) / Σ e^(x − m): the derivative for m is 0 in exact
arithmetic, so the backward need not compute it. Every tensor is looked at as a function of m: it does not depend on m, or
is *something + k·m*, or *something · e^(k·m)*, or neither. Each row has an m of its own, so it is remembered which one stands in
an element: where those of several rows meet, as in a softmax over the other axis, nothing cancels.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from tbe_impl.autodiff.scalar_derivatives import value_reads
from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import Binary, Call, Cast, Const, Expr, Read, Reduce, reads
from tbe_impl.dsl.tensor import Operation, Tensor


@dataclass(frozen=True)
class _Form:
    """How a value depends on m: *… + shift·m* or *… · e^(scale·m)*; never both.

    `place` says on which m: for each of its indices the axis of the value that it is, None where there is only one.
    """

    shift: float = 0
    scale: float = 0
    place: tuple[int | None, ...] = ()


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
    place = tuple(
        None if isinstance(size, Const) and size.value == 1 else axis
        for axis, size in enumerate(extreme.shape)
    )
    forms: dict[int, _Form] = {id(extreme): _Form(1, 0, place)}
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
    axes = {id(axis): number for number, axis in enumerate(op.axis)}
    if not isinstance(body, Reduce):
        return _of(body, forms, axes)
    form = _of(body.source, forms, axes)
    if form is None or form == _FREE:
        return form
    # Σ (… · e^(k·m)) has the factor too, and the largest of … + k·m the summand
    return form if (body.op == "sum" and form.scale) or (body.op != "sum" and form.shift) else None


def _of(node: Expr, forms: Mapping[int, _Form], axes: Mapping[int, int]) -> _Form | None:
    """Likewise of an expression; `axes` are those of the stage, by ``id``."""
    if not any(id(read.tensor) in forms for read in value_reads(node)):
        asks = any(id(read.tensor) in forms for read in reads(node))
        return None if asks else _FREE
    if isinstance(node, Read):
        return _read(node, forms[id(node.tensor)], axes)
    if isinstance(node, Cast) and is_float(node.dtype) and is_float(node.value.dtype):
        return _of(node.value, forms, axes)
    if isinstance(node, Call) and len(node.args) == 1:
        return _called(node.name, _of(node.args[0], forms, axes))
    if isinstance(node, Binary):
        one, other = _of(node.a, forms, axes), _of(node.b, forms, axes)
        return None if one is None or other is None else _of_two(node, one, other)
    return None


def _read(node: Read, form: _Form, axes: Mapping[int, int]) -> _Form | None:
    """Of an element of a tensor with that form; None where its m is not told by axes of the stage, such as reduced ones."""
    place = [None if at is None else axes.get(id(node.indices[at]), -1) for at in form.place]
    return None if -1 in place else replace(form, place=tuple(place))


def _called(name: str, form: _Form | None) -> _Form | None:
    if form is None or form == _FREE:
        return form
    if name == "exp" and not form.scale:
        return _Form(0, form.shift, form.place)
    if name == "log" and not form.shift:
        return _Form(form.scale, 0, form.place)
    if name == "neg":
        return replace(form, shift=-form.shift)
    if name in ("rec", "sqrt", "rsqrt") and not form.shift:
        return replace(form, scale=form.scale * {"rec": -1, "sqrt": 0.5, "rsqrt": -0.5}[name])
    return None


def _of_two(node: Binary, one: _Form, other: _Form) -> _Form | None:
    if _FREE not in (one, other) and one.place != other.place:
        return None
    place = one.place or other.place
    if node.op in ("add", "sub"):
        if one == other and one.scale:
            return one
        sign = 1 if node.op == "add" else -1
        return None if one.scale or other.scale else _form(one.shift + sign * other.shift, 0, place)
    if node.op in ("mul", "div"):
        for form, factor in ((one, node.b), (other, node.a)):
            if form.shift:
                whole = isinstance(factor, Const) and (node.op == "mul" or factor is node.b)
                times = float(factor.value) if whole else 0.0  # type: ignore[attr-defined]
                return (
                    replace(form, shift=form.shift * (times if node.op == "mul" else 1 / times))
                    if times
                    else None
                )
        sign = 1 if node.op == "mul" else -1
        return _form(0, one.scale + sign * other.scale, place)
    if node.op in ("max", "min") and one == other and not one.scale:
        return one
    return None


def _form(shift: float, scale: float, place: tuple[int | None, ...]) -> _Form:
    return _Form(shift, scale, place) if shift or scale else _FREE
