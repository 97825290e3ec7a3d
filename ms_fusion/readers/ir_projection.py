"""Converts a dump that `ms_fusion.readers.ir_text` has parsed to graphs.

The node of a fused kernel contains a body, which is the graph of the kernel's operators.

The conversion removes bookkeeping of the framework: loads, monads, and the packing and unpacking of
tuples. So each edge of the graph is a tensor that one operator passes to another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import NoReturn

from ms_fusion.graph import Graph, Node, Source, Value
from ms_fusion.readers.ir_terms import REMEDY, Group, Literal, Reference, Term
from ms_fusion.readers.ir_text import Document, Parameter, Section, Statement
from ms_fusion.readers.ir_types import UNKNOWN_TYPE, Leaf, Type
from ms_fusion.readers.refusal import refuse
from ms_fusion.source_paths import is_mindspore_file

NOISE_ATTRIBUTES = frozenset(
    {
        "IsFeatureMapOutput",
        "IsFeatureMapInputList",
        "checkpoint",
        "is_dynamic_len",
        "unique_id",
        "forward_unique_id",
    }
)
"""Names of attributes that contain no information about the operator."""


@dataclass(frozen=True)
class _Bundle:
    """A tuple of operands; it exists during the conversion and has no counterpart in the graph."""

    items: tuple[_Operand, ...]
    leaves: int
    depth: int


@dataclass(frozen=True)
class _NamedOperand:
    """An operand that is a value of the graph, with the value's name."""

    name: str


_Operand = _NamedOperand | Literal | _Bundle | None
"""The operand that a name in the dump denotes, or None for a monad (a token of side effects)."""

_KERNEL_NAME = re.compile(r"(?:^|/)GraphKernel_(.+?)(?:-op\d+)?$")
_CALLEE = re.compile(r"%(para)?(\d+)")
_MAX_BUNDLE_DEPTH = 64


@dataclass
class IrProjector:
    """Converts one parsed dump to graphs.

    A small file may contain many references to the same tuple or kernel. `budget` limits the number
    of elements that are created when these references are expanded.
    """

    document: Document
    budget: int
    kernels: set[str] = field(default_factory=set)
    bodies: dict[tuple[str, str], Graph] = field(default_factory=dict)
    entry_parameters: dict[str, Parameter] = field(default_factory=dict)
    open_graphs: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.entry_parameters = {
            parameter.index: parameter for parameter in self.document.parameters
        }

    def graph(self, section: Section, subgraph: str, formats: tuple[str, ...] = ()) -> Graph:
        if section.name in self.open_graphs:
            self.fail(f"graph @{section.name} calls itself", section.line)
        if len(self.open_graphs) > 32:
            self.fail("kernels are nested too deeply", section.line)
        self.open_graphs.append(section.name)
        built = _GraphBuilder(self, section, subgraph, formats).build()
        self.open_graphs.pop()
        return built

    def body(self, section: Section, subgraph: str, formats: tuple[str, ...]) -> Graph:
        """Returns the body of a fused kernel.

        `subgraph` is the name of the sub-graph that calls the kernel. Each calling sub-graph gets a
        body of its own.
        """
        key = (section.name, subgraph)
        if key not in self.bodies:
            if section.name in self.kernels:
                self.spend(100 * len(section.statements), section.line)
            self.kernels.add(section.name)
            self.bodies[key] = self.graph(section, subgraph, formats)
        return self.bodies[key]

    def spend(self, count: int, line: int) -> None:
        self.budget -= count
        if self.budget < 0:
            self.fail("expanding the aliases in this dump makes it too large", line)

    def fail(self, what: str, line: int) -> NoReturn:
        refuse(what, file=self.document.file, line=line + 1, remedy=REMEDY)


