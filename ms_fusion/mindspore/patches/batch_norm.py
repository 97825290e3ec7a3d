"""Expands batch normalisation while MindSpore compiles a net for our generator.

MindSpore's operator BatchNorm must not be clustered (`generator_limits.EXCLUDED_OPERATORS`), and
MindSpore cannot expand it. So this module replaces the method `construct` of
`mindspore.nn.BatchNorm1d`, `BatchNorm2d` and `BatchNorm3d` during a compilation. It also replaces
`mindspore.ops.batch_norm` and `mindspore.mint.nn.functional.batch_norm` in the table of MindSpore's
parser. Other modules must import this module inside of functions, because this module imports
MindSpore.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import mindspore as ms
from mindspore import ops
from mindspore.nn.layer import normalization
from mindspore.ops import functional as F
from mindspore.ops.function import nn_func

from ms_fusion.mindspore.patches.parser_table import replace_in_parser

OWNER = normalization._BatchNorm
_original_construct = OWNER.construct
# Under these names the parser does not replace the functions.
_batch_norm_of_mindspore = ops.BatchNorm
_batch_norm_of_mint = getattr(nn_func, "batch_norm_ext_op", None)


# MindSpore parses the following functions. `_expand_to_rank` uses ExpandDims, since MindSpore would
# end the group at a Reshape.
def _expand_to_rank(weight: Any, x: Any) -> Any:
    """Appends axes of size 1 to a per-channel vector, so that the vector broadcasts to x."""
    for _ in range(x.ndim - 2):
        weight = ops.expand_dims(weight, -1)
    return weight


def _scale_and_shift(
    x: Any, gamma: Any, beta: Any, mean: Any, variance: Any, eps: Any, y: Any
) -> Any:
    """Returns (y − mean) · gamma / √(variance + eps) + beta per channel, in the dtype of x.

    If `gamma` is None, 1 is used for gamma. If `beta` is None, 0 is used for beta.
    """
    scale = ops.rsqrt(variance + eps)
    if gamma is not None:
        scale = gamma * scale
    shift = -(mean * scale) if beta is None else beta - mean * scale
    return ops.cast(y * _expand_to_rank(scale, x) + _expand_to_rank(shift, x), x.dtype)


def normalize_with_statistics(
    x: Any, gamma: Any, beta: Any, mean: Any, variance: Any, eps: Any
) -> Any:
    """Returns (x − mean) · gamma / √(variance + eps) + beta for the given mean and variance."""
    return _scale_and_shift(x, gamma, beta, mean, variance, eps, ops.cast(x, ms.float32))


def normalize_batch(
    x: Any, gamma: Any, beta: Any, moving_mean: Any, moving_variance: Any, share: Any, eps: Any
) -> Any:
    """Returns (x − mean) · gamma / √(variance + eps) + beta with the batch's mean and variance.

    The function also updates the moving mean and the moving variance, if they are not None. The
    formula for both is new = old · (1 − share) + batch · share. Here, `batch` is the mean of the
    batch for the moving mean, and the unbiased variance of the batch for the moving variance.

    The derivative of the variance with respect to the mean is 0. So the gradient of the variance
    treats the mean as a constant. The gradient of x then needs only two sums: the sum of dy, and
    the sum of dy · (x − mean).
    """
    axes = (0,) + tuple(range(2, x.ndim))  # noqa: RUF005 - MindSpore reads it, and knows no star
    number = 1
    for axis in axes:
        number = number * x.shape[axis]
    wide = ops.cast(x, ms.float32)
    mean = ops.mean(wide, axes)
    still = ops.stop_gradient(mean)
    distance = wide - _expand_to_rank(still, x)
    variance = ops.mean(distance * distance, axes)
    y = _scale_and_shift(x, gamma, beta, mean - still, variance, eps, distance)
    if moving_mean is not None:
        unbiased = ops.stop_gradient(variance) * (number / max(number - 1, 1))
        old = 1.0 - share
        # Both moving statistics are read before either is written. In another order MindSpore would
        # split the group, since it preserves the order of reads and writes.
        new_mean = moving_mean * old + still * share
        new_variance = moving_variance * old + unbiased * share
        ops.assign(moving_mean, ops.cast(new_mean, moving_mean.dtype))
        ops.assign(moving_variance, ops.cast(new_variance, moving_variance.dtype))
    return y


def construct_expanded(self: Any, x: Any) -> Any:
    """Replaces the method `construct` of MindSpore's BatchNorm Cells."""
    if F.is_sequence_value_unknown(self.shape(x)):
        return self.construct_of_mindspore(x)
    self._check_input_dim(self.shape(x), self.cls_name)
    use_batch = self.use_batch_statistics
    if use_batch is None:
        use_batch = self.training
    if not use_batch:
        return normalize_with_statistics(
            x, self.gamma, self.beta, self.moving_mean, self.moving_variance, self.eps
        )
    return normalize_batch(
        x, self.gamma, self.beta, self.moving_mean, self.moving_variance, self.momentum, self.eps
    )


def ops_batch_norm(
    input_x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any,
    bias: Any,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Replaces `mindspore.ops.batch_norm`."""
    if F.is_sequence_value_unknown(input_x.shape):
        whole = _batch_norm_of_mindspore(training, eps, momentum)
        return whole(input_x, weight, bias, running_mean, running_var)[0]
    if training:
        return normalize_batch(input_x, weight, bias, running_mean, running_var, momentum, eps)
    return normalize_with_statistics(input_x, weight, bias, running_mean, running_var, eps)


def mint_batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Replaces `mindspore.mint.nn.functional.batch_norm`."""
    if F.is_sequence_value_unknown(input.shape):
        return _batch_norm_of_mint(
            input, weight, bias, running_mean, running_var, training, momentum, eps
        )[0]  # type: ignore[misc]
    if training:
        return normalize_batch(input, weight, bias, running_mean, running_var, momentum, eps)
    return normalize_with_statistics(input, weight, bias, running_mean, running_var, eps)


def _replacements() -> dict[Any, Any]:
    """Returns a dict from MindSpore's functions of batch normalisation to our replacements."""
    pairs = {"batch_norm": ops_batch_norm, "batch_norm_ext": mint_batch_norm}
    return {getattr(nn_func, name): own for name, own in pairs.items() if hasattr(nn_func, name)}


@contextlib.contextmanager
def expand_batch_norm() -> Iterator[None]:
    """Returns a context manager that makes compilations expand batch normalisation.

    The ``with`` blocks of this context manager may be nested.
    """
    construct, is_outermost = OWNER.construct, not hasattr(OWNER, "construct_of_mindspore")
    OWNER.construct_of_mindspore = _original_construct
    OWNER.construct = construct_expanded
    try:
        with replace_in_parser(_replacements()):
            yield
    finally:
        OWNER.construct = construct
        if is_outermost:
            del OWNER.construct_of_mindspore
