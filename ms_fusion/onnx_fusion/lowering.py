"""Lowering to simpler operators: a convolution as im2col and a matrix product, Gemm as MatMul and Add.

y[n, o, p] = Σ_kc weight[o, kc] · columns[n, kc, p],   columns = the image under each place of the window, concatenated
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx_ir as ir

from ms_fusion.onnx_fusion.tidying.parts import is_op
from ms_fusion.onnx_fusion.tidying.parts import version as version_of

_SOURCE = "CANN's ops-nn, Conv3D and Conv3DV2: supported products"
LACKS: Mapping[str, Mapping[int, str]] = MappingProxyType(
    {
        "ascend910a": {3: f"a convolution in three axes ({_SOURCE})"},
        "ascend310p": {3: f"a convolution in three axes ({_SOURCE})"},
    }
)
"""Device → in how many axes it lacks a convolution, and what says so."""
BROADCAST, STRIDED, PAD_TOLD = 7, 10, 11
"""Versions of ONNX's operators: from which on Add broadcasts by itself, Slice has steps, and Pad's sizes are an input."""


def lower(model: ir.Model, device: str, asked: Container[str] = ()) -> tuple[str, ...]:
    """Replaces in place what a device lacks and what is asked for; a sentence for each.

    Args:
        model: cleaned, shapes inferred.
        device: its name.
        asked: types of operators, of `ms_fusion.onnx_fusion.arguments.LOWERED`.
    """
    told = []
    version = version_of(model)
    for node in list(model.graph):
        why = _why(node, device, asked)
        if not why:
            continue
        name = node.name or node.outputs[0].name
        if version < BROADCAST:
            how = f"stays, before version {BROADCAST} of ONNX's operators it is not written anew"
        else:
            how, result, made = (_gemm if node.op_type == "Gemm" else _conv)(node, version)
            if result is not None:
                ir.convenience.replace_nodes_and_values(
                    model.graph, node, [node], made, node.outputs, [result]
                )
        told.append(f"{why}: {name} {how}")
    return tuple(told)


def _why(node: ir.Node, device: str, asked: Container[str]) -> str:
    """Why an operator is lowered; empty for one that is not."""
    if not is_op(node, "Conv", "Gemm"):
        return ""
    if node.op_type in asked:
        return "lowered as asked"
    image = node.inputs[0]
    axes = len(image.shape) - 2 if image is not None and image.shape is not None else 0
    lacking = LACKS.get(device, {}).get(axes, "") if node.op_type == "Conv" else ""
    return f"{device} lacks {lacking}" if lacking else ""


_Lowered = tuple[str, ir.Value | None, list[ir.Node]]
"""What became of an operator in words, its new result, None where it stays, and what makes it."""


def _conv(node: ir.Node, version: int) -> _Lowered:
    found = _convolution(node)
    if found is None:
        return "stays, a size is not known before it runs", None, []
    result, made = _written(found, node, version)
    return f"is {found.windows} windows side by side and a matrix product", result, made


def _gemm(node: ir.Node, version: int) -> _Lowered:
    """alpha · a b + beta · c by operators of their own; factors of 1 are left out."""
    dtype = node.outputs[0].dtype
    if dtype is None or not dtype.is_floating_point():
        return "stays, its dtype is no known float", None, []
    w = _Writer(node, version)
    number = dtype.numpy().type

    def scaled(value: ir.Value | None, name: str) -> ir.Value | None:
        factor = node.attributes.get_float(name, 1.0)
        if factor == 1.0:
            return value
        return w.op("Mul", value, w.op("Constant", value=ir.tensor(np.array(number(factor)))))

    matrices = [
        w.op("Transpose", value, perm=[1, 0]) if node.attributes.get_int(name, 0) else value
        for value, name in zip(node.inputs[:2], ("transA", "transB"), strict=True)
    ]
    result = scaled(w.op("MatMul", *matrices), "alpha")
    added = [value for value in node.inputs[2:] if value is not None]
    if added:
        result = w.op("Add", result, scaled(added[0], "beta"))
    assert result is not None
    result.shape, result.type = node.outputs[0].shape, node.outputs[0].type
    return "is a matrix product" + " and a sum" * bool(added), result, w.nodes


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
    """Operators one behind the other, of a version of ONNX's."""

    def __init__(self, node: ir.Node, version: int):
        self.name, self.version = node.name or node.outputs[0].name, version
        self.nodes: list[ir.Node] = []

    def op(self, kind: str, *inputs: ir.Value | None, **attributes: Any) -> ir.Value:
        made = ir.node(kind, inputs, attributes, name=f"{self.name}/{kind}_{len(self.nodes)}")
        made.outputs[0].name = f"{made.name}_result"
        self.nodes.append(made)
        return made.outputs[0]

    def numbers(self, values: Sequence[int]) -> ir.Value:
        return self.op("Constant", value=ir.tensor(np.array(values, np.int64)))

    def padded(self, image: ir.Value | None, before: Sequence[int], after: Sequence[int]) -> ir.Value:  # fmt: skip
        """Zeros around the sides of an image."""
        pads = (0, 0, *before, 0, 0, *after)
        if self.version < PAD_TOLD:
            return self.op("Pad", image, pads=pads)
        return self.op("Pad", image, self.numbers(pads))

    def sampled(self, image: ir.Value | None, starts: Sequence[int], counts: Sequence[int], steps: Sequence[int]) -> ir.Value:  # fmt: skip
        """So many places of each side of an image, from a start on, a step apart."""
        ends = [start + (count - 1) * step + 1 for start, count, step in zip(starts, counts, steps, strict=True)]  # fmt: skip
        axes = range(2, 2 + len(starts))
        if self.version >= STRIDED:
            return self.op("Slice", image, *map(self.numbers, (starts, ends, axes, steps)))
        found = self.op("Slice", image, starts=starts, ends=ends, axes=list(axes))
        for axis, count, step in zip(axes, counts, steps, strict=True):
            if step > 1:
                places = [place * step for place in range(count)]
                found = self.op("Gather", found, self.numbers(places), axis=axis)
        return found


def _written(found: _Convolution, node: ir.Node, version: int) -> tuple[ir.Value, list[ir.Node]]:
    image, weight, *bias = node.inputs
    assert weight is not None
    w = _Writer(node, version)
    rank, depth = len(found.spans), found.channels // found.groups * found.windows
    if any((*found.before, *found.after)):
        image = w.padded(image, found.before, found.after)
    parts = []
    for at in itertools.product(*map(range, found.spans)):
        starts = [place * spread for place, spread in zip(at, found.dilations, strict=True)]
        parts.append(w.sampled(image, starts, found.places, found.strides))
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