@dataclass
class _GraphBuilder:
    projection: IrProjector
    section: Section
    subgraph: str
    formats: tuple[str, ...]
    values: dict[str, Value] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    outputs: tuple[str, ...] = ()
    names: set[str] = field(default_factory=set)
    repeats: dict[str, int] = field(default_factory=dict)
    local: dict[str, _Operand] = field(default_factory=dict)
    parameters: dict[str, _Operand] = field(default_factory=dict)
    free: dict[str, _Operand] = field(default_factory=dict)

    def build(self) -> Graph:
        is_entry = self.section.name == self.projection.document.entry
        parameters = self.section.parameters
        if is_entry:
            known = self.projection.entry_parameters
            parameters = (
                *self.projection.document.parameters,
                *(parameter for parameter in parameters if parameter.index not in known),
            )
        hints = {} if is_entry else self._hints()
        for number, parameter in enumerate(parameters):
            layout = self.formats[number] if number < len(self.formats) else parameter.format
            kind = parameter.type
            if kind == UNKNOWN_TYPE:
                kind = hints.get(parameter.index, kind)
            self._declare(parameter, kind, layout)
        for statement in self.section.statements:
            if statement.head == "Return":
                self._return(statement)
            else:
                self.local[statement.result] = self._statement(statement)
        return Graph(
            self.section.name, tuple(self.nodes), self.values, tuple(self.inputs), self.outputs
        )

    def _hints(self) -> dict[str, Type]:
        """Returns a dict from the index of each parameter of a sub-graph to its type.

        The type is read from the type line of the first statement that uses the parameter. If the
        sub-graph declares the types of all its parameters, the dict is empty.
        """
        found: dict[str, Type] = {}
        if any(parameter.type == UNKNOWN_TYPE for parameter in self.section.parameters):
            for statement in self.section.statements:
                for argument, kind in zip(
                    statement.arguments, statement.argument_types, strict=False
                ):
                    if isinstance(argument, Reference) and argument.kind == "parameter":
                        found.setdefault(argument.name, kind)
        return found

    def _declare(self, parameter: Parameter, kind: Type, layout: str) -> None:
        spelling = (
            parameter.name if parameter.name.strip("_0123456789") else f"para{parameter.index}"
        )
        role = "parameter" if parameter.is_weight else "input"
        self.parameters[parameter.index] = self._add_external_values(spelling, kind, layout, role)

    def _add_external_values(self, name: str, kind: Type, layout: str, role: str) -> _Operand:
        """Adds a graph input or parameter for each tensor in the type `kind`.

        Returns the operand for the added values: a single value, or a `_Bundle` if `kind` is a
        tuple.
        """
        leaves = list(_leaves(kind))
        made: list[_Operand] = []
        for number, leaf in enumerate(leaves):
            if leaf.dtype == "monad":
                made.append(None)
                continue
            own = self._unique_name(
                name if len(leaves) == 1 and isinstance(kind, Leaf) else f"{name}:{number}"
            )
            self.values[own] = Value(own, leaf.shape, leaf.dtype, kind=role, format=layout)
            self.inputs.append(own)
            made.append(_NamedOperand(own))
        return self._unflatten(kind, iter(made))

    def _unflatten(self, kind: Type, made: Iterator[_Operand]) -> _Operand:
        if isinstance(kind, Leaf):
            return next(made)
        return self._bundle(tuple(self._unflatten(item, made) for item in kind), 0)

    def _bundle(self, items: tuple[_Operand, ...], line: int) -> _Bundle:
        leaves = sum(item.leaves if isinstance(item, _Bundle) else 1 for item in items)
        depth = 1 + max((item.depth for item in items if isinstance(item, _Bundle)), default=0)
        if depth > _MAX_BUNDLE_DEPTH:
            self.projection.fail("tuples are nested too deeply", line)
        return _Bundle(items, leaves, depth)

    def _unique_name(self, name: str) -> str:
        """Returns `name`, with ``#2``, ``#3`` … appended if the graph already uses this name."""
        own = name
        while own in self.names:
            self.repeats[name] = self.repeats.get(name, 1) + 1
            own = f"{name}#{self.repeats[name]}"
        self.names.add(own)
        return own

    def _operand(self, term: Term, line: int) -> _Operand:
        if isinstance(term, Literal):
            return None if term.dtype == "monad" else term
        if isinstance(term, Group):
            return self._bundle(tuple(self._operand(item, line) for item in term.items), line)
        if term.kind == "local":
            if term.name not in self.local:
                self.projection.fail(f"%{term.name} is used before it is defined", line)
            return self.local[term.name]
        if term.kind == "parameter":
            return self._parameter(term.name, line)
        if term.kind == "graph":
            return Literal(f"@{term.name}", "Func")
        if term.name not in self.free:
            self.free[term.name] = self._add_external_values(
                term.name, UNKNOWN_TYPE, "DefaultFormat", "input"
            )
        return self.free[term.name]

    def _parameter(self, index: str, line: int) -> _Operand:
        if index not in self.parameters:
            parameter = self.projection.entry_parameters.get(index)
            if parameter is None:
                self.projection.fail(f"%para{index} is not declared", line)
            self._declare(parameter, parameter.type, parameter.format)
        return self.parameters[index]

    def _flatten(
        self, operands: Iterable[_Operand], line: int
    ) -> Iterator[_NamedOperand | Literal]:
        for operand in operands:
            if isinstance(operand, _Bundle):
                self.projection.spend(operand.leaves, line)
                yield from self._flatten(operand.items, line)
            elif operand is not None:
                yield operand

    def _name_of(self, operand: _NamedOperand | Literal, owner: str, number: int) -> str:
        if isinstance(operand, _NamedOperand):
            return operand.name
        own = self._unique_name(f"{owner}:constant{number}")
        self.values[own] = Value(
            own, operand.shape, operand.dtype, kind="constant", data=operand.data
        )
        return own

    def _return(self, statement: Statement) -> None:
        operands = self._flatten(
            (self._operand(term, statement.line) for term in statement.arguments), statement.line
        )
        self.outputs = tuple(
            self._name_of(operand, f"{self.section.name}/Return", number)
            for number, operand in enumerate(operands)
        )

    def _statement(self, statement: Statement) -> _Operand:
        operands = tuple(self._operand(term, statement.line) for term in statement.arguments)
        if callee := _CALLEE.match(statement.head):
            kind = "parameter" if callee[1] else "local"
            operands = (self._operand(Reference(kind, callee[2]), statement.line), *operands)
        op = _operator_type(statement.head)
        resolved, operand = self._resolve_bookkeeping(op, operands, statement)
        return operand if resolved else self._node(op, operands, statement)

    def _resolve_bookkeeping(
        self, op: str, operands: tuple[_Operand, ...], statement: Statement
    ) -> tuple[bool, _Operand]:
        """Returns (whether `statement` is bookkeeping, the operand that its result denotes).

        A bookkeeping statement loads values, orders side effects, or packs or unpacks tuples. The
        operand is None if the statement is not bookkeeping, or if its result is a monad.
        """
        if op in ("Load", "Depend", "StopGradient") and operands:
            return True, operands[0]
        if op == "UpdateState":
            return True, None
        if op in ("MakeTuple", "RealMakeTuple"):
            return True, self._bundle(operands, statement.line)
        if op in ("TupleGetItem", "RealTupleGetItem") and len(operands) == 2:
            whole, index = operands
            number = index.data if isinstance(index, Literal) else None
            if (
                isinstance(whole, _Bundle)
                and isinstance(number, int)
                and -len(whole.items) <= number < len(whole.items)
            ):
                return True, whole.items[number]
            if isinstance(whole, _Bundle) and isinstance(number, int):
                self.projection.fail(
                    f"element {number} of a tuple of {len(whole.items)}", statement.line
                )
        return False, None

    def _node(self, op: str, operands: tuple[_Operand, ...], statement: Statement) -> _Operand:
        name = self._unique_name(_node_name(statement, self.section.name))
        kernel = self._kernel(statement)
        if kernel:
            operands = tuple(
                map(self._spread_tuple, operands, _pad_types(statement.argument_types))
            )
        inputs = tuple(
            self._name_of(operand, name, number)
            for number, operand in enumerate(self._flatten(operands, statement.line))
        )
        attributes = {
            key: value for key, value in statement.attributes.items() if key not in NOISE_ATTRIBUTES
        }
        expand_from = attributes.pop("expand_from", None)
        body = None
        outputs, operand = self._results(name, statement)
        if kernel:
            own = {
                key: value
                for key, value in kernel.attributes.items()
                if key not in NOISE_ATTRIBUTES
            }
            attributes = {**own, **attributes}
            op = str(own.get("graph_kernel") or _kernel_label(statement) or op)
            layouts = tuple(self.values[value].format for value in inputs)
            body = self.projection.body(kernel, self.subgraph, layouts)
            for what, here, there in (
                ("inputs", inputs, body.inputs),
                ("outputs", outputs, body.outputs),
            ):
                if len(here) != len(there):
                    self.projection.fail(
                        f"kernel @{kernel.name} has {len(there)} {what}, its call {len(here)}",
                        statement.line,
                    )
        elif op == "Custom":
            op = str(attributes.get("reg_op_name") or op)
        elif statement.head.startswith("call @"):
            attributes["graph"] = statement.head.removeprefix("call @")
        elif "[@" in statement.head:
            attributes["graph"] = statement.head[statement.head.index("[") :]
        self.nodes.append(
            Node(
                name,
                op,
                inputs,
                outputs,
                tuple(sorted(attributes.items(), key=lambda pair: pair[0])),
                _user_sources(statement.sources),
                str(expand_from) if expand_from else None,
                self.subgraph,
                body,
            )
        )
        return operand

    def _spread_tuple(self, operand: _Operand, kind: Type) -> _Operand:
        """Splits a constant tuple into one operand per element.

        Other operands are returned unchanged.
        """
        if (
            isinstance(operand, Literal)
            and isinstance(kind, tuple)
            and isinstance(operand.data, tuple)
        ):
            return self._bundle(tuple(Literal(item, operand.dtype) for item in operand.data), 0)
        return operand

    def _kernel(self, statement: Statement) -> Section | None:
        """Returns the fused kernel (a sub-graph) that `statement` calls, or None.

        Raises:
            ParseError: the file does not contain the called sub-graph.
        """
        if not statement.head.startswith("call @"):
            return None
        name = statement.head.removeprefix("call @")
        section = self.projection.document.sections.get(name)
        if section is None:
            self.projection.fail(f"graph @{name} is called but is not in the file", statement.line)
        return section if "graph_kernel" in section.attributes or _kernel_label(statement) else None

    def _results(self, name: str, statement: Statement) -> tuple[tuple[str, ...], _Operand]:
        made: list[_Operand] = []
        outputs: list[str] = []
        for number, leaf in enumerate(_leaves(statement.result_type)):
            if leaf.dtype == "monad":
                made.append(None)
                continue
            formats = statement.result_formats
            layout = formats[number] if number < len(formats) else "DefaultFormat"
            own = self._unique_name(f"{name}:{number}")
            self.values[own] = Value(own, leaf.shape, leaf.dtype, format=layout)
            outputs.append(own)
            made.append(_NamedOperand(own))
        return tuple(outputs), self._unflatten(statement.result_type, iter(made))


