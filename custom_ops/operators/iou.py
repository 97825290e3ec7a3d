"""Computes the pairwise intersection over union of two lists of boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from custom_ops.core.cell import FusedCell
from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec, TbeComputation
from custom_ops.core.row_helpers import sizes, widen
from tbe_impl import dsl
from tbe_impl.errors import InputError


def _check(boxes: Any, others: Any) -> None:
    """Raises `InputError` if a shape is not (number, 4), or if the dtypes of the inputs differ."""
    for name, one in (("boxes", boxes), ("others", others)):
        if len(sizes(one)) != 2 or sizes(one)[1] != 4:
            raise InputError(
                f"IoU: {name} has a wrong shape",
                place="IoU",
                expected="(number, 4)",
                got=str(tuple(sizes(one))),
            )
    if boxes.dtype != others.dtype:
        raise InputError(
            "IoU: the dtypes of others and boxes differ",
            place="IoU",
            expected=boxes.dtype,
            got=others.dtype,
        )


def compute(boxes: Any, others: Any) -> Any:
    """Computes intersection / union for each pair of boxes, one box from each input.

    The area of the union is area₁ + area₂ − intersection. If this area is 0, the result is 0.
    """
    _check(boxes, others)
    a, b = widen(boxes), widen(others)
    shape = (sizes(a)[0], sizes(b)[0])

    def corner(tensor: Any, place: int, *, rows: bool) -> Any:
        return dsl.compute(shape, lambda i, j: tensor(i if rows else j, place), "corner")

    own = [corner(a, place, rows=True) for place in range(4)]
    other = [corner(b, place, rows=False) for place in range(4)]
    return dsl.cast_to(pairwise_iou(own, other), boxes.dtype)


def pairwise_iou(own: Sequence[Any], other: Sequence[Any]) -> Any:
    """Returns intersection / union of two sets of boxes, each given as (left, top, right, bottom).

    If the area of the union is 0, the result is 0.
    """

    def smaller_extent(x: Any) -> Any:
        return dsl.vmaxs(x, dsl.const(0.0, x.dtype))

    low_x, low_y, high_x, high_y = own
    left, top, right, bottom = other
    area = dsl.vmul(
        smaller_extent(dsl.vsub(high_x, low_x)), smaller_extent(dsl.vsub(high_y, low_y))
    )
    other_area = dsl.vmul(
        smaller_extent(dsl.vsub(right, left)), smaller_extent(dsl.vsub(bottom, top))
    )
    wide_x = smaller_extent(dsl.vsub(dsl.vmin(high_x, right), dsl.vmax(low_x, left)))
    wide_y = smaller_extent(dsl.vsub(dsl.vmin(high_y, bottom), dsl.vmax(low_y, top)))
    common = dsl.vmul(wide_x, wide_y)
    union = dsl.vsub(dsl.vadd(area, other_area), common)
    return dsl.vdiv(common, dsl.vcmpsel(union, 0.0, "eq", 1.0, union))


def gradient_for_cann(boxes: Any, others: Any, grad: Any) -> tuple[Any, Any]:
    """Returns the gradients of both inputs; computes them with operations on whole tensors.

    The automatically derived gradient reads single elements, which CANN does not support. Let A be
    the area of a box, C the area of the intersection of a pair of boxes, and U the area of the
    pair's union. To get the gradient of one coordinate of a box, a·∂C + c·∂A is summed over all
    boxes of the other input. Here a = grad·(U + C) / U² and c = −grad·C / U², and ∂ is the
    derivative by this coordinate. If a coordinate is equal in both boxes of a pair, ∂C is 0.
    """
    shape = [sizes(boxes)[0], sizes(others)[0]]
    columns = dsl.split(widen(boxes), 1, [1] * 4)[1]
    rows = dsl.split(dsl.transpose(widen(others), [1, 0]), 0, [1] * 4)[1]
    own, other = ([dsl.broadcast(side, shape) for side in four] for four in (columns, rows))
    both = [_span(dsl.vmax(own[k], other[k]), dsl.vmin(own[k + 2], other[k + 2])) for k in (0, 1)]
    common = dsl.vmul(*both)
    areas = [dsl.vmul(*_spans(four)) for four in (own, other)]
    union = dsl.vsub(dsl.vadd(*areas), common)
    safe = dsl.vcmpsel(union, 0.0, "eq", 1.0, union)
    share = dsl.vdiv(widen(grad), dsl.vmul(safe, safe))
    slopes = (
        dsl.vmul(share, dsl.vadd(union, common)),
        dsl.vmuls(dsl.vmul(share, common), -1.0),
    )
    of_boxes = _gradients_of_sides(own, other, both, *slopes, over=1)
    of_others = dsl.transpose(_gradients_of_sides(other, own, both, *slopes, over=0), [1, 0])
    return dsl.cast_to(of_boxes, boxes.dtype), dsl.cast_to(of_others, boxes.dtype)


def _span(low: Any, high: Any) -> Any:
    return dsl.vmaxs(dsl.vsub(high, low), 0.0)


def _spans(four: Sequence[Any]) -> list[Any]:
    return [_span(four[k], four[k + 2]) for k in (0, 1)]


def _gradients_of_sides(
    four: Sequence[Any],
    other: Sequence[Any],
    both: Sequence[Any],
    of_common: Any,
    of_area: Any,
    *,
    over: int,
) -> Any:
    """Returns the gradients of left, top, right and bottom, each summed along the axis `over`.

    The four sums are concatenated along `over`.
    """

    def where_above(x: Any, y: Any, kept: Any) -> Any:
        return dsl.vcmpsel(x, y, "gt", kept, 0.0)

    whole, low, high = _spans(four), [], []
    for k in (0, 1):
        # the derivative of a positive area by a coordinate is the extent along the other axis
        moved = dsl.vmul(of_common, where_above(both[k], 0.0, both[1 - k]))
        grown = dsl.vmul(of_area, where_above(whole[k], 0.0, whole[1 - k]))
        low.append(dsl.vmuls(dsl.vadd(where_above(four[k], other[k], moved), grown), -1.0))
        high.append(dsl.vadd(where_above(other[k + 2], four[k + 2], moved), grown))
    return dsl.concat(
        [dsl.reduce_sum(one, axis=over, keepdims=True) for one in (*low, *high)], over
    )


def composite(boxes: Any, others: Any) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    a, b = ops.expand_dims(boxes, 1), ops.expand_dims(others, 0)
    span = ops.relu(boxes[:, 2:] - boxes[:, :2])
    other_span = ops.relu(others[:, 2:] - others[:, :2])
    area = ops.expand_dims(span[:, 0] * span[:, 1], 1)
    other = ops.expand_dims(other_span[:, 0] * other_span[:, 1], 0)
    both = ops.relu(ops.minimum(a[:, :, 2:], b[:, :, 2:]) - ops.maximum(a[:, :, :2], b[:, :, :2]))
    common = both[:, :, 0] * both[:, :, 1]
    union = area + other - common
    return common / ops.masked_fill(union, union == 0, 1.0)


def formula(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Computes intersection / union for each pair of boxes, one box from each input.

    The area of the union is area₁ + area₂ − intersection. If this area is 0, the result is 0.
    """
    a, b = boxes[:, None], others[None]
    area, other = (np.prod(np.maximum(one[..., 2:] - one[..., :2], 0), -1) for one in (a, b))
    both = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    common = np.prod(np.maximum(both, 0), -1)
    union = area + other - common
    return common / np.where(union == 0, 1, union)


