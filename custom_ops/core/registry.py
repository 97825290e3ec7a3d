"""Operators of one's own: a class with a forward becomes a Cell, its primitive and its gradient."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from types import SimpleNamespace
from typing import Any

import custom_ops
from custom_ops.core import shape_inference
from custom_ops.core.cell import FusedCell
from custom_ops.core.framework import HAS_MINDSPORE, nn
from custom_ops.core.kernel_interface import several
from custom_ops.core.numpy_operator import KIND, Declaration, Operator, place_of
from custom_ops.core.operator_spec import Compute, OpSpec
from tbe_impl.dsl.dtypes import DTYPES
from tbe_impl.errors import InputError
from tbe_impl.tracing.trace import trace

_operators: dict[str, tuple[type[Any], str]] = {}
"""Name → the class that is registered, and its file and line."""


def tbe(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function on tensors of the TBE DSL (``te.lang.cce``, ``tbe.dsl``, `tbe_impl.dsl`)."""
    setattr(function, KIND, "tbe")
    return function


def formula(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a formula in NumPy: it is run once on symbols, and what it does becomes a kernel."""
    setattr(function, KIND, "formula")
    return function


def get(name: str) -> type[Any]:
    """The class of an operator: a registered one, else one of this package.

    Raises:
        InputError: there is none of that name.
    """
    if name in _operators:
        return _operators[name][0]
    home = custom_ops._HOMES.get(name, "").partition(".")[0]
    found = getattr(custom_ops, name) if home in ("operators", "aliases") else None
    if not isinstance(found, type):
        registered = ", ".join(sorted(_operators)) or "one made with register_operator"
        raise InputError(
            "no operator of that name is registered",
            place="custom_ops.get",
            expected=f"{registered}, or an operator of custom_ops such as AddReLU",
            got=repr(name),
        )
    return found


def register_operator(
    name: str,
    *,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    undifferentiable: Sequence[str] = (),
    tbe_file: str | PathLike[str] = "",
    tbe_gradient_file: str | PathLike[str] = "",
) -> Callable[[type], type[Any]]:
    """Makes an operator of the class below.

    A class that derives from `custom_ops.Operator` has ``forward`` and ``backward`` as methods, and stays as it is.

    Any other class has ``forward``: a function on tensors marked `tbe`, one in NumPy marked `formula`, or a Cell. Its keyword
    arguments are the operator's attributes. It may have ``backward(ctx, grad, …)``, of the same kind, with one gradient for
    each output: ``ctx.x`` is the input or output of that name, ``ctx.alpha`` an attribute; it gives the gradient of each
    input, None for one that has none. Without it the gradient is derived. ``infer_shape`` and ``infer_dtype`` take the
    shapes, or dtypes by name, of the inputs, and attributes by keyword; each gives one for each output, or raises. A dtype
    that is inferred is the result's: ``forward`` computes in it where it is wider, and what it makes is cast. A shape has to
    be the one that ``forward`` makes. Without them both follow from ``forward``. ``composite`` is the same from basic
    operators of MindSpore, which say their dtypes themselves.

    Args:
        name: what `get` finds it by, before an operator of this package of that name.
        inputs: names; by default those of forward's arguments.
        outputs: names; by default ``out``.
        undifferentiable: inputs that get no gradient.
        tbe_file: for Ascend the operator as CANN lays it out, compute, schedule and build, as `custom_ops.core.operator_spec.OpSpec.tbe`
            has it; without it the class has only its composite there.
        tbe_gradient_file: likewise that of the gradient.

    Returns:
        A decorator: the class becomes a Cell, or, of an `Operator`, is one already.

    Raises:
        InputError: the name is taken by another class, there is no forward, the names do not fit, or a forward that is a
            Cell has ``infer_shape`` or ``infer_dtype`` beside it.

    >>> import numpy as np
    >>> @register_operator("Times")
    ... class Times:
    ...     @formula
    ...     def forward(x, *, factor=2.0):
    ...         return x * factor
    >>> Times(factor=3.0).forward(np.float32([1, 2]))
    array([3., 6.], dtype=float32)
    """

    def decorate(written: type) -> type[Any]:
        place = place_of(written)
        _, known = _operators.get(name, (None, place))
        if known != place:
            raise InputError(f"the name {name} is taken", place=place, got=f"also {known}")
        made: type[Any] = written
        if issubclass(written, Operator):
            written.declaration = replace(
                _declaration(written, name, inputs, place),
                outputs=tuple(outputs or ("out",)),
                undifferentiable=frozenset(undifferentiable),
                tbe=str(tbe_file),
                tbe_gradient=str(tbe_gradient_file),
            )
        else:
            spec = _spec(written, name, inputs, outputs, undifferentiable, place)
            spec = replace(spec, tbe=str(tbe_file), tbe_gradient=str(tbe_gradient_file))
            made = _cell_class(written, spec)
        _operators[name] = made, place
        return made

    return decorate


def _declaration(
    written: type[Operator], name: str, inputs: Sequence[str] | None, place: str
) -> Declaration:
    own = written.declaration.inputs
    if not own:
        raise _without_forward(name, place)
    if inputs is not None and tuple(inputs) != own:
        raise InputError(
            f"{name}: the names of inputs are not those of forward",
            place=place,
            expected=", ".join(own),
            got=", ".join(inputs),
            remedy="Leave `inputs` out: an Operator records forward's arguments under their names",
        )
    return Declaration(name, own, place=place)


def _without_forward(name: str, place: str) -> InputError:
    return InputError(
        f"{name} has no forward",
        place=place,
        remedy="Write one: a method of an Operator, a function marked @tbe or @formula, or a Cell",
    )


def _cell_class(written: type, spec: OpSpec) -> type[FusedCell]:
    def start(self: FusedCell, *given: Any, route: str = "", **attributes: Any) -> None:
        if given:
            names = ", ".join(f"{name}=…" for name in spec.attributes) or "nothing"
            raise InputError(
                f"{spec.name} takes its attributes by name",
                place=spec.place or spec.name,
                expected=f"{spec.name}({names})",
                got=f"{', '.join(type(one).__name__ for one in given)} without a name",
                remedy="Name them; inputs go to the call of what this makes",
            )
        FusedCell.__init__(self, spec, attributes, route)

    members = {
        "__init__": start,
        "__doc__": written.__doc__ or spec.doc,
        "__module__": written.__module__,
        "__qualname__": written.__qualname__,
        "spec": spec,
    }
    return type(written.__name__, (FusedCell,), members)


def _spec(
    written: type,
    name: str,
    inputs: Sequence[str] | None,
    outputs: Sequence[str] | None,
    undifferentiable: Sequence[str],
    place: str,
) -> OpSpec:
    forward = inspect.getattr_static(written, "forward", None)
    if forward is None:
        raise _without_forward(name, place)
    if HAS_MINDSPORE and (
        isinstance(forward, nn.Cell) or (isinstance(forward, type) and issubclass(forward, nn.Cell))
    ):
        idle = [name for name in ("infer_shape", "infer_dtype") if _optional(written, name)]
        if idle:
            raise InputError(
                f"{name}: {' and '.join(idle)} would not be used",
                place=place,
                expected="a forward marked @tbe or @formula",
                got="a Cell, whose operators say their shapes and dtypes",
                remedy="Leave it out, and cast in the Cell",
            )
        cell = forward() if isinstance(forward, type) else forward
        arguments, attributes = _arguments(type(cell).construct, drop_self=True)
        return OpSpec(
            name,
            tuple(inputs or arguments),
            tuple(outputs or ("out",)),
            composite=cell,
            undifferentiable=frozenset(undifferentiable),
            place=place,
            doc=inspect.getdoc(written) or "",
        )
    function = _function(forward, written)
    kind = _kind_of(forward, name, place)
    arguments, attributes = _arguments(function)
    if inputs is not None and len(inputs) != len(arguments):
        raise InputError(
            f"{name}: the names of inputs do not fit forward",
            place=place,
            expected=f"{len(arguments)} ({', '.join(arguments)})",
            got=f"{len(inputs)} ({', '.join(inputs)})",
        )
    names, made = tuple(inputs or arguments), tuple(outputs or ("out",))
    compute = _as_compute(function, kind)
    infer_shape, infer_dtype = _optional(written, "infer_shape"), _optional(written, "infer_dtype")
    if infer_shape is not None:
        infer_shape = shape_inference.shapes_by(infer_shape, name, made, place)
    if infer_dtype is not None:
        infer_dtype = shape_inference.dtypes_by(infer_dtype, name, made, place)
        compute = shape_inference.forward_with(compute, infer_dtype)
    backward = inspect.getattr_static(written, "backward", None)
    saves: tuple[str, ...] = ()
    gradient: Compute | None = None
    if backward is not None:
        own = _function(backward, written)
        saves = _saves(own, names, made)
        gradient = _with_context(own, saves, len(made))
        gradient = _as_compute(gradient, getattr(backward, KIND, kind))
        if infer_dtype is not None:
            gradient = shape_inference.backward_with(gradient, saves, names)
    return OpSpec(
        name,
        names,
        made,
        forward=compute,
        backward=gradient,
        saves=saves,
        attributes=attributes,
        composite=_optional(written, "composite"),
        infer_shape=infer_shape,
        infer_dtype=infer_dtype,
        undifferentiable=frozenset(undifferentiable),
        dtypes=tuple(DTYPES),
        formula=function if kind == "formula" else None,
        place=place,
        doc=inspect.getdoc(written) or "",
    )


def _kind_of(forward: Any, name: str, place: str) -> str:
    kind = getattr(getattr(forward, "__func__", forward), KIND, "")
    if not kind:
        raise InputError(
            f"it is not said what {name}.forward is written in",
            place=place,
            expected="@tbe (tensors of the DSL) or @formula (NumPy) above it, or a Cell",
            remedy="Methods in plain NumPy belong to a class that derives from custom_ops.Operator",
        )
    return str(kind)


def _as_compute(function: Compute, kind: str) -> Compute:
    if kind == "tbe":
        return function

    def traced(*tensors: Any, **attributes: Any) -> Any:

        return trace(function, *tensors, **attributes)

    return traced


def _function(member: Any, written: type) -> Callable[..., Any]:
    """A function without `self`, however it was written."""
    function = getattr(member, "__func__", member)
    if next(iter(inspect.signature(function).parameters), "") == "self":
        return function.__get__(written())
    return function


def _optional(written: type, name: str) -> Callable[..., Any] | None:
    member = inspect.getattr_static(written, name, None)
    return None if member is None else _function(member, written)


def _arguments(function: Any, *, drop_self: bool = False) -> tuple[list[str], dict[str, Any]]:
    """Names of the tensors, and attributes with their defaults."""
    parameters = list(inspect.signature(function).parameters.values())[drop_self:]
    tensors, attributes = [], {}
    for item in parameters:
        if item.kind is item.KEYWORD_ONLY or item.default is not item.empty:
            attributes[item.name] = item.default
        elif item.kind is not item.VAR_KEYWORD:
            tensors.append(item.name)
    return tensors, attributes


def _saves(backward: Any, inputs: Sequence[str], outputs: Sequence[str]) -> tuple[str, ...]:
    """The inputs and outputs that a backward names behind ``ctx.``."""
    used = set(inspect.unwrap(getattr(backward, "__func__", backward)).__code__.co_names)
    if "saved_tensors" in used:
        return tuple(inputs)
    return tuple(name for name in (*inputs, *outputs) if name in used)


def _with_context(backward: Any, saves: Sequence[str], outputs: int) -> Compute:
    """``backward(ctx, grad, …)`` as a function of what was saved, and of the gradients."""

    def compute(*tensors: Any, **attributes: Any) -> tuple[Any, ...]:
        known: Mapping[str, Any] = dict(zip(saves, tensors, strict=False))
        context = SimpleNamespace(
            **{**attributes, **known}, saved_tensors=tuple(tensors[: len(saves)])
        )
        return several(backward(context, *tensors[len(saves) :][:outputs]))

    return compute
