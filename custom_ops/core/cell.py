"""Defines the Cells of operators; without MindSpore, the Cells run on NumPy arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from custom_ops.core import dispatch
from custom_ops.core.cell_call import OperatorCell
from custom_ops.core.framework import HAS_MINDSPORE, Cell, device_target
from custom_ops.core.operator_spec import OpSpec
from tbe_impl.errors import InputError

ROUTES = ("native", "composite")
_default_route = ["native"]


def set_default_route(route: str) -> None:
    """Sets the default route of new Cells.

    Args:
        route: ``native`` (one kernel) or ``composite`` (MindSpore's basic operators).
    """
    _default_route[0] = check_route(route, "set_default_route")


def check_route(route: str, place: str) -> str:
    """Returns `route`, or the default route if `route` is empty.

    Raises:
        InputError: `route` is unknown.
    """
    if route not in ("", *ROUTES):
        raise InputError(
            "unknown route", place=place, expected=" or ".join(ROUTES), got=repr(route)
        )
    return route or _default_route[0]


def resolve_route(spec: OpSpec, route: str) -> str:
    """Returns the route that an operator uses: ``native`` or ``composite``.

    An empty `route` means the default route. If the route is ``native`` and the operator has no
    kernel for the device, the result is ``composite``.

    Raises:
        InputError: `route` is unknown, or the result would be ``composite`` and the operator has no
            composite implementation.
    """
    route = check_route(route, spec.name)
    if route == "native" and not spec.has_kernel:
        return "composite"
    if route == "native" and spec.composite is not None:
        lacking = _missing_requirement(spec)
        if lacking:
            warnings.warn(f"{spec.name}: {lacking}, so it runs as basic operators", stacklevel=3)
            return "composite"
    if route == "composite" and spec.composite is None:
        raise InputError(
            f"{spec.name} has no composite",
            place=spec.place or spec.name,
            expected='route="native"',
            got='route="composite"',
        )
    return route


def _missing_requirement(spec: OpSpec) -> str:
    """Returns the reason why the device cannot run the operator's kernel.

    If the device can run the kernel, the result is an empty string.
    """
    target = device_target()
    if target == "Ascend":
        return "" if spec.has_tbe else "CANN builds no kernel of it"
    if target != "CPU":
        return f"there is no kernel for {target}"
    return "" if dispatch.has_c_compiler() else "there is no C compiler"


class CompositeCell(Cell):
    """Cell that computes an operator with MindSpore's basic operators and fixed attributes.

    A Python function could not replace this Cell, because MindSpore's `amp` with level O1 copies
    functions without their closures.
    """

    def __init__(self, function: Callable[..., Any], attributes: Mapping[str, Any]):
        super().__init__()
        self.function, self.given = function, dict(attributes)

    def construct(self, *inputs: Any) -> Any:
        """Runs the composite implementation, which consists of MindSpore's basic operators."""
        return self.function(*inputs, **self.given)


class VisibleOutputsCell(Cell):
    """Cell that runs a primitive and drops its trailing outputs, which only the gradient reads."""

    def __init__(self, call: Any, count: int):
        super().__init__()
        self.call, self.count = call, count

    def construct(self, *inputs: Any) -> Any:
        """Runs one kernel and returns its first `count` outputs."""
        made = self.call(*inputs)
        if self.count == 1:
            return made[0]
        return made[: self.count]


class TrainingFallbackCell(Cell):
    """Cell that runs one kernel in inference and MindSpore's basic operators in training.

    This Cell is used on devices that have a kernel for the operator, but no kernel for the
    operator's gradient.
    """

    def __init__(self, call: Any, composed: CompositeCell):
        super().__init__()
        self.call, self.composed = call, composed

    def construct(self, *inputs: Any) -> Any:
        """Runs MindSpore's basic operators in training, and one kernel otherwise."""
        if self.training:
            return self.composed(*inputs)
        return self.call(*inputs)


def build_native_call(spec: OpSpec, attributes: Mapping[str, Any]) -> Any:
    """Builds a primitive or Cell that calls one kernel on MindSpore's device target."""
    if device_target() != "Ascend":
        from custom_ops.core.primitive import primitive

        call: Any = primitive(spec, attributes)
        return VisibleOutputsCell(call, len(spec.visible_outputs)) if spec.hidden else call
    from custom_ops import ascend

    call = ascend.build_call(spec, attributes)
    call = VisibleOutputsCell(call, len(spec.visible_outputs)) if spec.hidden else call
    if spec.differentiable_inputs and not spec.has_tbe_gradient and spec.composite is not None:
        return TrainingFallbackCell(
            call, CompositeCell(spec.composite, spec.with_defaults(attributes))
        )
    return call


class FusedCell(OperatorCell):
    """Cell of an operator without weights.

    Args:
        spec: the `OpSpec` of the operator.
        attributes: the attributes that differ from their defaults.
        route: ``native``, ``composite``, or empty for the default (`set_default_route`).
    """

    def __init__(self, spec: OpSpec, attributes: Mapping[str, Any], route: str = ""):
        super().__init__()
        object.__setattr__(self, "spec", spec)
        object.__setattr__(self, "attributes", spec.with_defaults(attributes))
        if not HAS_MINDSPORE:
            return
        self.route = resolve_route(spec, route)
        self.is_native = self.route == "native"
        if self.is_native:
            self.run = build_native_call(spec, attributes)
        else:
            assert spec.composite is not None
            self.run = CompositeCell(spec.composite, self.attributes)

    @property
    def operator_name(self) -> str:
        """Name of the operator in messages."""
        return self.spec.name if type(self) is FusedCell else type(self).__name__

    def construct(self, *inputs: Any) -> Any:
        """Runs one kernel (native route), or MindSpore's basic operators (composite route)."""
        return self.run(*inputs)

    def extend_repr(self) -> str:
        """Returns the attributes as a string, which MindSpore shows when it prints the network."""
        return ", ".join(f"{name}={value}" for name, value in self.attributes.items())


class DispatchingCell(OperatorCell):
    """Cell of an operator that selects one of several kernels according to the inputs of a call.

    Subclasses define `construct` and `select_cell`.
    """

    def select_cell(self, *arrays: Any) -> FusedCell:
        """Returns the Cell whose kernel computes the operator for these arrays."""
        raise NotImplementedError

    def forward(self, *arrays: Any) -> Any:
        """Returns the output or a tuple of outputs; saves the arrays for `backward`."""
        taken = self.select_cell(*arrays)
        made = taken.forward(*arrays)
        object.__setattr__(self, "_last", taken)
        return made

    def backward(self, grad: Any, *arrays: Any) -> Any:
        """Returns the gradients of the differentiable inputs.

        If `arrays` is empty, the inputs of the last `forward` call are used.
        """
        if arrays:
            self.forward(*arrays)
        taken = getattr(self, "_last", None)
        return (self.select_cell() if taken is None else taken).backward(grad)
