"""Computes the gradient of `mindspore.nn.LeakyReLU` from its result, for our generator.

MindSpore computes max(alpha · x, x) and derives the gradient from both operands of the maximum. So
a training step stores three arrays per layer: the two operands and the result. Our gradient needs
only the result, since the result has the sign of x. The next layer stores this result anyway. Other
modules must import this module inside of functions, because this module imports MindSpore.
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

    MindSpore's own gradient has the same value. The sign of x is read from `out` if `out` is
    float32, else from `x`. The reason is that alpha · x may underflow to 0. In float16, alpha · x
    underflows for values that occur in nets. In float32, alpha · x underflows only for abs(x) below
    1.2e-38 / alpha.
    """
    known = out if out.dtype == ms.float32 else ops.cast(x, out.dtype)
    below = ops.select(known < 0, dout * self.alpha, dout * ((1 + self.alpha) / 2))
    return (ops.cast(ops.select(known > 0, dout, below), x.dtype),)


class _Gradient:
    """Descriptor that adds the gradient method `bprop` to LeakyReLU Cells.

    Two kinds of Cells get no `bprop`: Cells of a subclass with its own `construct`, and Cells with
    an alpha below `MIN_ALPHA`.
    """

    def __get__(self, cell: Any, owner: Any = None) -> Callable[..., Any]:
        is_ours = type(cell).construct is _construct and isinstance(cell.alpha, (int, float))
        if not is_ours or cell.alpha < MIN_ALPHA:
            raise AttributeError("bprop")
        return MethodType(gradient_from_result, cell)


@contextlib.contextmanager
def differentiate_by_result() -> Iterator[None]:
    """Returns a context manager that makes compilations use this module's gradient of LeakyReLU.

    The ``with`` blocks of this context manager may be nested.
    """
    before = vars(OWNER).get("bprop")
    OWNER.bprop = _Gradient()
    try:
        yield
    finally:
        if before is None:
            del OWNER.bprop
        else:
            OWNER.bprop = before
