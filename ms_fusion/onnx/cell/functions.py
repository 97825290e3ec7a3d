"""Implements ONNX operators that need several MindSpore functions.

Generated nets call the functions of this module.

This module exceeds 500 lines because it has a function for each of these operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindspore
from mindspore import ops

from ms_fusion.mindspore.flags.generator_limits import generator_of
from ms_fusion.mindspore.state.mindspore_state import FLAGS_VARIABLE, variable
from tbe_impl.gelu_constants import CUBIC, SQRT_HALF, TANH_SCALE

LOWEST_VALUES = {
    "float16": -65504.0,
    "float32": -3.4028234663852886e38,
    "float64": -1.7976931348623157e308,
    "int8": -128,
    "uint8": 0,
}


def gemm(
    a: Any, b: Any, alpha: float, beta: float, turn_a: bool, turn_b: bool, c: Any = None
) -> Any:
    """Returns alpha · a · b + beta · c.

    `a` is transposed first if `turn_a` is true, and `b` if `turn_b` is true.

    If alpha is not 1, half-precision operands are multiplied in float32, because the unscaled
    product may overflow.
    """
    dtype = a.dtype
    if alpha != 1.0:
        a, b = widen_half(a), widen_half(b)
    a = ops.transpose(a, (1, 0)) if turn_a else a
    b = ops.transpose(b, (1, 0)) if turn_b else b
    found = ops.matmul(a, b)
    found = found if alpha == 1.0 else found * alpha
    if c is not None:
        found = found + (c if beta == 1.0 else c * beta)
    return ops.cast(found, dtype)


@ops.constexpr
def is_read_once(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Returns whether MindSpore computes the matrix product a · b without copying the matrix b.

    The parameters are the shapes of a and b. If a has batch axes and b has none, MindSpore copies b
    for each batch. MindSpore makes no copy if ms_fusion is its kernel generator. If a size of a is
    unknown, the result is True.
    """
    is_shared = len(a) > 2 and len(b) == 2 and min(a) >= 0
    return not is_shared or generator_of(variable(FLAGS_VARIABLE) or "") == "ms_fusion"


def matmul(a: Any, b: Any) -> Any:
    """Returns a · b.

    If MindSpore would copy the matrix `b` for each batch of `a`, the batches are merged into the
    rows of `a`.
    """
    if is_read_once(a.shape, b.shape):
        return ops.matmul(a, b)
    rows = ops.matmul(ops.reshape(a, (-1, a.shape[-1])), b)
    return ops.reshape(rows, (*a.shape[:-1], b.shape[1]))


def widen_half(x: Any) -> Any:
    """Casts float16 and bfloat16 to float32; returns other dtypes unchanged.

    The callers compute norms in float32 (ONNX's ``stash_type``), because squares overflow in half
    precision.
    """
    return (
        ops.cast(x, mindspore.float32) if x.dtype in (mindspore.float16, mindspore.bfloat16) else x
    )


def layer_norm(x: Any, axes: tuple[int, ...], epsilon: float, scale: Any, shift: Any = None) -> Any:
    """Returns (x − mean) / √(variance + epsilon) · scale + shift, with statistics over `axes`."""
    given = widen_half(x)
    centred = given - ops.mean(given, axes, True)
    variance = ops.mean(centred * centred, axes, True)
    found = ops.cast(centred * ops.rsqrt(variance + epsilon), x.dtype) * scale
    return found if shift is None else found + shift


def rms_norm(x: Any, axes: tuple[int, ...], epsilon: float, scale: Any) -> Any:
    """Returns x / √(mean x² + epsilon) · scale, with the mean over `axes`."""
    given = widen_half(x)
    return (
        ops.cast(given * ops.rsqrt(ops.mean(given * given, axes, True) + epsilon), x.dtype) * scale
    )


def batch_norm(x: Any, scale: Any, shift: Any, mean: Any, variance: Any, epsilon: float) -> Any:
    """Returns (x − mean) · scale / √(variance + epsilon) + shift.

    `scale`, `shift`, `mean` and `variance` have one value per channel.
    """
    along = (-1,) + (1,) * (x.ndim - 2)
    factor = scale / ops.sqrt(variance + epsilon)
    return (x - ops.reshape(mean, along)) * ops.reshape(factor, along) + ops.reshape(shift, along)


