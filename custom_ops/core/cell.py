"""The Cell of an operator: MindSpore's in graph mode, PyNative and `@ms.jit`; without MindSpore it takes NumPy arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from custom_ops.core import dispatch
from custom_ops.core.cell_call import Called
from custom_ops.core.framework import HAS_MINDSPORE, Cell, device_target
from custom_ops.core.operator_spec import OpSpec
from tbe_impl.errors import InputError

ROUTES = ("native", "composite")
_default = ["native"]


def set_default_route(route: str) -> None:
    """The route of Cells made from now on that name none: ``native`` (one kernel) or ``composite`` (basic operators)."""
    _default[0] = check_route(route, "set_default_route")


def check_route(route: str, place: str) -> str:
    """The route, or the default where it is empty.

    Raises:
        InputError: there is no such route.
    """
    if route not in ("", *ROUTES):
        raise InputError(
            "unknown route", place=place, expected=" or ".join(ROUTES), got=repr(route)
        )
    return route or _default[0]


def possible_route(spec: OpSpec, route: str) -> str:
    """The route that is taken: the one asked for, or the other where an operator or this machine has only that."""
    route = check_route(route, spec.name)
    if route == "native" and not spec.has_kernel:
        return "composite"
    if route == "native" and spec.composite is not None:
        lacking = _lacking(spec)
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


def _lacking(spec: OpSpec) -> str:
    """What the device lacks that a kernel needs; empty where it can run."""
    target = device_target()
    if target == "Ascend":
        return "" if spec.has_tbe else "CANN builds no kernel of it"
    if target != "CPU":
        return f"there is no kernel for {target}"
    return "" if dispatch.is_possible() else "there is no C compiler"


class Composed(Cell):
    """A function with its attributes, of tensors alone.

    A Cell, since a function that MindSpore copies (`amp` with level O1) loses what it has from around it.
    """

    def __init__(self, function: Callable[..., Any], attributes: Mapping[str, Any]):
        super().__init__()
        self.function, self.given = function, dict(attributes)

    def construct(self, *inputs: Any) -> Any:
        """Basic operators."""
        return self.function(*inputs, **self.given)


class Visible(Cell):
    """What callers get of a primitive with outputs that only its gradient reads: the first ones."""

    def __init__(self, call: Any, count: int):
        super().__init__()
        self.call, self.count = call, count

    def construct(self, *inputs: Any) -> Any:
        """One kernel."""
        made = self.call(*inputs)
        if self.count == 1:
            return made[0]
        return made[: self.count]


class Trained(Cell):
    """One kernel, and basic operators in training, for a device that has no kernel of the gradient."""

    def __init__(self, call: Any, composed: Composed):
        super().__init__()
        self.call, self.composed = call, composed

    def construct(self, *inputs: Any) -> Any:
        """One kernel, or basic operators."""
        if self.training:
            return self.composed(*inputs)
        return self.call(*inputs)


def native(spec: OpSpec, attributes: Mapping[str, Any]) -> Any:
    """The call of one kernel on the device that MindSpore is set to."""
    if device_target() != "Ascend":
        from custom_ops.core.primitive import primitive

        call: Any = primitive(spec, attributes)
        return Visible(call, len(spec.visible)) if spec.hidden else call
    from custom_ops import ascend

    call = ascend.called(spec, attributes)
    call = Visible(call, len(spec.visible)) if spec.hidden else call
    if spec.differentiable and not spec.has_tbe_gradient and spec.composite is not None:
        return Trained(call, Composed(spec.composite, spec.with_defaults(attributes)))
    return call


class FusedCell(Called):
    """An operator without weights.

    Args:
        spec: of the operator.
        attributes: those that are not the default.
        route: ``native``, ``composite``, or empty for the default (`set_default_route`).
    """

    def __init__(self, spec: OpSpec, attributes: Mapping[str, Any], route: str = ""):
        super().__init__()
        object.__setattr__(self, "spec", spec)
        object.__setattr__(self, "attributes", spec.with_defaults(attributes))
        if not HAS_MINDSPORE:
            return
        self.route = possible_route(spec, route)
        self.is_native = self.route == "native"
        if self.is_native:
            self.run = native(spec, attributes)
        else:
            assert spec.composite is not None
            self.run = Composed(spec.composite, self.attributes)

    @property
    def operator_name(self) -> str:
        """What it is called in messages."""
        return self.spec.name if type(self) is FusedCell else type(self).__name__

    def construct(self, *inputs: Any) -> Any:
        """One kernel, or basic operators."""
        return self.run(*inputs)

    def extend_repr(self) -> str:
        """What distinguishes it in the print of a net."""
        return ", ".join(f"{name}={value}" for name, value in self.attributes.items())


class ChoosingCell(Called):
    """An operator of several kernels, one of which its inputs choose; `construct` and `chosen` say which."""

    def chosen(self, *arrays: Any) -> FusedCell:
        """The one for these arrays."""
        raise NotImplementedError

    def forward(self, *arrays: Any) -> Any:
        """The output, or a tuple of them; the arrays are kept for `backward`."""
        taken = self.chosen(*arrays)
        made = taken.forward(*arrays)
        object.__setattr__(self, "_last", taken)
        return made

    def backward(self, grad: Any, *arrays: Any) -> Any:
        """The gradients of the inputs that have one; without arrays of those of the last call of `forward`."""
        if arrays:
            self.forward(*arrays)
        taken = getattr(self, "_last", None)
        return (self.chosen() if taken is None else taken).backward(grad)
