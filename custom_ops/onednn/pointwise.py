"""Convolutions of one value per channel as matrix products: no layout has to be changed for them.

With weights of 1 × 1, stride 1, no padding and one group, y[n] = weight · x[n] over all places of an image; measured, that
is 1.2 to 2.7 times as fast as oneDNN's convolution between its changes of layout, unless the images are tiny.
"""

from __future__ import annotations

import math

from custom_ops.onednn.epilogues import NOTHING, Epilogue
from custom_ops.onednn.geometry import Geometry
from custom_ops.onednn.matrix_product_step import multiply
from custom_ops.onednn.programs import Builder, Place, Written

LEAST_PLACES = 32
"""Images of fewer places go through the convolution, but those of one."""
LARGE_BYTES = 8 << 20
"""Results from here on leave the caches while they are computed."""
ROWS_TOGETHER = 16
"""Of such a result few channels at once, each from its first place to its last: all of them together are as many rows far apart from
each other, and memory takes 1.4 times as long (64→256 at 8×56×56). The images are read once for each, so they have to be smaller."""
FEW_TERMS, MANY_PLACES = 128, 4096
"""Sums of so few terms for so many places are quicker of turned weights that were put in order: with AVX2 in 0.6 to 0.9 of the time."""


def applies(sizes: Geometry) -> bool:
    """Whether a convolution is computed so."""
    plain = (
        sizes.weight[2:] == (1, 1) == sizes.stride and not any(sizes.padding) and sizes.groups == 1
    )
    places = math.prod(sizes.x[2:])
    return plain and (places >= LEAST_PLACES or places == 1)


def forward(
    builder: Builder,
    sizes: Geometry,
    x: Place,
    weight: Place,
    y: Written,
    after: Epilogue,
    bias: Place | None,
    residual: Place | None,
) -> None:
    """The steps of ``activation(conv(x, weight) + bias + residual)``."""
    batch, channels, out, places = *sizes.x[:2], sizes.weight[0], math.prod(sizes.x[2:])
    if places == 1:
        result = Written(y.buffer, builder.seen(y.dense, (batch, out)))
        multiply(
            builder,
            builder.seen(x, (batch, channels)),
            builder.seen(weight, (channels, out), (1, channels)),
            result,
            after,
            bias=bias and builder.seen(bias, (1, out)),
            residual=residual and builder.seen(residual, (batch, out)),
        )
    else:
        groups = _groups(batch, out, channels, places)
        rows, images = (1, groups, out // groups), (batch, groups, out // groups, places)
        result = Written(y.buffer, builder.seen(y.dense, images))
        multiply(
            builder,
            builder.seen(weight, (*rows, channels)),
            builder.seen(x, (batch, 1, channels, places)),
            result,
            after,
            row_bias=bias and builder.seen(bias, (*rows, 1)),
            residual=residual and builder.seen(residual, images),
        )


def gradient_of_x(
    builder: Builder, sizes: Geometry, grad: Place, weight: Place, grad_x: Written
) -> None:
    """The steps of the gradient of x."""
    batch, channels, out, places = *sizes.x[:2], sizes.weight[0], math.prod(sizes.x[2:])
    if places == 1:
        result = Written(grad_x.buffer, builder.seen(grad_x.dense, (batch, channels)))
        multiply(
            builder,
            builder.seen(grad, (batch, out)),
            builder.seen(weight, (out, channels)),
            result,
            NOTHING,
        )
    else:
        groups = _groups(batch, channels, out, places)
        turned = builder.seen(weight, (1, 1, channels, out), (0, 0, 1, channels))
        if groups > 1 or (out <= FEW_TERMS and batch * places >= MANY_PLACES):
            # rows of turned weights that are grouped oneDNN gets wrong
            ordered = builder.scratch(
                builder.dense((1, 1, channels, out), weight.dtype), weight.dtype, channels * out
            )
            builder.copy(turned, ordered)
            turned = builder.seen(ordered, (1, groups, channels // groups, out))
        result = Written(
            grad_x.buffer, builder.seen(grad_x.dense, (batch, groups, channels // groups, places))
        )
        multiply(builder, turned, builder.seen(grad, (batch, 1, out, places)), result, NOTHING)


def _groups(batch: int, rows: int, terms: int, places: int) -> int:
    """Into how many groups of rows the product of each image is taken apart."""
    is_large = 4 * batch * rows * places >= LARGE_BYTES and rows >= 2 * terms
    return rows // ROWS_TOGETHER if is_large and rows % ROWS_TOGETHER == 0 else 1
