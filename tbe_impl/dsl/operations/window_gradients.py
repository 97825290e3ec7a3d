"""DSL operations for gradients over windows in block layouts.

The operations are the second-order gradient of max pooling and the gradients of depthwise
convolutions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tbe_impl.dsl.expr import (
    Binary,
    Const,
    Expr,
    IterVar,
    Range,
    Reduce,
    cast,
    const,
    make_binary,
    select,
)
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.operation import DslOperation, check_tensor
from tbe_impl.dsl.operations.windows import find_positions, same_padding
from tbe_impl.dsl.tensor import Tensor, compute, fresh_name, shape_text
from tbe_impl.errors import InputError

_DEPTH, _HEIGHT, _WIDTH = 1, 3, 4
"""Positions of the window axes in NDC1HWC0."""


def pooling3d_max_grad_grad(
    orig_input: Tensor,
    orig_output: Tensor,
    grad_grad: Tensor,
    assist_tensor: Any,
    ksize: Any,
    strides: Any,
    pads: Any = (0, 0, 0, 0, 0, 0),
    data_format: str = "NDHWC",
    padding: str = "SAME",
) -> Tensor:
    """Reads `grad_grad` at the position of the maximum of each window of `orig_input`.

    Of several equal maxima, the first one is used.

    Args:
        orig_input: input of the max pooling, in NDC1HWC0.
        orig_output: output of the max pooling: the maximum of each window.
        grad_grad: tensor of the shape of `orig_input`.
        assist_tensor: tie-breaking indices for the device; ignored.
        ksize, strides: window sizes and strides of depth, height and width.
        pads: front, back, above, below, left, right; used only for ``CALCULATED`` padding.
        data_format: layout of the original tensors; ignored.
        padding: ``SAME``, ``VALID`` or ``CALCULATED``.

    Returns:
        A tensor of the shape of `orig_output`. The element is 0 for a window in which no element
        equals the maximum in `orig_output`.
    """
    word = "pooling3d_max_grad_grad"
    x, y = (
        check_tensor(word, orig_input, "orig_input"),
        check_tensor(word, orig_output, "orig_output"),
    )
    slopes = check_tensor(word, grad_grad, "grad_grad")
    axes = (_DEPTH, _HEIGHT, _WIDTH)
    if x.ndim != 6 or y.ndim != 6 or shape_text(x.shape) != shape_text(slopes.shape):
        raise InputError(
            f"{word}: the volumes do not fit",
            place=str(user_location()),
            expected="NDC1HWC0, grad_grad like orig_input",
            got=", ".join(shape_text(one.shape) for one in (x, y, slopes)),
        )
    mode = str(padding).upper()
    starts = [0, 0, 0]
    if mode == "SAME":
        starts = [
            same_padding(_static_number(x.shape[axis]), span, stride)[0]
            for axis, span, stride in zip(axes, ksize, strides, strict=True)
        ]
    elif mode == "CALCULATED":
        starts = list(pads[::2])
    elif mode != "VALID":
        raise InputError(
            f"{word}: unknown padding",
            place=str(user_location()),
            expected="SAME, VALID or CALCULATED",
            got=repr(padding),
        )
    place = find_positions(x, y, axes, list(ksize), list(strides), [1, 1, 1], starts)
    depth, height, width = (x.shape[axis] for axis in axes)

    def body(n: Expr, d: Expr, c1: Expr, h: Expr, w: Expr, c0: Expr) -> Expr:
        at = place(n, d, c1, h, w, c0)
        inside = make_binary("and", at >= 0, at < depth * height * width)
        found = slopes(n, at // (height * width), c1, at // width % height, at % width, c0)
        return select(inside, found, const(0, slopes.dtype))

    return compute(y.shape, body, fresh_name(word))


def depthwise_conv2d_backprop_filter_d_compute(
    fmap: Tensor,
    dout: Tensor,
    kernel_h: int,
    kernel_w: int,
    stride: Any,
    pad: Any,
    dilations: Any,
    w_dtype: str = "float32",
    kernel_name: str = "depthwise_conv2d_compute",
) -> Tensor:
    """Computes the gradient of a depthwise convolution with respect to its filters.

    Args:
        fmap: the image, of shape (N, C1, 1, H, W, C0).
        dout: the gradient of the result, in the same layout.
        kernel_h, kernel_w: height and width of a filter.
        stride, dilations: a pair each, for height and width.
        pad: above, below, left, right.
        w_dtype: dtype of the result; sums are accumulated in float32.

    Returns:
        A tensor of shape (C1, kernel_h·kernel_w, C0, C0). Each (C0, C0) matrix is diagonal, and its
        diagonal contains the gradients of the filter elements.
    """
    word = "depthwise_conv2d_backprop_filter_d_compute"
    x, dy = check_tensor(word, fmap, "fmap"), check_tensor(word, dout, "dout")
    _check_depthwise(word, x, dy)
    (stride_h, stride_w), (dilation_h, dilation_w) = stride, dilations
    top, bottom, left, right = pad
    sizes = [
        (size + before + after - (kernel - 1) * dilation - 1) // step + 1
        for size, before, after, kernel, dilation, step in (
            (_static_number(x.shape[3]), top, bottom, kernel_h, dilation_h, stride_h),
            (_static_number(x.shape[4]), left, right, kernel_w, dilation_w, stride_w),
        )
    ]
    if sizes != [_static_number(size) for size in dy.shape[3:5]]:
        raise InputError(
            f"{word}: the images do not fit",
            place=str(user_location()),
            expected=f"a height and width of {sizes} in {dy.name}",
            got=shape_text(dy.shape),
        )
    n, h, w = _reduction_axes(n=dy.shape[0], h=dy.shape[3], w=dy.shape[4])

    def each(group: Expr, k: Expr, channel: Expr) -> Expr:
        row = h * stride_h + k // kernel_w * dilation_h - top
        column = w * stride_w + k % kernel_w * dilation_w - left
        product = cast("float32", x(n, group, 0, row, column, channel)) * cast(
            "float32", dy(n, group, 0, h, w, channel)
        )
        return Reduce(
            "sum", product, [n, h, w], _inside_condition(row, x.shape[3], column, x.shape[4])
        )

    block = dy.shape[5]
    sums = compute((x.shape[1], kernel_h * kernel_w, block), each, fresh_name("filters"))

    def diagonal(group: Expr, k: Expr, row: Expr, column: Expr) -> Expr:
        return select(
            make_binary("eq", row, column), cast(w_dtype, sums(group, k, row)), const(0, w_dtype)
        )

    # the tag keeps te.lang.cce from casting the result: the caller requested its dtype
    tag = "depthwise_conv2d_backprop_filter|not_auto_cast"
    shape = (x.shape[1], kernel_h * kernel_w, block, block)
    return compute(shape, diagonal, fresh_name(word), tag)


def depthwise_conv2d_backprop_input_d_compute(
    input_shape: Sequence[int],
    weight: Tensor,
    dout: Tensor,
    weight_sizes: Any,
    strides: Any,
    pads: Any,
    kernel_name: str = "depthwise_conv2d_compute",
) -> Tensor:
    """Computes the gradient of a depthwise convolution with respect to its image.

    Args:
        input_shape: shape of the image, (N, C1, 1, H, W, C0).
        weight: filters of shape (C1, kernel_h·kernel_w, 1, C0, C0); only the diagonals of the last
            two axes are used.
        dout: the gradient of the result, (N, C1, 1, H, W, C0).
        weight_sizes: kernel_h and kernel_w.
        strides: a pair, for height and width.
        pads: above, below, left, right.

    Returns:
        A tensor of shape (N, C1, 1, H·W, C0) in the dtype of `dout`; sums are accumulated in
        float32.
    """
    word = "depthwise_conv2d_backprop_input_d_compute"
    filters, dy = check_tensor(word, weight, "weight"), check_tensor(word, dout, "dout")
    _check_depthwise(word, dy)
    (kernel_h, kernel_w), (stride_h, stride_w) = weight_sizes, strides
    batch, groups, _, height, width, block = (_static_number(size) for size in input_shape)
    kh, kw = _reduction_axes(kh=kernel_h, kw=kernel_w)

    def body(n: Expr, group: Expr, c1: Expr, at: Expr, channel: Expr) -> Expr:
        row, column = at // width + pads[0] - kh, at % width + pads[2] - kw
        down, across = row // stride_h, column // stride_w
        product = cast("float32", dy(n, group, 0, down, across, channel)) * cast(
            "float32", filters(group, kh * kernel_w + kw, 0, channel, channel)
        )
        met = make_binary(
            "and",
            make_binary("eq", row % stride_h, const(0)),
            make_binary("eq", column % stride_w, const(0)),
        )
        inside = make_binary("and", met, _inside_condition(down, dy.shape[3], across, dy.shape[4]))
        return Reduce("sum", product, [kh, kw], inside)

    sums = compute((batch, groups, 1, height * width, block), body, fresh_name("sums"))
    return compute(sums.shape, lambda *i: cast(dy.dtype, sums(*i)), fresh_name(word))


def _static_number(size: Any) -> int:
    return int(size.value if isinstance(size, Const) else size)


def _reduction_axes(**extents: Any) -> list[IterVar]:
    """Creates one reduction axis for each keyword argument ``name=extent``."""
    return [IterVar(Range(extent), name, "reduce") for name, extent in extents.items()]


def _inside_condition(row: Expr, rows: Any, column: Expr, columns: Any) -> Binary:
    """Returns the bounds check 0 ≤ row < rows and 0 ≤ column < columns."""
    parts = (row >= 0, row < rows, column >= 0, column < columns)
    found: Any = parts[0]
    for part in parts[1:]:
        found = make_binary("and", found, part)
    return found


def _check_depthwise(word: str, *images: Tensor) -> None:
    for image in images:
        if image.ndim != 6 or _static_number(image.shape[2]) != 1:
            raise InputError(
                f"{word}: {image.name} is not an image of groups",
                place=str(user_location()),
                expected="(N, C1, 1, H, W, C0)",
                got=shape_text(image.shape),
            )


OPERATIONS = (
    DslOperation("pooling3d_max_grad_grad", pooling3d_max_grad_grad),
    DslOperation(
        "depthwise_conv2d_backprop_filter_d_compute", depthwise_conv2d_backprop_filter_d_compute
    ),
    DslOperation(
        "depthwise_conv2d_backprop_input_d_compute", depthwise_conv2d_backprop_input_d_compute
    ),
)
