"""Propagates channels-last layouts between library calls, so that none is converted.

The library is as quick so as in layouts of its own, and our kernels compute on such images as on any array. A value with a
second form is named ``NAME@last``. At the edges of the group everything lies as MindSpore has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from custom_ops.onednn import quick_channels_last
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.kernel_server.channels_last_profitability import Kinds, is_one_place, worth_it

TO_LAST, TO_PLAIN = (0, 2, 3, 1), (0, 3, 1, 2)
CONVOLUTIONS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "Conv2D": (("x",), "y"),
    "Conv2DBackpropInput": (("grad",), "grad_x"),
    "Conv2DBackpropFilter": (("grad", "x"), ""),
}
"""Operator → what its first inputs, the images, and its result, if that is an image, are called by the library."""
ELEMENTWISE = frozenset(
    """Abs Neg Sign Square Sqrt Rsqrt Reciprocal Exp Log Tanh Erf Sigmoid Cast Add Sub Mul Div RealDiv Pow Maximum Minimum
    SquaredDifference Equal NotEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr LogicalNot Select
    SqrtGrad SiLU ReLU6 ReLU6Grad HSigmoid HSigmoidGrad HSwish HSwishGrad Elu EluGrad Mish""".split()
)
REDUCTIONS = frozenset("ReduceSum ReduceMean ReduceMax ReduceMin BiasAddGrad".split())
LARGEST = frozenset({"MaxPool", "MaxPoolGrad"})
MEANS = frozenset({"AvgPool", "AvgPoolGrad"})
"""Behind their images stand window, strides, kind of padding and order of axes."""
POOLING = LARGEST | MEANS
RESIZING = frozenset(
    "AdaptiveAvgPool2D AdaptiveAvgPool2DGrad ResizeNearestNeighbor ResizeNearestNeighborGrad".split()
)
"""Their image comes first."""
PLAIN_ORDER, LAST_ORDER = (0, (0,)), 1
"""As AvgPool is told it: NCHW, NHWC."""
KINDS = Kinds(
    {op: (len(images), bool(result)) for op, (images, result) in CONVOLUTIONS.items()},
    ELEMENTWISE,
    POOLING | RESIZING,
    REDUCTIONS,
)


def channels_last(graph: Graph) -> Graph:
    """The graph with images between convolutions in the second form; as it is where nothing is won."""
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
        self.values, self.paying = dict(self.graph.values), worth_it(self.graph, KINDS)
        self.plain = set(self.graph.inputs)
        for node in self.graph.nodes:
            if not self._done_last(node):
                for name in node.inputs:
                    self._need_plain(name)
                self.nodes.append(node)
                self.plain.update(node.outputs)
        for name in self.graph.outputs:
            self._need_plain(name)
        return replace(self.graph, nodes=tuple(self.nodes), values=self.values)

    def _done_last(self, node: Node) -> bool:
        """Whether a node was written with images in the second form."""
        if node.op in CONVOLUTIONS:
            return self._convolution(node)
        if not any(name in self.last for name in node.inputs):
            return False
        if node.op in ELEMENTWISE:
            return self._elementwise(node)
        if node.op in REDUCTIONS:
            return self._reduction(node)
        if node.op in MEANS:
            return self._mean_pooling(node)
        if node.op in RESIZING:
            return self._resizing(node)
        return node.op in LARGEST and self._max_pooling(node)

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
            output = self._new_last(output)
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
        inputs = tuple(self._as_last(name) for name in node.inputs)
        self._add(node, inputs, self._new_last(output.name))
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
        kept = [axis for axis in TO_LAST if axis not in axes]
        if len(node.inputs) > 2 or (not keep and kept != sorted(kept)):
            return False
        moved = tuple(sorted(TO_LAST.index(axis) for axis in axes))
        over = self._constant(f"{node.name} axes", moved, "int64", (len(moved),))
        output = self._new_last(node.outputs[0]) if keep else node.outputs[0]
        self._add(node, (self.last[node.inputs[0]], over), output)
        if not keep:
            self.plain.add(output)
        return True

    def _max_pooling(self, node: Node) -> bool:
        if node.attr("format", "NCHW") != "NCHW":
            return False
        told = {
            name: tuple(node.attr(name)[axis] for axis in TO_LAST)
            for name in ("kernel_size", "strides")
        }
        inputs = tuple(self._as_last(name) for name in node.inputs)
        self._add(node, inputs, self._new_last(node.outputs[0]), format="NHWC", **told)
        return True

    def _mean_pooling(self, node: Node) -> bool:
        *others, image = node.inputs[:-4]
        if image not in self.last or self.graph.values[node.inputs[-1]].data not in PLAIN_ORDER:
            return False
        # of the others nothing but the shape is read
        images = (*(self.last.get(name, name) for name in others), self.last[image])
        order = self._constant(f"{node.name} order", LAST_ORDER, "int64", ())
        output = self._new_last(node.outputs[0])
        self._add(node, (*images, *node.inputs[-4:-1], order), output)
        return True

    def _resizing(self, node: Node) -> bool:
        image, *others = node.inputs
        if image not in self.last or node.attr("format", "NCHW") != "NCHW":
            return False
        self._add(node, (self.last[image], *others), self._new_last(node.outputs[0]), format="NHWC")
        return True

    # -- values

    def _add(self, node: Node, inputs: tuple[str, ...], output: str, **attributes: object) -> None:
        attrs = tuple(sorted({**dict(node.attrs), **attributes}.items()))
        self.nodes.append(replace(node, inputs=inputs, outputs=(output,), attrs=attrs))
        if output in self.graph.values:
            self.plain.add(output)

    def _new_last(self, name: str) -> str:
        """The second form of a result, which is about to be made."""
        self.last[name] = self._value(
            name, f"{name}@last", [self.graph.values[name].shape[axis] for axis in TO_LAST]
        )
        return self.last[name]

    def _as_last(self, name: str) -> str:
        """The second form of a value; numbers without axes have none."""
        value = self.graph.values[name]
        if name in self.last or value.elements == 1:
            return self.last.get(name, name)
        padded = (1,) * (4 - len(value.shape)) + value.shape
        self._need_plain(name)
        source = name
        if len(value.shape) < 4:
            source = self._moved("Reshape", name, f"{name}@four", padded, padded)
        turned = [padded[axis] for axis in TO_LAST]
        if sum(size != 1 for size in padded) == 1:
            self.last[name] = self._moved("Reshape", name, f"{name}@last", turned, turned)
        else:
            self.last[name] = self._moved("Transpose", source, f"{name}@last", turned, TO_LAST)
        return self.last[name]

    def _need_plain(self, name: str) -> None:
        """Makes the first form of a value that has but the second."""
        if name in self.last and name not in self.plain:
            shape = self.graph.values[name].shape
            if is_one_place(shape):
                self._moved("Reshape", self.last[name], name, shape, shape)
            else:
                self._moved("Transpose", self.last[name], name, shape, TO_PLAIN)
            self.plain.add(name)

    def _moved(
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