def _pad_types(kinds: tuple[Type, ...]) -> Iterator[Type]:
    return chain(kinds, repeat(UNKNOWN_TYPE))


def _leaves(kind: Type) -> Iterator[Leaf]:
    if isinstance(kind, Leaf):
        yield kind
    else:
        for item in kind:
            yield from _leaves(item)


def _operator_type(head: str) -> str:
    """Returns the operator type of a statement.

    For example, the type is Mul for ``PrimFunc_Mul`` and for ``DoSignaturePrimitive::S-Prim-Mul``.
    """
    if head.startswith(("call @", "%", "$(")) or "[@" in head:
        return "call"
    for prefix in (
        "DoSignaturePrimitive::",
        "DoSignaturePrimitive_",
        "S-Prim-",
        "PrimFunc_",
        "Prim_",
    ):
        head = head.removeprefix(prefix)
    return head


def _node_name(statement: Statement, graph: str) -> str:
    if statement.full_name and not statement.full_name.isdecimal():
        return statement.full_name
    return f"{graph}/{statement.label or statement.result}"


def _kernel_label(statement: Statement) -> str | None:
    found = _KERNEL_NAME.search(statement.full_name)
    return found[1] if found else None


def _user_sources(sources: tuple[Source, ...]) -> tuple[Source, ...]:
    """Returns the source locations in user code; if there are none, returns all locations."""
    distinct = tuple(dict.fromkeys(sources))
    return tuple(source for source in distinct if not is_mindspore_file(source.file)) or distinct
