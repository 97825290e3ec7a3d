"""Computes convolutions and their gradients in NumPy, by im2col."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from custom_ops.onednn.epilogues import EMPTY_EPILOGUE
from custom_ops.onednn.geometry import Geometry, geometry
from custom_ops.onednn.im2col import backward, forward
from ms_fusion.graph import Node

Array = np.ndarray


def spatial_attributes(node: Node) -> dict[str, Any]:
    """Returns stride, padding, dilation and groups of a convolution or its gradient.

    In MindSpore, the tuples of strides and dilations may begin with two more items, for batch and
    channels. The function removes these two items.
    """
    padding = tuple(node.attr("pad_list"))
    rank = len(padding) // 2
    return {
        "stride": tuple(node.attr("stride"))[-rank:],
        "padding": padding,
        "dilation": tuple(node.attr("dilation"))[-rank:],
        "groups": int(node.attr("group", 1)),
    }


def _geometry(node: Node, x: Sequence[int], weight: Sequence[int]) -> Geometry:
    return geometry(node.op, x, weight, **spatial_attributes(node))


def convolution(node: Node, x: Array, weight: Array, bias: Array | None = None) -> Array:
    """Returns the convolution of `x` with `weight`, plus `bias`."""
    made = forward(_geometry(node, x.shape, weight.shape), EMPTY_EPILOGUE, x, weight)
    return made if bias is None else made + bias.reshape(-1, 1, 1)


def transposed_convolution(
    node: Node, x: Array, weight: Array, shape: Sequence[int], bias: Array | None = None
) -> Array:
    """Returns the transposed convolution of `x`, plus `bias`, with the result shape `shape`."""
    made = gradient_of_x(node, x, weight, shape)
    return made if bias is None else made + bias.reshape(-1, 1, 1)


def gradient_of_x(node: Node, grad: Array, weight: Array, shape: Sequence[int]) -> Array:
    """Returns the gradient of a convolution with respect to x; `shape` is the shape of x."""
    (found,) = backward(_geometry(node, shape, weight.shape), ("x",), grad, weight)
    return found


def gradient_of_weight(node: Node, grad: Array, x: Array, shape: Sequence[int]) -> Array:
    """Returns the gradient of a convolution with respect to the weight; `shape` is its shape."""
    (found,) = backward(_geometry(node, x.shape, shape), ("weight",), grad, None, x)
    return found
