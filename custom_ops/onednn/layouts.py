"""Images whose channels come last in memory, as oneDNN is told of them: sizes in the usual order, with other strides."""

from __future__ import annotations

from collections.abc import Sequence

from custom_ops.onednn.prepared_operator import TensorType
from custom_ops.onednn.programs import Builder, Place, Written


def lying(shape: Sequence[int], last: bool) -> tuple[int, ...]:
    """Batch, channels, height, width in the order in which they lie in memory.

    >>> lying((8, 64, 56, 56), True)
    (8, 56, 56, 64)
    """
    batch, channels, *places = shape
    return (batch, *places, channels) if last else (batch, channels, *places)


def strides(shape: Sequence[int], last: bool) -> tuple[int, ...] | None:
    """The strides, in elements and in the usual order of the axes; None for those of a dense array."""
    _, channels, height, width = shape
    return (channels * height * width, 1, width * channels, channels) if last else None


def read(builder: Builder, kind: TensorType, dtype: str, shape: Sequence[int], last: bool) -> Place:
    """The next buffer, an input image of this shape in the usual order, whichever way it lies."""
    return builder.read(kind, dtype, shape, strides(shape, last))


def written(
    builder: Builder, kind: TensorType, dtype: str, shape: Sequence[int], last: bool
) -> Written:
    """The next buffer, an output image."""
    return builder.written(kind, dtype, shape, strides(shape, last))
