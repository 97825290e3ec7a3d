"""Describes channels-last images to oneDNN by sizes in NCHW order and permuted strides."""

from __future__ import annotations

from collections.abc import Sequence

from custom_ops.onednn.plans import OutputPlace, Place, PlanBuilder
from custom_ops.onednn.prepared_operator import TensorType


def memory_shape(shape: Sequence[int], last: bool) -> tuple[int, ...]:
    """Returns the sizes of an NCHW shape in memory order, which is NHWC if `last` is true.

    >>> memory_shape((8, 64, 56, 56), True)
    (8, 56, 56, 64)
    """
    batch, channels, *places = shape
    return (batch, *places, channels) if last else (batch, channels, *places)


def strides(shape: Sequence[int], last: bool) -> tuple[int, ...] | None:
    """Returns the strides of a channels-last array, in elements and in NCHW order.

    Returns None if `last` is False.
    """
    _, channels, height, width = shape
    return (channels * height * width, 1, width * channels, channels) if last else None


def input_image(
    builder: PlanBuilder, kind: TensorType, dtype: str, shape: Sequence[int], last: bool
) -> Place:
    """Adds the caller's next buffer to the plan, as an input image.

    `shape` is the image's shape in NCHW order. The memory order is NHWC if `last` is true.
    """
    return builder.read(kind, dtype, shape, strides(shape, last))


def output_image(
    builder: PlanBuilder, kind: TensorType, dtype: str, shape: Sequence[int], last: bool
) -> OutputPlace:
    """Adds the caller's next buffer to the plan, as an output image.

    `shape` is the image's shape in NCHW order. The memory order is NHWC if `last` is true.
    """
    return builder.output_place(kind, dtype, shape, strides(shape, last))
