"""The primitives that plans of convolutions and their gradients share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from custom_ops.onednn import constants
from custom_ops.onednn.geometry import Geometry
from custom_ops.onednn.programs import Builder, dims

LONG_SUM = 1024
"""Products that are added to one number, from which on it matters how."""
BLOCKWISE = "jit:avx512_core"
"""The implementation that adds the products of 16 channels, then these sums, where images lie in its blocks of channels."""


def window(sizes: Geometry) -> tuple[Any, ...]:
    """Strides, dilations and padding, as oneDNN takes them."""
    above, below, left, right = sizes.padding
    # oneDNN counts the gaps
    return (
        dims(sizes.stride),
        dims([step - 1 for step in sizes.dilation]),
        dims((above, left)),
        dims((below, right)),
    )


def convolution(
    builder: Builder,
    sizes: Geometry,
    laid: Mapping[str, Any],
    bias: Any = None,
    attributes: Any = None,
) -> Any:
    """A convolution of these layouts of ``x``, ``weight`` and ``y``; that of the bias, or None; what follows it."""
    return builder.primitive(
        "convolution_forward",
        builder.dnnl.engine,
        constants.FORWARD_TRAINING,
        constants.CONVOLUTION_DIRECT,
        laid["x"],
        laid["weight"],
        bias,
        laid["y"],
        *window(sizes),
        attributes or builder.attributes(),
    )


def hint(builder: Builder, sizes: Geometry, laid: Mapping[str, Any]) -> Any:
    """The forward pass that gradients belong to."""
    made = convolution(builder, sizes, laid)
    builder.names.pop()
    return made


def adds_in_blocks(builder: Builder, sizes: Geometry, dtype: str) -> bool:
    """Whether a result is nearer to the exact one where the library lays the images, and its sums are long enough for it.

    With channels last it adds one product after the other, so that its error grows with the root of their number: 4.2e-7 of
    64 channels under weights of 3 × 3, 1.1e-6 of 512; in its blocks of channels 2.2e-7 of any. Laying them otherwise and back
    takes up to a quarter of the convolution's time, and up to 8 % of a network's. Weights of 1 × 1 have too little work for it.
    """
    if dtype != "float32" or sizes.weight[2:] == (1, 1) or math.prod(sizes.weight[1:]) < LONG_SUM:
        return False
    shapes = {"x": sizes.x, "weight": sizes.grouped_weight, "y": sizes.y}
    convolution(
        builder, sizes, {name: builder.free(shape, dtype) for name, shape in shapes.items()}
    )
    return builder.names.pop() == BLOCKWISE


def gradient_of_weights(
    builder: Builder, sizes: Geometry, laid: Mapping[str, Any], forward: Any, bias: Any
) -> Any:
    """That primitive; `bias` is the layout of the bias's gradient, or None."""
    return builder.primitive(
        "convolution_backward_weights",
        builder.dnnl.engine,
        constants.CONVOLUTION_DIRECT,
        laid["x"],
        laid["weight"],
        bias,
        laid["y"],
        *window(sizes),
        forward,
        builder.attributes(),
    )
