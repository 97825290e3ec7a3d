"""Computes output sizes and padding of sliding windows, for pooling and patch operators."""

from __future__ import annotations

from tbe_impl.compat.operator_errors import fault


def windowed_output_size_dilated(
    size: int, window: int, dilation: int, stride: int, padding: str
) -> tuple[int, int, int]:
    """Returns (number of windows, padding before the axis, padding after the axis).

    Args:
        size: size of the axis.
        window, dilation, stride: a window reads `window` elements that are `dilation` elements
            apart. A window thus spans (window − 1)·dilation + 1 elements. Adjacent windows start
            `stride` elements apart.
        padding: ``SAME`` (⌈size / stride⌉ windows) or ``VALID`` (no padding).

    >>> windowed_output_size_dilated(7, 3, 1, 2, "SAME")
    (4, 1, 1)
    >>> windowed_output_size_dilated(7, 3, 2, 2, "VALID")
    (2, 0, 0)

    Raises:
        OperatorError: the stride or dilation is less than 1, or the padding mode is unknown.
    """
    _check_steps(stride, dilation)
    reach = (window - 1) * dilation + 1
    if padding == "VALID":
        return (size - reach + stride) // stride, 0, 0
    if padding != "SAME":
        raise fault(
            "E90001",
            f"padding has to be SAME or VALID, but is {padding!r}",
            detailed_cause="padding",
        )
    count = (size + stride - 1) // stride
    needed = max((count - 1) * stride + reach - size, 0)
    return count, needed // 2, needed - needed // 2


def windowed_output_size(size: int, window: int, stride: int, padding: str) -> tuple[int, int, int]:
    """Calls `windowed_output_size_dilated` with dilation 1."""
    return windowed_output_size_dilated(size, window, 1, stride, padding)


def caffe_output_size(
    ceil_mode: int,
    height: int,
    width: int,
    window_h: int,
    window_w: int,
    stride_h: int,
    stride_w: int,
    dilation_h: int,
    dilation_w: int,
    top: int,
    bottom: int,
    left: int,
    right: int,
) -> tuple[int, int, int, int, int, int]:
    """Returns the output size and padding of Caffe pooling.

    The result is the tuple (height, width, top, bottom, left, right).

    Args:
        ceil_mode: rounding of the number of windows: 0 rounds up, 1 rounds down.
        height, width: size of the image.
        window_h, window_w, stride_h, stride_w, dilation_h, dilation_w: size, stride and dilation of
            the windows, vertical and horizontal.
        top, bottom, left, right: requested padding.

    >>> caffe_output_size(0, 8, 8, 3, 3, 2, 2, 1, 1, 0, 0, 0, 0)
    (4, 4, 0, 1, 0, 1)
    """
    rows, below = _caffe_count_and_padding(
        ceil_mode, height, window_h, stride_h, dilation_h, top, bottom
    )
    columns, behind = _caffe_count_and_padding(
        ceil_mode, width, window_w, stride_w, dilation_w, left, right
    )
    return rows, columns, top, below, left, behind


def _caffe_count_and_padding(
    ceil_mode: int, size: int, window: int, stride: int, dilation: int, before: int, after: int
) -> tuple[int, int]:
    _check_steps(stride, dilation)
    reach = (window - 1) * dilation + 1
    free = size + before + after - reach
    count = (-(-free // stride) if ceil_mode == 0 else free // stride) + 1
    if before and (count - 1) * stride >= size + before:
        # a window must not start in the padding after the image
        count -= 1
    return count, max((count - 1) * stride + reach - size - before, 0)


def _check_steps(stride: int, dilation: int) -> None:
    for name, step in (("stride", stride), ("dilation", dilation)):
        if isinstance(step, int) and step < 1:
            raise fault(
                "E90001",
                f"the {name} of a window has to be at least 1, but is {step}",
                detailed_cause=name,
            )


FUNCTIONS = {
    "tf_get_windowed_output_size_verbose": windowed_output_size,
    "tf_get_windowed_output_size_verbose_v2": windowed_output_size_dilated,
    "get_caffe_out_size_and_pad": caffe_output_size,
}
"""Maps a name in ``te.lang.cce`` and ``tbe.dsl`` to its function."""
