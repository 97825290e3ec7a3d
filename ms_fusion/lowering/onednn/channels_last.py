"""Propagates channels-last layouts (NHWC) between library calls, to save layout conversions.

oneDNN is as fast on NHWC as on its blocked layouts, and the speed of our kernels does not depend on
the layout. The NHWC form of a value is named ``NAME@last``. Inputs and outputs of the group (fused
subgraph) keep MindSpore's layout, NCHW.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from custom_ops.onednn import quick_channels_last
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.lowering.onednn.channels_last_profitability import (
    OperatorKinds,
    is_single_pixel,
    profitable_results,
)
from ms_fusion.ops import operators_with
from ms_fusion.ops.op_info import Trait

NCHW_TO_NHWC, NHWC_TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)
CONVOLUTIONS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "Conv2D": (("x",), "y"),
    "Conv2DBackpropInput": (("grad",), "grad_x"),
    "Conv2DBackpropFilter": (("grad", "x"), ""),
}
"""A dict from an operator to (names of its leading inputs that are images, name of its result).

The names are those of oneDNN's arguments. If the result is not an image, its name is empty.
"""
REDUCTIONS = operators_with(Trait.ANY_LAYOUT | Trait.REDUCTION)
ELEMENTWISE = operators_with(Trait.ANY_LAYOUT) - REDUCTIONS
MAX_POOLING = frozenset({"MaxPool", "MaxPoolGrad"})
AVERAGE_POOLING = frozenset({"AvgPool", "AvgPoolGrad"})
"""Types of average pooling operators.

The inputs of these operators are the images, then window, strides, padding mode and data format.
"""
POOLING = MAX_POOLING | AVERAGE_POOLING
RESIZE_OPERATORS = frozenset(
    "AdaptiveAvgPool2D AdaptiveAvgPool2DGrad "
    "ResizeNearestNeighbor ResizeNearestNeighborGrad".split()
)
"""Resizing operators, whose first input is the image."""
NCHW_ORDER, NHWC_ORDER = (0, (0,)), 1
"""Values of AvgPool's data format argument: the values that mean NCHW, and the NHWC value."""
KINDS = OperatorKinds(
    {op: (len(images), bool(result)) for op, (images, result) in CONVOLUTIONS.items()},
    ELEMENTWISE,
    POOLING | RESIZE_OPERATORS,
    REDUCTIONS,
)


def propagate_channels_last(graph: Graph) -> Graph:
    """Changes images between convolutions to NHWC where NHWC is profitable; returns the new graph.

    Returns the graph itself if NHWC saves no layout conversion.
    """
    count = sum(node.op in CONVOLUTIONS for node in graph)
    return _Rewriter(graph).run() if count and quick_channels_last() else graph


