"""Writes the Python source of a net: MindSpore calls for operators, kernel calls for groups."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ms_fusion.graph import Graph, Node
from ms_fusion.onnx.cell.group_operator import is_differentiable
from ms_fusion.onnx.cell.operator_use import OperatorUse, python_literal
from ms_fusion.onnx.cell.operators import MODULES, OPERATORS
from ms_fusion.onnx.cell.sizes import is_size, size_text
from ms_fusion.onnx.kernels.group_kernel import inputs_with_data
from ms_fusion.ops import ONNX_OPERATORS
from ms_fusion.ops.call import ONNX_OP
from ms_fusion.readers.onnx_graph import ABSENT_INPUT
from tbe_impl.cann.python_names import Names, identifier, quote_name
from tbe_impl.errors import InputError

_RESERVED_NAMES = ("self", "mindspore", "ops", "nn", *MODULES, "Tensor", "construct", "training")
BLOCKS = frozenset({"If", "Loop", "SequenceMap"})
"""Operators whose source has several lines, because it includes the lines of their subgraphs."""
Bodies = Mapping[str, Mapping[str, Graph]]
"""Maps an operator's name, and then an attribute's name, to the subgraph in this attribute."""
HEAD = f'''"""A net from an ONNX model, written by ms_fusion: what is fused runs as a kernel, \
the rest is MindSpore's own."""

import mindspore
from mindspore import Tensor, nn, ops

