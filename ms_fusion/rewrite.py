"""Defines fusion rules: a pattern over `Graph`, a check of each match, and the fused operator.

Rules are independent of file formats: the same rule applies to ONNX models and to MindSpore graphs.
A pattern is a tree, matched from an operator upwards through its producers:
>>> rule = Rule("AddReLU", "intra-operator", Op("ReLU", Op("Add", "x", "y")))
>>> str(rule.pattern)
'ReLU(Add(x, y))'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ops import operators_with
from ms_fusion.ops.op_info import Trait
from ms_fusion.ops.selections import VIEWS

Kind = Literal["intra-operator", "cross-operator", "pipeline"]
COMMUTATIVE_OPERATORS = operators_with(Trait.COMMUTATIVE)


@dataclass(frozen=True, init=False)
class Op:
    """Matches an operator that has one of the types `names` and whose first inputs match `inputs`.

    Args:
        names: an operator type such as ``"Add"``, or several types such as ``"Add|Sub"``.
        inputs: a pattern or a name for each input. A name matches any value. If it occurs several
            times, it must match the same value each time, except ``"_"``, which may match different
            values. ``"1.0"`` matches a constant of that value. For a commutative operator, both
            orders of the inputs are tried.
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
    """Matches what one of its patterns matches; the patterns are tried in order."""

    patterns: tuple[Pattern, ...]

    def __init__(self, *patterns: Pattern):
        object.__setattr__(self, "patterns", patterns)

    @property
    def names(self) -> frozenset[str]:
        """Operator types at the root of the patterns."""
        found: set[str] = set()
        for pattern in self.patterns:
            if not isinstance(pattern, str):
                found |= pattern.names
        return frozenset(found)

    def __str__(self) -> str:
        return " or ".join(map(str, self.patterns))


@dataclass(frozen=True)
class Chain:
    """Matches patterns in sequence: each one matches the producer of input ``"x"`` of the next one.

    Layout operators (Reshape, Transpose …) are allowed between two patterns. Names are local to one
    pattern.

    Attributes:
        parts: (label, pattern) pairs. `Match.bound` holds the part's input under ``"input LABEL"``
            and its output under ``"output LABEL"``. Adjacent parts with the same label count as one
            part.
    """

    parts: tuple[tuple[str, Op | OneOf], ...]

    @property
    def names(self) -> frozenset[str]:
        """Operator types at the root of the pattern of the last part."""
        return self.parts[-1][1].names

    def __str__(self) -> str:
        return " → ".join(str(part) for _, part in self.parts)


Pattern = Op | OneOf | Chain | str
LAYOUT_OPERATORS = VIEWS | {"Transpose"}
"""Operators that only change the layout of a value."""


@dataclass(frozen=True)
class Match:
    """One match of a pattern.

    Attributes:
        graph: the graph.
        nodes: the matched operators, in the graph's order.
        bound: name in the pattern → name of the value that it matches.
    """

    graph: Graph
    nodes: tuple[Node, ...]
    bound: Mapping[str, str]

    def value(self, name: str) -> Value:
        """Returns the value bound to a name of the pattern."""
        return self.graph.values[self.bound[name]]

    def number(self, name: str) -> float | None:
        """Returns the constant scalar bound to a name of the pattern; None for other values."""
        return _number_of(self.value(name))


def _number_of(value: Value) -> float | None:
    """Returns the number in a constant of one element; None for any other value."""
    data = value.data
    while isinstance(data, tuple) and len(data) == 1:
        data = data[0]
    return float(data) if isinstance(data, int | float) else None


def accept_every_match(match: Match) -> str:
    """Accepts every match; the default of `Rule.check`."""
    return ""


@dataclass(frozen=True)
class Rule:
    """One fusion rule.

    Attributes:
        name: name of the rule and of the fused operator.
        kind: ``intra-operator`` (the operators are the parts of one decomposed operation),
            ``cross-operator``, or ``pipeline`` (two groups of operators whose computations on tiles
            overlap in time).
        pattern: pattern to match at each operator.
        check: returns the reason to refuse a match, or an empty string to accept it.
    """

    name: str
    kind: Kind
    pattern: Op | OneOf | Chain
    check: Callable[[Match], str] = accept_every_match


@dataclass(frozen=True)
class Candidate:
    """Operators that may become one kernel.

    Attributes:
        rule: name of the rule, or of the general search that found it.
        kind: kind of the fusion.
        nodes: names of the operators, in the graph's order.
    """

    rule: str
    kind: Kind
    nodes: tuple[str, ...]


def find_matches(rule: Rule, graph: Graph, order: Mapping[str, int]) -> Iterator[Match]:
    """Returns the matches of a rule's pattern that pass its check.

    Args:
        rule: the rule.
        graph: the graph.
        order: position of each node in the graph.
    """
    return (match for match, against in _judge_matches(rule, graph, order) if not against)


def find_near_misses(
    rule: Rule, graph: Graph, order: Mapping[str, int]
) -> Iterator[tuple[Match, str]]:
    """Finds operators at which the pattern matches but the check refuses every match.

    Yields, for each such operator, the first match and the reason why the check refuses it.

    Args:
        as `find_matches`.
    """
    return (found for found in _judge_matches(rule, graph, order) if found[1])