IOU = OpSpec(
    name="IoU",
    inputs=("boxes", "others"),
    outputs=("iou",),
    forward=compute,
    composite=composite,
    formula=formula,
    samples=(((7, 4), (9, 4)), ((40, 4), (33, 4)), ((1, 4), (1, 4)), ((0, 4), (3, 4))),
    tbe_gradient=TbeComputation(gradient_for_cann),
    doc="iou[i, j] = |boxes[i] ∩ others[j]| / |boxes[i] ∪ others[j]|",
)


class IoU(FusedCell):
    r"""Pairwise intersection over union of two lists of boxes.

    .. math::
        iou_{ij} = \frac{|a_i \cap b_j|}{|a_i \cup b_j|}

    Here :math:`a_i` is row i of `boxes`, and :math:`b_j` is row j of `others`. A box whose second
    corner precedes the first corner has area 0. Two boxes of area 0 give 0. NaN propagates. The
    result is computed in float32, or in float64 for float64 inputs, and rounded once.

    Args:
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **boxes** (Tensor) - float16, bfloat16, float32 or float64, of shape (n, 4): x and y of
          the first corner, then x and y of the second corner.
        - **others** (Tensor) - of shape (m, 4) and the dtype of boxes.

    Outputs:
        Tensor of shape (n, m) and the dtype of the boxes.

    Raises:
        InputError: a shape is not (number, 4), or the dtypes differ.

    Supported Platforms:
        ``CPU``

    Examples:
        >>> import numpy as np
        >>> from custom_ops import IoU
        >>> IoU().forward(np.float32([[0, 0, 2, 2]]), np.float32([[1, 0, 3, 2], [5, 5, 6, 6]]))
        array([[0.33333334, 0.        ]], dtype=float32)
    """

    def __init__(self, route: str = ""):
        super().__init__(IOU, {}, route)
