"""Builds bprops (gradient functions of primitives) in the Python subset that MindSpore parses."""
# ruff: noqa: RUF005
# mypy: disable-error-code="assignment, no-untyped-def"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindspore import ops

from custom_ops.core.operator_spec import OpSpec


def build_bprop(
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
    """Builds the bprop of a primitive from the primitives of its gradient.

    Args:
        calls: primitives that compute the gradients. MindSpore does not run a primitive whose
            outputs are unused.
        count: number of inputs of the forward primitive.
        singles: one bool for each of `calls`: whether the primitive has exactly one output.
        saved: indices of the forward primitive's inputs and outputs that `calls` read.
        places: for each input, the index of its gradient in the concatenated outputs of all
            `calls`. The index −1 means that the bprop returns zeros for the input.
        several: whether the forward primitive has several outputs.
        visible: number of leading outputs of the forward primitive that have a gradient.
        bare: whether the bprop takes all inputs in one tuple, as ``(inputs, out, dout)``. The
            ``bprop`` method of a Cell needs this form. If `bare` is false, each input is a separate
            argument.
    """
    zeros_like = ops.zeros_like
    numbers = tuple(range(len(calls)))

    def compute_gradients(inputs, out, dout):
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

    return compute_gradients if bare else _BPROP_MAKERS[count](compute_gradients)


def missing_gradient_message(spec: OpSpec, order: int) -> str:
    """Returns the error message for an operator without a gradient.

    Args:
        spec: an operator, or the gradient operator of an operator.
        order: derivative order of `spec`: 0 for the operator, 1 for its gradient operator.
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
        f"{whole} has no derivative of order {order + 1} as a kernel: "
        "its gradient reads values that only the forward kernel computes, or is hand-written; "
        f"{remedy or usual}"
    )


def build_raising_bprop(count: int, message: str) -> Callable[..., Any]:
    """Builds a bprop that raises an error; without a bprop, MindSpore would use zero gradients."""

    def raise_error(inputs, out, dout):
        raise RuntimeError(message)

    return _BPROP_MAKERS[min(count, MAX_INPUTS)](raise_error)


def _make_bprop_1(shared: Any) -> Any:
    def bprop(a, out, dout):
        return shared((a,), out, dout)

    return bprop


def _make_bprop_2(shared: Any) -> Any:
    def bprop(a, b, out, dout):
        return shared((a, b), out, dout)

    return bprop


def _make_bprop_3(shared: Any) -> Any:
    def bprop(a, b, c, out, dout):
        return shared((a, b, c), out, dout)

    return bprop


def _make_bprop_4(shared: Any) -> Any:
    def bprop(a, b, c, d, out, dout):
        return shared((a, b, c, d), out, dout)

    return bprop


def _make_bprop_5(shared: Any) -> Any:
    def bprop(a, b, c, d, e, out, dout):
        return shared((a, b, c, d, e), out, dout)

    return bprop


def _make_bprop_6(shared: Any) -> Any:
    def bprop(a, b, c, d, e, f, out, dout):
        return shared((a, b, c, d, e, f), out, dout)

    return bprop


def _make_bprop_7(shared: Any) -> Any:
    def bprop(a, b, c, d, e, f, g, out, dout):
        return shared((a, b, c, d, e, f, g), out, dout)

    return bprop


def _make_bprop_8(shared: Any) -> Any:
    def bprop(a, b, c, d, e, f, g, h, out, dout):
        return shared((a, b, c, d, e, f, g, h), out, dout)

    return bprop


_BPROP_MAKERS = {
    1: _make_bprop_1,
    2: _make_bprop_2,
    3: _make_bprop_3,
    4: _make_bprop_4,
    5: _make_bprop_5,
    6: _make_bprop_6,
    7: _make_bprop_7,
    8: _make_bprop_8,
}
MAX_INPUTS = max(_BPROP_MAKERS)
