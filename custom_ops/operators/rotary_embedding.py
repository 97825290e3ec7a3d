"""Computes rotary position embedding, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from custom_ops.core.cell import FusedCell
from custom_ops.core.cell_call import check_choice
from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec, TbeComputation
from custom_ops.core.row_helpers import broadcast_like, sizes, widen
from tbe_impl import dsl
from tbe_impl.errors import InputError

LAYOUTS = ("halves", "interleaved")


def rotary_tables(
    length: int, size: int, base: float = 10000.0, layout: str = "halves"
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the tables cos and sin, each float32 of shape (length, size).

    The angle of pair k at position p is p / base^(2k / size).
    """
    angles = np.arange(length)[:, None] * base ** (-np.arange(0, size, 2) / size)
    angles = np.tile(angles, 2) if layout == "halves" else np.repeat(angles, 2, -1)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def _check(x: Any, layout: str) -> None:
    """Raises `InputError` if the layout is unknown, or the last axis of x has odd size."""
    check_choice("RotaryEmbedding", "layout", layout, LAYOUTS)
    if not sizes(x) or sizes(x)[-1] % 2:
        raise InputError(
            "RotaryEmbedding: the elements of x make no pairs",
            place="RotaryEmbedding",
            expected="a last axis of even size",
            got=str(tuple(sizes(x))),
        )


def _rotate(x: Any, cos: Any, sin: Any, layout: str, sign: float) -> Any:
    """Rotates x by the angles of the tables if `sign` is 1, or by the opposite angles if −1.

    The gradient needs the rotation by the opposite angles.
    """
    _check(x, layout)
    size = sizes(x)[-1]
    half = size // 2
    tables = [broadcast_like(widen(table, x), x) for table in (cos, sin)]
    given = widen(x)

    def partner(tensor: Any) -> Any:
        """Replaces each pair (a, b) of the last axis by sign·(−b, a)."""
        if layout == "halves":
            first = dsl.ext.strided_slice(tensor, [0] * len(sizes(x)), [*sizes(x)[:-1], half])
            second = dsl.ext.strided_slice(tensor, [0] * (len(sizes(x)) - 1) + [half], sizes(x))
            return dsl.concat([dsl.vmuls(second, -sign), dsl.vmuls(first, sign)], -1)
        signs = dsl.const(-sign, tensor.dtype), dsl.const(sign, tensor.dtype)

        def partner_element(*i: Any) -> Any:
            odd = i[-1] % 2
            return tensor(*i[:-1], i[-1] + 1 - 2 * odd) * dsl.select(odd.equal(0), *signs)

        return dsl.compute(sizes(x), partner_element, "partner")

    if sign < 0:
        turned = partner(dsl.vmul(given, tables[1]))
    else:
        turned = dsl.vmul(partner(given), tables[1])
    return dsl.cast_to(dsl.vadd(dsl.vmul(given, tables[0]), turned), x.dtype)


def compute(x: Any, cos: Any, sin: Any, *, layout: str = "halves") -> Any:
    """Computes x·cos + partner(x)·sin, where partner replaces each pair (a, b) by (−b, a)."""
    return _rotate(x, cos, sin, layout, 1.0)


def gradient(cos: Any, sin: Any, grad: Any, *, layout: str = "halves") -> Any:
    """Returns the gradient of x: grad rotated by the opposite angles."""
    return _rotate(grad, cos, sin, layout, -1.0)


