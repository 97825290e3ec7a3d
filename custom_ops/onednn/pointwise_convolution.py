"""Computes 1 × 1 convolutions as matrix products, without layout changes.

With 1 × 1 weights, stride 1, no padding and one group, the result for image n is the product y[n] =
weight · x[n]. The matrix x[n] has one column for each position of the image. Except for tiny
images, the product is 1.2 to 2.7 times as fast as oneDNN's convolution with its reorders.
"""

from __future__ import annotations

import math

from custom_ops.onednn.epilogues import EMPTY_EPILOGUE, Epilogue
from custom_ops.onednn.geometry import Geometry
from custom_ops.onednn.matrix_product_step import multiply
from custom_ops.onednn.plans import OutputPlace, Place, PlanBuilder

LEAST_PLACES = 32
"""Minimum number of positions per image for which a matrix product is used.

A matrix product is also used for images with a single position.
"""
LARGE_BYTES = 8 << 20
"""Minimum size in bytes of a result that does not stay in the caches."""
ROWS_PER_GROUP = 16
"""Number of rows (channels) of a large result that are computed together.

If all rows were computed together, the product would write alternately to one distant address for
each row. Such writes take 1.4 times as long (64 → 256 channels, 8 images of 56 × 56). With groups
of rows, the images are read once for each group, so the images have to be smaller than the result.
"""
FEW_TERMS, MANY_PLACES = 128, 4096
"""Limits within which transposed weights are copied to row-major order before the product.

The copy is made if each sum has at most `FEW_TERMS` terms and all images together have at least
`MANY_PLACES` positions. With AVX2, the copy and the product then take 0.6 to 0.9 times as long as
the product without the copy.
"""


def is_applicable(sizes: Geometry) -> bool:
    """Whether a convolution can and should be computed as a matrix product."""
    plain = (
        sizes.weight[2:] == (1, 1) == sizes.stride and not any(sizes.padding) and sizes.groups == 1
    )
    places = math.prod(sizes.x[2:])
    return plain and (places >= LEAST_PLACES or places == 1)


def forward(
    builder: PlanBuilder,
    sizes: Geometry,
    x: Place,
    weight: Place,
    y: OutputPlace,
    after: Epilogue,
    bias: Place | None,
    residual: Place | None,
) -> None:
    """Adds the steps of ``activation(conv(x, weight) + bias + residual)`` to a plan."""
    batch, channels, out, places = *sizes.x[:2], sizes.weight[0], math.prod(sizes.x[2:])
    if places == 1:
        result = OutputPlace(y.buffer, builder.view(y.dense, (batch, out)))
        multiply(
            builder,
            builder.view(x, (batch, channels)),
            builder.view(weight, (channels, out), (1, channels)),
            result,
            after,
            bias=bias and builder.view(bias, (1, out)),
            residual=residual and builder.view(residual, (batch, out)),
        )
    else:
        groups = _groups(batch, out, channels, places)
        rows, images = (1, groups, out // groups), (batch, groups, out // groups, places)
        result = OutputPlace(y.buffer, builder.view(y.dense, images))
        multiply(
            builder,
            builder.view(weight, (*rows, channels)),
            builder.view(x, (batch, 1, channels, places)),
            result,
            after,
            row_bias=bias and builder.view(bias, (*rows, 1)),
            residual=residual and builder.view(residual, images),
        )


def gradient_of_x(
    builder: PlanBuilder, sizes: Geometry, grad: Place, weight: Place, grad_x: OutputPlace
) -> None:
    """Adds the steps that compute the gradient of x to a plan."""
    batch, channels, out, places = *sizes.x[:2], sizes.weight[0], math.prod(sizes.x[2:])
    if places == 1:
        result = OutputPlace(grad_x.buffer, builder.view(grad_x.dense, (batch, channels)))
        multiply(
            builder,
            builder.view(grad, (batch, out)),
            builder.view(weight, (out, channels)),
            result,
            EMPTY_EPILOGUE,
        )
    else:
        groups = _groups(batch, channels, out, places)
        turned = builder.view(weight, (1, 1, channels, out), (0, 0, 1, channels))
        if groups > 1 or (out <= FEW_TERMS and batch * places >= MANY_PLACES):
            # the copy is required for several groups: oneDNN computes groups of rows of transposed
            # weights wrongly
            ordered = builder.scratch(
                builder.dense_layout((1, 1, channels, out), weight.dtype),
                weight.dtype,
                channels * out,
            )
            builder.copy(turned, ordered)
            turned = builder.view(ordered, (1, groups, channels // groups, out))
        result = OutputPlace(
            grad_x.buffer, builder.view(grad_x.dense, (batch, groups, channels // groups, places))
        )
        multiply(
            builder, turned, builder.view(grad, (batch, 1, out, places)), result, EMPTY_EPILOGUE
        )


def _groups(batch: int, rows: int, terms: int, places: int) -> int:
    """Returns the number of row groups into which the matrix product of an image is divided."""
    is_large = 4 * batch * rows * places >= LARGE_BYTES and rows >= 2 * terms
    return rows // ROWS_PER_GROUP if is_large and rows % ROWS_PER_GROUP == 0 else 1