@dataclass
class _Rewriter:
    graph: Graph
    nodes: list[Node] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)
    last: dict[str, str] = field(default_factory=dict)
    plain: set[str] = field(default_factory=set)
    paying: frozenset[str] = frozenset()

    def run(self) -> Graph:
        self.values, self.paying = dict(self.graph.values), profitable_results(self.graph, KINDS)
        self.plain = set(self.graph.inputs)
        for node in self.graph.nodes:
            if not self._rewrite_channels_last(node):
                for name in node.inputs:
                    self._need_plain(name)
                self.nodes.append(node)
                self.plain.update(node.outputs)
        for name in self.graph.outputs:
            self._need_plain(name)
        return replace(self.graph, nodes=tuple(self.nodes), values=self.values)

    def _rewrite_channels_last(self, node: Node) -> bool:
        """Emits a node with NHWC images; returns False if the node must stay NCHW."""
        if node.op in CONVOLUTIONS:
            return self._convolution(node)
        if not any(name in self.last for name in node.inputs):
            return False
        if node.op in ELEMENTWISE:
            return self._elementwise(node)
        if node.op in REDUCTIONS:
            return self._reduction(node)
        if node.op in AVERAGE_POOLING:
            return self._mean_pooling(node)
        if node.op in RESIZE_OPERATORS:
            return self._resizing(node)
        return node.op in MAX_POOLING and self._max_pooling(node)

    # -- operators

    def _convolution(self, node: Node) -> bool:
        names, result = CONVOLUTIONS[node.op]
        output = node.outputs[0]
        if self.graph.values[output].dtype == "float64":
            return False
        images = [self.last.get(name, name) for name in node.inputs[: len(names)]]
        told = [name for name, image in zip(names, images, strict=True) if image.endswith("@last")]
        if result and output in self.paying:
            told.append(result)
            output = self._new_channels_last(output)
        inputs = (*images, *node.inputs[len(names) :])
        for name in inputs:
            if not name.endswith("@last"):
                self._need_plain(name)
        self._add(node, inputs, output, channels_last=tuple(told))
        return True

    def _elementwise(self, node: Node) -> bool:
        output = self.graph.values[node.outputs[0]]
        if len(output.shape) != 4:
            return False
        inputs = tuple(self._channels_last_form(name) for name in node.inputs)
        self._add(node, inputs, self._new_channels_last(output.name))
        return True

    def _reduction(self, node: Node) -> bool:
        if node.op == "BiasAddGrad":
            self._add(node, (self.last[node.inputs[0]],), node.outputs[0], data_format="NHWC")
            return True
        given = (
            self.graph.values[node.inputs[1]].data if len(node.inputs) > 1 else node.attr("axis")
        )
        axes = {axis % 4 for axis in ((given,) if isinstance(given, int) else given or range(4))}
        keep = bool(node.attr("keep_dims", False))
        kept = [axis for axis in NCHW_TO_NHWC if axis not in axes]
        if len(node.inputs) > 2 or (not keep and kept != sorted(kept)):
            return False
        moved = tuple(sorted(NCHW_TO_NHWC.index(axis) for axis in axes))
        over = self._constant(f"{node.name} axes", moved, "int64", (len(moved),))
        output = self._new_channels_last(node.outputs[0]) if keep else node.outputs[0]
        self._add(node, (self.last[node.inputs[0]], over), output)
        if not keep:
            self.plain.add(output)
        return True

    def _max_pooling(self, node: Node) -> bool:
        if node.attr("format", "NCHW") != "NCHW":
            return False
        told = {
            name: tuple(node.attr(name)[axis] for axis in NCHW_TO_NHWC)
            for name in ("kernel_size", "strides")
        }
        inputs = tuple(self._channels_last_form(name) for name in node.inputs)
        self._add(node, inputs, self._new_channels_last(node.outputs[0]), format="NHWC", **told)
        return True

    def _mean_pooling(self, node: Node) -> bool:
        *others, image = node.inputs[:-4]
        if image not in self.last or self.graph.values[node.inputs[-1]].data not in NCHW_ORDER:
            return False
        # Only the shapes of the other inputs are used, not their data.
        images = (*(self.last.get(name, name) for name in others), self.last[image])
        order = self._constant(f"{node.name} order", NHWC_ORDER, "int64", ())
        output = self._new_channels_last(node.outputs[0])
        self._add(node, (*images, *node.inputs[-4:-1], order), output)
        return True

    def _resizing(self, node: Node) -> bool:
        image, *others = node.inputs
        if image not in self.last or node.attr("format", "NCHW") != "NCHW":
            return False
        self._add(
            node,
            (self.last[image], *others),
            self._new_channels_last(node.outputs[0]),
            format="NHWC",
        )
        return True

    # -- values

    def _add(self, node: Node, inputs: tuple[str, ...], output: str, **attributes: object) -> None:
        attrs = tuple(sorted({**dict(node.attrs), **attributes}.items()))
        self.nodes.append(replace(node, inputs=inputs, outputs=(output,), attrs=attrs))
        if output in self.graph.values:
            self.plain.add(output)

    def _new_channels_last(self, name: str) -> str:
        """Declares the NHWC form of the result `name`; returns the name of the NHWC form.

        The caller then adds the node that computes the NHWC form.
        """
        self.last[name] = self._value(
            name, f"{name}@last", [self.graph.values[name].shape[axis] for axis in NCHW_TO_NHWC]
        )
        return self.last[name]

    def _channels_last_form(self, name: str) -> str:
        """Returns the name of a value's NHWC form; adds a layout conversion if the form is missing.

        A value with a single element needs no conversion, so its own name is returned.
        """
        value = self.graph.values[name]
        if name in self.last or value.elements == 1:
            return self.last.get(name, name)
        padded = (1,) * (4 - len(value.shape)) + value.shape
        self._need_plain(name)
        source = name
        if len(value.shape) < 4:
            source = self._add_layout_conversion("Reshape", name, f"{name}@four", padded, padded)
        turned = [padded[axis] for axis in NCHW_TO_NHWC]
        if sum(size != 1 for size in padded) == 1:
            self.last[name] = self._add_layout_conversion(
                "Reshape", name, f"{name}@last", turned, turned
            )
        else:
            self.last[name] = self._add_layout_conversion(
                "Transpose", source, f"{name}@last", turned, NCHW_TO_NHWC
            )
        return self.last[name]

    def _need_plain(self, name: str) -> None:
        """Adds a layout conversion to NCHW for a value that exists only in NHWC."""
        if name in self.last and name not in self.plain:
            shape = self.graph.values[name].shape
            if is_single_pixel(shape):
                self._add_layout_conversion("Reshape", self.last[name], name, shape, shape)
            else:
                self._add_layout_conversion("Transpose", self.last[name], name, shape, NHWC_TO_NCHW)
            self.plain.add(name)

    def _add_layout_conversion(
        self,
        op: str,
        source: str,
        target: str,
        shape: Sequence[int | str],
        told: Sequence[int | str],
    ) -> str:
        if target not in self.values:
            self._value(source, target, shape)
        argument = self._constant(f"{target} {op}", tuple(told), "int64", (len(told),))
        self.nodes.append(Node(f"{target} {op}-op", op, (source, argument), (target,)))
        return target

    def _value(self, like: str, name: str, shape: Sequence[int | str]) -> str:
        self.values[name] = replace(
            self.values[like], name=name, shape=tuple(shape), kind="result", data=None
        )
        return name

    def _constant(self, name: str, data: object, dtype: str, shape: tuple[int, ...]) -> str:
        self.values[name] = Value(name, shape, dtype, kind="constant", data=data)
        return name