def instance_norm(x: Any, scale: Any, shift: Any, epsilon: float) -> Any:
    """Normalises each channel of each image to mean 0 and variance 1, then scales and shifts."""
    along = (-1,) + (1,) * (x.ndim - 2)
    axes = tuple(range(2, x.ndim))
    return layer_norm(x, axes, epsilon, ops.reshape(scale, along), ops.reshape(shift, along))


def group_norm(x: Any, scale: Any, shift: Any, groups: int, epsilon: float, of_groups: bool) -> Any:
    """Normalises each channel group of each image to mean 0 and variance 1, then scales and shifts.

    Scale and shift have one value per channel, or one value per group if `of_groups` is true.
    """
    found = layer_norm(ops.reshape(x, (x.shape[0], groups, -1)), (2,), epsilon, 1.0)
    if of_groups:
        return ops.reshape(
            found * ops.reshape(scale, (-1, 1)) + ops.reshape(shift, (-1, 1)), x.shape
        )
    along = (-1,) + (1,) * (x.ndim - 2)
    return ops.reshape(found, x.shape) * ops.reshape(scale, along) + ops.reshape(shift, along)


def mean_of(x: Any, axes: tuple[int, ...]) -> Any:
    """Returns the mean over `axes`; the result keeps these axes with size 1."""
    return ops.mean(widen_half(x), axes, True)


def deviation_of(x: Any, axes: tuple[int, ...], epsilon: float) -> Any:
    """Returns 1 / √(variance over `axes` + epsilon); the result keeps these axes with size 1."""
    given = widen_half(x)
    centred = given - ops.mean(given, axes, True)
    return ops.rsqrt(ops.mean(centred * centred, axes, True) + epsilon)


def batch_norm_step(
    x: Any, scale: Any, shift: Any, mean: Any, variance: Any, epsilon: float, momentum: float
) -> Any:
    """Computes batch norm with the mean and variance of the batch.

    `mean` and `variance` are the moving averages before the step. `momentum` is their weight in the
    new moving averages. Returns the result and the new moving averages of mean and variance.
    """
    axes = (0, *tuple(range(2, x.ndim)))
    own = ops.mean(x, axes)
    centred = x - ops.reshape(own, (-1,) + (1,) * (x.ndim - 2))
    spread = ops.mean(centred * centred, axes)
    made = batch_norm(x, scale, shift, own, spread, epsilon)
    return (
        made,
        mean * momentum + own * (1 - momentum),
        variance * momentum + spread * (1 - momentum),
    )


def hard_max(x: Any, axis: int, flat: bool) -> Any:
    """Returns a tensor that is 1 at the first maximum along `axis` and 0 elsewhere.

    If `flat` is true, the axes from `axis` on are treated as one axis.
    """
    given = flatten(x, axis) if flat else x
    axis = 1 if flat else axis
    along = ops.reshape(ops.arange(given.shape[axis]), (-1,) + (1,) * (given.ndim - 1 - axis))
    best = ops.cast(ops.argmax(given, axis, True), along.dtype)
    return ops.reshape(ops.cast(ops.equal(best, along), x.dtype), x.shape)


def lp_normalize(x: Any, axis: int, p: int) -> Any:
    """Divides `x` by its L1 or L2 norm along an axis. A zero vector remains zero."""
    given = widen_half(x)
    size = (
        ops.sum(ops.abs(given), axis, True)
        if p == 1
        else ops.sqrt(ops.sum(given * given, axis, True))
    )
    return ops.cast(given / ops.where(ops.equal(size, 0.0), ops.ones_like(size), size), x.dtype)


def local_response_norm(x: Any, size: int, alpha: float, beta: float, bias: float) -> Any:
    """Returns x / (bias + alpha / size · Σ x²)ᵝ; the sum runs over `size` neighbouring channels."""
    given = widen_half(x)
    before, behind = (size - 1) // 2, size - 1 - (size - 1) // 2
    edge = ops.zeros_like(ops.narrow(given, 1, 0, 1))
    squares = ops.concat((edge,) * before + (given * given,) + (edge,) * behind, 1)
    total = ops.zeros_like(given)
    for place in range(size):
        total = total + ops.narrow(squares, 1, place, x.shape[1])
    return ops.cast(given / ops.pow(bias + alpha / size * total, beta), x.dtype)


def tanh(x: Any) -> Any:
    """Returns the hyperbolic tangent, computed in float64.

    MindSpore's float32 tanh has an error up to 6e-5.
    """
    return ops.cast(ops.tanh(ops.cast(x, mindspore.float64)), x.dtype)


