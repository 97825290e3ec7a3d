"""Defines fusion rules: a pattern over `Graph`, a check of each match, and the fused operator.

Rules are independent of file formats: the same rule applies to ONNX models and to MindSpore graphs.
A pattern is a tree. The match starts at the operator at the tree's root, and continues at the
producers of the operator's inputs:

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
NodeCheck = Callable[[Node, Graph], str]
"""Function that returns the reason to refuse an operator, or an empty string to accept it."""


def accept_every_node(node: Node, graph: Graph) -> str:
    """Accepts every operator. This function is the default of `Op.check`."""
    return ""


@dataclass(frozen=True, init=False)
class Op:
    """Matches an operator if its type is in `names` and its first inputs match `inputs`.

    Args:
        names: an operator type such as ``"Add"``, or several types such as ``"Add|Sub"``.
        inputs: a pattern or a name for each input. A name matches any value. If a name occurs
            several times in a pattern, all its occurrences must match the same value. The name
            ``"_"`` is an exception: each occurrence may match another value. A number such as
            ``"1.0"`` matches a constant of this value. For a commutative operator, both orders of
            the inputs are tried.
        check: function that returns the reason to refuse the operator, or an empty string to accept
            it. If the operator is refused, every match of a larger pattern at this operator is
            refused, too.
    """

    names: frozenset[str]
    inputs: tuple[Pattern, ...]
    check: NodeCheck

    def __init__(self, names: str, *inputs: Pattern, check: NodeCheck = accept_every_node):
        object.__setattr__(self, "names", frozenset(names.split("|")))
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "check", check)

    def __str__(self) -> str:
        inputs = ", ".join(map(str, self.inputs))
        return "|".join(sorted(self.names)) + (f"({inputs})" if inputs else "")


@dataclass(frozen=True, init=False)
class OneOf:
    """Matches an operator if one of the patterns matches; the patterns are tried in order."""

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
    """Matches patterns in sequence: a pattern matches the producer of the next pattern's ``x``.

    Layout operators (Reshape, Transpose …) are allowed between two patterns. A name in one pattern
    is not related to the same name in another pattern.

    Attributes:
        parts: pairs (label, pattern). `Match.bound` contains the input of each part under ``"input
            LABEL"`` and the output of the part under ``"output LABEL"``. Adjacent parts with the
            same label are treated as one part.
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
        graph: the graph that contains the matched operators.
        nodes: the matched operators, in the graph's order.
        bound: a dict from the name of each pattern variable to the name of its value in `graph`.
    """

    graph: Graph
    nodes: tuple[Node, ...]
    bound: Mapping[str, str]

    def value(self, name: str) -> Value:
        """Returns the value of the graph to which the pattern variable `name` is bound."""
        return self.graph.values[self.bound[name]]

    def number(self, name: str) -> float | None:
        """Returns the number to which the pattern variable `name` is bound.

        Returns None if the bound value is not a constant with one element.
        """
        return number_of(self.value(name))


def number_of(value: Value) -> float | None:
    """Returns the number in a constant with one element, or None for any other value."""
    data = value.data
    while isinstance(data, tuple) and len(data) == 1:
        data = data[0]
    return float(data) if isinstance(data, int | float) else None


def accept_every_match(match: Match) -> str:
    """Accepts every match. This function is the default of `Rule.check`."""
    return ""


@dataclass(frozen=True)
class Rule:
    """One fusion rule.

    Attributes:
        name: name of the rule and of the fused operator.
        kind: ``intra-operator``, ``cross-operator`` or ``pipeline``. With ``intra-operator``, the
            matched operators are the parts of one decomposed operation. With ``cross-operator``,
            they are several operations. With ``pipeline``, they are two groups whose computations
            on tiles overlap in time.
        pattern: pattern to match at each operator.
        check: function that returns the reason to refuse a match, or an empty string to accept it.
    """

    name: str
    kind: Kind
    pattern: Op | OneOf | Chain
    check: Callable[[Match], str] = accept_every_match


@dataclass(frozen=True)
class Candidate:
    """A group of operators that may become one kernel.

    Attributes:
        rule: name of the rule or of the general search that found the group.
        kind: kind of the fusion.
        nodes: names of the operators, in the graph's order.
    """

    rule: str
    kind: Kind
    nodes: tuple[str, ...]


def find_matches(rule: Rule, graph: Graph, order: Mapping[str, int]) -> Iterator[Match]:
    """Returns the matches of a rule's pattern that pass its checks.

    Args:
        rule: the rule with the pattern and the checks.
        graph: the graph to search.
        order: position of each node in the graph.
    """
    return (
        match
        for match, against in _judge_matches(rule, _Search(graph, order, near=False))
        if not against
    )


def find_near_misses(
    rule: Rule, graph: Graph, order: Mapping[str, int]
) -> Iterator[tuple[Match, str]]:
    """Finds near misses: operators at which the pattern matches, but every match is refused.

    A match is refused by a check, or because a constant differs from the constant in the pattern.
    For each such operator, the function yields a match with the fewest reasons, and these reasons
    as one text.

    Args:
        rule, graph, order: as for `find_matches`.
    """
    return (found for found in _judge_matches(rule, _Search(graph, order, near=True)) if found[1])


@dataclass(frozen=True)
class _Search:
    """The graph in which a pattern is searched, and the options of the search.

    Attributes:
        graph: the graph to search.
        order: position of each node in the graph.
        near: whether the search also yields matches that are refused, with the reasons.
    """

    graph: Graph
    order: Mapping[str, int]
    near: bool


@dataclass(frozen=True)
class _PartialMatch:
    """Operators and values that a part of a pattern matches, and reasons to refuse the match."""

    nodes: tuple[Node, ...]
    bound: Mapping[str, str]
    against: tuple[str, ...] = ()

    def join(self, before: _PartialMatch) -> _PartialMatch:
        """Returns a copy of this match with the nodes and reasons of `before` added.

        The bindings of this match already include the bindings of `before`.
        """
        return _PartialMatch(
            tuple(dict.fromkeys((*before.nodes, *self.nodes))),
            self.bound,
            tuple(dict.fromkeys((*before.against, *self.against))),
        )


def _judge_matches(rule: Rule, search: _Search) -> Iterator[tuple[Match, str]]:
    """Yields (match, reasons to refuse it) for each operator at which the pattern matches.

    If a match at the operator passes the checks, the function yields the first such match, with an
    empty reason. If all matches are refused, the function yields the first match with the fewest
    reasons.
    """
    order = search.order
    for node in search.graph.nodes:
        if node.op not in rule.pattern.names:
            continue
        nearest: tuple[Match, tuple[str, ...]] | None = None
        for part in _match_pattern(rule.pattern, node, search, {}):
            nodes = tuple(sorted(part.nodes, key=lambda one: order[one.name]))
            found = Match(search.graph, nodes, part.bound)
            against = part.against or tuple(filter(None, [rule.check(found)]))
            if nearest is None or len(against) < len(nearest[1]):
                nearest = found, against
            if not against:
                break
        if nearest is not None:
            yield nearest[0], "; ".join(nearest[1])


_CONSTANT_TOLERANCE: Mapping[str, float] = {"float16": 1e-3, "bfloat16": 8e-3}
"""A dict from a dtype to the relative tolerance for rounded constants; the default is 1e-4."""


def _match_pattern(
    pattern: Pattern, node: Node, search: _Search, bound: Mapping[str, str]
) -> Iterator[_PartialMatch]:
    """Yields all matches of a pattern at an operator."""
    if isinstance(pattern, OneOf):
        for one in pattern.patterns:
            yield from _match_pattern(one, node, search, bound)
    elif isinstance(pattern, Chain):
        ends = {**bound, f"output {pattern.parts[-1][0]}": node.outputs[0]}
        yield from _match_chain(pattern.parts, node, search, ends)
    elif (
        isinstance(pattern, Op)
        and node.op in pattern.names
        and len(node.inputs) >= len(pattern.inputs)
    ):
        against = tuple(filter(None, [pattern.check(node, search.graph)]))
        if not against or search.near:
            for inputs in _operand_orders(node, len(pattern.inputs)):
                found = _PartialMatch((node,), bound, against)
                yield from _match_operands(pattern.inputs, inputs, search, found)


def _match_chain(
    parts: Sequence[tuple[str, Op | OneOf]],
    node: Node,
    search: _Search,
    bound: Mapping[str, str],
) -> Iterator[_PartialMatch]:
    """Yields all matches of a chain that ends at `node`.

    `bound` already contains the output of `node`.
    """
    *before, (label, last) = parts
    for own in _match_pattern(last, node, search, {}):
        value = own.bound["x"]
        named = {f"{name} of part {len(parts)}": one for name, one in own.bound.items()}
        found = {**named, **bound, f"input {label}": value}
        if not before:
            yield _PartialMatch(own.nodes, found, own.against)
            continue
        moved: tuple[Node, ...] = ()
        while maker := search.graph.producers.get(value):
            ends = {f"output {before[-1][0]}": value, **found}
            for more in _match_chain(before, maker, search, ends):
                yield more.join(_PartialMatch((*own.nodes, *moved), found, own.against))
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
    patterns: Sequence[Pattern], values: Sequence[str], search: _Search, found: _PartialMatch
) -> Iterator[_PartialMatch]:
    if not patterns:
        yield found
        return
    for one in _match_value(patterns[0], values[0], search, found):
        yield from _match_operands(patterns[1:], values[1:], search, one)


def _match_value(
    pattern: Pattern, value: str, search: _Search, found: _PartialMatch
) -> Iterator[_PartialMatch]:
    if isinstance(pattern, str):
        yield from _match_name(pattern, search.graph.values[value], search, found)
    elif isinstance(pattern, OneOf):
        for one in pattern.patterns:
            yield from _match_value(one, value, search, found)
    elif (maker := search.graph.producers.get(value)) is not None:
        for more in _match_pattern(pattern, maker, search, found.bound):
            yield more.join(found)


def _match_name(
    name: str, value: Value, search: _Search, found: _PartialMatch
) -> Iterator[_PartialMatch]:
    """Yields `found` with `name` bound to `value`; yields nothing if `name` does not match.

    A name that is already bound to a different value does not match. A number such as ``"1.0"``
    matches only a constant of nearly this value. ``"_"`` always matches and is never bound.
    """
    if name == "_":
        yield found
    elif name[0].isdigit() or name[0] == "-":
        wanted, number = float(name), number_of(value)
        near = _CONSTANT_TOLERANCE.get(value.dtype, 1e-4) * max(1.0, abs(wanted))
        if number is not None and abs(number - wanted) <= near:
            yield found
        elif number is not None and search.near:
            against = f"a constant is {number:.6g}, not {wanted:.6g}"
            yield _PartialMatch(found.nodes, found.bound, (*found.against, against))
    elif name not in found.bound:
        yield _PartialMatch(found.nodes, {**found.bound, name: value.name}, found.against)
    elif found.bound[name] == value.name:
        yield found
