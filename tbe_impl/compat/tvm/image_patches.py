"""Implements im2col and the product of patches and filter, for operators that use ``tvm.compute``.

The image layout is (n, group, c₁, h, w, 16), where c₁ counts the blocks of 16 channels. If each
group has only one block, the axis c₁ may be absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tbe_impl.dsl.expr import Const, Reduce, as_expr, const, make_binary, select
from tbe_impl.dsl.layouts import BLOCK
from tbe_impl.dsl.tensor import Tensor, compute, reduce_axis


def im2col_6d(
    input_img: Tensor,
    col_shape: Sequence[Any],
    filter_h: int,
    filter_w: int,
    pad: Sequence[int],
    stride: Sequence[int],
    padding_value: float = 0.0,
    dilation: Sequence[int] = (1, 1),
) -> Any:
    """Returns the patches of an image, in the layout (n, group, place, c₁, row, column, 16).

    The axis `place` counts the patches; the axes `row` and `column` are positions in a patch.

    Args:
        input_img: an image.
        col_shape: shape of the result.
        filter_h, filter_w: height and width of a patch.
        pad: top, bottom, left and right padding.
        stride, dilation: vertical and horizontal stride and dilation of the patches.
        padding_value: value outside of the image.
    """
    height, width = input_img.shape[-3], input_img.shape[-2]
    top, _, left, right = pad
    across = (width + left + right - (filter_w - 1) * dilation[1] - 1) // stride[1] + 1

    def pick(n: Any, group: Any, place: Any, block: Any, row: Any, column: Any, part: Any) -> Any:
        y = place // across * stride[0] + row * dilation[0] - top
        x = place % across * stride[1] + column * dilation[1] - left
        inside = make_binary(
            "and", make_binary("and", y >= 0, y < height), make_binary("and", x >= 0, x < width)
        )
        at = (n, group, block) if input_img.ndim == 6 else (n, group)
        return select(inside, input_img(*at, y, x, part), const(padding_value, input_img.dtype))

    notes = {"kernel_h": filter_h, "kernel_w": filter_w, "padding": pad, "stride": stride}
    return compute(col_shape, pick, "im2col_row_major", "im2col_row_major", notes)


def im2col_fractal_6d(a_im2col_shape: Sequence[Any], in_a: Tensor) -> Any:
    """Splits the patches of `im2col_6d`, and the elements of each patch, into blocks.

    The layout of the result is (n, group, block of patches, block of elements, patch, element).
    """
    _, _, rows, _, high, wide, width = (_static_size(size) for size in in_a.shape)

    def pick(n: Any, group: Any, rows_at: Any, block: Any, row: Any, part: Any) -> Any:
        place, element = rows_at * BLOCK + row, block * BLOCK + part
        patch = element // width
        value = in_a(
            n,
            group,
            place,
            patch // wide // high,
            patch // wide % high,
            patch % wide,
            element % width,
        )
        return select(place < rows, value, const(0.0, in_a.dtype))

    return compute(a_im2col_shape, pick, "im2col_fractal", "im2col_fractal")


def mad(
    mad_shape: Sequence[Any],
    in_a: Tensor,
    in_b: Tensor,
    res_type: str,
    offset_x: int = 0,
    v200_flag: bool = False,
) -> Any:
    """Multiplies the patches of `im2col_fractal_6d` by a filter; sums have the dtype `res_type`.

    The layout of the filter is (group, k₁, block of columns, column, k₀). The sum is over k₁ (the
    block of elements of a patch) and k₀ (the element in the block).
    """
    less = offset_x if v200_flag else 0
    inner = reduce_axis((0, 2 * BLOCK if res_type in ("int32", "uint32") else BLOCK), "k0")
    outer = reduce_axis((0, in_b.shape[1]), "k1")

    def sum_products(n: Any, group: Any, columns: Any, row: Any, column: Any) -> Any:
        left: Any = as_expr(in_a(n, group, row // BLOCK, outer, row % BLOCK, inner))
        left = (left - less if less else left).astype(res_type)
        right = as_expr(in_b(group, outer, columns, column, inner)).astype(res_type)
        return Reduce("sum", left * right, (outer, inner), None)

    notes = {"mode": "f162f16" if res_type == "float16" else "f162f32"}
    return compute(mad_shape, sum_products, "mad", "gemm", notes)


def _static_size(size: Any) -> int:
    return int(size.value if isinstance(size, Const) else size)


FUNCTIONS: Mapping[str, Any] = {
    "im2col_6d": im2col_6d,
    "im2col_fractal_6d": im2col_fractal_6d,
    "mad": mad,
}
"""Maps a name in ``te_compute.common`` to its function."""
