"""Epilogues of products and convolutions: scale, bias, residual, relu within the library call."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ms_fusion.graph import Graph, Node


@dataclass(frozen=True)
class Following:
    """What was found behind a value.

    Attributes:
        result: name of the value that is made in the end.
        covered: names of the nodes that are computed with it.
        operands: ``scale``, ``bias``, ``residual`` → name of a value.
        relu: whether max(0, ·) comes last.
    """

    result: str
    covered: tuple[str, ...] = ()
    operands: tuple[tuple[str, str], ...] = ()
    relu: bool = False

    @property
    def reads(self) -> Mapping[str, str]:
        """Operand → value."""
        return dict(self.operands)

    def with_operand(
        self, name: str, value: str, node: Node, more: tuple[str, ...] = ()
    ) -> Following:
        """With one more."""
        return replace(
            self,
            result=node.outputs[0],
            covered=(*self.covered, *more, node.name),
            operands=(*self.operands, (name, value)),
        )


def following(
    value: str, graph: Graph, *, axis: int, taken: Container[str], scaled: bool, biased: bool
) -> Following:
    """What follows a value that the library makes; every value in between has one reader.

    Args:
        value: its name.
        axis: of the channels.
        taken: names of nodes that are computed with another call.
        scaled: whether a scale can be joined.
        biased: whether the call has a bias already.
    """
    found = Following(value)
    if scaled and not biased:
        found = _with_channels(found, "scale", "Mul", graph, axis, taken)
    if not biased:
        found = _with_channels(found, "bias", "Add", graph, axis, taken)
    add = _only_reader(found.result, "Add", graph, taken)
    if add is not None:
        other = _other(add, found.result)
        one, two = graph.values[found.result], graph.values[other]
        if (
            other != found.result
            and two.kind != "constant"
            and (one.shape, one.dtype) == (two.shape, two.dtype)
        ):
            found = found.with_operand("residual", other, add)
    most = _only_reader(found.result, "Maximum", graph, taken)
    if most is not None:
        other_value = graph.values[_other(most, found.result)]
        if other_value.kind == "constant" and other_value.data in (0, 0.0):
            found = replace(
                found, result=most.outputs[0], covered=(*found.covered, most.name), relu=True
            )
    return found


def _with_channels(
    found: Following, name: str, op: str, graph: Graph, axis: int, taken: Container[str]
) -> Following:
    """With a number for each channel, by an operator of this type."""
    node = _only_reader(found.result, op, graph, taken)
    if node is None or len(set(node.inputs)) != 2:
        return found
    shape: tuple[Any, ...] = graph.values[found.result].shape
    other = _other(node, found.result)
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


def _other(node: Node, value: str) -> str:
    return node.inputs[1 - node.inputs.index(value)]
