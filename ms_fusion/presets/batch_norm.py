"""Batch normalisation spelled out in basic operators while MindSpore compiles a net whose groups are built by us.

MindSpore cannot cluster its operator of that name soundly (`served.KEPT_OUT`), and has nothing to expand it with. So `construct`
of `mindspore.nn.BatchNorm1d`, `BatchNorm2d` and `BatchNorm3d` is another one for the time of the compilation. This file imports
MindSpore: import it inside of functions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import mindspore as ms
from mindspore import ops
from mindspore.nn.layer import normalization
from mindspore.ops import functional as F

OWNER = normalization._BatchNorm
_original = OWNER.construct


def _beside(weight: Any, x: Any) -> Any:
    """A number for each channel with as many axes as it needs beside x; a Reshape would end the group."""
    for _ in range(x.ndim - 2):
        weight = ops.expand_dims(weight, -1)
    return weight


def spelled_out(self: Any, x: Any) -> Any:
    r"""(x − mean) · gamma / √(variance + eps) + beta; in training the moving values follow as MindSpore's do.

    The sums that gradients need are two, of dy and of dy · (x − mean): mean is a constant where it cancels.
    """
    if F.is_sequence_value_unknown(self.shape(x)):
        return self.construct_of_mindspore(x)
    self._check_input_dim(self.shape(x), self.cls_name)
    use_batch = self.use_batch_statistics
    if use_batch is None:
        use_batch = self.training
    wide = ops.cast(x, ms.float32)
    if not use_batch:
        scale = self.gamma * ops.rsqrt(self.moving_variance + self.eps)
        shift = self.beta - self.moving_mean * scale
        return ops.cast(wide * _beside(scale, x) + _beside(shift, x), x.dtype)
    axes = (0,) + tuple(range(2, x.ndim))  # noqa: RUF005 - MindSpore reads it, and knows no star
    number = 1
    for axis in axes:
        number = number * x.shape[axis]
    mean = ops.mean(wide, axes)
    still = ops.stop_gradient(mean)
    distance = wide - _beside(still, x)
    variance = ops.mean(distance * distance, axes)
    scale = self.gamma * ops.rsqrt(variance + self.eps)
    shift = self.beta - (mean - still) * scale
    y = ops.cast(distance * _beside(scale, x) + _beside(shift, x), x.dtype)
    unbiased = ops.stop_gradient(variance) * (number / max(number - 1, 1))
    old, share = 1.0 - self.momentum, self.momentum
    # both are read before one is written: MindSpore keeps that order, which would part the group
    new_mean = self.moving_mean * old + still * share
    new_variance = self.moving_variance * old + unbiased * share
    ops.assign(self.moving_mean, new_mean)
    ops.assign(self.moving_variance, new_variance)
    return y


@contextlib.contextmanager
def spelling_out() -> Iterator[None]:
    """Inside, what is compiled has the basic operators."""
    OWNER.construct_of_mindspore = _original
    OWNER.construct = spelled_out
    try:
        yield
    finally:
        OWNER.construct = _original
