"""Finds depthwise convolutions whose channels are normalized, which one of our kernels computes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ms_fusion.graph import Graph, Node
from ms_fusion.onnx.fuse.functions import DOMAIN
from ms_fusion.onnx.fuse.ort.equivalents import Site
from ms_fusion.onnx.ort_library.depthwise_norm_text import (
    SIZES,
    DepthwiseNormKernel,
    pack_depthwise_weights,
)
from ms_fusion.onnx.ort_library.operator_text import OperatorText
from ms_fusion.rewrite import Op, Rule, find_matches

CHANNELS_LAST, CHANNELS_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)
EPSILON = 1e-5
"""Default of ONNX's LayerNormalization."""
RULE = Rule(
    "DepthwiseNorm",
    "cross-operator",
    Op("LayerNorm", Op("Transpose", Op("Conv2D", "x", "weights"))),
)


@dataclass(frozen=True)
class DepthwiseNorm:
    """A depthwise convolution, a transpose that moves the channels to the end, and a layer norm.

    Attributes:
        nodes: names of the operators.
        convolution, norm: the convolution and the layer norm.
        image: name of the image that the kernel reads.
        is_channels_last: whether the image has its channels last. The group then begins with a
            transpose that moves them to the front.
    """

    nodes: tuple[str, ...]
    convolution: Node
    norm: Node
    image: str
    is_channels_last: bool = False

    def write(self, site: Site) -> OperatorText | str:
        """Adds the call of our kernel to a site. Returns the kernel, or why it cannot be called."""
        x, *weights = self.convolution.inputs
        arrays = [site.array(name) for name in (*weights, *self.norm.inputs[1:])]
        if any(array is None for array in arrays):
            return "the weights are not known"
        channels = site.value(x).shape[1]
        convolution, scale = site.array(weights[0]), site.array(self.norm.inputs[1])
        assert convolution is not None
        assert scale is not None
        zeros = np.zeros(channels, np.float32)  # type: ignore[arg-type]
        bias = site.array(weights[1]) if len(weights) > 1 else zeros
        shift = site.array(self.norm.inputs[2]) if len(self.norm.inputs) > 2 else zeros
        assert bias is not None
        assert shift is not None
        kernel = DepthwiseNormKernel(
            size=convolution.shape[-1],
            epsilon=float(self.norm.attr("epsilon", EPSILON)),
            is_channels_last=self.is_channels_last,
        )
        operator = kernel.write()
        given = [pack_depthwise_weights(convolution), bias, scale, shift]
        constants = [site.constant(array) for array in given]
        site.call(operator.name, self.image, *constants, to=site.result, domain=DOMAIN)
        return operator


def find_depthwise_norms(graph: Graph, order: dict[str, int]) -> Iterator[DepthwiseNorm]:
    """Yields the groups that the kernel can compute."""
    for match in find_matches(RULE, graph, order):
        convolution, transpose, norm = match.nodes
        if (
            _is_depthwise(convolution, graph)
            and transpose.attr("perm") == CHANNELS_LAST
            and norm.attr("axis", -1) in (-1, 3)
            and len(norm.outputs) == 1
            and all(
                graph.values[name].shape == graph.values[convolution.inputs[0]].shape[1:2]
                and graph.values[name].dtype == "float32"
                for name in norm.inputs[1:]
            )
        ):
            found = DepthwiseNorm(
                tuple(node.name for node in match.nodes), convolution, norm, convolution.inputs[0]
            )
            yield found
            before = graph.producers.get(found.image)
            if (
                before is not None
                and before.op == "Transpose"
                and before.attr("perm") == CHANNELS_FIRST
                and found.image not in graph.outputs
                and len(graph.consumers.get(found.image, ())) == 1
            ):
                yield replace(
                    found,
                    nodes=(before.name, *found.nodes),
                    image=before.inputs[0],
                    is_channels_last=True,
                )


def _is_depthwise(node: Node, graph: Graph) -> bool:
    """Returns whether a node is a convolution that `DepthwiseNormKernel` describes."""
    image, weights = (graph.values[name] for name in node.inputs[:2])
    if len(image.shape) != 4 or len(weights.shape) != 4 or image.dtype != "float32":
        return False
    channels, size = image.shape[1], weights.shape[-1]
    return (
        isinstance(channels, int)
        and isinstance(size, int)
        and size in SIZES
        and weights.shape == (channels, 1, size, size)
        and node.attr("group", 1) == channels
        and node.attr("auto_pad", "NOTSET") == "NOTSET"
        and set(node.attr("strides", (1,))) == {1}
        and set(node.attr("dilations", (1,))) == {1}
        and tuple(node.attr("pads", ())) == (size // 2,) * 4
    )