def elu(x: Any, alpha: float) -> Any:
    """Returns x where x > 0, and alpha · (e^x − 1) elsewhere."""
    return ops.maximum(x, 0.0) + alpha * (ops.exp(ops.minimum(x, 0.0)) - 1.0)


def celu(x: Any, alpha: float) -> Any:
    """Returns x where x > 0, and alpha · (e^(x / alpha) − 1) elsewhere."""
    return ops.maximum(x, 0.0) + alpha * (ops.exp(ops.minimum(x / alpha, 0.0)) - 1.0)


def softplus(x: Any) -> Any:
    """Returns ln(1 + e^x)."""
    power = ops.exp(-ops.abs(x))
    # ln(1 + p) = 2 artanh(p / (2 + p)) is accurate for small p; MindSpore's log1p rounds 1 + p.
    return ops.maximum(x, 0.0) + 2.0 * ops.atanh(power / (2.0 + power))


def hard_sigmoid(x: Any, alpha: float, beta: float) -> Any:
    """Returns alpha · x + beta, clipped to [0, 1]."""
    return ops.minimum(ops.maximum(x * alpha + beta, 0.0), 1.0)


def leaky_relu(x: Any, slope: Any) -> Any:
    """Returns x where x > 0, and slope · x elsewhere."""
    return ops.maximum(x, 0.0) + slope * ops.minimum(x, 0.0)


def shrink(x: Any, limit: float, bias: float) -> Any:
    """Returns x − bias where x > limit, x + bias where x < −limit, and 0 elsewhere."""
    inner = ops.where(x > limit, x - bias, ops.zeros_like(x))
    return ops.where(x < -limit, x + bias, inner)


def gelu(x: Any, approximate: bool) -> Any:
    """Returns x · Φ(x), or its approximation by tanh if `approximate` is set."""
    if approximate:
        return 0.5 * x * (1.0 + tanh(TANH_SCALE * (x + CUBIC * x * x * x)))
    return 0.5 * x * (1.0 + ops.erf(x * SQRT_HALF))


def flatten(x: Any, axis: int) -> Any:
    """Reshapes to a matrix: the axes before `axis` become the rows, the other axes the columns."""
    rows = 1
    for size in x.shape[:axis]:
        rows = rows * size
    return ops.reshape(x, (rows, -1))


def unsqueeze(x: Any, places: tuple[int, ...]) -> Any:
    """Inserts axes of size 1.

    `places` lists the indices of these axes in the result, in ascending order.
    """
    for place in places:
        x = ops.expand_dims(x, place)
    return x


def expand(x: Any, shape: tuple[int, ...]) -> Any:
    """Broadcasts `x` to the common shape of `x` and `shape`, as ONNX's ``Expand`` does.

    As in NumPy, `shape` may have fewer axes than `x`, or the size 1 where `x` is larger.
    """
    own = (1,) * (len(shape) - x.ndim) + x.shape
    told = (1,) * (x.ndim - len(shape)) + shape
    sizes: tuple[int, ...] = ()
    for one, other in zip(own, told):  # noqa: B905 - MindSpore knows no strict
        sizes = (*sizes, one if other == 1 else other)
    return ops.broadcast_to(x, sizes)


def quotient(a: int, b: int) -> int:
    """Returns the quotient a / b of two sizes, rounded towards zero."""
    found = a // b
    return found + 1 if found < 0 and found * b != a else found


def log_sum_exp(x: Any, axes: tuple[int, ...], keep: bool) -> Any:
    """Returns ln Σ e^x over axes. The result is −∞ if all elements are −∞."""
    top = ops.amax(x, axes, True)
    top = ops.where(ops.isfinite(top), top, ops.zeros_like(top))
    found = ops.log(ops.sum(ops.exp(x - top), axes, True)) + top
    return found if keep else ops.sum(found, axes, False)


def arg_extremum(word: str, x: Any, axis: int, keep: bool, last: bool) -> Any:
    """Returns the index of the maximum (`word` = argmax) or minimum (argmin) along an axis.

    If several elements are equal extrema, the result is the index of the first extremum, or of the
    last extremum if `last` is true. If `keep` is true, the result keeps the axis with size 1.
    """
    given = ops.flip(x, (axis,)) if last else x
    found = ops.argmax(given, axis, keep) if word == "argmax" else ops.argmin(given, axis, keep)
    found = ops.cast(found, mindspore.int64)
    return x.shape[axis] - 1 - found if last else found


