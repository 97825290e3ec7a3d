"""Registers user-defined operators; turns a class with a ``forward`` into a differentiable Cell."""

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
from custom_ops.core.kernel_interface import to_tuple
from custom_ops.core.numpy_operator import KIND, Declaration, Operator, place_of
from custom_ops.core.operator_spec import Compute, OpSpec
from tbe_impl.dsl.dtypes import DTYPES
from tbe_impl.errors import InputError
from tbe_impl.tracing.trace import trace

_operators: dict[str, tuple[type[Any], str]] = {}
"""Dict from the name of an operator to its registered class and the ``file:line`` of the class."""


def tbe(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function as written in the TBE DSL (``te.lang.cce``, ``tbe.dsl``, `tbe_impl.dsl`)."""
    setattr(function, KIND, "tbe")
    return function


def formula(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function as a NumPy formula that is traced with symbols and compiled to a kernel."""
    setattr(function, KIND, "formula")
    return function


def registered_names() -> tuple[str, ...]:
    """Returns the names that `register_operator` has stored, in alphabetical order."""
    return tuple(sorted(_operators))


def get(name: str) -> type[Any]:
    """Returns the class of a registered operator, or of an operator of this package.

    A registered operator takes precedence over an operator of this package with the same name.

    Raises:
        InputError: no operator has this name.
    """
    if name in _operators:
        return _operators[name][0]
    home = custom_ops._HOMES.get(name, "").partition(".")[0]
    found = getattr(custom_ops, name) if home in ("operators", "aliases") else None
    if not isinstance(found, type):
        registered = ", ".join(registered_names()) or "one registered with register_operator"
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
    """Registers the decorated class as an operator.

    A class that derives from `custom_ops.Operator` has ``forward`` and ``backward`` as methods and
    is registered unchanged.

    Any other class defines:

    - ``forward``: a DSL function marked `tbe`, a NumPy function marked `formula`, or a Cell. Its
      keyword arguments are the operator's attributes.
    - ``backward(ctx, grad, …)``, optional: a function with the same mark as ``forward`` (`tbe` or
      `formula`). After ``ctx``, the function takes one gradient per output. ``ctx.x`` is the input
      or output with the name ``x``, and ``ctx.alpha`` is the attribute ``alpha``. The function
      returns one gradient per input, or None for an input without a gradient. By default the
      gradient is derived from ``forward``.
    - ``infer_shape`` and ``infer_dtype``, optional: functions that take the shapes (or the dtype
      names) of the inputs, and attributes by keyword. Each function returns one shape (or dtype
      name) per output, or raises an error. If the inferred dtype is wider than the dtype of a float
      input, the input is first cast to the inferred dtype. The result of ``forward`` is cast to the
      inferred dtype. The inferred shape has to equal the shape of the result. By default, shapes
      and dtypes are inferred from ``forward``.
    - ``composite``, optional: the same computation with MindSpore's basic operators, which infer
      their own dtypes.

    Args:
        name: name of the operator, by which `get` finds its class. The class takes precedence over
            an operator of this package with this name.
        inputs: names of the inputs; by default the names of the arguments of ``forward``.
        outputs: names of the outputs; by default ``out``.
        undifferentiable: inputs without a gradient.
        tbe_file: path of the file with the TBE operator (compute, schedule and build) that CANN
            builds for Ascend, in the format of `custom_ops.core.operator_spec.OpSpec.tbe`. If
            empty, only the composite runs on Ascend.
        tbe_gradient_file: file with the TBE operator of the gradient.

    Returns:
        A decorator. For a class that derives from `Operator`, the decorator returns this class
        unchanged. For any other class, the decorator returns a new Cell class.

    Raises:
        InputError: another class is registered under the name, ``forward`` is missing, `inputs` do
            not match the arguments of ``forward``, or ``forward`` is a Cell and the class defines
            ``infer_shape`` or ``infer_dtype``.

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
            spec = _build_spec(written, name, inputs, outputs, undifferentiable, place)
            spec = replace(spec, tbe=str(tbe_file), tbe_gradient=str(tbe_gradient_file))
            made = _build_cell_class(written, spec)
        _operators[name] = made, place
        return made

    return decorate


def _declaration(
    written: type[Operator], name: str, inputs: Sequence[str] | None, place: str
) -> Declaration:
    own = written.declaration.inputs
    if not own:
        raise _missing_forward_error(name, place)
    if inputs is not None and tuple(inputs) != own:
        raise InputError(
            f"{name}: the names of inputs are not those of forward",
            place=place,
            expected=", ".join(own),
            got=", ".join(inputs),
            remedy="Leave `inputs` out: an Operator records forward's arguments under their names",
        )
    return Declaration(name, own, place=place)


def _missing_forward_error(name: str, place: str) -> InputError:
    return InputError(
        f"{name} has no forward",
        place=place,
        remedy="Write one: a method of an Operator, a function marked @tbe or @formula, or a Cell",
    )


def _build_cell_class(written: type, spec: OpSpec) -> type[FusedCell]:
    def start(self: FusedCell, *given: Any, route: str = "", **attributes: Any) -> None:
        if given:
            names = ", ".join(f"{name}=…" for name in spec.attributes) or "nothing"
            raise InputError(
                f"{spec.name} takes its attributes by name",
                place=spec.place or spec.name,
                expected=f"{spec.name}({names})",
                got=f"{', '.join(type(one).__name__ for one in given)} without a name",
                remedy="Name them; inputs are arguments of the operator's call",
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


def _build_spec(
    written: type,
    name: str,
    inputs: Sequence[str] | None,
    outputs: Sequence[str] | None,
    undifferentiable: Sequence[str],
    place: str,
) -> OpSpec:
    forward = inspect.getattr_static(written, "forward", None)
    if forward is None:
        raise _missing_forward_error(name, place)
    if HAS_MINDSPORE and (
        isinstance(forward, nn.Cell) or (isinstance(forward, type) and issubclass(forward, nn.Cell))
    ):
        idle = [
            name for name in ("infer_shape", "infer_dtype") if _optional_function(written, name)
        ]
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
    infer_shape, infer_dtype = (
        _optional_function(written, "infer_shape"),
        _optional_function(written, "infer_dtype"),
    )
    if infer_shape is not None:
        infer_shape = shape_inference.wrap_infer_shape(infer_shape, name, made, place)
    if infer_dtype is not None:
        infer_dtype = shape_inference.wrap_infer_dtype(infer_dtype, name, made, place)
        compute = shape_inference.cast_results(compute, infer_dtype)
    backward = inspect.getattr_static(written, "backward", None)
    saves: tuple[str, ...] = ()
    gradient: Compute | None = None
    if backward is not None:
        own = _function(backward, written)
        saves = _saved_names(own, names, made)
        gradient = _bind_context(own, saves, len(made))
        gradient = _as_compute(gradient, getattr(backward, KIND, kind))
        if infer_dtype is not None:
            gradient = shape_inference.cast_gradients(gradient, saves, names)
    return OpSpec(
        name,
        names,
        made,
        forward=compute,
        backward=gradient,
        saves=saves,
        attributes=attributes,
        composite=_optional_function(written, "composite"),
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

    def trace_function(*tensors: Any, **attributes: Any) -> Any:

        return trace(function, *tensors, **attributes)

    return trace_function


def _function(member: Any, written: type) -> Callable[..., Any]:
    """Returns `member` as a function; binds ``self`` to a new object of the class `written`."""
    function = getattr(member, "__func__", member)
    if next(iter(inspect.signature(function).parameters), "") == "self":
        return function.__get__(written())
    return function


def _optional_function(written: type, name: str) -> Callable[..., Any] | None:
    member = inspect.getattr_static(written, name, None)
    return None if member is None else _function(member, written)


def _arguments(function: Any, *, drop_self: bool = False) -> tuple[list[str], dict[str, Any]]:
    """Returns the names of the tensor arguments, and a dict from attribute name to default."""
    parameters = list(inspect.signature(function).parameters.values())[drop_self:]
    tensors, attributes = [], {}
    for item in parameters:
        if item.kind is item.KEYWORD_ONLY or item.default is not item.empty:
            attributes[item.name] = item.default
        elif item.kind is not item.VAR_KEYWORD:
            tensors.append(item.name)
    return tensors, attributes


def _saved_names(backward: Any, inputs: Sequence[str], outputs: Sequence[str]) -> tuple[str, ...]:
    """Returns the names of the inputs and outputs that `backward` reads from ``ctx``."""
    used = set(inspect.unwrap(getattr(backward, "__func__", backward)).__code__.co_names)
    if "saved_tensors" in used:
        return tuple(inputs)
    return tuple(name for name in (*inputs, *outputs) if name in used)


def _bind_context(backward: Any, saves: Sequence[str], outputs: int) -> Compute:
    """Wraps ``backward(ctx, grad, …)`` as a function of the saved tensors and the gradients."""

    def compute(*tensors: Any, **attributes: Any) -> tuple[Any, ...]:
        known: Mapping[str, Any] = dict(zip(saves, tensors, strict=False))
        context = SimpleNamespace(
            **{**attributes, **known}, saved_tensors=tuple(tensors[: len(saves)])
        )
        return to_tuple(backward(context, *tensors[len(saves) :][:outputs]))

    return compute