def _judge_matches(
    rule: Rule, graph: Graph, order: Mapping[str, int]
) -> Iterator[tuple[Match, str]]:
    """Yields (match, reason of its refusal) for each operator at which the pattern matches.

    If a match passes the check, this is the first such match, with an empty reason. Otherwise it is
    the first match, with the reason why the check refuses it.
    """
    for node in graph.nodes:
        if node.op not in rule.pattern.names:
            continue
        first: tuple[Match, str] | None = None
        for nodes, bound in _match_pattern(rule.pattern, node, graph, {}):
            found = Match(graph, tuple(sorted(nodes, key=lambda one: order[one.name])), bound)
            against = rule.check(found)
            if not against:
                first = (found, "")
                break
            first = first or (found, against)
        if first is not None:
            yield first


_CONSTANT_TOLERANCE: Mapping[str, float] = {"float16": 1e-3, "bfloat16": 8e-3}
"""A dict from a dtype to the relative tolerance for rounded constants; 1e-4 for other dtypes."""
_PartialMatch = tuple[tuple[Node, ...], Mapping[str, str]]


def _match_pattern(
    pattern: Pattern, node: Node, graph: Graph, bound: Mapping[str, str]
) -> Iterator[_PartialMatch]:
    """Yields all matches of a pattern at an operator."""
    if isinstance(pattern, OneOf):
        for one in pattern.patterns:
            yield from _match_pattern(one, node, graph, bound)
    elif isinstance(pattern, Chain):
        ends = {**bound, f"output {pattern.parts[-1][0]}": node.outputs[0]}
        yield from _match_chain(pattern.parts, node, graph, ends)
    elif (
        isinstance(pattern, Op)
        and node.op in pattern.names
        and len(node.inputs) >= len(pattern.inputs)
    ):
        for inputs in _operand_orders(node, len(pattern.inputs)):
            yield from _match_operands(pattern.inputs, inputs, graph, ((node,), bound))


def _match_chain(
    parts: Sequence[tuple[str, Op | OneOf]],
    node: Node,
    graph: Graph,
    bound: Mapping[str, str],
) -> Iterator[_PartialMatch]:
    """Yields all matches of a chain that ends at `node`.

    In `bound`, the output of `node` is already bound to its name in the pattern.
    """
    *before, (label, last) = parts
    for nodes, own in _match_pattern(last, node, graph, {}):
        value = own["x"]
        named = {f"{name} of part {len(parts)}": one for name, one in own.items()}
        found = {**named, **bound, f"input {label}": value}
        if not before:
            yield nodes, found
            continue
        moved: tuple[Node, ...] = ()
        while maker := graph.producers.get(value):
            ends = {f"output {before[-1][0]}": value, **found}
            for more, now in _match_chain(before, maker, graph, ends):
                yield tuple(dict.fromkeys((*nodes, *moved, *more))), now
            if maker.op not in LAYOUT_OPERATORS:
                break
            moved += (maker,)
            value = maker.inputs[0]


def _operand_orders(node: Node, wanted: int) -> Sequence[tuple[str, ...]]:
    inputs = node.inputs[:wanted]
    if wanted == 2 and len(node.inputs) == 2 and node.op in COMMUTATIVE_OPERATORS:
        return (inputs, inputs[::-1])
    return (inputs,)


def _match_operands(
    patterns: Sequence[Pattern], values: Sequence[str], graph: Graph, found: _PartialMatch
) -> Iterator[_PartialMatch]:
    if not patterns:
        yield found
        return
    for one in _match_value(patterns[0], values[0], graph, found):
        yield from _match_operands(patterns[1:], values[1:], graph, one)


def _match_value(
    pattern: Pattern, value: str, graph: Graph, found: _PartialMatch
) -> Iterator[_PartialMatch]:
    nodes, bound = found
    if isinstance(pattern, str):
        known = _bind_name(pattern, graph.values[value], bound)
        if known is not None:
            yield nodes, known
        return
    if isinstance(pattern, OneOf):
        for one in pattern.patterns:
            yield from _match_value(one, value, graph, found)
        return
    maker = graph.producers.get(value)
    if maker is not None:
        for more, now in _match_pattern(pattern, maker, graph, bound):
            yield tuple(dict.fromkeys((*nodes, *more))), now


def _bind_name(name: str, value: Value, bound: Mapping[str, str]) -> Mapping[str, str] | None:
    """Returns `bound` with `name` bound to `value`; None if `name` does not match `value`.

    A name that is already bound to a different value does not match. A number such as ``"1.0"``
    matches only a constant of nearly this value. ``"_"`` always matches and is never bound.
    """
    if name == "_":
        return bound
    if name[0].isdigit() or name[0] == "-":
        wanted, found = float(name), _number_of(value)
        near = _CONSTANT_TOLERANCE.get(value.dtype, 1e-4) * max(1.0, abs(wanted))
        return bound if found is not None and abs(found - wanted) <= near else None
    known = bound.get(name)
    if known is None:
        return {**bound, name: value.name}
    return bound if known == value.name else None
