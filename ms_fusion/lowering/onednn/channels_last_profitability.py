"""Decides which images are in NHWC: compares the saved with the added layout conversions.

A convolution that reads or writes NHWC saves a conversion. Elementwise work costs the same in both
layouts. A conversion is added in three cases:

- An elementwise operator reads an NHWC image and an image that stays in NCHW.
- An NHWC image is an output of the graph.
- An operator that supports only NCHW reads an NHWC image.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ms_fusion.graph import Graph, Node


@dataclass(frozen=True)
class OperatorKinds:
    """Sets of operator types, classified by their support for image layouts.

    Attributes:
        convolutions: a dict from an operator type to (n, whether the result is an image). The first
            n inputs of the operator are images.
        elementwise: operators whose inputs and result must have the same layout.
        pooling: operators that support both layouts and are faster in NHWC.
        content: operators that support both layouts and whose result is not an image.
    """

    convolutions: Mapping[str, tuple[int, bool]]
    elementwise: Collection[str]
    pooling: Collection[str]
    content: Collection[str]


@dataclass
class _Family:
    """Images that must have the same layout, since elementwise operators or poolings connect them.

    `seeds` are the images that convolutions produce. `members` are all images of the family.
    """

    seeds: list[str] = field(default_factory=list)
    members: set[str] = field(default_factory=set)


def profitable_results(graph: Graph, kinds: OperatorKinds) -> frozenset[str]:
    """Returns the names of the convolution results that are profitable in NHWC."""
    families = _families(graph, kinds)
    held = {name for family in families for name in family.members}
    return frozenset(
        name
        for family in families
        if _saved_conversions(family, graph, kinds)
        > len(set(_added_conversions(family, graph, kinds, held)))
        for name in family.seeds
    )


def is_single_pixel(shape: Sequence[int | str]) -> bool:
    """Returns whether height and width are 1; then NCHW and NHWC have the same bytes."""
    return all(size == 1 for size in shape[2:])


def _families(graph: Graph, kinds: OperatorKinds) -> list[_Family]:
    of: dict[str, _Family] = {}
    for node in graph.nodes:
        output = node.outputs[0]
        if kinds.convolutions.get(node.op, (0, False))[1]:
            # A result that leaves the group keeps MindSpore's layout.
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


def _saved_conversions(family: _Family, graph: Graph, kinds: OperatorKinds) -> int:
    """Returns the number of layout conversions that the NHWC layout saves for `family`."""
    found = len(family.seeds)
    for node in graph.nodes:
        images = kinds.convolutions.get(node.op, (int(node.op in kinds.pooling), False))[0]
        found += sum(name in family.members for name in node.inputs[:images])
    return found


def _added_conversions(
    family: _Family, graph: Graph, kinds: OperatorKinds, held: Collection[str]
) -> Iterator[str]:
    """Yields the names of the images that must be converted if `family` is in NHWC.

    `held` contains the images of all families.
    """
    for node in graph.nodes:
        if node.outputs[0] in family.members and node.op in kinds.elementwise:
            yield from (
                name
                for name in node.inputs
                if name not in held and _is_full_size(name, node, graph)
            )
    for name in family.members:
        readers = graph.consumers.get(name, ())
        known = (*kinds.convolutions, *kinds.elementwise, *kinds.pooling, *kinds.content)
        moves = name in graph.outputs or any(reader.op not in known for reader in readers)
        if moves and not is_single_pixel(graph.values[name].shape):
            yield name


def _is_image(name: str, graph: Graph) -> bool:
    return len(graph.values[name].shape) == 4


def _is_full_size(name: str, node: Node, graph: Graph) -> bool:
    """Returns whether an input has as many elements as the node's result."""
    return graph.values[name].elements == graph.outputs_of(node)[0].elements