def truncated_remainder(x: Any, y: Any) -> Any:
    """Returns the integer remainder of x / y with the sign of x."""
    left = x
    # MindSpore rounds int64 quotients to float64, so that one step may give a wrong quotient.
    for _ in range(3):
        left = left - ops.truncate_div(left, y) * y
    is_other = ops.logical_and(ops.not_equal(left, 0), ops.not_equal(left < 0, x < 0))
    back = ops.where(ops.not_equal(left < 0, y < 0), left + y, left - y)
    return ops.where(is_other, back, left)


def floored_remainder(y: Any, left: Any) -> Any:
    """Converts `left`, a truncated remainder, to the floored remainder, which has the sign of y."""
    is_other = ops.logical_and(ops.not_equal(left, 0), ops.not_equal(left < 0, y < 0))
    return ops.where(is_other, left + y, left)


def shift_bits(x: Any, by: Any, left: bool, bits: int, unsigned: bool) -> Any:
    """Shifts the bits of the integers `x` by `by` positions.

    The shift is to the left if `left` is true, else to the right. `bits` is the number of bits of
    the dtype. A shift by `bits` or more gives 0. There is one exception: a right shift of signed
    integers sets all bits to the sign bit.
    """
    by = ops.cast(by, mindspore.int64)
    inside = ops.cast(ops.minimum(by, bits - 1), x.dtype)
    if not left and not unsigned:
        return ops.bitwise_right_shift(x, inside)
    found = ops.bitwise_left_shift(x, inside) if left else ops.bitwise_right_shift(x, inside)
    return ops.where(by < bits, found, ops.zeros_like(found))