from ms_fusion.onnx.cell import {", ".join(MODULES)}
'''


@dataclass(frozen=True)
class Constants:
    """The constants of a model by name.

    Attributes:
        array: function that returns the elements of the constant with a given name, or None if the
            name denotes a computed value.
        fixed: function that returns the constant with a given name as a tensor, or None for a
            constant that becomes a Parameter.
        is_fused: whether `auto_fuse` wrote the model.
    """

    array: Callable[[str], Any]
    fixed: Callable[[str], Any]
    is_fused: bool = False


@dataclass
class NetClass:
    """A generated Cell class: the class of the whole net, or of one fused group.

    Attributes:
        name: name of the class.
        lines: source lines of the class.
        parts: maps the name of an instance attribute to the primitive or constant that it holds.
        weights: maps the name of an attribute with a Parameter to the name of the model's constant.
        groups: maps the name of an attribute with a kernel to the kernel's group.
        sizes: names of the values that are Python tuples or integers instead of tensors.
    """

    name: str
    lines: list[str] = field(default_factory=list)
    parts: dict[str, Any] = field(default_factory=dict)
    weights: dict[str, str] = field(default_factory=dict)
    groups: dict[str, Node] = field(default_factory=dict)
    sizes: frozenset[str] = frozenset()


def check_supported(units: Sequence[Node], graph: Graph, bodies: Bodies) -> None:
    """Raises `InputError` if an operator has neither a MindSpore expression nor a kernel.

    The error names all such operators.
    """
    alone = set(_unfused_operators(units, graph, bodies))
    fused = {
        str(node.attr(ONNX_OP))
        for unit in units
        if unit.body is not None
        for node in unit.body.nodes
    }
    unknown = sorted(
        alone - OPERATORS.keys() - BLOCKS | fused - OPERATORS.keys() - ONNX_OPERATORS.keys()
    )
    if unknown:
        raise InputError(
            "there is no Cell of this operator"
            if len(unknown) == 1
            else "there is no Cell of these operators",
            place="from_onnx",
            got=", ".join(unknown),
            expected="one of those that docs/onnx.md lists",
        )


def _unfused_operators(units: Iterable[Node], graph: Graph, bodies: Bodies) -> Iterator[str]:
    """Yields the types of the operators outside of groups, including operators in subgraphs."""
    for node in units:
        if node.body is None and not is_size(node, graph):
            yield str(node.attr(ONNX_OP))
        for inner in bodies.get(node.name, {}).values():
            yield from _unfused_operators(inner.nodes, inner, bodies)


def write_class(
    name: str,
    graph: Graph,
    units: Sequence[Node],
    constants: Constants,
    kernel: Node | None = None,
    bodies: Bodies = {},  # noqa: B006
    sizes: frozenset[str] = frozenset(),
) -> NetClass:
    """Writes a class whose ``construct`` computes a graph.

    Args:
        name: name of the class.
        graph: the graph to compute.
        units: the operators and groups of the graph, in execution order.
        constants: the constants of the model.
        kernel: the whole graph as one group, or None. If `kernel` is a group, the class calls the
            group's kernel in inference, and computes the operators one by one in training.
        bodies: the subgraphs of the graph's operators.
        sizes: names of the values that the calling net passes to a group's class as Python tuples
            or integers instead of tensors.
    """
    return _Writer(name, graph, constants, bodies).run(units, kernel, sizes)


def _class_inputs(body: Graph, sizes: Set[str]) -> list[str]:
    """Returns the names of the inputs of the Cell class that is generated for a group.

    These are the inputs whose elements the group reads, and the inputs in `sizes`.
    """
    read = inputs_with_data(body)
    return [name for name in body.inputs if name in read or name in sizes]


class _Writer:
    def __init__(self, name: str, graph: Graph, constants: Constants, bodies: Bodies):
        from mindspore import nn

        self.graph, self.constants, self.bodies = graph, constants, bodies
        self.made, self.indent = NetClass(name), " " * 8
        self.names = Names(_RESERVED_NAMES)
        self.attributes = Names((*_RESERVED_NAMES, *dir(nn.Cell())))
        self.texts: dict[str, str] = {ABSENT_INPUT: ""}
        self.sizes: dict[str, str] = {}

    def run(self, units: Sequence[Node], kernel: Node | None, sizes: frozenset[str]) -> NetClass:
        inputs = [name for name in self.graph.inputs if self.graph.values[name].kind == "input"]
        inputs = inputs if kernel is None else _class_inputs(self.graph, sizes)
        own = {name: self.names.new(name) for name in inputs}
        self.made.lines += [
            "",
            "",
            f"class {self.made.name}(nn.Cell):",
            f"    def construct({', '.join(['self', *own.values()])}):",
        ]
        known = set[str]() if kernel is None else {*inputs} - {*inputs_with_data(self.graph)}
        self.sizes |= {name: text for name, text in own.items() if name in known}
        self.texts |= {name: text for name, text in own.items() if name not in known}
        if kernel is not None:
            self.say("if not self.training:")
            self.say(f"    return {self.kernel_call(kernel, inputs_with_data(self.graph))}")
        for node in units:
            self.line(node)
        self.say(f"return {self.results(self.graph.outputs)}")
        # A constant that no line reads gets no Parameter. For example, the scales of a Resize are
        # used only while the source is written.
        read = set(re.findall(r"self\.(\w+)", "\n".join(self.made.lines)))
        self.made.weights = {own: name for own, name in self.made.weights.items() if own in read}
        self.made.sizes = frozenset(self.sizes)
        return self.made

    def say(self, line: str) -> None:
        self.made.lines.append(f"{self.indent}{line}")

    @contextmanager
    def open_block(self, graph: Graph) -> Iterator[None]:
        """Context manager that writes the lines of an operator's subgraph as an indented block.

        Lines that the body of the ``with`` statement writes follow at the end of the block.
        """
        outside, self.graph, self.indent = self.graph, graph, f"{self.indent}    "
        for node in graph.nodes:
            self.line(node)
        yield
        self.graph, self.indent = outside, self.indent[:-4]

    def results(self, names: Iterable[str]) -> str:
        return ", ".join(map(self.result, names))

    def result(self, name: str) -> str:
        """Returns the Python expression of a graph output; a scalar constant becomes a tensor."""
        value = self.graph.values[name]
        if value.kind != "constant" or value.shape:
            return self.text(name)
        dtype = {"bool": "bool_"}.get(value.dtype, value.dtype)
        return f"Tensor({python_literal(value.data)}, mindspore.{dtype})"

    def kernel_call(self, group: Node, given: Sequence[str]) -> str:
        """Returns the Python expression that calls a group's kernel or the Cell of the group.

        A group without a gradient has a separate Cell, which calls the kernel in inference.
        """
        name = self.attributes.new(identifier(group.op))
        self.made.groups[name] = group
        read = inputs_with_data(group.fused_body)
        return (
            f"self.{name}("
            f"{', '.join(self.text(one) if one in read else self.sizes[one] for one in given)})"
        )

    def line(self, node: Node) -> None:
        if node.body is not None:
            inner = ", ".join(str(one.attr(ONNX_OP)) for one in node.body.nodes)
            self.say(f"# {quote_name(inner)}")
            alone = is_differentiable(node)
            value = self.kernel_call(
                node,
                inputs_with_data(node.body) if alone else _class_inputs(node.body, {*self.sizes}),
            )
        elif is_size(node, self.graph) and self.size(node):
            return
        elif node.attr(ONNX_OP) in BLOCKS:
            self.say(f"# {node.attr(ONNX_OP)} {quote_name(node.name)}")
            blocks = {
                "If": self.write_branches,
                "Loop": self.write_loop,
                "SequenceMap": self.write_sequence_map,
            }
            blocks[str(node.attr(ONNX_OP))](node, self.bodies[node.name])
            return
        else:
            value = OPERATORS[str(node.attr(ONNX_OP))](
                OperatorUse(
                    node,
                    self.graph,
                    tuple(map(self.text, node.inputs)),
                    self.sizes,
                    self.constants.array,
                    self.part,
                    self.constants.is_fused,
                )
            )
            self.say(f"# {node.attr(ONNX_OP)} {quote_name(node.name)}")
        self.say(f"{self.new_names(node.outputs)} = {value}")

    def new_names(self, values: Iterable[str]) -> str:
        """Allocates variable names for computed values.

        Returns the names joined by commas.
        """
        own = {name: self.names.new(name) for name in values}
        self.texts |= own
        return ", ".join(own.values())

    def write_branches(self, node: Node, bodies: Mapping[str, Graph]) -> None:
        """Writes the lines of both branches of an ``If``."""
        made = {name: self.names.new(name) for name in node.outputs}
        for head, body in (
            (f"if {self.result(node.inputs[0])}:", bodies["then_branch"]),
            ("else:", bodies["else_branch"]),
        ):
            self.say(head)
            with self.open_block(body):
                self.say(f"{', '.join(made.values())} = {self.results(body.outputs)}")
        self.texts |= made

    def write_loop(self, node: Node, bodies: Mapping[str, Graph]) -> None:
        """Writes a ``Loop`` whose trip count or condition is known only at run time.

        The Loop becomes a while statement.
        """
        body = bodies["body"]
        first, again, *state = (name for name in body.inputs if body.values[name].kind == "input")
        most, going, *starts = node.inputs[: 2 + len(state)]
        if len(body.outputs) > 1 + len(state):
            raise InputError(
                f"{node.attr(ONNX_OP)} is not supported in a Cell: it collects the results of "
                "iterations whose number is unknown before the net runs",
                place=node.name,
            )
        number, more = self.new_names([first]), self.new_names([again])
        self.say(f"{number} = Tensor(0, mindspore.int64)")
        self.say(f"{more} = {self.result(going) if going else 'Tensor(True)'}")
        for name, start in zip(state, starts, strict=True):
            self.say(f"{self.new_names([name])} = {self.result(start)}")
        own = [more, *(self.texts[name] for name in state)]
        limit = f"ops.logical_and({more}, {number} < {self.result(most)})" if most else more
        self.say(f"while {limit}:")
        with self.open_block(body):
            self.say(f"{', '.join(own)} = {self.results(body.outputs)}")
            self.say(f"{number} = {number} + 1")
        self.texts |= dict(zip(node.outputs, own[1:], strict=True))

    def write_sequence_map(self, node: Node, bodies: Mapping[str, Graph]) -> None:
        """Writes a ``SequenceMap`` as a for statement over the positions of the first sequence."""
        body = bodies["body"]
        own = [name for name in body.inputs if body.values[name].kind == "input"]
        given = [self.text(name) for name in node.inputs[: len(own)]]
        results = [self.names.new(name) for name in node.outputs]
        self.say(f"{' = '.join(results)} = ()")
        place = self.names.new("place")
        self.say(f"for {place} in range(len({given[0]})):")
        for name, text in zip(own, given, strict=True):
            self.texts[name] = f"sequences.element({text}, {place})"
        with self.open_block(body):
            for result, name in zip(results, body.outputs, strict=True):
                self.say(f"{result} = {result} + ({self.result(name)},)")
        self.texts |= dict(zip(node.outputs, results, strict=True))

    def size(self, node: Node) -> bool:
        """Writes an operator of shape arithmetic as an expression of Python tuples and integers.

        Returns True if the expression was written. Returns False and writes nothing if the result
        must be computed as a tensor.
        """
        found = size_text(node, self.graph, self.sizes, self.texts)
        if found is not None:
            (name,) = node.outputs
            own = self.names.new(name)
            self.say(f"{own} = {found}")
            self.sizes[name] = own
        return found is not None

    def text(self, name: str) -> str:
        """Returns the Python expression of a value."""
        if name in self.texts:
            return self.texts[name]
        if name in self.sizes:
            dtype = self.graph.values[name].dtype
            return f"Tensor({self.sizes[name]}, mindspore.{'bool_' if dtype == 'bool' else dtype})"
        value = self.graph.values[name]
        if value.kind == "constant" and not value.shape and isinstance(value.data, (int, float)):
            self.texts[name] = python_literal(value.data)
            return self.texts[name]
        held, own = self.constants.fixed(name), self.attributes.new(name)
        if held is None:
            self.made.weights[own] = name
        else:
            self.made.parts[own] = held
        self.texts[name] = f"self.{own}"
        return self.texts[name]

    def part(self, stem: str, item: Any) -> str:
        own = self.attributes.new_numbered(stem)
        self.made.parts[own] = item
        return f"self.{own}"
