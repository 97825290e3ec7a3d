"""What convolutions and their gradients mean, in NumPy: products of the patches under the weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from custom_ops.onednn.epilogues import NOTHING
from custom_ops.onednn.geometry import Geometry, geometry
from custom_ops.onednn.im2col import backward, forward
from ms_fusion.graph import Node

Array = np.ndarray


def spatial(node: Node) -> dict[str, Any]:
    """Stride, padding, dilation and groups of a convolution or of its gradient; MindSpore has four numbers for two."""
    return {
        "stride": tuple(node.attr("stride"))[-2:],
        "padding": tuple(node.attr("pad_list")),
        "dilation": tuple(node.attr("dilation"))[-2:],
        "groups": int(node.attr("group", 1)),
    }


def _sizes(node: Node, x: Sequence[int], weight: Sequence[int]) -> Geometry:
    return geometry(node.op, x, weight, **spatial(node))


def convolution(node: Node, x: Array, weight: Array) -> Array:
    """x convolved with weight."""
    return forward(_sizes(node, x.shape, weight.shape), NOTHING, x, weight)


def gradient_of_x(node: Node, grad: Array, weight: Array, shape: Sequence[int]) -> Array:
    """The gradient of an x of this shape."""
    (found,) = backward(_sizes(node, shape, weight.shape), ("x",), grad, weight)
    return found


def gradient_of_weight(node: Node, grad: Array, x: Array, shape: Sequence[int]) -> Array:
    """The gradient of a weight of this shape."""
    (found,) = backward(_sizes(node, x.shape, shape), ("weight",), grad, None, x)
    return found
