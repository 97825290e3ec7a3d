"""A convolution as the sum of convolutions of some of its channels each, where oneDNN adds the products of all one after the other.

With AVX2 alone it has no other way for images with channels last, and its error grows with the root of how many products there are:
1.1e-6 of 512 channels under weights of 3 × 3, 5.6e-7 in four pieces. Each of them adds what it has found, at its end, to what is there.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from custom_ops.onednn import constants, layouts
from custom_ops.onednn.convolution_epilogue import Following
from custom_ops.onednn.convolution_primitives import convolution
from custom_ops.onednn.epilogues import NOTHING
from custom_ops.onednn.geometry import Geometry
from custom_ops.onednn.programs import Builder, Place, Written, row_major

ONE_BY_ONE = "brg_conv_fwd:avx2"
"""The implementation that adds so, and is as quick for a piece."""
LEAST_CHANNELS, MOST = 16, 4
"""Of a piece at least, and pieces at most: they take 5 to 7 % of a network's time in inference, and nothing in training, where images are laid out anew in any case."""
LONG_SUM = 256
"""Products that are added to one number, from which on it matters how."""
BYTES = 4
"""Of a float32."""
NOTHING_FOLLOWS = Following(NOTHING)


def pieces(sizes: Geometry, dtype: str) -> int:
    """Into how many pieces the channels go; 1 where their sum is short, or copying a piece would take as long as computing it."""
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
        for many in range(1, MOST + 1)
        if channels % many == 0 and (many == 1 or channels // many >= LEAST_CHANNELS)
    )


def forward(
    builder: Builder,
    sizes: Geometry,
    dtype: str,
    x: Place,
    weight: Place,
    y: Written,
    following: Following,
    last: Collection[str],
) -> bool:
    """The steps of the convolution and what follows; False, and nothing written, where the whole is as good or pieces would be slow.

    Args:
        last: which of ``x`` and ``y`` lie with channels last.
    """
    many = pieces(sizes, dtype)
    if many == 1:
        return False
    each = sizes.x[1] // many
    part = replace(
        sizes, x=(sizes.x[0], each, *sizes.x[2:]), weight=(sizes.weight[0], each, *sizes.weight[2:])
    )
    laid = {
        "x": builder.dense(part.x, dtype, layouts.strides(part.x, True)),
        "weight": builder.free(part.weight, dtype),
        "y": builder.dense(sizes.y, dtype, layouts.strides(sizes.y, True)),
    }
    ends = [*(NOTHING_FOLLOWS,) * (many - 1), following]
    primitives: list[Any] = []
    for end in ends:
        attributes = end.attributes(builder, laid["y"], onto=bool(primitives))
        primitives.append(
            convolution(builder, part, laid, end.bias and end.bias.description, attributes)
        )
        if builder.names[-1] != ONE_BY_ONE:
            del builder.names[-len(primitives) :]
            return False
    result = builder.target(y, laid["y"])
    x_strides, strides = (
        layouts.strides(sizes.x, "x" in last) or row_major(sizes.x),
        row_major(sizes.weight),
    )
    x_part, weight_part = (
        builder.dense(part.x, dtype, x_strides),
        builder.dense(part.weight, dtype, strides),
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
            name: builder.converted(place, builder.wanted(primitive, name))
            for name, place in taken.items()
        }
        builder.execute(primitive, {**given, constants.RESULT: result})
    builder.deliver(result, y, relu=following.after.has_own_relu)
    return True
