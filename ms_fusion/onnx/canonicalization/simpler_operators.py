"""Lowers convolutions to im2col and a matrix product, and Gemm to MatMul and Add.

For image n, output channel o and output position p, a convolution is a sum over input channels c
and window positions k: y[n, o, p] = Σ_ck weight[o, c, k] · columns[n, c, k, p].

`columns` stacks one shifted copy of the image for each window position k.
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

from ms_fusion.onnx.canonicalization.model_edits import is_op, shape_of
from ms_fusion.onnx.canonicalization.model_edits import opset_version as version_of

_SOURCE = "CANN's ops-nn, Conv3D and Conv3DV2: supported products"
_NO_CONV3D = MappingProxyType({3: f"a convolution in three axes ({_SOURCE})"})
UNSUPPORTED_CONVOLUTIONS: Mapping[str, Mapping[int, str]] = MappingProxyType(
    {"ascend910a": _NO_CONV3D, "ascend310p": _NO_CONV3D}
)
"""Unsupported convolutions: device → number of spatial axes → name of the convolution, source."""
BROADCAST_OPSET, STRIDED_SLICE_OPSET, PAD_INPUT_OPSET = 7, 10, 11
"""First opsets in which Add broadcasts, Slice has steps, and Pad reads its sizes as an input."""


def lower(model: ir.Model, device: str, asked: Container[str] = ()) -> tuple[str, ...]:
    """Lowers, in place, operators that the device does not support and operators in `asked`.

    Operators in the bodies of If and Loop, and malformed operators, are left unchanged.

    Args:
        model: a model after clean-up and shape inference.
        device: name of the device.
        asked: operator types to lower on every device, from
            `ms_fusion.onnx.fuse.arguments.LOWERABLE_OPERATORS`.

    Returns:
        A list with one sentence for each operator to lower. The sentence names the operators
        that replace the operator, or the reason why the operator was left unchanged.
    """
    told = []
    version = version_of(model)
    for node in list(model.graph):
        why = _lowering_reason(node, device, asked)
        if not why:
            continue
        name = node.name or node.outputs[0].name or node.op_type
        if version < BROADCAST_OPSET:
            how = (
                f"stays, before version {BROADCAST_OPSET} of ONNX's operators "
                "it is not written anew"
            )
        else:
            w = _Writer(_unused_prefix(name, model), version)
            how, result = (_lower_gemm if node.op_type == "Gemm" else _lower_convolution)(node, w)
            if result is not None:
                ir.convenience.replace_nodes_and_values(
                    model.graph, node, [node], w.nodes, node.outputs, [result]
                )
        told.append(f"{why}: {name} {how}")
    return tuple(told)


def _unused_prefix(name: str, model: ir.Model) -> str:
    """Returns a prefix p such that no name in the model starts with ``p/``.

    The prefix is `name`, with underscores appended if necessary.
    """
    taken: list[str | None] = []
    for graph in model.graphs():
        taken += [value.name for value in (*graph.inputs, *graph.initializers.values())]
        taken += [value.name for node in graph for value in node.outputs]
        taken += [node.name for node in graph]
    while any(one is not None and one.startswith(f"{name}/") for one in taken):
        name += "_"
    return name


def _lowering_reason(node: ir.Node, device: str, asked: Container[str]) -> str:
    """Returns the reason why an operator must be lowered, or "" if it need not be lowered."""
    if not is_op(node, "Conv", "Gemm"):
        return ""
    if node.op_type in asked:
        return "lowered as asked"
    image = node.inputs[0] if node.inputs else None
    axes = len(image.shape) - 2 if image is not None and image.shape is not None else 0
    lacking = (
        UNSUPPORTED_CONVOLUTIONS.get(device, {}).get(axes, "") if node.op_type == "Conv" else ""
    )
    return f"{device} lacks {lacking}" if lacking else ""


_MALFORMED = "its attributes do not fit its sizes"
_LoweringResult = tuple[str, ir.Value | None]
"""A pair: a phrase that says how an operator was lowered or why it was not, and the new result.

