"""Computes the gradient of `mindspore.nn.LeakyReLU` from its result, for our generator.

MindSpore computes max(alpha · x, x) and derives the gradient from both operands of the maximum, so
a training step stores three arrays per layer: the two operands and the result. Our gradient needs
only the result, since the result has the sign of x. The next layer stores the result anyway. This
module imports MindSpore, so import it only inside of functions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import MethodType
from typing import Any

import mindspore as ms
from mindspore import nn, ops

OWNER = nn.LeakyReLU
_construct = OWNER.construct
MIN_ALPHA = 1e-3
"""Smallest alpha for which our gradient is used.

With a smaller alpha, alpha · x would underflow to 0 more often.
"""


# MindSpore parses this function.
def gradient_from_result(self: Any, x: Any, out: Any, dout: Any) -> Any:
    """Returns dout · s, with s = 1 for x > 0, alpha for x < 0, and (1 + alpha) / 2 for x = 0.

    MindSpore's own gradient is the same. If `out` is float32, the sign of x is read from `out`,
    else from `x`, since alpha · x may underflow to 0. In float16, alpha · x underflows for values
    that occur in nets. In float32, it underflows only for abs(x) below 1.2e-38 / alpha.
    """
    known = out if out.dtype == ms.float32 else ops.cast(x, out.dtype)
    below = ops.select(known < 0, dout * self.alpha, dout * ((1 + self.alpha) / 2))
    return (ops.cast(ops.select(known > 0, dout, below), x.dtype),)


class _Gradient:
    """Descriptor that adds the gradient method `bprop` to LeakyReLU Cells.

    It adds no `bprop` to subclasses with their own `construct`, nor to Cells with an alpha below
    `MIN_ALPHA`.
    """

    def __get__(self, cell: Any, owner: Any = None) -> Callable[..., Any]:
        is_ours = type(cell).construct is _construct and isinstance(cell.alpha, (int, float))
        if not is_ours or cell.alpha < MIN_ALPHA:
            raise AttributeError("bprop")
        return MethodType(gradient_from_result, cell)


@contextlib.contextmanager
def differentiate_by_result() -> Iterator[None]:
    """Makes compilations in the ``with`` block use this module's gradient; blocks may be nested."""
    before = vars(OWNER).get("bprop")
    OWNER.bprop = _Gradient()
    try:
        yield
    finally:
        if before is None:
            del OWNER.bprop
        else:
            OWNER.bprop = before
