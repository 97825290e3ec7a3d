"""What a device lacks, said in operators that it has: a convolution as its windows side by side and a matrix product.

y[n, o, p] = Σ_kc weight[o, kc] · columns[n, kc, p],   columns = the image under each place of the window, concatenated
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx_ir as ir

_SOURCE = "CANN's ops-nn, Conv3D and Conv3DV2: supported products"
LACKS: Mapping[str, Mapping[int, str]] = MappingProxyType(
    {
        "ascend910a": {3: f"a convolution in three axes ({_SOURCE})"},
        "ascend310p": {3: f"a convolution in three axes ({_SOURCE})"},
    }
)
"""Device → in how many axes it lacks a convolution, and what says so."""


def lower(model: ir.Model, device: str) -> tuple[str, ...]:
    """Replaces in place what a device lacks, where sizes are known and the padding is told; a sentence for each.

    Args:
        model: cleaned, shapes inferred.
        device: its name.
    """
    lacking = LACKS.get(device, {})
    told = []
    for node in list(model.graph) if lacking else ():
        image = (
            node.inputs[0] if node.op_type == "Conv" and node.domain in ("", "ai.onnx") else None
        )
        if image is None or image.shape is None or len(image.shape) - 2 not in lacking:
            continue
        found = _convolution(node)
        how = "stays, a size is not known before it runs"
        if found is not None:
            result, made = _written(found, node)
            ir.convenience.replace_nodes_and_values(model.graph, node, [node], made, node.outputs, [result])  # fmt: skip
            how = f"is {found.windows} windows side by side and a matrix product"
        told.append(f"{device} lacks {lacking[len(image.shape) - 2]}: {node.name} {how}")
    return tuple(told)


@dataclass(frozen=True)
class _Convolution:
    """One that is written anew, all of its sizes known.

    Attributes:
        channels, groups: of the image; how many parts of them are convolved apart.
        filters: how many channels come out.
        spans, strides, dilations, before, after: of the windows, for each axis.
        places: sizes of the result.
    """

    channels: int
    groups: int
    filters: int
    spans: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    places: tuple[int, ...]

    @property
    def windows(self) -> int:
        """How many elements of each channel a window holds."""
        return math.prod(self.spans)


def _convolution(node: ir.Node) -> _Convolution | None:
    image, weight = node.inputs[0], node.inputs[1]
    assert image is not None
    assert weight is not None
    told = node.attributes
    if image.shape is None or weight.shape is None or told.get_string("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):  # fmt: skip
        return None
    sizes, shape = list(image.shape)[1:], list(weight.shape)
    if not all(isinstance(size, int) for size in (*sizes, *shape)):
        return None
    channels, *image_sizes = (int(size) for size in sizes if isinstance(size, int))
    filters, _, *spans = (int(size) for size in shape if isinstance(size, int))
    rank = len(spans)
    strides = tuple(told.get_ints("strides", [1] * rank))
    dilations = tuple(told.get_ints("dilations", [1] * rank))
    pads = tuple(told.get_ints("pads", [0] * (2 * rank)))
    places = tuple(
        (size + less + more - (span - 1) * spread - 1) // step + 1
        for size, span, step, spread, less, more in zip(image_sizes, spans, strides, dilations, pads[:rank], pads[rank:], strict=True)
    )  # fmt: skip
    return _Convolution(channels, told.get_int("group", 1), filters, tuple(spans), strides, dilations, pads[:rank], pads[rank:], places)  # fmt: skip


class _Writer:
    """Operators one behind the other."""

    def __init__(self, name: str):
        self.name = name
        self.nodes: list[ir.Node] = []

    def op(self, kind: str, *inputs: ir.Value | None, **attributes: Any) -> ir.Value:
        made = ir.node(kind, inputs, attributes, name=f"{self.name}/{kind}_{len(self.nodes)}")
        made.outputs[0].name = f"{made.name}_result"
        self.nodes.append(made)
        return made.outputs[0]

    def numbers(self, values: Sequence[int]) -> ir.Value:
        return self.op("Constant", value=ir.tensor(np.array(values, np.int64)))


def _written(found: _Convolution, node: ir.Node) -> tuple[ir.Value, list[ir.Node]]:
    image, weight, *bias = node.inputs
    assert weight is not None
    w = _Writer(node.name or "conv")
    rank, depth = len(found.spans), found.channels // found.groups * found.windows
    axes = w.numbers(range(2, 2 + rank))
    if any((*found.before, *found.after)):
        image = w.op("Pad", image, w.numbers((0, 0, *found.before, 0, 0, *found.after)))
    parts = []
    for at in itertools.product(*map(range, found.spans)):
        starts = [place * spread for place, spread in zip(at, found.dilations, strict=True)]
        ends = [start + (count - 1) * step + 1 for start, count, step in zip(starts, found.places, found.strides, strict=True)]  # fmt: skip
        parts.append(w.op("Slice", image, w.numbers(starts), w.numbers(ends), axes, w.numbers(found.strides)))  # fmt: skip
    columns = w.op("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
    matrix: tuple[int, ...] = (found.filters, depth)
    if found.groups > 1:
        columns = w.op("Reshape", columns, w.numbers((0, found.windows, found.groups, found.channels // found.groups, -1)))  # fmt: skip
        columns = w.op("Transpose", columns, perm=[0, 2, 1, 3, 4])
        columns = w.op("Reshape", columns, w.numbers((0, found.groups, depth, -1)))
        matrix = (found.groups, found.filters // found.groups, depth)
    else:
        columns = w.op("Reshape", columns, w.numbers((0, depth, -1)))
    turned = w.op("Transpose", weight, perm=[0, *range(2, 2 + rank), 1])
    result = w.op("MatMul", w.op("Reshape", turned, w.numbers(matrix)), columns)
    result = w.op("Reshape", result, w.numbers((0, found.filters, *found.places)))
    if bias and bias[0] is not None:
        result = w.op("Add", result, w.op("Reshape", bias[0], w.numbers((found.filters, *(1,) * rank))))  # fmt: skip
    result.shape, result.type = node.outputs[0].shape, node.outputs[0].type
    return result, w.nodes