The new result is None if the operator was not lowered.
"""


def _lower_convolution(node: ir.Node, w: _Writer) -> _LoweringResult:
    found = _convolution(node)
    if isinstance(found, str):
        return f"stays, {found}", None
    result = _write_im2col(found, node, w)
    return f"is {found.windows} windows side by side and a matrix product", result


def _lower_gemm(node: ir.Node, w: _Writer) -> _LoweringResult:
    """Lowers alpha · a b + beta · c to separate operators.

    A multiplication by 1 is omitted, and the addend is omitted if beta is 0.
    """
    if any(value is None for value in node.inputs[:2]) or len(node.inputs) < 2:
        return "stays, it lacks a matrix", None
    dtype = node.outputs[0].dtype
    if dtype is None or not dtype.is_floating_point():
        return "stays, since its dtype is not a known floating-point dtype", None
    number = dtype.numpy().type

    def scale(value: ir.Value | None, name: str) -> ir.Value | None:
        factor = node.attributes.get_float(name, 1.0)
        if factor == 1.0:
            return value
        return w.op("Mul", value, w.op("Constant", value=ir.tensor(np.array(number(factor)))))

    matrices = [
        w.op("Transpose", value, perm=[1, 0]) if node.attributes.get_int(name, 0) else value
        for value, name in zip(node.inputs[:2], ("transA", "transB"), strict=True)
    ]
    result = scale(w.op("MatMul", *matrices), "alpha")
    added = [value for value in node.inputs[2:] if value is not None]
    if node.attributes.get_float("beta", 1.0) == 0.0:
        added = []  # 0 times inf or NaN is NaN
    if added:
        result = w.op("Add", result, scale(added[0], "beta"))
    assert result is not None
    result.shape, result.type = node.outputs[0].shape, node.outputs[0].type
    return "is a matrix product" + " and a sum" * bool(added), result


@dataclass(frozen=True)
class _Convolution:
    """A convolution to lower. All its sizes except the batch size are known.

    Attributes:
        channels: number of channels of the image.
        groups: number of channel groups.
        filters: number of output channels.
        spans, strides, dilations: sizes, strides and dilations of the windows for each axis.
        before, after: padding sizes before and after the image for each axis.
        places: spatial shape of the result.
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
        """The number of positions in a window, which is the number of shifted images in im2col."""
        return math.prod(self.spans)


def _convolution(node: ir.Node) -> _Convolution | str:
    """Returns the parameters of a convolution, or a string with the reason for not lowering it."""
    image, weight = (*node.inputs, None, None)[:2]
    if image is None or weight is None:
        return "it lacks an image or a weight"
    told = node.attributes
    pad = told.get_string("auto_pad", "NOTSET")
    if pad not in ("NOTSET", "VALID"):
        return f"its auto_pad is {pad}"
    shape, filter_shape = shape_of(image), shape_of(weight)
    if shape is None or filter_shape is None or not _is_static_shape((*shape[1:], *filter_shape)):
        return "a size is not known before it runs"
    rank, groups = len(shape) - 2, told.get_int("group", 1)
    strides = tuple(told.get_ints("strides", [1] * rank))
    dilations = tuple(told.get_ints("dilations", [1] * rank))
    pads = tuple(told.get_ints("pads", [0] * (2 * rank)))
    lengths = (len(filter_shape) - 2, len(strides), len(dilations), len(pads) / 2)
    if rank < 1 or {*lengths} != {rank} or min(groups, *strides, *dilations, *filter_shape) < 1:
        return _MALFORMED
    channels, filters, spans = shape[1], filter_shape[0], filter_shape[2:]
    windows = zip(shape[2:], spans, strides, dilations, pads[:rank], pads[rank:], strict=True)
    places = tuple(
        (size + before + after - (span - 1) * spread - 1) // step + 1
        for size, span, step, spread, before, after in windows
    )
    if (
        filter_shape[1] * groups != channels
        or filters % groups
        or min(*pads, *(one - 1 for one in places)) < 0
    ):
        return _MALFORMED
    return _Convolution(
        channels, groups, filters, spans, strides, dilations, pads[:rank], pads[rank:], places
    )


