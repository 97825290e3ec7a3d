"""The Python of a net: one line of MindSpore for each operator, one call of a kernel for each group."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ms_fusion.formats.onnx_graph import ABSENT, ONNX_OP
from ms_fusion.graph import Graph, Node
from ms_fusion.onnx_cell.groups import is_differentiable
from ms_fusion.onnx_cell.operator_use import Use, number
from ms_fusion.onnx_cell.operators import MODULES, OPERATORS
from ms_fusion.onnx_cell.sizes import is_size, size_text
from ms_fusion.onnx_fusion.kernels import read_inputs
from ms_fusion.onnx_fusion.lowering_rules import MEANINGS
from ms_fusion.onnx_fusion.python_names import Names, identifier, quoted
from tbe_impl.errors import InputError

_TAKEN = ("self", "mindspore", "ops", "nn", *MODULES, "Tensor", "construct", "training")
BLOCKS = frozenset({"If", "Loop", "SequenceMap"})
"""Operators that become several lines, with those of their graphs."""
Bodies = Mapping[str, Mapping[str, Graph]]
"""Operator → name of an attribute → the graph that it is."""
HEAD = f'''"""A net from an ONNX model, written by ms_fusion: what is fused runs as a kernel, the rest is MindSpore's own."""

import mindspore
from mindspore import Tensor, nn, ops

