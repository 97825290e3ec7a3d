"""Computes softmax(scale · x) over the last axis, with an optional mask."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from custom_ops.core.cell import DispatchingCell, FusedCell
from custom_ops.core.framework import ms, ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.pointwise import broadcast_shape, promote_dtype, unbroadcast, widen_inputs
from tbe_impl import dsl
from tbe_impl.dsl.operation import may_equal
from tbe_impl.dsl.tensor import shape_text
from tbe_impl.errors import InputError

LOWEST_SCORE = -3.4e38


def softmax(x: Any) -> Any:
    """Computes e^(x − max x) / Σ e^(x − max x) over the last axis.

    If all elements of a row are −inf, the result of this row is 0.
    """
    largest = dsl.vmaxs(dsl.reduce_max(x, axis=-1, keepdims=True), LOWEST_SCORE)
    power = dsl.vexp(dsl.vsub(x, dsl.broadcast(largest, x.shape)))
    # the row maximum contributes 1 to the sum; a sum below 1 therefore means a row of only −inf
    total = dsl.vmaxs(dsl.reduce_sum(power, axis=-1, keepdims=True), 0.5)
    return dsl.vmul(power, dsl.broadcast(dsl.vrec(total), x.shape))


def softmax_gradient(y: Any, grad: Any) -> Any:
    """Returns the gradient of the input of the softmax: y·(grad − Σ y·grad)."""
    total = dsl.reduce_sum(dsl.vmul(y, grad), axis=-1, keepdims=True)
    return dsl.vmul(y, dsl.vsub(grad, dsl.broadcast(total, y.shape)))


def check(x: Any) -> None:
    """Raises `InputError` if x has no last axis."""
    if not x.ndim:
        raise InputError(
            f"{x.name} has no last axis", expected="at least one axis", got=shape_text(x.shape)
        )


def check_mask(x: Any, mask: Any) -> None:
    """Raises `InputError` if the mask does not broadcast to the shape of x."""
    shape = broadcast_shape(x, mask)
    if len(shape) != x.ndim or not all(map(may_equal, shape, x.shape)):
        raise InputError(
            f"{mask.name} does not fit {x.name}",
            expected=f"a shape that broadcasts to {shape_text(x.shape)}",
            got=shape_text(mask.shape),
        )


def compute(x: Any, *, scale: float) -> Any:
    """Computes y = softmax(scale·x); the result is rounded once, to the output dtype."""
    check(x)
    (a,) = widen_inputs(x)
    return dsl.cast_to(softmax(dsl.vmuls(a, scale)), promote_dtype(x))


def compute_masked(x: Any, mask: Any, *, scale: float) -> Any:
    """Computes y = softmax(z). Where the mask is true, z is −inf; elsewhere z is scale·x."""
    check(x)
    if mask.dtype != "bool":
        raise InputError(f"{mask.name} is not a mask", expected="bool", got=mask.dtype)
    check_mask(x, mask)
    (a,) = widen_inputs(x)
    left = dsl.vsel(dsl.broadcast(mask, a.shape), -math.inf, dsl.vmuls(a, scale))
    return dsl.cast_to(softmax(left), promote_dtype(x))


def compute_added(x: Any, mask: Any, *, scale: float) -> Any:
    """Computes y = softmax(scale·x + mask)."""
    check(x)
    check_mask(x, mask)
    a, b = widen_inputs(x, mask)
    return dsl.cast_to(softmax(dsl.vadd(dsl.vmuls(a, scale), b)), x.dtype)


def gradient(y: Any, grad: Any, *, scale: float) -> Any:
    """Returns the gradient of x: scale·y·(grad − Σ y·grad).

    Masked elements have y = 0, and therefore the gradient 0.
    """
    return dsl.cast_to(dsl.vmuls(softmax_gradient(*widen_inputs(y, grad)), scale), y.dtype)


def gradient_added(mask: Any, y: Any, grad: Any, *, scale: float) -> tuple[Any, Any]:
    """Returns the gradients of x and of the mask.

    Let s = y·(grad − Σ y·grad). The gradient of x is scale·s. The gradient of the mask is the sum
    of s over the axes that were added or enlarged by the broadcast of the mask.
    """
    found = softmax_gradient(*widen_inputs(y, grad))
    return dsl.cast_to(dsl.vmuls(found, scale), y.dtype), unbroadcast(found, mask)


def composite(x: Any, scale: float) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    return ops.softmax(ops.mul(x, scale), -1)


def composite_masked(x: Any, mask: Any, scale: float) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    kept = ops.masked_fill(ops.mul(x, scale), mask, ops.cast(-3.0e4, x.dtype))
    return ops.masked_fill(ops.softmax(kept, -1), mask, ops.cast(0.0, x.dtype))


def composite_added(x: Any, mask: Any, scale: float) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    return ops.softmax(ops.add(ops.mul(x, scale), mask), -1)


def formula(x: Any, scale: float) -> Any:
    """Computes the reference result with NumPy, in float64."""
    return _formula(x * scale)


def formula_masked(x: Any, mask: Any, scale: float) -> Any:
    """Computes the reference result with NumPy, in float64."""
    return _formula(np.where(mask, -np.inf, x * scale))


def formula_added(x: Any, mask: Any, scale: float) -> Any:
    """Computes the reference result with NumPy, in float64."""
    return _formula(x * scale + mask)


def _formula(z: Any) -> Any:
    if not z.size:
        return z
    power = np.exp(z - np.maximum(z.max(-1, keepdims=True), LOWEST_SCORE))
    return power / np.maximum(power.sum(-1, keepdims=True), 0.5)


_SCALE = {"scale": 1.0}
_VARIANTS = ({"scale": 0.125}, {"scale": -2.0})
SCALE_SOFTMAX = OpSpec(
    name="ScaleSoftmax",
    inputs=("x",),
    forward=compute,
    backward=gradient,
    saves=("y",),
    attributes=_SCALE,
    variants=_VARIANTS,
    composite=composite,
    formula=formula,
    samples=(((4, 8),), ((2, 3, 5, 7),), ((1,),), ((0, 4),), ((3, 129),)),
    nan="row",
    doc="y = softmax(scale·x)",
)
SCALE_MASK_SOFTMAX = OpSpec(
    name="ScaleMaskSoftmax",
    inputs=("x", "mask"),
    forward=compute_masked,
    backward=gradient,
    saves=("y",),
    attributes=_SCALE,
    variants=_VARIANTS,
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
    doc="y = softmax(z) with z = scale·x, but z = −inf where mask is true",
)
SCALE_ADD_SOFTMAX = OpSpec(
    name="ScaleAddSoftmax",
    inputs=("x", "mask"),
    forward=compute_added,
    backward=gradient_added,
    saves=("mask", "y"),
    attributes=_SCALE,
    variants=_VARIANTS,
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
    doc="y = softmax(scale·x + mask)",
)


class ScaleMaskSoftmax(DispatchingCell):
    r"""Softmax of scaled inputs over the last axis, with an optional mask.

    .. math::
        y = \mathrm{softmax}(scale \cdot x + mask)

    Args:
        scale: factor of x.
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, at least one axis.
        - **mask** (Tensor, optional) - broadcast to the shape of x. Where a bool mask is true, the
          result is 0. A floating mask is added to scale·x and has a gradient.

    Outputs:
        Tensor of the shape and dtype of x. The result of a fully masked row is 0. The result of a
        row with NaN or +inf is NaN.

    Raises:
        InputError: the mask does not broadcast to x, or an input has an unsupported dtype.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

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
        """Runs the operator that fits the mask: no mask, a bool mask, or a floating mask."""
        if mask is None:
            return self.plain.run(x)
        if mask.dtype == ms.bool_:
            return self.masked.run(x, mask)
        return self.added.run(x, mask)

    def select_cell(self, *arrays: Any) -> FusedCell:
        """Returns the Cell that fits the mask: no mask, a bool mask, or a floating mask."""
        if len(arrays) < 2:
            return self.plain
        return self.masked if np.asarray(arrays[1]).dtype == np.bool_ else self.added
