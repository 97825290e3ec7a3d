"""Splits a convolution along its input channels into a sum of convolutions, for accuracy.

On AVX2, oneDNN's channels-last implementation sums all products sequentially. Its error therefore
grows with the square root of the number of products. The convolution is therefore split into
pieces. Each piece is a convolution over some of the input channels. The results of all pieces are
added in the output. For a convolution with 512 input channels and 3 × 3 weights, the split halves
the error.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from custom_ops.onednn import constants, layouts
from custom_ops.onednn.convolution_epilogue import EpilogueOperands
from custom_ops.onednn.convolution_primitives import create_convolution
from custom_ops.onednn.epilogues import EMPTY_EPILOGUE
from custom_ops.onednn.geometry import Geometry
from custom_ops.onednn.plans import OutputPlace, Place, PlanBuilder, row_major

SEQUENTIAL_IMPLEMENTATION = "brg_conv_fwd:avx2"
"""Name of oneDNN's implementation that sums sequentially, and computes pieces at full speed."""
LEAST_CHANNELS, MAX_PIECES = 16, 4
"""Minimum number of input channels of a piece, and maximum number of pieces.

The split costs 5 to 7 % of a network's inference time.
"""
LONG_SUM = 256
"""Minimum number of products per sum for which the order of summation matters for accuracy."""
BYTES = 4
"""Bytes of a float32."""
NO_EPILOGUE = EpilogueOperands(EMPTY_EPILOGUE)


def piece_count(sizes: Geometry, dtype: str) -> int:
    """Returns the number of pieces into which a convolution is split.

    The convolution is not split (number 1) for 16-bit dtypes, for several groups, and for short
    sums. The convolution is not split for 1 × 1 weights either, because copying the pieces would
    take most of the time.
    """
    if (
        dtype != "float32"
        or sizes.groups > 1
        or sizes.weight[2:] == (1, 1)
        or math.prod(sizes.weight[1:]) < LONG_SUM
    ):
        return 1
    channels = sizes.x[1]
    return max(
        many
        for many in range(1, MAX_PIECES + 1)
        if channels % many == 0 and (many == 1 or channels // many >= LEAST_CHANNELS)
    )


def forward(
    builder: PlanBuilder,
    sizes: Geometry,
    dtype: str,
    x: Place,
    weight: Place,
    y: OutputPlace,
    following: EpilogueOperands,
    last: Collection[str],
) -> bool:
    """Adds the steps of the split convolution and of the epilogue to a plan.

    Args:
        following: the epilogue with its arrays.
        last: names of the channels-last arrays among ``x`` and ``y``.

    Returns:
        True if the steps were added. False if a split is not needed, or if the pieces would be
        slow.
    """
    many = piece_count(sizes, dtype)
    if many == 1:
        return False
    each = sizes.x[1] // many
    part = replace(
        sizes, x=(sizes.x[0], each, *sizes.x[2:]), weight=(sizes.weight[0], each, *sizes.weight[2:])
    )
    laid = {
        "x": builder.dense_layout(part.x, dtype, layouts.strides(part.x, True)),
        "weight": builder.any_layout(part.weight, dtype),
        "y": builder.dense_layout(sizes.y, dtype, layouts.strides(sizes.y, True)),
    }
    ends = [*(NO_EPILOGUE,) * (many - 1), following]
    primitives: list[Any] = []
    for end in ends:
        attributes = end.attributes(builder, laid["y"], onto=bool(primitives))
        primitives.append(
            create_convolution(builder, part, laid, end.bias and end.bias.description, attributes)
        )
        if builder.names[-1] != SEQUENTIAL_IMPLEMENTATION:
            del builder.names[-len(primitives) :]
            return False
    result = builder.target(y, laid["y"])
    x_strides, strides = (
        layouts.strides(sizes.x, "x" in last) or row_major(sizes.x),
        row_major(sizes.weight),
    )
    x_part, weight_part = (
        builder.dense_layout(part.x, dtype, x_strides),
        builder.dense_layout(part.weight, dtype, strides),
    )
    for number, (primitive, end) in enumerate(zip(primitives, ends, strict=True)):
        taken = {
            constants.SOURCE: builder.part(x, x_part, BYTES * number * each * x_strides[1]),
            constants.WEIGHTS: builder.part(
                weight, weight_part, BYTES * number * each * strides[1]
            ),
            **end.arguments(onto=number > 0),
        }
        given = {
            name: builder.convert(place, builder.argument_layout(primitive, name))
            for name, place in taken.items()
        }
        builder.execute(primitive, {**given, constants.RESULT: result})
    builder.deliver(result, y, relu=following.after.has_own_relu)
    return True
