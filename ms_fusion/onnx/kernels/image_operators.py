"""Lowers ONNX convolutions and poolings over one to three spatial axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ms_fusion.onnx.kernels.operator_call import OperatorCall
from tbe_impl import dsl
from tbe_impl.errors import InputError
from tbe_impl.tracing.arrays import TracedArray, tensor_of


@dataclass(frozen=True)
class Windows:
    """The sliding windows over an image; each attribute has one integer for each spatial axis.

    Attributes:
        spans: sizes of the window without dilation.
        strides, dilations: strides and dilations of the window.
        before, after: paddings before and after the image.
    """

    spans: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def reaches(self) -> tuple[int, ...]:
        """The extent of the dilated window on each axis."""
        return tuple(
            (span - 1) * step + 1 for span, step in zip(self.spans, self.dilations, strict=True)
        )


def read_windows(call: OperatorCall, spans: Sequence[int]) -> Windows:
    """Reads the attributes of a convolution or pooling; `spans` are the window sizes.

    Raises:
        InputError: the paddings depend on an unknown size.
    """
    rank = len(spans)
    strides = tuple(call.integers("strides") or (1,) * rank)
    dilations = tuple(call.integers("dilations") or (1,) * rank)
    pads = tuple(call.integers("pads") or (0,) * (2 * rank))
    found = Windows(tuple(spans), strides, dilations, pads[:rank], pads[rank:])
    mode = call.attr("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        return found
    if mode == "VALID":
        return Windows(found.spans, strides, dilations, (0,) * rank, (0,) * rank)
    sizes = call.inputs[0].shape[2:]
    if not all(isinstance(size, int) for size in sizes):
        raise InputError(
            "a padding of a size that is not known stays with the model", place=call.node.name
        )
    lacking = [
        max((math.ceil(size / step) - 1) * step + reach - size, 0)
        for size, step, reach in zip(sizes, strides, found.reaches, strict=True)
    ]
    less, more = tuple(one // 2 for one in lacking), tuple(one - one // 2 for one in lacking)
    before, after = (less, more) if mode == "SAME_UPPER" else (more, less)
    return Windows(found.spans, strides, dilations, before, after)


def _pads(where: Windows) -> list[int]:
    return [one for pair in zip(where.before, where.after, strict=True) for one in pair]


def _insert_axis(array: Any) -> Any:
    """Inserts an axis of size 1 before the only spatial axis of an array."""
    return array.reshape((*array.shape[:2], 1, *array.shape[2:]))


def _extend_to_two_axes(where: Windows) -> Windows:
    return Windows(
        (1, *where.spans),
        (1, *where.strides),
        (1, *where.dilations),
        (0, *where.before),
        (0, *where.after),
    )


def _constant_shape(weight: Any, call: OperatorCall) -> tuple[int, ...]:
    if not all(isinstance(size, int) for size in weight.shape):
        raise InputError(
            "a filter of a size that is not known stays with the model", place=call.node.name
        )
    return tuple(weight.shape)


def convolution(call: OperatorCall) -> Any:
    """Lowers conv(x, weight) + bias in one, two or three axes, with channel groups."""
    x, weight, bias = call.inputs[0], call.inputs[1], call.optional_input(2)
    shape = _constant_shape(weight, call)
    where = read_windows(call, shape[2:])
    if len(shape) == 3:
        x, weight, where = _insert_axis(x), _insert_axis(weight), _extend_to_two_axes(where)
    told = {
        "strides": list(where.strides),
        "pads": _pads(where),
        "dilations": list(where.dilations),
        "groups": int(call.attr("group", 1)),
        "res_dtype": str(x.dtype),
    }
    if len(shape) == 5:
        found = dsl.conv3d(tensor_of(x), tensor_of(weight), list(shape), told)
    else:
        found = dsl.conv(tensor_of(x), tensor_of(weight), told)
    made = TracedArray(found)
    if len(shape) == 3:
        made = made.reshape((made.shape[0], made.shape[1], made.shape[3]))
    return made if bias is None else made + bias.reshape((shape[0],) + (1,) * (len(shape) - 2))


def transposed_convolution(call: OperatorCall) -> Any:
    """Lowers a 2-D ConvTranspose: the gradient of a convolution with respect to its input."""
    x, weight, bias = call.inputs[0], call.inputs[1], call.optional_input(2)
    shape = _constant_shape(weight, call)
    if (
        len(shape) != 4
        or call.attr("auto_pad", "NOTSET") not in ("NOTSET", "")
        or call.integers("output_shape")
    ):
        raise InputError("only explicit paddings in two axes are built", place=call.node.name)
    if not all(isinstance(size, int) for size in x.shape[2:]):
        raise InputError(
            "an image of a size that is not known stays with the model", place=call.node.name
        )
    where, groups = read_windows(call, shape[2:]), int(call.attr("group", 1))
    more = call.integers("output_padding") or (0, 0)
    sizes = [
        (size - 1) * step + reach + extra - before - after
        for size, step, reach, extra, before, after in zip(
            call.inputs[0].shape[2:],
            where.strides,
            where.reaches,
            more,
            where.before,
            where.after,
            strict=True,
        )
    ]
    told = {
        "strides": list(where.strides),
        "padding": _pads(where),
        "dilations": list(where.dilations),
        "groups": groups,
        "res_dtype": str(x.dtype),
    }
    channels = shape[1] * groups
    image = tensor_of(x)
    found = dsl.conv2d_backprop_input(
        tensor_of(weight), image, list(shape), [image.shape[0], channels, *sizes], told
    )
    return (
        TracedArray(found) if bias is None else TracedArray(found) + bias.reshape((channels, 1, 1))
    )


def _reduce_windows(call: OperatorCall, kind: str) -> tuple[Any, Windows]:
    x = call.inputs[0]
    where = read_windows(call, call.integers("kernel_shape") or ())
    if call.attr("ceil_mode", 0) or len([one for one in call.outputs if one.name]) > 1:
        raise InputError(
            "windows that stand over the edge and positions stay with the model",
            place=call.node.name,
        )
    axes = list(range(2, x.ndim))
    pads = list(zip(where.before, where.after, strict=True))
    found = dsl.reduce_window(
        tensor_of(x),
        kind,
        axes,
        list(where.spans),
        list(where.strides),
        list(where.dilations),
        padding_mode="CALCULATED",
        padding_dimensions=pads,
    )
    return TracedArray(found), where


def max_pool(call: OperatorCall) -> Any:
    """Lowers max-pooling."""
    return _reduce_windows(call, "MAX")[0]


def average_pool(call: OperatorCall) -> Any:
    """Lowers average pooling; the padding counts if ``count_include_pad`` is set."""
    found, where = _reduce_windows(call, "SUM")
    if call.attr("count_include_pad", 0) or not any((*where.before, *where.after)):
        return found * np.float64(1 / math.prod(where.spans)).astype(found.dtype)
    sizes = call.inputs[0].shape[2:]
    if not all(isinstance(size, int) for size in sizes):
        raise InputError(
            "windows over the edge of a size that is not known stay with the model",
            place=call.node.name,
        )
    counts = np.ones((1,) * (2 + len(sizes)))
    for axis, size in enumerate(sizes):
        starts = np.arange(found.shape[2 + axis]) * where.strides[axis] - where.before[axis]
        places = starts[:, None] + np.arange(where.spans[axis]) * where.dilations[axis]
        inside = ((places >= 0) & (places < size)).sum(1).astype(np.float64)
        counts = counts * inside.reshape((-1,) + (1,) * (len(sizes) - 1 - axis))
    return found * (1 / counts).astype(found.dtype)
