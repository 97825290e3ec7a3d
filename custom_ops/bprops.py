"""Gradient functions of primitives. MindSpore reads them as source, so they are written in what it understands."""
# ruff: noqa: RUF005
# mypy: disable-error-code="assignment, no-untyped-def"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindspore import ops


def of(
    call: Any,
    count: int,
    *,
    saved: tuple[int, ...],
    places: tuple[int, ...],
    several: bool,
    visible: int,
) -> Callable[..., Any]:
    """The gradient function of a primitive.

    Args:
        call: the primitive of its gradient.
        count: number of its inputs.
        saved: what of inputs and outputs `call` reads.
        places: for each input which output of `call` is its gradient; -1 for one that has none, and gets zeros.
        several: whether it has several outputs.
        visible: how many of them, the first ones, have a gradient.
    """
    zeros_like = ops.zeros_like
    single = max(places) == 0

    def shared(inputs, out, dout):
        known = inputs + out if several else inputs + (out,)
        read = ()
        for place in saved:
            read = read + (known[place],)
        read = read + dout[:visible] if several else read + (dout,)
        made = call(*read)
        made = (made,) if single else made
        found = ()
        for i in range(count):
            if places[i] < 0:
                found = found + (zeros_like(inputs[i]),)
            else:
                found = found + (made[places[i]],)
        return found

    return _MAKERS[count](shared)


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
