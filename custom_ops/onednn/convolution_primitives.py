"""Creates the oneDNN primitives of convolutions and of their weight gradients."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from custom_ops.onednn import constants
from custom_ops.onednn.geometry import Geometry
from custom_ops.onednn.plans import PlanBuilder, dims

LONG_SUM = 1024
"""Minimum number of products per sum for which the order of summation matters for accuracy."""
BLOCKED_IMPLEMENTATION = "jit:avx512_core"
"""Name of oneDNN's implementation that first sums over 16 channels, then adds these partial sums.

This implementation needs images in oneDNN's channel-blocked layout.
"""


def window(sizes: Geometry) -> tuple[Any, ...]:
    """Returns four arguments for oneDNN: strides, dilations, and the padding before and after.

    The padding before x is (above, left), and the padding after x is (below, right).
    """
    above, below, left, right = sizes.padding
    # oneDNN's dilation is the number of elements that are skipped between two taps: ours minus 1
    return (
        dims(sizes.stride),
        dims([step - 1 for step in sizes.dilation]),
        dims((above, left)),
        dims((below, right)),
    )


def create_convolution(
    builder: PlanBuilder,
    sizes: Geometry,
    laid: Mapping[str, Any],
    bias: Any = None,
    attributes: Any = None,
) -> Any:
    """Creates a convolution primitive.

    Args:
        laid: dict from ``x``, ``weight`` and ``y`` to oneDNN's memory descriptors (layouts).
        bias: memory descriptor of the bias, or None.
        attributes: primitive attributes with the epilogue, or None for no epilogue.
    """
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


def create_forward_hint(builder: PlanBuilder, sizes: Geometry, laid: Mapping[str, Any]) -> Any:
    """Creates the forward primitive that oneDNN requires as a hint for a gradient primitive."""
    made = create_convolution(builder, sizes, laid)
    builder.names.pop()
    return made


def adds_in_blocks(builder: PlanBuilder, sizes: Geometry, dtype: str) -> bool:
    """Whether to use oneDNN's channel-blocked layout instead of channels-last, for accuracy.

    Channels-last implementations sum all products sequentially. Their error therefore grows with
    the square root of the number of products. The implementation for the channel-blocked layout
    sums blockwise. The reorders to the channel-blocked layout take up to a quarter of the
    convolution's time. For 1 × 1 weights, these reorders take too long.
    """
    if dtype != "float32" or sizes.weight[2:] == (1, 1) or math.prod(sizes.weight[1:]) < LONG_SUM:
        return False
    shapes = {"x": sizes.x, "weight": sizes.grouped_weight, "y": sizes.y}
    create_convolution(
        builder, sizes, {name: builder.any_layout(shape, dtype) for name, shape in shapes.items()}
    )
    return builder.names.pop() == BLOCKED_IMPLEMENTATION


def create_weight_gradient(
    builder: PlanBuilder, sizes: Geometry, laid: Mapping[str, Any], forward: Any, bias: Any
) -> Any:
    """Creates the primitive of the weight gradient.

    Args:
        laid: dict from ``x``, ``weight`` and ``y`` to oneDNN's memory descriptors (layouts).
        forward: the primitive from `create_forward_hint`.
        bias: memory descriptor of the bias gradient, or None.
    """
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
