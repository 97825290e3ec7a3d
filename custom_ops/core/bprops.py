"""Gradient functions of primitives. MindSpore reads them as source, so they are written in what it understands."""
# ruff: noqa: RUF005
# mypy: disable-error-code="assignment, no-untyped-def"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindspore import ops

from custom_ops.core.operator_spec import OpSpec


def of(
    calls: tuple[Any, ...],
    count: int,
    *,
    singles: tuple[bool, ...],
    saved: tuple[int, ...],
    places: tuple[int, ...],
    several: bool,
    visible: int,
    bare: bool = False,
) -> Callable[..., Any]:
    """The gradient function of a primitive, or, where `bare`, that of the inputs as a tuple.

    Args:
        calls: the primitives of its gradient; MindSpore leaves out those whose outputs nobody reads.
        count: number of its inputs.
        singles: which of `calls` have one output.
        saved: what of inputs and outputs `calls` read.
        places: for each input which of all outputs is its gradient; -1 for one that has none, and gets zeros.
        several: whether it has several outputs.
        visible: how many of them, the first ones, have a gradient.
        bare: for the ``bprop`` of a Cell, which has to name each input.
    """
    zeros_like = ops.zeros_like
    numbers = tuple(range(len(calls)))

    def shared(inputs, out, dout):
        known = inputs + out if several else inputs + (out,)
        read = ()
        for place in saved:
            read = read + (known[place],)
        read = read + dout[:visible] if several else read + (dout,)
        made = ()
        for k in numbers:
            one = calls[k](*read)
            made = made + (one,) if singles[k] else made + one
        found = ()
        for i in range(count):
            if places[i] < 0:
                found = found + (zeros_like(inputs[i]),)
            else:
                found = found + (made[places[i]],)
        return found

    return shared if bare else _MAKERS[count](shared)


def refusal(spec: OpSpec, order: int) -> str:
    """What is said where a gradient does not exist.

    Args:
        spec: of the operator, or of its gradient.
        order: how often it was differentiated before.
    """
    remedy = spec.gradient_remedy
    if not order:
        is_written = spec.place and spec.composite is None
        usual = (
            f"write backward in the class at {spec.place}"
            if is_written
            else "use the composite route"
        )
        return f"{spec.name} has no gradient; {remedy or usual}"
    whole = spec.name.partition("_grad")[0]
    if spec.place and spec.procedure is not None:
        return (
            f"{whole} has no derivative of order {order + 1}: its backward runs in NumPy; "
            "@custom_ops.formula above forward makes kernels of both"
        )
    usual = 'use route="composite", where MindSpore differentiates basic operators'
    return (
        f"{whole} has no derivative of order {order + 1} as a kernel: its gradient reads what only the kernel of the forward "
        f"makes, or is written by hand; {remedy or usual}"
    )


def refused(count: int, message: str) -> Callable[..., Any]:
    """The gradient function of a primitive that has no gradient: it says so, where MindSpore would take zeros."""

    def shared(inputs, out, dout):
        raise RuntimeError(message)

    return _MAKERS[min(count, MAX_INPUTS)](shared)


def _one(shared: Any) -> Any:
    def bprop(a, out, dout):
        return shared((a,), out, dout)

    return bprop


def _two(shared: Any) -> Any:
    def bprop(a, b, out, dout):
        return shared((a, b), out, dout)

    return bprop


def _three(shared: Any) -> Any:
    def bprop(a, b, c, out, dout):
        return shared((a, b, c), out, dout)

    return bprop


def _four(shared: Any) -> Any:
    def bprop(a, b, c, d, out, dout):
        return shared((a, b, c, d), out, dout)

    return bprop


def _five(shared: Any) -> Any:
    def bprop(a, b, c, d, e, out, dout):
        return shared((a, b, c, d, e), out, dout)

    return bprop


def _six(shared: Any) -> Any:
    def bprop(a, b, c, d, e, f, out, dout):
        return shared((a, b, c, d, e, f), out, dout)

    return bprop


def _seven(shared: Any) -> Any:
    def bprop(a, b, c, d, e, f, g, out, dout):
        return shared((a, b, c, d, e, f, g), out, dout)

    return bprop


def _eight(shared: Any) -> Any:
    def bprop(a, b, c, d, e, f, g, h, out, dout):
        return shared((a, b, c, d, e, f, g, h), out, dout)

    return bprop


_MAKERS = {1: _one, 2: _two, 3: _three, 4: _four, 5: _five, 6: _six, 7: _seven, 8: _eight}
MAX_INPUTS = max(_MAKERS)
