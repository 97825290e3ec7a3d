"""Rewrites ONNX's convolutions and poolings over one to three axes into MindSpore's operators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ms_fusion.ops.call import Call
from ms_fusion.ops.pooling_windows import PoolingWindows
from tbe_impl.errors import InputError


def place_windows(call: Call, spans: Sequence[int], sizes: Sequence[Any]) -> PoolingWindows:
    """Returns the windows of a convolution or pooling; the field `counts` is empty.

    Args:
        call: the `Call` of the operator, with ONNX's attributes.
        spans: extent of a window on each spatial axis.
        sizes: spatial sizes of the image. If ``auto_pad`` is set and the stride of an axis is not
            1, the size of this axis must be an integer.

    Raises:
        InputError: the paddings depend on an unknown size, or the number of strides, dilations or
            pads does not match the number of axes.
    """
    rank = len(spans)
    pads = call.integers("pads") or (0,) * (2 * rank)
    where = PoolingWindows(
        tuple(range(2, 2 + rank)),
        tuple(sizes),
        tuple(spans),
        call.integers("strides") or (1,) * rank,
        pads[:rank],
        (),
        dilations=call.integers("dilations") or (1,) * rank,
        after=pads[rank:],
    )
    if {rank, len(sizes), len(where.strides), len(where.dilations), len(pads) / 2} != {rank}:
        raise InputError(
            "strides, dilations and pads do not fit the axes of the image", place=call.node.name
        )
    mode = call.node.attr("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        return where
    if mode == "VALID":
        return replace(where, starts=(0,) * rank, after=(0,) * rank)
    lacking = []
    for size, step, reach in zip(sizes, where.strides, where.reaches, strict=True):
        if step != 1 and not isinstance(size, int):
            raise InputError("a padding of unknown size is not lowered", place=call.node.name)
        # If the stride is 1, the padding does not depend on the size.
        beyond = 0 if step == 1 else (math.ceil(size / step) - 1) * step + 1 - size
        lacking.append(max(beyond + reach - 1, 0))
    less, more = tuple(one // 2 for one in lacking), tuple(one - one // 2 for one in lacking)
    before, after = (less, more) if mode == "SAME_UPPER" else (more, less)
    return replace(where, starts=before, after=after)


def sliding_windows(call: Call, spans: Sequence[int]) -> PoolingWindows:
    """Returns the windows of a convolution or pooling of the first input.

    Raises:
        InputError: any error of `place_windows`.
    """
    where = place_windows(call, spans, call.inputs[0].shape[2:])
    counts = (
        (size + before + after - reach) // step + 1
        for size, (before, after), reach, step in zip(
            where.sizes, where.pads, where.reaches, where.strides, strict=True
        )
    )
    return replace(where, counts=tuple(counts))


def convolution(call: Call) -> Call:
    """Rewrites a convolution or transposed convolution of (x, weight, bias) into MindSpore's form.

    Raises:
        InputError: the weight has an unknown size.
    """
    weight = call.inputs[1]
    if not all(isinstance(size, int) for size in weight.shape):
        raise InputError("a filter of unknown size is not lowered", place=call.node.name)
    where = sliding_windows(call, weight.shape[2:])
    return call.in_form(
        stride=where.strides,
        dilation=where.dilations,
        pad_list=tuple(one for pair in where.pads for one in pair),
    )


def transposed_convolution(call: Call) -> Call:
    """Rewrites a 2-D ConvTranspose of (x, weight, bias), and computes the sizes of its result.

    Raises:
        InputError: the paddings are not explicit, or the image has an unknown size.
    """
    image, weight = (item.shape for item in call.inputs[:2])
    if (
        len(weight) != 4
        or call.node.attr("auto_pad", "NOTSET") not in ("NOTSET", "")
        or call.integers("output_shape")
    ):
        raise InputError("only explicit paddings in two axes are supported", place=call.node.name)
    if not all(isinstance(size, int) for size in image[2:]):
        raise InputError("an image of unknown size is not lowered", place=call.node.name)
    made = convolution(call)
    where, more = sliding_windows(call, weight[2:]), call.integers("output_padding") or (0, 0)
    sides = (
        (size - 1) * step + reach + extra - before - after
        for size, step, reach, extra, (before, after) in zip(
            image[2:], where.strides, where.reaches, more, where.pads, strict=True
        )
    )
    channels = weight[1] * int(call.number("group", default=1))
    return made.in_form(
        inputs=(*call.inputs[:2], None, *call.inputs[2:3]), sizes=(image[0], channels, *sides)
    )


def pooling(call: Call) -> Call:
    """Rewrites a max or average pooling; the new attribute `windows` contains its windows.

    Raises:
        InputError: the operator has a second result, a window may extend beyond the padding, or a
            mean over windows at an edge depends on an unknown size.
    """
    where = sliding_windows(call, call.integers("kernel_shape") or ())
    if call.flag("ceil_mode") or len(call.node.outputs) > 1:
        raise InputError(
            "windows across the edge with positions are not lowered",
            place=call.node.name,
        )
    return call.in_form(windows=where)


def average_pooling(call: Call) -> Call:
    """Rewrites an average pooling.

    If ``count_include_pad`` is set, the elements of the padding are included in the mean.

    Raises:
        InputError: any error of `pooling`.
    """
    made = pooling(call)
    where: PoolingWindows = made.attribute("windows")
    if call.flag("count_include_pad") or not any((*where.starts, *where.after)):
        where = replace(where, divisor=math.prod(where.spans))
    elif not all(isinstance(size, int) for size in where.sizes):
        raise InputError(
            "windows across an edge of unknown size are not lowered",
            place=call.node.name,
        )
    return made.in_form(windows=where)
