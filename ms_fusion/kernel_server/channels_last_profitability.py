"""Channels-last profitability: layout conversions saved against those that are added.

A convolution that finds or leaves an image in the form that it likes saves changing it. Work on such an image is as quick as on any
other, but what meets it there, and came into the group from outside, or leaves it, has to be turned.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ms_fusion.graph import Graph, Node


@dataclass(frozen=True)
class Kinds:
    """What operators do with images.

    Attributes:
        convolutions: operator → how many of its first inputs are images, and whether its result is one.
        elementwise: operators whose inputs and result lie alike.
        pooling: operators that take either form, and like the second.
        content: operators that read either form and hand out no image.
    """

    convolutions: Mapping[str, tuple[int, bool]]
    elementwise: Collection[str]
    pooling: Collection[str]
    content: Collection[str]


@dataclass
class _Family:
    """Images that lie alike, since work on them goes from one to the other; the first are results of convolutions."""

    seeds: list[str] = field(default_factory=list)
    members: set[str] = field(default_factory=set)


def worth_it(graph: Graph, kinds: Kinds) -> frozenset[str]:
    """Names of the results of convolutions that are to lie with their channels last."""
    families = _families(graph, kinds)
    held = {name for family in families for name in family.members}
    return frozenset(
        name
        for family in families
        if _saved(family, graph, kinds) > len(set(_turned(family, graph, kinds, held)))
        for name in family.seeds
    )


def is_one_place(shape: Sequence[int | str]) -> bool:
    """Whether an image has one place, so that its elements lie alike in both forms."""
    return all(size == 1 for size in shape[2:])


def _families(graph: Graph, kinds: Kinds) -> list[_Family]:
    of: dict[str, _Family] = {}
    for node in graph.nodes:
        output = node.outputs[0]
        if kinds.convolutions.get(node.op, (0, False))[1]:
            # what leaves the group is written as it has to lie
            if output not in graph.outputs:
                of[output] = _Family([output], {output})
        elif (node.op in kinds.elementwise or node.op in kinds.pooling) and _is_image(
            output, graph
        ):
            _join(output, [of[name] for name in node.inputs if name in of], of)
    return list({id(family): family for family in of.values()}.values())


def _join(output: str, met: list[_Family], of: dict[str, _Family]) -> None:
    if not met:
        return
    first = met[0]
    for other in met[1:]:
        if other is not first:
            first.seeds += [name for name in other.seeds if name not in first.members]
            first.members |= other.members
    first.members.add(output)
    of.update(dict.fromkeys(first.members, first))


def _saved(family: _Family, graph: Graph, kinds: Kinds) -> int:
    """How many changes of layout the library does not make."""
    found = len(family.seeds)
    for node in graph.nodes:
        images = kinds.convolutions.get(node.op, (int(node.op in kinds.pooling), False))[0]
        found += sum(name in family.members for name in node.inputs[:images])
    return found


def _turned(family: _Family, graph: Graph, kinds: Kinds, held: Collection[str]) -> Iterator[str]:
    """Names of images that are turned."""
    for node in graph.nodes:
        if node.outputs[0] in family.members and node.op in kinds.elementwise:
            yield from (
                name for name in node.inputs if name not in held and _is_whole(name, node, graph)
            )
    for name in family.members:
        readers = graph.consumers.get(name, ())
        known = (*kinds.convolutions, *kinds.elementwise, *kinds.pooling, *kinds.content)
        moves = name in graph.outputs or any(reader.op not in known for reader in readers)
        if moves and not is_one_place(graph.values[name].shape):
            yield name


def _is_image(name: str, graph: Graph) -> bool:
    return len(graph.values[name].shape) == 4


def _is_whole(name: str, node: Node, graph: Graph) -> bool:
    """Whether an input has as many elements as the result."""
    return graph.values[name].elements == graph.outputs_of(node)[0].elements
