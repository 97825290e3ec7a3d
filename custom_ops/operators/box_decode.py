"""Decodes the predictions of a YOLO head into boxes and scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from custom_ops.core.cell import FusedCell
from custom_ops.core.cell_call import check_choice, check_real
from custom_ops.core.framework import ms, ops
from custom_ops.core.function_spec import function_of_cell
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.row_helpers import sizes, widen
from tbe_impl import dsl
from tbe_impl.errors import InputError

VERSIONS = ("v3", "v5")


def _sides(anchor: Any) -> tuple[float, float]:
    """Returns the width and the height of an anchor.

    Raises:
        InputError: the anchor is not a pair of numbers.
    """
    try:
        across, down = anchor
        return float(across), float(down)
    except (TypeError, ValueError) as error:
        raise InputError(
            "BoxDecode: an anchor is not a pair of numbers",
            place="BoxDecode",
            expected="width and height",
            got=repr(anchor),
        ) from error


def _check(x: Any, anchors: Any, version: str) -> None:
    """Raises `InputError` if x does not have the shape of a prediction, or `version` is unknown."""
    check_choice("BoxDecode", "version", version, VERSIONS)
    shape = sizes(x)
    if len(shape) != 5 or shape[3] != len(anchors) or shape[4] < 6:
        raise InputError(
            "BoxDecode: x has a wrong shape",
            place="BoxDecode",
            expected=f"(images, height, width, {len(anchors)} anchors, 5 + classes)",
            got=str(tuple(shape)),
        )


def compute(
    x: Any, *, anchors: Any, stride: float, version: str, float16_inside: bool
) -> tuple[Any, Any]:
    """Returns two tensors: the two corners of each predicted box, and the class scores."""
    _check(x, anchors, version)
    images, height, width, kinds, size = sizes(x)
    number = height * width * kinds
    kept = widen(x).dtype
    # the corners of all anchors of a grid cell are contiguous, so that one vector covers several
    # boxes
    corners = (images, height, width, 4 * kinds)
    rows = widen(dsl.ext.reshape(x, [images, height, width, kinds * size]))

    def clamp_held(tensor: Any) -> Any:
        return dsl.cast_to(dsl.cast_to(tensor, "float16"), kept) if float16_inside else tensor

    def select_anchor(index: Any, values: Sequence[Any], dtype: str) -> Any:
        found = dsl.const(values[0], dtype)
        for place, one in enumerate(values[1:], 1):
            found = dsl.select(index.equal(place), dsl.const(one, dtype), found)
        return found

    def read(first: int) -> Any:
        columns = [kind * size + first + axis for kind in range(kinds) for axis in (0, 1, 0, 1)]
        return dsl.compute(
            corners,
            lambda *i: rows[i[0], i[1], i[2], select_anchor(i[3], columns, "int32")],
            "read",
        )

    def grid(*i: Any) -> Any:
        return dsl.select((i[3] % 2).equal(0), dsl.cast(kept, i[2]), dsl.cast(kept, i[1]))

    halves = [sign * side / 2 for sides in anchors for sign in (-1, 1) for side in sides]
    centre = clamp_held(dsl.ext.sigmoid(read(0)))
    if version == "v3":
        span = clamp_held(dsl.vexp(read(2)))
    else:
        centre = dsl.vadds(dsl.vmuls(centre, 2.0), -0.5)
        share = clamp_held(dsl.ext.sigmoid(read(2)))
        span = dsl.vmuls(dsl.vmul(share, share), 4.0)
    centre = dsl.vmuls(dsl.vadd(centre, dsl.compute(corners, grid, "grid")), float(stride))
    half = dsl.compute(corners, lambda *i: select_anchor(i[3], halves, kept), "half")
    boxes = dsl.vadd(centre, dsl.vmul(span, half))
    # scores are computed in their final shape, because a reshape at the end would write them again
    flat = widen(dsl.ext.reshape(x, [images, number, size]))
    objectness = dsl.ext.strided_slice(flat, [0, 0, 4], [images, number, 5])
    classes = dsl.ext.strided_slice(flat, [0, 0, 5], [images, number, size])
    classes = clamp_held(dsl.ext.sigmoid(classes))
    objectness = dsl.broadcast(clamp_held(dsl.ext.sigmoid(objectness)), sizes(classes))
    return dsl.ext.reshape(boxes, [images, number, 4]), dsl.vmul(classes, objectness)


def composite(
    x: Any, *, anchors: Any, stride: Any, version: Any, float16_inside: Any
) -> tuple[Any, Any]:
    """Computes this operator with MindSpore's basic operators."""
    images, height, width, kinds, size = x.shape
    given = x if x.dtype == ms.float64 else ops.cast(x, ms.float32)
    share = ops.sigmoid(given)
    power = ops.exp(given[..., 2:4])
    if float16_inside:
        share = ops.cast(ops.cast(share, ms.float16), given.dtype)
        power = ops.cast(ops.cast(power, ms.float16), given.dtype)
    across = ops.cast(ops.reshape(ops.arange(width), (1, 1, width, 1, 1)), given.dtype)
    down = ops.cast(ops.reshape(ops.arange(height), (1, height, 1, 1, 1)), given.dtype)
    grid = ops.concat(
        (
            ops.broadcast_to(across, (1, height, width, 1, 1)),
            ops.broadcast_to(down, (1, height, width, 1, 1)),
        ),
        -1,
    )
    centre = share[..., 0:2] if version == "v3" else share[..., 0:2] * 2.0 - 0.5
    span = power if version == "v3" else share[..., 2:4] * share[..., 2:4] * 4.0
    centre = (centre + grid) * stride
    half = span * ms.Tensor(anchors, given.dtype) * 0.5
    boxes = ops.concat((centre - half, centre + half), -1)
    scores = share[..., 5:] * share[..., 4:5]
    number = height * width * kinds
    return ops.reshape(boxes, (images, number, 4)), ops.reshape(scores, (images, number, size - 5))