def _rotate_pairs(x: Any, cos: Any, sin: Any, layout: str, sign: float) -> Any:
    """Rotates like `_rotate`, with operations on whole tensors.

    CANN has no vector instruction that swaps neighbouring elements. Interleaved pairs are therefore
    reshaped to an axis of size 2.
    """
    _check(x, layout)
    if layout == "halves":
        return _rotate(x, cos, sin, layout, sign)
    given, *tables = (
        dsl.ext.reshape(widen(one), [*sizes(one)[:-1], sizes(one)[-1] // 2, 2])
        for one in (x, cos, sin)
    )
    cosine, sine = (broadcast_like(table, given) for table in tables)
    source = dsl.vmul(given, sine) if sign < 0 else given
    first, second = dsl.split(source, len(sizes(x)), [1, 1])[1]
    turned = dsl.concat([dsl.vmuls(second, -sign), dsl.vmuls(first, sign)], -1)
    turned = turned if sign < 0 else dsl.vmul(turned, sine)
    made = dsl.cast_to(dsl.vadd(dsl.vmul(given, cosine), turned), x.dtype)
    return dsl.ext.reshape(made, sizes(x))


def composite(x: Any, cos: Any, sin: Any, layout: str = "halves") -> Any:
    """Computes this operator with MindSpore's basic operators."""
    half = x.shape[-1] // 2
    if layout == "halves":
        partner = ops.concat((ops.neg(x[..., half:]), x[..., :half]), -1)
    else:
        pairs = ops.reshape(x, x.shape[:-1] + (half, 2))  # noqa: RUF005 - MindSpore rejects `*`
        partner = ops.reshape(ops.stack((ops.neg(pairs[..., 1]), pairs[..., 0]), -1), x.shape)
    return ops.add(ops.mul(x, cos.astype(x.dtype)), ops.mul(partner, sin.astype(x.dtype)))


def formula(x: Any, cos: Any, sin: Any, *, layout: str = "halves") -> Any:
    """Computes x·cos + partner(x)·sin, where partner replaces each pair (a, b) by (−b, a)."""
    half = x.shape[-1] // 2
    if layout == "halves":
        partner = np.concatenate([-x[..., half:], x[..., :half]], -1)
    else:
        partner = np.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape)
    return x * cos + partner * sin


ROTARY_EMBEDDING = OpSpec(
    name="RotaryEmbedding",
    inputs=("x", "cos", "sin"),
    undifferentiable=frozenset({"cos", "sin"}),
    forward=compute,
    backward=gradient,
    saves=("cos", "sin"),
    attributes={"layout": "halves"},
    composite=composite,
    formula=formula,
    samples=(
        ((2, 3, 5, 16), (5, 16), (5, 16)),
        ((2, 5, 3, 6), (5, 1, 6), (5, 1, 6)),
        ((4, 64), (4, 64), (4, 64)),
    ),
    tbe=TbeComputation(lambda x, cos, sin, *, layout: _rotate_pairs(x, cos, sin, layout, 1.0)),
    tbe_gradient=TbeComputation(
        lambda cos, sin, grad, *, layout: _rotate_pairs(grad, cos, sin, layout, -1.0)
    ),
    doc="y = x·cos + partner(x)·sin",
)


class RotaryEmbedding(FusedCell):
    r"""Rotary position embedding.

    .. math::
        (a, b) \to (a \cos\theta - b \sin\theta,\; b \cos\theta + a \sin\theta)

    The operator rotates each pair :math:`(a, b)` of the last axis by an angle :math:`\theta`. The
    layout ``halves`` pairs element k with element k + D/2. The layout ``interleaved`` pairs element
    2k with element 2k + 1.

    Args:
        layout (str): ``halves`` or ``interleaved``. Default: ``'halves'``.
        route (str): ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an
            empty string for the default route.

    Inputs:
        - **x** (Tensor) - (…, D) with D even; float16, bfloat16, float32 or float64.
        - **cos** (Tensor) - from `rotary_tables`, of a shape that broadcasts to the shape of x,
          such as (S, D); float16, bfloat16, float32 or float64. cos has no gradient.
        - **sin** (Tensor) - as cos.

    Outputs:
        Tensor of the shape and dtype of x.

    Raises:
        InputError: the layout is unknown, the size of the last axis is odd, or cos or sin does not
            broadcast to the shape of x.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import RotaryEmbedding
        >>> cos, sin = np.float32([[0, 0]]), np.float32([[1, 1]])
        >>> RotaryEmbedding().forward(np.float32([[1, 0]]), cos, sin)
        array([[0., 1.]], dtype=float32)
    """

    def __init__(self, layout: str = "halves", route: str = ""):
        check_choice("RotaryEmbedding", "layout", layout, LAYOUTS)
        super().__init__(ROTARY_EMBEDDING, {"layout": layout}, route)
