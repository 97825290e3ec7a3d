"""Rules: a pattern over `Graph`, a check of what it found, and the fused operator that takes its place.

A rule knows no file format, so one rule speaks of ONNX models and of MindSpore's graphs. A pattern is a tree that is held
against the graph from an operator upwards:

>>> rule = Rule("AddReLU", "intra-operator", Op("ReLU", Op("Add", "x", "y")))
>>> str(rule.pattern)
'ReLU(Add(x, y))'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.operators import VIEWS

Kind = Literal["intra-operator", "cross-operator", "pipeline"]
COMMUTATIVE = frozenset({"Add", "Mul", "Maximum", "Minimum", "AddN", "LogicalAnd", "LogicalOr"})


@dataclass(frozen=True, init=False)
class Op:
    """An operator of one of these types whose first inputs fit.

    Args:
        names: ``"Add"``, or several as ``"Add|Sub"``.
        inputs: for each input a pattern, or a name that stands for any value, the same one wherever it is used again;
            ``"_"`` stands for any value at all, ``"1.0"`` for a constant of that number. The two inputs of an operator
            that takes them in either order are tried in both.
    """

    names: frozenset[str]
    inputs: tuple[Pattern, ...]

    def __init__(self, names: str, *inputs: Pattern):
        object.__setattr__(self, "names", frozenset(names.split("|")))
        object.__setattr__(self, "inputs", inputs)

    def __str__(self) -> str:
        inputs = ", ".join(map(str, self.inputs))
        return "|".join(sorted(self.names)) + (f"({inputs})" if inputs else "")


@dataclass(frozen=True, init=False)
class OneOf:
    """The first of these patterns that fits."""

    patterns: tuple[Pattern, ...]

    def __init__(self, *patterns: Pattern):
        object.__setattr__(self, "patterns", patterns)

    @property
    def names(self) -> frozenset[str]:
        """Types of the operators that one of them may begin with."""
        found: set[str] = set()
        for pattern in self.patterns:
            if not isinstance(pattern, str):
                found |= pattern.names
        return frozenset(found)

    def __str__(self) -> str:
        return " or ".join(map(str, self.patterns))


@dataclass(frozen=True)
class Chain:
    """Patterns in sequence: each fits what makes the value that the next one calls ``"x"``.

    Between two of them a value may change its layout (Reshape, Transpose …). Names of a pattern
    hold within it only.

    Attributes:
        parts: each with a label, under which `Match.bound` has what goes in (``"input LABEL"``)
            and what comes out (``"output LABEL"``); neighbours with one label count as one.
    """

    parts: tuple[tuple[str, Op | OneOf], ...]

    @property
    def names(self) -> frozenset[str]:
        """Types of the operators that the last part may begin with."""
        return self.parts[-1][1].names

    def __str__(self) -> str:
        return " → ".join(str(part) for _, part in self.parts)


Pattern = Op | OneOf | Chain | str
LAYOUTS = VIEWS | {"Transpose"}
"""Operators that only change how a value lies."""


@dataclass(frozen=True)
class Match:
    """Where a pattern fits.

    Attributes:
        graph: the graph.
        nodes: the operators, in the graph's order.
        bound: the names of the pattern → the values they stand for.
    """

    graph: Graph
    nodes: tuple[Node, ...]
    bound: Mapping[str, str]

    def value(self, name: str) -> Value:
        """What a name of the pattern stands for."""
        return self.graph.values[self.bound[name]]


def always(match: Match) -> str:
    """Nothing speaks against it."""
    return ""


@dataclass(frozen=True)
class Rule:
    """One fusion.

    Attributes:
        name: of the rule and of the fused operator.
        kind: ``intra-operator`` (one operation spelled out in several), ``cross-operator`` or ``pipeline`` (two groups
            whose tiles overlap in time).
        pattern: held against each operator.
        check: what speaks against a match, empty when nothing does.
    """

    name: str
    kind: Kind
    pattern: Op | OneOf | Chain
    check: Callable[[Match], str] = always


@dataclass(frozen=True)
class Candidate:
    """Operators that may become one kernel.

    Attributes:
        rule: name of the rule, or of the general search that found it.
        kind: of the fusion.
        nodes: names, in the graph's order.
    """

    rule: str
    kind: Kind
    nodes: tuple[str, ...]


def matches(rule: Rule, graph: Graph, order: Mapping[str, int]) -> Iterator[Match]:
    """Every place where a rule's pattern fits and its check has nothing against it.

    Args:
        rule: the rule.
        graph: the graph.
        order: place of each node in the graph.
    """
    return (match for match, against in _judged(rule, graph, order) if not against)


def near_misses(rule: Rule, graph: Graph, order: Mapping[str, int]) -> Iterator[tuple[Match, str]]:
    """Every place where a rule's pattern fits, its check speaks against each way in which it does, and the first such reason.

    Args:
        as `matches`.
    """
    return (found for found in _judged(rule, graph, order) if found[1])


def _judged(rule: Rule, graph: Graph, order: Mapping[str, int]) -> Iterator[tuple[Match, str]]:
    """One way in which the pattern fits for each operator at which it does.

    It is the first that passes the check, else the first of all, with what is against it.
    """
    for node in graph.nodes:
        if node.op not in rule.pattern.names:
            continue
        first: tuple[Match, str] | None = None
        for nodes, bound in _held(rule.pattern, node, graph, {}):
            found = Match(graph, tuple(sorted(nodes, key=lambda one: order[one.name])), bound)
            against = rule.check(found)
            if not against:
                first = (found, "")
                break
            first = first or (found, against)
        if first is not None:
            yield first


_NEAR: Mapping[str, float] = {"float16": 1e-3, "bfloat16": 8e-3}
"""How far a constant may be from the number of a pattern, by its dtype: as far as rounding takes it; 1e-4 for others."""
_Found = tuple[tuple[Node, ...], Mapping[str, str]]


def _held(pattern: Pattern, node: Node, graph: Graph, bound: Mapping[str, str]) -> Iterator[_Found]:
    """The ways in which a pattern fits at an operator."""
    if isinstance(pattern, OneOf):
        for one in pattern.patterns:
            yield from _held(one, node, graph, bound)
    elif isinstance(pattern, Chain):
        ends = {**bound, f"output {pattern.parts[-1][0]}": node.outputs[0]}
        yield from _chained(pattern.parts, node, graph, ends)
    elif (
        isinstance(pattern, Op)
        and node.op in pattern.names
        and len(node.inputs) >= len(pattern.inputs)
    ):
        for inputs in _orders(node, len(pattern.inputs)):
            yield from _all_held(pattern.inputs, inputs, graph, ((node,), bound))


def _chained(
    parts: Sequence[tuple[str, Op | OneOf]],
    node: Node,
    graph: Graph,
    bound: Mapping[str, str],
) -> Iterator[_Found]:
    """The ways in which a chain fits that ends at an operator, whose output is bound already."""
    *before, (label, last) = parts
    for nodes, own in _held(last, node, graph, {}):
        value = own["x"]
        named = {f"{name} of part {len(parts)}": one for name, one in own.items()}
        found = {**named, **bound, f"input {label}": value}
        if not before:
            yield nodes, found
            continue
        moved: tuple[Node, ...] = ()
        while maker := graph.producers.get(value):
            ends = {f"output {before[-1][0]}": value, **found}
            for more, now in _chained(before, maker, graph, ends):
                yield tuple(dict.fromkeys((*nodes, *moved, *more))), now
            if maker.op not in LAYOUTS:
                break
            moved += (maker,)
            value = maker.inputs[0]


def _orders(node: Node, wanted: int) -> Sequence[tuple[str, ...]]:
    inputs = node.inputs[:wanted]
    if wanted == 2 and len(node.inputs) == 2 and node.op in COMMUTATIVE:
        return (inputs, inputs[::-1])
    return (inputs,)


def _all_held(
    patterns: Sequence[Pattern], values: Sequence[str], graph: Graph, found: _Found
) -> Iterator[_Found]:
    if not patterns:
        yield found
        return
    for one in _value_held(patterns[0], values[0], graph, found):
        yield from _all_held(patterns[1:], values[1:], graph, one)


def _value_held(pattern: Pattern, value: str, graph: Graph, found: _Found) -> Iterator[_Found]:
    nodes, bound = found
    if isinstance(pattern, str):
        known = _named(pattern, graph.values[value], bound)
        if known is not None:
            yield nodes, known
        return
    if isinstance(pattern, OneOf):
        for one in pattern.patterns:
            yield from _value_held(one, value, graph, found)
        return
    maker = graph.producers.get(value)
    if maker is not None:
        for more, now in _held(pattern, maker, graph, bound):
            yield tuple(dict.fromkeys((*nodes, *more))), now


def _named(name: str, value: Value, bound: Mapping[str, str]) -> Mapping[str, str] | None:
    """What is bound when a name stands for a value; None when it cannot."""
    if name == "_":
        return bound
    if name[0].isdigit() or name[0] == "-":
        wanted = float(name)
        data = value.data
        while isinstance(data, tuple) and len(data) == 1:
            data = data[0]
        near = _NEAR.get(value.dtype, 1e-4) * max(1.0, abs(wanted))
        close = isinstance(data, int | float) and abs(data - wanted) <= near
        return bound if close else None
    known = bound.get(name)
    if known is None:
        return {**bound, name: value.name}
    return bound if known == value.name else None