def formula(
    x: np.ndarray, *, anchors: Any, stride: float, version: str, float16_inside: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Returns corners and scores; ignores ``float16_inside``, which only affects rounding."""
    images, height, width, kinds, size = x.shape
    share = 1 / (1 + np.exp(-x))
    grid = np.stack(np.meshgrid(np.arange(width), np.arange(height)), -1)[None, :, :, None]
    if version == "v3":
        centre, span = share[..., :2] + grid, np.exp(x[..., 2:4])
    else:
        centre, span = 2 * share[..., :2] - 0.5 + grid, 4 * share[..., 2:4] ** 2
    half = span * np.asarray(anchors, np.float64) / 2
    boxes = np.concatenate([centre * stride - half, centre * stride + half], -1)
    scores = share[..., 5:] * share[..., 4:5]
    number = height * width * kinds
    return boxes.reshape(images, number, 4), scores.reshape(images, number, size - 5)


DECODING = OpSpec(
    name="BoxDecode",
    inputs=("x",),
    outputs=("boxes", "scores"),
    forward=compute,
    attributes={
        "anchors": ((10.0, 13.0), (16.0, 30.0), (33.0, 23.0)),
        "stride": 8.0,
        "version": "v5",
        "float16_inside": False,
    },
    composite=composite,
    formula=formula,
    samples=(((2, 3, 5, 3, 9),), ((1, 1, 1, 3, 6),), ((0, 2, 2, 3, 6),)),
    doc="boxes and scores from the predictions of a YOLO head",
)


class BoxDecode(FusedCell):
    r"""Decodes the predictions that a YOLO head makes at one scale into boxes and scores.

    .. math::
        c = stride \cdot (2 \sigma(t_{xy}) - 0.5 + grid), \quad
        s = anchor \cdot (2 \sigma(t_{wh}))^2

    This is the formula for ``v5``. The formula for ``v3`` is :math:`c = stride \cdot
    (\sigma(t_{xy}) + grid)` and :math:`s = anchor \cdot e^{t_{wh}}`. Here c and s are the centre
    and the size of a box. t are the elements of x that predict this box, and grid is the index of
    the box's grid cell. The corners are :math:`c \mp s / 2`, in the unit of the stride and the
    anchors. The score of a class is :math:`\sigma(t_{objectness}) \cdot \sigma(t_{class})`.

    Args:
        anchors: width and height of each anchor.
        stride: size of a grid cell, in the unit of the anchors.
        version: ``v3`` or ``v5``.
        float16_inside: whether to round exponentials and sigmoids to float16, like devices that
            compute these functions in float16. The relative error of this rounding is 2^-11, and
            values above 65,504 become infinite. Coordinates are never rounded to float16. Float16
            cannot represent every integer above 2,048, so neighbouring pixels would get the same
            coordinate.
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, of shape
          (images, height, width, anchors, 5 + classes). The last axis holds x, y, width, height,
          objectness and classes.

    Outputs:
        Tuple of two Tensors: corners (images, height · width · anchors, 4) and scores (…, classes).
        Both Tensors are float32, or float64 if x is float64. `NMS` takes them as inputs.

    Raises:
        InputError: x does not have the shape above, an anchor is not a pair of numbers, or the
                version is unknown.

    Supported Platforms:
        ``CPU``

    Examples:
        >>> import numpy as np
        >>> from custom_ops import BoxDecode
        >>> x = np.zeros((1, 1, 2, 1, 6), np.float32)
        >>> BoxDecode(anchors=[(8, 16)], stride=8).forward(x)[0]
        array([[[ 0., -4.,  8., 12.],
                [ 8., -4., 16., 12.]]], dtype=float32)
    """

    def __init__(
        self,
        anchors: Any,
        stride: float,
        version: str = "v5",
        float16_inside: bool = True,
        route: str = "",
    ):
        attributes: dict[str, Any] = {
            "anchors": tuple(map(_sides, anchors)),
            "stride": check_real("BoxDecode", "stride", stride),
            "version": version,
            "float16_inside": bool(float16_inside),
        }
        super().__init__(DECODING, attributes, route)


FUNCTION_SPECS = (
    function_of_cell("box_decode", BoxDecode, DECODING, {"anchors": "Sequence[Sequence[float]]"}),
)
