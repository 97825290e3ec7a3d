"""Folds transposes around matrix products into the library calls.

What goes is a transpose whose array nobody outside of the group wants. A product says in its attributes how its operands lie:
``transpose_a``, ``transpose_b``, ``transpose_y`` and ``heads_third``, as `custom_ops.onednn.prepare_matmul` takes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ms_fusion.graph import Graph, Node

PRODUCTS = frozenset({"MatMul", "BatchMatMul"})
BEFORE, BEHIND = "done_before", "done_behind"
"""Attributes of a product: the operators that it does, by type."""
HEADS = (0, 2, 1, 3)


class Way(NamedTuple):
    """How an array lies: whether its second and third dimension change places, and then its last two (of a result: first its last two)."""

    heads_third: bool = False
    turned: bool = False


READ: Mapping[tuple[int, ...], Way] = {HEADS: Way(True), (0, 2, 3, 1): Way(True, True)}
WRITTEN: Mapping[tuple[int, ...], Way] = {HEADS: Way(True), (0, 3, 1, 2): Way(True, True)}
"""Order of the dimensions → how an operand is read, a result written."""


def transposed_by_products(graph: Graph) -> Graph:
    """The graph without the transposes that its products can do."""
    if not any(node.op in PRODUCTS for node in graph):
        return graph
    for step in (_operands, _result):
        changed = {node.name: step(node, graph) for node in graph if node.op in PRODUCTS}
        graph = replace(graph, nodes=tuple(changed.get(node.name, node) for node in graph))
        graph = replace(graph, nodes=_needed(graph))
    return graph


def _operands(node: Node, graph: Graph) -> Node:
    """The product, reading its operands as they lie before they are transposed."""
    known = READ if _has_heads(node, graph) else {}
    inputs, told, heads = list(node.inputs), {}, []
    before = [*node.attr(BEFORE, ())]
    for at, name in enumerate("ab"):
        found = _last(_sources(inputs[at], graph), known)
        if found is not None:
            inputs[at] = found.name
            told[f"transpose_{name}"] = (
                bool(node.attr(f"transpose_{name}", False)) != found.way.turned
            )
            heads += [name] * found.way.heads_third
            before += ["Transpose"] * found.steps
    return _told(
        replace(node, inputs=tuple(inputs)),
        {**told, "heads_third": tuple(heads), BEFORE: tuple(before)},
    )


def _result(node: Node, graph: Graph) -> Node:
    """The product, writing its result as it lies after it is transposed."""
    found = _last(_targets(node.outputs[0], graph), WRITTEN if _has_heads(node, graph) else {})
    if found is None:
        return node
    heads = (*node.attr("heads_third", ()), *["y"] * found.way.heads_third)
    return _told(
        replace(node, outputs=(found.name,)),
        {
            "transpose_y": found.way.turned,
            "heads_third": heads,
            BEHIND: ("Transpose",) * found.steps,
        },
    )


class _Found(NamedTuple):
    name: str
    way: Way
    steps: int


def _last(
    transposes: Iterator[tuple[str, tuple[int, ...]]], known: Mapping[tuple[int, ...], Way]
) -> _Found | None:
    """The last in a row of transposes that a product can do at once, with all before it."""
    found = None
    for steps, (name, order) in enumerate(transposes, 1):
        plain = tuple(range(len(order)))
        way = {plain: Way(), (*plain[:-2], *plain[:-3:-1]): Way(turned=True), **known}.get(order)
        found = found if way is None else _Found(name, way, steps)
    return found


def _told(node: Node, more: Mapping[str, object]) -> Node:
    kept = {name: value for name, value in more.items() if value}
    attrs = {name: value for name, value in node.attrs if name not in more}
    return replace(node, attrs=tuple(sorted({**attrs, **kept}.items())))


def _has_heads(node: Node, graph: Graph) -> bool:
    """Whether oneDNN can be told of heads: four dimensions, the same batches on both sides, no bias."""
    shapes = [value.shape for value in graph.inputs_of(node)]
    if [len(shape) for shape in shapes] != [4, 4]:
        return False
    a, b = (
        (shape[0], shape[2 if name in node.attr("heads_third", ()) else 1])
        for name, shape in zip("ab", shapes, strict=True)
    )
    return a == b


def _sources(name: str, graph: Graph) -> Iterator[tuple[str, tuple[int, ...]]]:
    """What a value is a transpose of, nearest first, and the order in which its dimensions are read."""
    order = tuple(range(len(graph.values[name].shape)))
    while name in graph.producers and name not in graph.outputs:
        found = _order(graph.producers[name], graph)
        if found is None:
            return
        name, order = graph.producers[name].inputs[0], tuple(found[axis] for axis in order)
        yield name, order


def _targets(name: str, graph: Graph) -> Iterator[tuple[str, tuple[int, ...]]]:
    """What is a transpose of a value that nobody else reads, nearest first, and the order in which its dimensions are written."""
    order = tuple(range(len(graph.values[name].shape)))
    while name not in graph.outputs and len(graph.consumers.get(name, ())) == 1:
        (reader,) = graph.consumers[name]
        found = _order(reader, graph)
        if found is None:
            return
        name, order = reader.outputs[0], tuple(order[axis] for axis in found)
        yield name, order


def _order(node: Node, graph: Graph) -> tuple[int, ...] | None:
    """Of a transpose's dimensions; None for another operator, or where it is not known."""
    if node.op != "Transpose":
        return None
    given = graph.values[node.inputs[1]].data if len(node.inputs) > 1 else node.attr("perm")
    rank = len(graph.values[node.inputs[0]].shape)
    return None if given is None else tuple(int(axis) % rank for axis in np.ravel(given))


def _needed(graph: Graph) -> tuple[Node, ...]:
    """The nodes without transposes that nobody reads any more, and those that a product has written already."""
    made = {node.outputs[0] for node in graph if node.op in PRODUCTS}
    wanted, found = {*graph.outputs}, []
    for node in reversed(graph.nodes):
        if node.op != "Transpose" or (node.outputs[0] in wanted and node.outputs[0] not in made):
            wanted.update(node.inputs)
            found.append(node)
    return tuple(reversed(found))


def done_by(node: Node) -> tuple[str, ...]:
    """The operators that a node stands for."""
    return (*node.attr(BEFORE, ()), node.op, *node.attr(BEHIND, ()))
