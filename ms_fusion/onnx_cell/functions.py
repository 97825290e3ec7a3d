"""What ONNX's operators are in MindSpore, where that is more than one of its functions; generated code calls these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindspore
from mindspore import ops

LOWEST = {
    "Float16": -65504.0,
    "Float32": -3.4028234663852886e38,
    "Float64": -1.7976931348623157e308,
}


def gemm(a: Any, b: Any, alpha: float, beta: float, turn_a: bool, turn_b: bool, c: Any = None) -> Any:  # fmt: skip
    """alpha · a · b + beta · c, either matrix transposed."""
    a = ops.transpose(a, (1, 0)) if turn_a else a
    b = ops.transpose(b, (1, 0)) if turn_b else b
    found = ops.matmul(a, b)
    found = found if alpha == 1.0 else found * alpha
    if c is None:
        return found
    return found + (c if beta == 1.0 else c * beta)


def layer_norm(x: Any, axes: tuple[int, ...], epsilon: float, scale: Any, shift: Any = None) -> Any:
    """(x − mean) / √(variance + epsilon) · scale + shift over axes."""
    centred = x - ops.mean(x, axes, True)
    variance = ops.mean(centred * centred, axes, True)
    found = centred * ops.rsqrt(variance + epsilon) * scale
    return found if shift is None else found + shift


def rms_norm(x: Any, axes: tuple[int, ...], epsilon: float, scale: Any) -> Any:
    """x / √(mean x² + epsilon) · scale over axes."""
    return x * ops.rsqrt(ops.mean(x * x, axes, True) + epsilon) * scale


def batch_norm(x: Any, scale: Any, shift: Any, mean: Any, variance: Any, epsilon: float) -> Any:
    """(x − mean) · scale / √(variance + epsilon) + shift, one number of each for a channel."""
    along = (-1,) + (1,) * (x.ndim - 2)
    factor = scale / ops.sqrt(variance + epsilon)
    return (x - ops.reshape(mean, along)) * ops.reshape(factor, along) + ops.reshape(shift, along)


def instance_norm(x: Any, scale: Any, shift: Any, epsilon: float) -> Any:
    """Each channel of each image with mean 0 and variance 1, then scale and shift."""
    along = (-1,) + (1,) * (x.ndim - 2)
    axes = tuple(range(2, x.ndim))
    return layer_norm(x, axes, epsilon, ops.reshape(scale, along), ops.reshape(shift, along))


def group_norm(x: Any, scale: Any, shift: Any, groups: int, epsilon: float) -> Any:
    """Each group of channels of each image with mean 0 and variance 1, then scale and shift, one of each for a channel."""
    along = (-1,) + (1,) * (x.ndim - 2)
    apart = ops.reshape(x, (x.shape[0], groups, -1))
    found = ops.reshape(layer_norm(apart, (2,), epsilon, 1.0), x.shape)
    return found * ops.reshape(scale, along) + ops.reshape(shift, along)


def elu(x: Any, alpha: float) -> Any:
    """x above 0, alpha · (e^x − 1) below."""
    return ops.maximum(x, 0.0) + alpha * (ops.exp(ops.minimum(x, 0.0)) - 1.0)


def softplus(x: Any) -> Any:
    """ln(1 + e^x)."""
    return ops.maximum(x, 0.0) + ops.log(1.0 + ops.exp(-ops.abs(x)))


def hard_sigmoid(x: Any, alpha: float, beta: float) -> Any:
    """alpha · x + beta between 0 and 1."""
    return ops.minimum(ops.maximum(x * alpha + beta, 0.0), 1.0)


def leaky_relu(x: Any, slope: Any) -> Any:
    """x above 0, slope · x below."""
    return ops.maximum(x, 0.0) + slope * ops.minimum(x, 0.0)


def gelu(x: Any, approximate: bool) -> Any:
    """x · Φ(x), or its approximation by tanh."""
    if approximate:
        return 0.5 * x * (1.0 + ops.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1.0 + ops.erf(x * 0.7071067811865476))


def flatten(x: Any, axis: int) -> Any:
    """A matrix: the axes before `axis`, and those from it on."""
    rows = 1
    for size in x.shape[:axis]:
        rows = rows * size
    return ops.reshape(x, (rows, -1))


def unsqueeze(x: Any, places: tuple[int, ...]) -> Any:
    """Axes of one element put in, at these places of the result in order."""
    for place in places:
        x = ops.expand_dims(x, place)
    return x


def place_of(word: str, x: Any, axis: int, keep: bool, last: bool) -> Any:
    """Where the largest or smallest element of each row is; of equal ones the first or the last."""
    given = ops.flip(x, (axis,)) if last else x
    found = ops.argmax(given, axis, keep) if word == "argmax" else ops.argmin(given, axis, keep)
    found = ops.cast(found, mindspore.int64)
    return x.shape[axis] - 1 - found if last else found


def running_sum(x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    """Sums of all elements up to each one along an axis, itself included or not, from the first or the last on."""
    x = ops.flip(x, (axis,)) if reverse else x
    found = ops.cumsum(x, axis)
    if exclusive:
        before = ops.zeros_like(ops.narrow(x, axis, 0, 1))
        found = ops.concat((before, ops.narrow(found, axis, 0, x.shape[axis] - 1)), axis)
    return ops.flip(found, (axis,)) if reverse else found


def one_hot(places: Any, depth: int, values: Any, axis: int) -> Any:
    """`values` is what stands elsewhere and what stands at each place; places count from the end where they are negative."""
    along = (depth,) + (1,) * (places.ndim - axis)
    numbers = ops.reshape(ops.arange(depth), along)
    places = ops.cast(places, numbers.dtype)
    wanted = ops.expand_dims(ops.where(places < 0, places + depth, places), axis)
    return ops.where(ops.equal(wanted, numbers), values[1], values[0])


def depth_to_space(x: Any, size: int, depth_first: bool) -> Any:
    """Channels moved into blocks of `size` × `size` places, which are the slowest axes of the channels or the quickest."""
    n, c, height, width = x.shape
    c = c // size**2
    if depth_first:
        apart = ops.transpose(ops.reshape(x, (n, size, size, c, height, width)), (0, 3, 4, 1, 5, 2))
    else:
        apart = ops.transpose(ops.reshape(x, (n, c, size, size, height, width)), (0, 1, 4, 2, 5, 3))
    return ops.reshape(apart, (n, c, height * size, width * size))


def space_to_depth(x: Any, size: int, depth_first: bool) -> Any:
    """The reverse of `depth_to_space`."""
    n, c, height, width = x.shape
    height, width = height // size, width // size
    apart = ops.reshape(x, (n, c, height, size, width, size))
    turned = ops.transpose(apart, (0, 3, 5, 1, 2, 4) if depth_first else (0, 1, 3, 5, 2, 4))
    return ops.reshape(turned, (n, c * size**2, height, width))


def padded(x: Any, pads: tuple[int, ...], value: float) -> Any:
    """x with a number around its last axes; `pads` is before and behind of each axis of the image, first axes first."""
    if not any(pads):
        return x
    turned: tuple[int, ...] = ()
    for axis in range(len(pads) // 2 - 1, -1, -1):
        turned = (*turned, pads[2 * axis], pads[2 * axis + 1])
    return ops.pad(x, turned, value=value)


def convolution(call: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """A convolution in two axes or three, made before; of one axis in two of which the first has one place."""
    flat = x.ndim == 3
    if flat:
        x, weight = ops.expand_dims(x, 2), ops.expand_dims(weight, 2)
    found = call(x, weight)
    if flat:
        found = ops.squeeze(found, 2)
    return found if bias is None else found + ops.reshape(bias, (-1,) + (1,) * (found.ndim - 2))


def transposed_convolution(
    call: Any, x: Any, weight: Any, strides: tuple[int, int], more: tuple[int, int], channels: int, bias: Any = None
) -> Any:  # fmt: skip
    """What a convolution passes back to its input; each side of the image is `strides` times the old one and `more`."""
    height = (x.shape[2] - 1) * strides[0] + more[0]
    width = (x.shape[3] - 1) * strides[1] + more[1]
    found = call(x, weight, (x.shape[0], channels, height, width))
    return found if bias is None else found + ops.reshape(bias, (-1, 1, 1))


def max_pool(call: Any, x: Any, pads: tuple[int, ...], lowest: float) -> Any:
    """The largest of each window; what is added around the image is never that."""
    return call(padded(x, pads, lowest))


def average_pool(call: Any, x: Any, pads: tuple[int, ...], with_edges: bool) -> Any:
    """The mean of each window, of what lies in the image or of all."""
    found = call(padded(x, pads, 0.0))
    if with_edges or not any(pads):
        return found
    return found / call(padded(ops.ones_like(x), pads, 0.0))


def repeated(x: Any, times: tuple[int, int]) -> Any:
    """Each place of an image as a block of them: what the nearest place is to a larger image."""
    n, c, height, width = x.shape
    found = ops.broadcast_to(ops.reshape(x, (n, c, height, 1, width, 1)), (n, c, height, times[0], width, times[1]))  # fmt: skip
    return ops.reshape(found, (n, c, height * times[0], width * times[1]))


def lstm(x: Any, weight: Any, recurrent: Any, bias: Any, start: Any, cell: Any) -> tuple[Any, Any, Any]:  # fmt: skip
    """A long short-term memory in one direction: all steps, the last one, and its cell; gates in the order i o f c."""
    size = recurrent.shape[2]
    turned, again = ops.transpose(weight[0], (1, 0)), ops.transpose(recurrent[0], (1, 0))
    both = bias[0][: 4 * size] + bias[0][4 * size :]
    hidden, memory = start[0], cell[0]
    steps = []
    for step in range(x.shape[0]):
        gates = ops.matmul(x[step], turned) + ops.matmul(hidden, again) + both
        share = ops.sigmoid(gates[:, : 3 * size])
        memory = share[:, 2 * size :] * memory + share[:, :size] * ops.tanh(gates[:, 3 * size :])
        hidden = share[:, size : 2 * size] * ops.tanh(memory)
        steps.append(ops.expand_dims(hidden, 0))
    return ops.stack(steps), ops.expand_dims(hidden, 0), ops.expand_dims(memory, 0)


def gru(x: Any, weight: Any, recurrent: Any, bias: Any, start: Any, reset_last: bool) -> tuple[Any, Any]:  # fmt: skip
    """A gated recurrent unit in one direction: all steps, and the last one; gates in the order z r h."""
    size = recurrent.shape[2]
    turned, again = ops.transpose(weight[0], (1, 0)), ops.transpose(recurrent[0], (1, 0))
    own, other = bias[0][: 3 * size], bias[0][3 * size :]
    hidden = start[0]
    steps = []
    for step in range(x.shape[0]):
        given = ops.matmul(x[step], turned) + own
        before = ops.matmul(hidden, again[:, : 2 * size]) + other[: 2 * size]
        share = ops.sigmoid(given[:, : 2 * size] + before)
        reset = share[:, size:]
        if reset_last:
            inner = reset * (ops.matmul(hidden, again[:, 2 * size :]) + other[2 * size :])
        else:
            inner = ops.matmul(reset * hidden, again[:, 2 * size :]) + other[2 * size :]
        made = ops.tanh(given[:, 2 * size :] + inner)
        hidden = (1.0 - share[:, :size]) * made + share[:, :size] * hidden
        steps.append(ops.expand_dims(hidden, 0))
    return ops.stack(steps), ops.expand_dims(hidden, 0)


def zeros_beside(x: Any, size: int) -> Any:
    """Where a recurrent net starts when nobody says."""
    return ops.zeros((1, x.shape[1], size), x.dtype)


def no_bias(recurrent: Any) -> Any:
    """The biases of a recurrent net that has none."""
    return ops.zeros((1, 2 * recurrent.shape[1]), recurrent.dtype)


def several(word: str, values: Sequence[Any]) -> Any:
    """One function of two on all of several values."""
    found = values[0]
    for one in values[1:]:
        if word == "maximum":
            found = ops.maximum(found, one)
        elif word == "minimum":
            found = ops.minimum(found, one)
        else:
            found = found + one
    return found