from ms_fusion.onnx_cell import {", ".join(MODULES)}
'''


@dataclass(frozen=True)
class Constants:
    """What a model knows beforehand, by name.

    Attributes:
        array: the numbers; None for what is computed.
        fixed: a constant as a tensor; None for one that is a parameter.
        is_fused: whether the model was fused.
    """

    array: Callable[[str], Any]
    fixed: Callable[[str], Any]
    is_fused: bool = False


@dataclass
class Written:
    """A class of a net.

    Attributes:
        name: of the class.
        lines: what stands in the file.
        parts: attributes of its instance: primitives and constants.
        weights: attribute → the model's constant that it is, for parameters.
        groups: attribute → the group whose kernel it is.
        sizes: values that are tuples or numbers of Python, no tensors.
    """

    name: str
    lines: list[str] = field(default_factory=list)
    parts: dict[str, Any] = field(default_factory=dict)
    weights: dict[str, str] = field(default_factory=dict)
    groups: dict[str, Node] = field(default_factory=dict)
    sizes: frozenset[str] = frozenset()


def check_known(units: Sequence[Node], graph: Graph, bodies: Bodies) -> None:
    """Raises `InputError` that names every operator that neither a Cell nor a kernel can have."""
    alone = set(_alone(units, graph, bodies))
    fused = {
        str(node.attr(ONNX_OP))
        for unit in units
        if unit.body is not None
        for node in unit.body.nodes
    }
    unknown = sorted(alone - OPERATORS.keys() - BLOCKS | fused - OPERATORS.keys() - MEANINGS.keys())
    if unknown:
        raise InputError(
            "there is no Cell of this operator"
            if len(unknown) == 1
            else "there is no Cell of these operators",
            place="from_onnx",
            got=", ".join(unknown),
            expected="one of those that docs/onnx.md lists",
        )


def _alone(units: Iterable[Node], graph: Graph, bodies: Bodies) -> Iterator[str]:
    """The operators that are in no group, those of graphs within them too."""
    for node in units:
        if node.body is None and not is_size(node, graph):
            yield str(node.attr(ONNX_OP))
        for inner in bodies.get(node.name, {}).values():
            yield from _alone(inner.nodes, inner, bodies)


def written(name: str, graph: Graph, units: Sequence[Node], constants: Constants, kernel: Node | None = None, bodies: Bodies = {}, sizes: frozenset[str] = frozenset()) -> Written:  # fmt: skip # noqa: B006
    """A class whose ``construct`` computes a graph.

    Args:
        name: of the class.
        graph: what is computed.
        units: its operators and groups, in order.
        constants: of the model.
        kernel: the same as one group: then its kernel is called, and the operators only in training.
        bodies: graphs of operators.
        sizes: what a net that calls a kernel's class knows as such, and hands over.
    """
    return _Writer(name, graph, constants, bodies).run(units, kernel, sizes)


def _handed(body: Graph, sizes: Set[str]) -> list[str]:
    """The inputs of a group's class: those that its kernel reads, and of the others, which are shapes, those that are known."""
    read = read_inputs(body)
    return [name for name in body.inputs if name in read or name in sizes]


class _Writer:
    def __init__(self, name: str, graph: Graph, constants: Constants, bodies: Bodies):
        from mindspore import nn

        self.graph, self.constants, self.bodies = graph, constants, bodies
        self.made, self.indent = Written(name), " " * 8
        self.names = Names(_TAKEN)
        self.attributes = Names((*_TAKEN, *dir(nn.Cell())))
        self.texts: dict[str, str] = {ABSENT: ""}
        self.sizes: dict[str, str] = {}

    def run(self, units: Sequence[Node], kernel: Node | None, sizes: frozenset[str]) -> Written:
        inputs = [name for name in self.graph.inputs if self.graph.values[name].kind == "input"]
        inputs = inputs if kernel is None else _handed(self.graph, sizes)
        own = {name: self.names.new(name) for name in inputs}
        self.made.lines += [
            "",
            "",
            f"class {self.made.name}(nn.Cell):",
            f"    def construct({', '.join(['self', *own.values()])}):",
        ]
        known = set[str]() if kernel is None else {*inputs} - {*read_inputs(self.graph)}
        self.sizes |= {name: text for name, text in own.items() if name in known}
        self.texts |= {name: text for name, text in own.items() if name not in known}
        if kernel is not None:
            self.say("if not self.training:")
            self.say(f"    return {self.called(kernel, read_inputs(self.graph))}")
        for node in units:
            self.line(node)
        self.say(f"return {self.results(self.graph.outputs)}")
        # a constant that is only looked at, such as the scales of a Resize, is no weight
        read = set(re.findall(r"self\.(\w+)", "\n".join(self.made.lines)))
        self.made.weights = {own: name for own, name in self.made.weights.items() if own in read}
        self.made.sizes = frozenset(self.sizes)
        return self.made

    def say(self, line: str) -> None:
        self.made.lines.append(f"{self.indent}{line}")

    @contextmanager
    def inside(self, graph: Graph) -> Iterator[None]:
        """A block with the lines of an operator's graph."""
        outside, self.graph, self.indent = self.graph, graph, f"{self.indent}    "
        for node in graph.nodes:
            self.line(node)
        yield
        self.graph, self.indent = outside, self.indent[:-4]

    def results(self, names: Iterable[str]) -> str:
        return ", ".join(map(self.result, names))

    def result(self, name: str) -> str:
        """What is handed back: a tensor, also where it is a number that is known."""
        value = self.graph.values[name]
        if value.kind != "constant" or value.shape:
            return self.text(name)
        dtype = {"bool": "bool_"}.get(value.dtype, value.dtype)
        return f"Tensor({number(value.data)}, mindspore.{dtype})"

    def called(self, group: Node, given: Sequence[str]) -> str:
        """The call of a kernel, or of the class that has one."""
        assert group.body is not None
        name = self.attributes.new(identifier(group.op))
        self.made.groups[name] = group
        read = read_inputs(group.body)
        return f"self.{name}({', '.join(self.text(one) if one in read else self.sizes[one] for one in given)})"

    def line(self, node: Node) -> None:
        if node.body is not None:
            inner = ", ".join(str(one.attr(ONNX_OP)) for one in node.body.nodes)
            self.say(f"# {quoted(inner)}")
            alone = is_differentiable(node)
            value = self.called(
                node, read_inputs(node.body) if alone else _handed(node.body, {*self.sizes})
            )
        elif is_size(node, self.graph) and self.size(node):
            return
        elif node.attr(ONNX_OP) in BLOCKS:
            self.say(f"# {node.attr(ONNX_OP)} {quoted(node.name)}")
            blocks = {"If": self.branches, "Loop": self.rounds, "SequenceMap": self.mapped}
            blocks[str(node.attr(ONNX_OP))](node, self.bodies[node.name])
            return
        else:
            value = OPERATORS[str(node.attr(ONNX_OP))](
                Use(
                    node,
                    self.graph,
                    tuple(map(self.text, node.inputs)),
                    self.sizes,
                    self.constants.array,
                    self.part,
                    self.constants.is_fused,
                )
            )
            self.say(f"# {node.attr(ONNX_OP)} {quoted(node.name)}")
        self.say(f"{self.named(node.outputs)} = {value}")

    def named(self, values: Iterable[str]) -> str:
        """New names for values that are computed here."""
        own = {name: self.names.new(name) for name in values}
        self.texts |= own
        return ", ".join(own.values())

    def branches(self, node: Node, bodies: Mapping[str, Graph]) -> None:
        """``If``: the lines of both graphs, of which one is run."""
        made = {name: self.names.new(name) for name in node.outputs}
        for head, body in (
            (f"if {self.result(node.inputs[0])}:", bodies["then_branch"]),
            ("else:", bodies["else_branch"]),
        ):
            self.say(head)
            with self.inside(body):
                self.say(f"{', '.join(made.values())} = {self.results(body.outputs)}")
        self.texts |= made

    def rounds(self, node: Node, bodies: Mapping[str, Graph]) -> None:
        """``Loop``: as many rounds as its number or its condition says, which is known when the net runs."""
        body = bodies["body"]
        first, again, *state = (name for name in body.inputs if body.values[name].kind == "input")
        most, going, *starts = node.inputs[: 2 + len(state)]
        if len(body.outputs) > 1 + len(state):
            raise InputError(
                f"{node.attr(ONNX_OP)} has no Cell here: it collects results of rounds whose number is not known before the net runs",
                place=node.name,
            )
        number, more = self.named([first]), self.named([again])
        self.say(f"{number} = Tensor(0, mindspore.int64)")
        self.say(f"{more} = {self.result(going) if going else 'Tensor(True)'}")
        for name, start in zip(state, starts, strict=True):
            self.say(f"{self.named([name])} = {self.result(start)}")
        own = [more, *(self.texts[name] for name in state)]
        limit = f"ops.logical_and({more}, {number} < {self.result(most)})" if most else more
        self.say(f"while {limit}:")
        with self.inside(body):
            self.say(f"{', '.join(own)} = {self.results(body.outputs)}")
            self.say(f"{number} = {number} + 1")
        self.texts |= dict(zip(node.outputs, own[1:], strict=True))

    def mapped(self, node: Node, bodies: Mapping[str, Graph]) -> None:
        """``SequenceMap``: a round for each element of the first sequence, in which the body gets those of all sequences."""
        body = bodies["body"]
        own = [name for name in body.inputs if body.values[name].kind == "input"]
        given = [self.text(name) for name in node.inputs[: len(own)]]
        results = [self.names.new(name) for name in node.outputs]
        self.say(f"{' = '.join(results)} = ()")
        place = self.names.new("place")
        self.say(f"for {place} in range(len({given[0]})):")
        for name, text in zip(own, given, strict=True):
            self.texts[name] = f"sequences.element({text}, {place})"
        with self.inside(body):
            for result, name in zip(results, body.outputs, strict=True):
                self.say(f"{result} = {result} + ({self.result(name)},)")
        self.texts |= dict(zip(node.outputs, results, strict=True))

    def size(self, node: Node) -> bool:
        """Enters what is known while the net is compiled; False when it is not."""
        found = size_text(node, self.graph, self.sizes, self.texts)
        if found is not None:
            (name,) = node.outputs
            own = self.names.new(name)
            self.say(f"{own} = {found}")
            self.sizes[name] = own
        return found is not None

    def text(self, name: str) -> str:
        """What stands for a value in an expression."""
        if name in self.texts:
            return self.texts[name]
        if name in self.sizes:
            dtype = self.graph.values[name].dtype
            return f"Tensor({self.sizes[name]}, mindspore.{'bool_' if dtype == 'bool' else dtype})"
        value = self.graph.values[name]
        if value.kind == "constant" and not value.shape and isinstance(value.data, (int, float)):
            self.texts[name] = number(value.data)
            return self.texts[name]
        held, own = self.constants.fixed(name), self.attributes.new(name)
        if held is None:
            self.made.weights[own] = name
        else:
            self.made.parts[own] = held
        self.texts[name] = f"self.{own}"
        return self.texts[name]

    def part(self, stem: str, item: Any) -> str:
        own = self.attributes.numbered(stem)
        self.made.parts[own] = item
        return f"self.{own}"