def running_sum(x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    """Returns the prefix sums along an axis.

    If `exclusive` is true, the sum at a position does not include the element at this position. If
    `reverse` is true, the sums start at the last element.
    """
    x = ops.flip(x, (axis,)) if reverse else x
    found = ops.cumsum(x, axis)
    if exclusive:
        before = ops.zeros_like(ops.narrow(x, axis, 0, 1))
        found = ops.concat((before, ops.narrow(found, axis, 0, x.shape[axis] - 1)), axis)
    return ops.flip(found, (axis,)) if reverse else found


def running_product(x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    """Returns the prefix products along an axis; the options are those of `running_sum`."""
    x = ops.flip(x, (axis,)) if reverse else x
    if exclusive:
        first = ops.ones_like(ops.narrow(x, axis, 0, 1))
        x = ops.concat((first, ops.narrow(x, axis, 0, x.shape[axis] - 1)), axis)
    found = ops.cast(ops.cumprod(x, axis), x.dtype)  # MindSpore returns a wider dtype
    return ops.flip(found, (axis,)) if reverse else found


def one_hot(places: Any, depth: int, values: Any, axis: int) -> Any:
    """Returns the one-hot encoding of the indices `places`; `values` is (off value, on value).

    `depth` is the number of classes, and `axis` is the position of their axis in the result.
    Negative indices count from the end.
    """
    along = (depth,) + (1,) * (places.ndim - axis)
    numbers = ops.reshape(ops.arange(depth), along)
    places = ops.cast(places, numbers.dtype)
    wanted = ops.expand_dims(ops.where(places < 0, places + depth, places), axis)
    return ops.where(ops.equal(wanted, numbers), values[1], values[0])


def depth_to_space(x: Any, size: int, depth_first: bool) -> Any:
    """Rearranges channels into spatial blocks of `size` × `size`.

    The channel axis is split into the block axes and the new channels. The block axes come first if
    `depth_first` is true (mode DCR), otherwise last (mode CRD).
    """
    n, c, height, width = x.shape
    c = c // size**2
    if depth_first:
        apart = ops.transpose(ops.reshape(x, (n, size, size, c, height, width)), (0, 3, 4, 1, 5, 2))
    else:
        apart = ops.transpose(ops.reshape(x, (n, c, size, size, height, width)), (0, 1, 4, 2, 5, 3))
    return ops.reshape(apart, (n, c, height * size, width * size))


def space_to_depth(x: Any, size: int, depth_first: bool) -> Any:
    """Rearranges spatial blocks into channels, the inverse of `depth_to_space`."""
    n, c, height, width = x.shape
    height, width = height // size, width // size
    apart = ops.reshape(x, (n, c, height, size, width, size))
    turned = ops.transpose(apart, (0, 3, 5, 1, 2, 4) if depth_first else (0, 1, 3, 5, 2, 4))
    return ops.reshape(turned, (n, c * size**2, height, width))


def pad(x: Any, pads: tuple[int, ...], value: float) -> Any:
    """Pads the last axes of `x` with `value`.

    `pads` contains two sizes for each padded axis: the padding before the axis, and the padding
    after it.
    """
    if not any(pads):
        return x
    turned: tuple[int, ...] = ()
    for axis in range(len(pads) // 2 - 1, -1, -1):
        turned = (*turned, pads[2 * axis], pads[2 * axis + 1])
    return ops.pad(x, turned, value=value)


def convolution(call: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """Calls a convolution primitive and adds the bias.

    A 1-D convolution is computed as a 2-D convolution whose first spatial axis has size 1.
    """
    flat = x.ndim == 3
    if flat:
        x, weight = ops.expand_dims(x, 2), ops.expand_dims(weight, 2)
    found = call(x, weight)
    if flat:
        found = ops.squeeze(found, 2)
    return found if bias is None else found + ops.reshape(bias, (-1,) + (1,) * (found.ndim - 2))


def convolution_in_groups(call: Any, x: Any, weight: Any, groups: int, bias: Any = None) -> Any:
    """Calls one convolution per channel group.

    MindSpore's 3-D convolution does not support channel groups.
    """
    given, made = x.shape[1] // groups, weight.shape[0] // groups
    parts: tuple[Any, ...] = ()
    for group in range(groups):
        own = ops.narrow(weight, 0, group * made, made)
        parts = (*parts, convolution(call, ops.narrow(x, 1, group * given, given), own))
    found = ops.concat(parts, 1)
    return found if bias is None else found + ops.reshape(bias, (-1,) + (1,) * (found.ndim - 2))


def transposed_convolution(
    call: Any,
    x: Any,
    weight: Any,
    strides: tuple[int, int],
    more: tuple[int, int],
    channels: int,
    bias: Any = None,
) -> Any:
    """Computes a transposed convolution by the primitive `call` and adds the bias.

    `channels` is the number of output channels. `more` has one integer for each spatial axis. If a
    spatial axis of `x` has size n, this axis of the result has size (n − 1) · stride + `more`.
    """
    flat = x.ndim == 3
    if flat:
        x, weight = ops.expand_dims(x, 2), ops.expand_dims(weight, 2)
    height = (x.shape[2] - 1) * strides[0] + more[0]
    width = (x.shape[3] - 1) * strides[1] + more[1]
    found = call(x, weight, (x.shape[0], channels, height, width))
    if flat:
        found = ops.squeeze(found, 2)
    return found if bias is None else found + ops.reshape(bias, (-1,) + (1,) * (found.ndim - 2))


def max_pool(call: Any, x: Any, pads: tuple[int, ...], lowest: float) -> Any:
    """Returns the maximum of each window. The padding is filled with `lowest`."""
    return call(pad(x, pads, lowest))


def average_pool(call: Any, x: Any, pads: tuple[int, ...], with_edges: bool) -> Any:
    """Returns the mean of each window.

    If `with_edges` is true, the mean includes the padding as zeros. If `with_edges` is false, the
    mean includes only elements of the image.
    """
    found = call(pad(x, pads, 0.0))
    if with_edges or not any(pads):
        return found
    return found / call(pad(ops.ones_like(x), pads, 0.0))


def repeat_places(x: Any, times: tuple[int, int]) -> Any:
    """Repeats each pixel as a block of `times` pixels.

    This is nearest-neighbour upsampling by integer factors.
    """
    n, c, height, width = x.shape
    found = ops.broadcast_to(
        ops.reshape(x, (n, c, height, 1, width, 1)), (n, c, height, times[0], width, times[1])
    )
    return ops.reshape(found, (n, c, height * times[0], width * times[1]))


def fold_operands(word: str, values: Sequence[Any]) -> Any:
    """Returns the elementwise maximum, minimum or sum of all values; `word` names the function."""
    found = values[0]
    for one in values[1:]:
        if word == "maximum":
            found = ops.maximum(found, one)
        elif word == "minimum":
            found = ops.minimum(found, one)
        else:
            found = found + one
    return found
