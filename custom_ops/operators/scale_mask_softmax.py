"""softmax(scale · x) over the last axis, with what a mask leaves of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from custom_ops.core.cell import ChoosingCell, FusedCell
from custom_ops.core.framework import ms, ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.pointwise import common_shape, like, promoted, wide
from tbe_impl import dsl
from tbe_impl.dsl.operation import may_equal
from tbe_impl.dsl.tensor import shape_text
from tbe_impl.errors import InputError

LOWEST = -3.4e38


def softmax(x: Any) -> Any:
    """e^(x − max x) / Σ e^(x − max x) over the last axis; 0 where all of it is −inf."""
    largest = dsl.vmaxs(dsl.reduce_max(x, axis=-1, keepdims=True), LOWEST)
    power = dsl.vexp(dsl.vsub(x, dsl.broadcast(largest, x.shape)))
    # the largest one adds 1, so that a smaller sum is that of a row without anything
    total = dsl.vmaxs(dsl.reduce_sum(power, axis=-1, keepdims=True), 0.5)
    return dsl.vmul(power, dsl.broadcast(dsl.vrec(total), x.shape))


def slope(y: Any, grad: Any) -> Any:
    """y·(grad − Σ y·grad): the gradient of what softmax got."""
    total = dsl.reduce_sum(dsl.vmul(y, grad), axis=-1, keepdims=True)
    return dsl.vmul(y, dsl.vsub(grad, dsl.broadcast(total, y.shape)))


def check(x: Any) -> None:
    """The last axis has to be there."""
    if not x.ndim:
        raise InputError(
            f"{x.name} has no last axis", expected="at least one axis", got=shape_text(x.shape)
        )


def check_mask(x: Any, mask: Any) -> None:
    """The mask has to be repeated to the shape of x, not x to that of the mask."""
    shape = common_shape(x, mask)
    if len(shape) != x.ndim or not all(map(may_equal, shape, x.shape)):
        raise InputError(
            f"{mask.name} does not fit {x.name}",
            expected=f"what is repeated to {shape_text(x.shape)}",
            got=shape_text(mask.shape),
        )


def compute(x: Any, *, scale: float) -> Any:
    """y = softmax(scale·x), rounded once."""
    check(x)
    (a,) = wide(x)
    return dsl.cast_to(softmax(dsl.vmuls(a, scale)), promoted(x))


def compute_masked(x: Any, mask: Any, *, scale: float) -> Any:
    """y = softmax of scale·x where the mask is false, and −inf where it is true."""
    check(x)
    if mask.dtype != "bool":
        raise InputError(f"{mask.name} is no mask", expected="bool", got=mask.dtype)
    check_mask(x, mask)
    (a,) = wide(x)
    left = dsl.vsel(dsl.broadcast(mask, a.shape), -math.inf, dsl.vmuls(a, scale))
    return dsl.cast_to(softmax(left), promoted(x))


def compute_added(x: Any, mask: Any, *, scale: float) -> Any:
    """y = softmax(scale·x + mask)."""
    check(x)
    check_mask(x, mask)
    a, b = wide(x, mask)
    return dsl.cast_to(softmax(dsl.vadd(dsl.vmuls(a, scale), b)), x.dtype)


def gradient(y: Any, grad: Any, *, scale: float) -> Any:
    """scale·y·(grad − Σ y·grad); what is masked has y = 0."""
    return dsl.cast_to(dsl.vmuls(slope(*wide(y, grad)), scale), y.dtype)


def gradient_added(mask: Any, y: Any, grad: Any, *, scale: float) -> tuple[Any, Any]:
    """scale·s and s, summed where the mask was repeated; s = y·(grad − Σ y·grad)."""
    found = slope(*wide(y, grad))
    return dsl.cast_to(dsl.vmuls(found, scale), y.dtype), like(found, mask)


def composite(x: Any, scale: float) -> Any:
    """The same from basic operators of MindSpore."""
    return ops.softmax(ops.mul(x, scale), -1)


def composite_masked(x: Any, mask: Any, scale: float) -> Any:
    """The same from basic operators of MindSpore."""
    kept = ops.masked_fill(ops.mul(x, scale), mask, ops.cast(-3.0e4, x.dtype))
    return ops.masked_fill(ops.softmax(kept, -1), mask, ops.cast(0.0, x.dtype))


def composite_added(x: Any, mask: Any, scale: float) -> Any:
    """The same from basic operators of MindSpore."""
    return ops.softmax(ops.add(ops.mul(x, scale), mask), -1)


def formula(x: Any, scale: float) -> Any:
    """What is right, from float64."""
    return _formula(x * scale)


def formula_masked(x: Any, mask: Any, scale: float) -> Any:
    """What is right, from float64."""
    return _formula(np.where(mask, -np.inf, x * scale))


def formula_added(x: Any, mask: Any, scale: float) -> Any:
    """What is right, from float64."""
    return _formula(x * scale + mask)


def _formula(z: Any) -> Any:
    if not z.size:
        return z
    power = np.exp(z - np.maximum(z.max(-1, keepdims=True), LOWEST))
    return power / np.maximum(power.sum(-1, keepdims=True), 0.5)


_SCALE = {"scale": 1.0}
_OTHERS = ({"scale": 0.125}, {"scale": -2.0})
SCALE_SOFTMAX = OpSpec(
    name="ScaleSoftmax",
    inputs=("x",),
    forward=compute,
    backward=gradient,
    saves=("y",),
    attributes=_SCALE,
    variants=_OTHERS,
    composite=composite,
    formula=formula,
    samples=(((4, 8),), ((2, 3, 5, 7),), ((1,),), ((0, 4),), ((3, 129),)),
    nan="row",
    tbe="fused/scale_softmax",
    tbe_gradient="fused/scale_softmax_grad",
    doc="y = softmax(scale·x)",
)
SCALE_MASK_SOFTMAX = OpSpec(
    name="ScaleMaskSoftmax",
    inputs=("x", "mask"),
    forward=compute_masked,
    backward=gradient,
    saves=("y",),
    attributes=_SCALE,
    variants=_OTHERS,
    composite=composite_masked,
    formula=formula_masked,
    undifferentiable=frozenset({"mask"}),
    integers={"mask": ("bool", 2)},
    samples=(
        ((4, 8), (4, 8)),
        ((2, 3, 5, 7), (2, 1, 5, 7)),
        ((3, 129), (129,)),
        ((1,), (1,)),
        ((0, 4), (4,)),
    ),
    nan="row",
    tbe="fused/scale_mask_softmax",
    tbe_gradient="fused/scale_softmax_grad",
    doc="y = softmax of scale·x where mask is false",
)
SCALE_ADD_SOFTMAX = OpSpec(
    name="ScaleAddSoftmax",
    inputs=("x", "mask"),
    forward=compute_added,
    backward=gradient_added,
    saves=("mask", "y"),
    attributes=_SCALE,
    variants=_OTHERS,
    composite=composite_added,
    formula=formula_added,
    samples=(
        ((4, 8), (4, 8)),
        ((2, 3, 5, 7), (2, 1, 5, 7)),
        ((3, 129), (129,)),
        ((1,), (1,)),
        ((0, 4), (4,)),
    ),
    nan="row",
    tbe="fused/scale_add_softmax",
    tbe_gradient="fused/scale_add_softmax_grad",
    doc="y = softmax(scale·x + mask)",
)


class ScaleMaskSoftmax(ChoosingCell):
    r"""Softmax over the last axis of scaled numbers, of which a mask leaves out some.

    .. math::
        y = \mathrm{softmax}(scale \cdot x + mask)

    Args:
        scale: the factor.
        route: ``native`` or ``composite``.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, at least one axis.
        - **mask** (Tensor, optional) - bool: where it is true is left out and gets 0. Of a floating dtype: added to
          scale·x; it gets a gradient. Broadcast to the shape of x.

    Outputs:
        Tensor of the shape and dtype of x. A row of which nothing is left is 0. NaN and +inf make their row NaN.

    Raises:
        InputError: the mask does not fit, or an input has another dtype.

    Supported Platforms:
        ``CPU`` (``Ascend``: written, untested)

    Examples:
        >>> import numpy as np
        >>> ScaleMaskSoftmax(0.5).forward(np.float32([1, 1, 7]), np.array([False, False, True]))
        array([0.5, 0.5, 0. ], dtype=float32)
    """

    def __init__(self, scale: float = 1.0, route: str = ""):
        super().__init__()
        given = {"scale": float(scale)}
        self.plain = FusedCell(SCALE_SOFTMAX, given, route)
        self.masked = FusedCell(SCALE_MASK_SOFTMAX, given, route)
        self.added = FusedCell(SCALE_ADD_SOFTMAX, given, route)

    def construct(self, x: Any, mask: Any = None) -> Any:
        """By what the mask is."""
        if mask is None:
            return self.plain.run(x)
        if mask.dtype == ms.bool_:
            return self.masked.run(x, mask)
        return self.added.run(x, mask)

    def chosen(self, *arrays: Any) -> FusedCell:
        """By what the mask is."""
        if len(arrays) < 2:
            return self.plain
        return self.masked if np.asarray(arrays[1]).dtype == np.bool_ else self.added
