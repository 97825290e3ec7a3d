"""Finds row maxima and minima that cancel in the gradient, as in softmax and logsumexp.

The row maximum m in e^(x − m) / Σ e^(x − m) only shifts the range of the exponents and cancels. In
exact arithmetic the derivative of the quotient with respect to m is 0, so the backward graph omits
m. Below, m is called the row extreme: the result of a row maximum or a row minimum. The analysis
classifies each tensor as a function of m. A tensor is independent of m, has the form *a + k·m* or
*a · e^(k·m)*, or is unknown. In both forms, *a* is independent of m. Each row has its own m, so the
analysis also tracks which axes select the row. In an element that combines several rows, m does not
cancel.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from tbe_impl.autodiff.scalar_derivatives import value_reads
from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import Binary, Call, Cast, Const, Expr, Read, Reduce, reads
from tbe_impl.dsl.tensor import Operation, Tensor


@dataclass(frozen=True)
class _Dependence:
    """How a value depends on a row extreme m: as *a + shift·m*, or as *a · e^(scale·m)*.

    Attributes:
        shift: the factor of m in the form a + shift·m. 0 if the value has the second form.
        scale: the factor of m in the form a · e^(scale·m). 0 if the value has the first form.
        place: one entry for each axis of the tensor m. The entry is the position of that axis of
            the value which has the same index. For an axis of m with size 1, the entry is None.
    """

    shift: float = 0
    scale: float = 0
    place: tuple[int | None, ...] = ()


_NO_DEPENDENCE = _Dependence()


def find_cancelling_extremes(stages: Sequence[Operation], outputs: Sequence[Tensor]) -> set[int]:
    """Finds the maximum and minimum reductions whose values cancel in all outputs.

    Args:
        stages: the stages of a graph, inputs first.
        outputs: the outputs that have a cotangent.

    Returns:
        A set with the ``id`` of the result tensor of each of these reductions.
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
        and _is_cancelled(op.outputs[0], stages, wanted)
    }


def _is_cancelled(extreme: Tensor, stages: Sequence[Operation], wanted: Container[int]) -> bool:
    place = tuple(
        None if isinstance(size, Const) and size.value == 1 else axis
        for axis, size in enumerate(extreme.shape)
    )
    forms: dict[int, _Dependence] = {id(extreme): _Dependence(1, 0, place)}
    for op in stages:
        if op is extreme.op or not any(id(tensor) in forms for tensor in op.input_tensors):
            continue
        for at, tensor in enumerate(op.outputs):
            form = _stage_dependence(op, at, forms)
            if form is None or (form != _NO_DEPENDENCE and id(tensor) in wanted):
                return False
            if form != _NO_DEPENDENCE:
                forms[id(tensor)] = form
    return True


def _stage_dependence(
    op: Operation, at: int, forms: Mapping[int, _Dependence]
) -> _Dependence | None:
    """Returns the dependence of output number `at` of a stage on the row extreme m.

    Returns None if the dependence is unknown. `forms` maps the ``id`` of each tensor that depends
    on m to its dependence.
    """
    if not op.body:
        return None
    body = op.body[at]
    axes = {id(axis): number for number, axis in enumerate(op.axis)}
    if not isinstance(body, Reduce):
        return _expression_dependence(body, forms, axes)
    form = _expression_dependence(body.source, forms, axes)
    if form is None or form == _NO_DEPENDENCE:
        return form
    # a sum of a·e^(k·m) keeps the factor e^(k·m); a maximum of a + k·m keeps the summand k·m
    return form if (body.op == "sum" and form.scale) or (body.op != "sum" and form.shift) else None


def _expression_dependence(
    node: Expr, forms: Mapping[int, _Dependence], axes: Mapping[int, int]
) -> _Dependence | None:
    """Returns the dependence of an expression on the row extreme m, or None if it is unknown.

    `axes` maps the ``id`` of an axis of the stage to its position.
    """
    if not any(id(read.tensor) in forms for read in value_reads(node)):
        asks = any(id(read.tensor) in forms for read in reads(node))
        return None if asks else _NO_DEPENDENCE
    if isinstance(node, Read):
        return _read_dependence(node, forms[id(node.tensor)], axes)
    if isinstance(node, Cast) and is_float(node.dtype) and is_float(node.value.dtype):
        return _expression_dependence(node.value, forms, axes)
    if isinstance(node, Call) and len(node.args) == 1:
        return _call_dependence(node.name, _expression_dependence(node.args[0], forms, axes))
    if isinstance(node, Binary):
        one, other = (
            _expression_dependence(node.a, forms, axes),
            _expression_dependence(node.b, forms, axes),
        )
        return None if one is None or other is None else _binary_dependence(node, one, other)
    return None


def _read_dependence(node: Read, form: _Dependence, axes: Mapping[int, int]) -> _Dependence | None:
    """Returns how an element that a stage reads depends on the row extreme m.

    `form` describes the whole tensor; its `place` contains positions of the tensor's axes. The
    `place` of the result contains positions of the stage's data axes instead. `axes` maps the
    ``id`` of each data axis to its position. The read selects a row of m by some of its indices.
    Returns None if one of these indices is not a data axis of the stage, but a reduction axis, for
    example.
    """
    place = [None if at is None else axes.get(id(node.indices[at]), -1) for at in form.place]
    return None if -1 in place else replace(form, place=tuple(place))


def _call_dependence(name: str, form: _Dependence | None) -> _Dependence | None:
    if form is None or form == _NO_DEPENDENCE:
        return form
    if name == "exp" and not form.scale:
        return _Dependence(0, form.shift, form.place)
    if name == "log" and not form.shift:
        return _Dependence(form.scale, 0, form.place)
    if name == "neg":
        return replace(form, shift=-form.shift)
    if name in ("rec", "sqrt", "rsqrt") and not form.shift:
        return replace(form, scale=form.scale * {"rec": -1, "sqrt": 0.5, "rsqrt": -0.5}[name])
    return None


def _binary_dependence(node: Binary, one: _Dependence, other: _Dependence) -> _Dependence | None:
    if _NO_DEPENDENCE not in (one, other) and one.place != other.place:
        return None
    place = one.place or other.place
    if node.op in ("add", "sub"):
        if one == other and one.scale:
            return one
        sign = 1 if node.op == "add" else -1
        return (
            None
            if one.scale or other.scale
            else _make_dependence(one.shift + sign * other.shift, 0, place)
        )
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
        return _make_dependence(0, one.scale + sign * other.scale, place)
    if node.op in ("max", "min") and one == other and not one.scale:
        return one
    return None


def _make_dependence(shift: float, scale: float, place: tuple[int | None, ...]) -> _Dependence:
    return _Dependence(shift, scale, place) if shift or scale else _NO_DEPENDENCE
