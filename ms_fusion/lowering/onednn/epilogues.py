"""Matches the epilogues of matrix products and convolutions: scale, bias, residual and relu."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ms_fusion.graph import Graph, Node


@dataclass(frozen=True)
class EpilogueMatch:
    """A chain of operators that a library call can fuse as its epilogue.

    Attributes:
        result: name of the final value.
        covered: names of the fused nodes.
        operands: one pair (operand, value) for each operand of the epilogue. The first string is
            ``scale``, ``bias`` or ``residual``. The second string is the name of the value in the
            graph.
        relu: whether the chain ends with ReLU or the equivalent max(0, ·).
    """

    result: str
    covered: tuple[str, ...] = ()
    operands: tuple[tuple[str, str], ...] = ()
    relu: bool = False

    @property
    def reads(self) -> Mapping[str, str]:
        """A dict from the name of an operand to the name of the operand's value in the graph."""
        return dict(self.operands)

    def with_operand(
        self, name: str, value: str, node: Node, more: tuple[str, ...] = ()
    ) -> EpilogueMatch:
        """Returns the match extended by `node`, which reads `value` as the operand `name`.

        `more` contains the names of further nodes that the library call then covers.
        """
        return replace(
            self,
            result=node.outputs[0],
            covered=(*self.covered, *more, node.name),
            operands=(*self.operands, (name, value)),
        )


def match_epilogue(
    value: str, graph: Graph, *, axis: int, taken: Container[str], scaled: bool, biased: bool
) -> EpilogueMatch:
    """Matches the longest epilogue that a library call can fuse.

    Each intermediate value of the chain may have only one reader.

    Args:
        value: name of the library call's result.
        axis: axis of the channels.
        taken: names of the nodes that other library calls cover.
        scaled: whether the call can fuse a scale.
        biased: whether the library operator itself already has a bias.
    """
    found = EpilogueMatch(value)
    if scaled and not biased:
        found = _match_channel_operand(found, "scale", "Mul", graph, axis, taken)
    if not biased:
        found = _match_channel_operand(found, "bias", "Add", graph, axis, taken)
    add = _only_reader(found.result, "Add", graph, taken)
    if add is not None:
        other = _other_operand(add, found.result)
        one, two = graph.values[found.result], graph.values[other]
        if (
            other != found.result
            and two.kind != "constant"
            and (one.shape, one.dtype) == (two.shape, two.dtype)
        ):
            found = found.with_operand("residual", other, add)
    last = _only_reader(found.result, None, graph, taken)
    if last is None or not _is_relu(last, found.result, graph):
        return found
    return replace(found, result=last.outputs[0], covered=(*found.covered, last.name), relu=True)


def _is_relu(node: Node, value: str, graph: Graph) -> bool:
    """Returns whether a node that reads `value` is ReLU, or the maximum of `value` and 0."""
    if node.op != "Maximum":
        return node.op == "ReLU"
    other = graph.values[_other_operand(node, value)]
    return other.kind == "constant" and other.data in (0, 0.0)


def _match_channel_operand(
    found: EpilogueMatch, name: str, op: str, graph: Graph, axis: int, taken: Container[str]
) -> EpilogueMatch:
    """Extends the match by the next operator if it has type `op` and a per-channel operand.

    The library call then also covers Reshapes of this operand.
    """
    node = _only_reader(found.result, op, graph, taken)
    if node is None or len(set(node.inputs)) != 2:
        return found
    shape: tuple[Any, ...] = graph.values[found.result].shape
    other = _other_operand(node, found.result)
    given = graph.values[other]
    wanted = tuple(size if at == axis % len(shape) else 1 for at, size in enumerate(shape))
    padded = (1,) * (len(shape) - len(given.shape)) + given.shape
    same = (
        given.dtype == graph.values[found.result].dtype
        and graph.values[node.outputs[0]].shape == shape
    )
    if given.kind == "constant" or padded != wanted or not same:
        return found
    reshapes: tuple[str, ...] = ()
    made_by = graph.producers.get(other)
    while (
        made_by is not None and _only_reader(other, None, graph, taken) and made_by.op == "Reshape"
    ):
        reshapes, other = (*reshapes, made_by.name), made_by.inputs[0]
        made_by = graph.producers.get(other)
    return found.with_operand(name, other, node, reshapes)


def _only_reader(value: str, op: str | None, graph: Graph, taken: Container[str]) -> Node | None:
    readers = graph.consumers.get(value, ())
    alone = len(readers) == 1 and value not in graph.outputs
    return (
        readers[0]
        if alone and op in (None, readers[0].op) and readers[0].name not in taken
        else None
    )


def _other_operand(node: Node, value: str) -> str:
    return node.inputs[1 - node.inputs.index(value)]