def _is_static_shape(sizes: Sequence[Any]) -> bool:
    return all(isinstance(size, int) for size in sizes)


class _Writer:
    """Builds operators for one opset version; `nodes` lists the operators in execution order."""

    def __init__(self, name: str, version: int):
        self.name, self.version = name, version
        self.nodes: list[ir.Node] = []

    def op(self, kind: str, *inputs: ir.Value | None, **attributes: Any) -> ir.Value:
        made = ir.node(kind, inputs, attributes, name=f"{self.name}/{kind}_{len(self.nodes)}")
        made.outputs[0].name = f"{made.name}_result"
        self.nodes.append(made)
        return made.outputs[0]

    def integer_constant(self, values: Sequence[int]) -> ir.Value:
        return self.op("Constant", value=ir.tensor(np.array(values, np.int64)))

    def pad_image(
        self, image: ir.Value | None, before: Sequence[int], after: Sequence[int]
    ) -> ir.Value:
        """Pads the spatial axes of an image with zeros."""
        pads = (0, 0, *before, 0, 0, *after)
        if self.version < PAD_INPUT_OPSET:
            return self.op("Pad", image, pads=pads)
        return self.op("Pad", image, self.integer_constant(pads))

    def slice_places(
        self,
        image: ir.Value | None,
        starts: Sequence[int],
        counts: Sequence[int],
        steps: Sequence[int],
    ) -> ir.Value:
        """Slices the spatial axes of an image by a start, a count and a step for each axis."""
        ends = [
            start + (count - 1) * step + 1
            for start, count, step in zip(starts, counts, steps, strict=True)
        ]
        axes = range(2, 2 + len(starts))
        if self.version >= STRIDED_SLICE_OPSET:
            return self.op("Slice", image, *map(self.integer_constant, (starts, ends, axes, steps)))
        found = self.op("Slice", image, starts=starts, ends=ends, axes=list(axes))
        for axis, count, step in zip(axes, counts, steps, strict=True):
            if step > 1:
                places = [place * step for place in range(count)]
                found = self.op("Gather", found, self.integer_constant(places), axis=axis)
        return found


def _write_im2col(found: _Convolution, node: ir.Node, w: _Writer) -> ir.Value:
    image, weight, *bias = node.inputs
    rank, depth = len(found.spans), found.channels // found.groups * found.windows
    if any((*found.before, *found.after)):
        image = w.pad_image(image, found.before, found.after)
    parts = []
    for at in itertools.product(*map(range, found.spans)):
        starts = [place * spread for place, spread in zip(at, found.dilations, strict=True)]
        parts.append(w.slice_places(image, starts, found.places, found.strides))
    columns = w.op("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
    matrix: tuple[int, ...] = (found.filters, depth)
    places = math.prod(found.places)  # not -1, which Reshape cannot infer if the batch size is 0
    if found.groups > 1:
        apart = (0, found.windows, found.groups, found.channels // found.groups, places)
        columns = w.op("Reshape", columns, w.integer_constant(apart))
        columns = w.op("Transpose", columns, perm=[0, 2, 1, 3, 4])
        columns = w.op("Reshape", columns, w.integer_constant((0, found.groups, depth, places)))
        matrix = (found.groups, found.filters // found.groups, depth)
    else:
        columns = w.op("Reshape", columns, w.integer_constant((0, depth, places)))
    turned = w.op("Transpose", weight, perm=[0, *range(2, 2 + rank), 1])
    result = w.op("MatMul", w.op("Reshape", turned, w.integer_constant(matrix)), columns)
    result = w.op("Reshape", result, w.integer_constant((0, found.filters, *found.places)))
    if bias and bias[0] is not None:
        row = w.op("Reshape", bias[0], w.integer_constant((found.filters, *(1,) * rank)))
        result = w.op("Add", result, row)
    result.shape, result.type = node.outputs[0].shape, node.outputs[0].type
    return result
