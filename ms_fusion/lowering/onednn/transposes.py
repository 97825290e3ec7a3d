"""Folds transposes around matrix products into the library calls.

A folded transpose is removed if no remaining operator reads its result, and the result is not an
output of the group. Attributes of the product then describe the layouts of its operands and of its
result. They are ``transpose_a``, ``transpose_b``, ``transpose_y`` and ``heads_third``, as in
`custom_ops.onednn.prepare_matmul`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ms_fusion.graph import Graph, Node

PRODUCTS = frozenset({"MatMul", "BatchMatMul"})
FOLDED_BEFORE, FOLDED_BEHIND = "folded_before", "folded_behind"
"""Names of two attributes of a product that list the types of the operators folded into it.

The first attribute lists the operators before the product, the second lists the operators after the
product.
"""
HEADS = (0, 2, 1, 3)


class OperandLayout(NamedTuple):
    """The layout of an operand or of the result of a matrix product.

    If `heads_third` is True, the product swaps axes 1 and 2 of the operand. If `turned` is True,
    the product swaps the last two axes of the operand. If both are True, the swap of axes 1 and 2
    comes first for an operand, and last for the result.
    """

    heads_third: bool = False
    turned: bool = False


OPERAND_LAYOUTS: Mapping[tuple[int, ...], OperandLayout] = {
    HEADS: OperandLayout(True),
    (0, 2, 3, 1): OperandLayout(True, True),
}
RESULT_LAYOUTS: Mapping[tuple[int, ...], OperandLayout] = {
    HEADS: OperandLayout(True),
    (0, 3, 1, 2): OperandLayout(True, True),
}
"""A dict from the permutation of a Transpose after a product to the equivalent result layout."""


def fold_transposes(graph: Graph) -> Graph:
    """Folds transposes into neighbouring matrix products where the products support the layout."""
    if not any(node.op in PRODUCTS for node in graph):
        return graph
    for step in (_fold_into_operands, _fold_into_result):
        changed = {node.name: step(node, graph) for node in graph if node.op in PRODUCTS}
        graph = replace(graph, nodes=tuple(changed.get(node.name, node) for node in graph))
        graph = replace(graph, nodes=_remove_folded_transposes(graph))
    return graph


def _fold_into_operands(node: Node, graph: Graph) -> Node:
    """Folds the transposes of a product's operands into the product; returns the new product."""
    known = OPERAND_LAYOUTS if _has_heads(node, graph) else {}
    inputs, transposed, heads = list(node.inputs), {}, []
    before = [*node.attr(FOLDED_BEFORE, ())]
    for at, name in enumerate("ab"):
        match = _last_foldable(_sources(inputs[at], graph), known)
        if match is not None:
            inputs[at] = match.name
            transposed[f"transpose_{name}"] = (
                bool(node.attr(f"transpose_{name}", False)) != match.layout.turned
            )
            heads += [name] * match.layout.heads_third
            before += ["Transpose"] * match.steps
    return _set_attributes(
        replace(node, inputs=tuple(inputs)),
        {**transposed, "heads_third": tuple(heads), FOLDED_BEFORE: tuple(before)},
    )


def _fold_into_result(node: Node, graph: Graph) -> Node:
    """Folds the transposes of a product's result into the product; returns the new product."""
    match = _last_foldable(
        _targets(node.outputs[0], graph), RESULT_LAYOUTS if _has_heads(node, graph) else {}
    )
    if match is None:
        return node
    heads = (*node.attr("heads_third", ()), *["y"] * match.layout.heads_third)
    return _set_attributes(
        replace(node, outputs=(match.name,)),
        {
            "transpose_y": match.layout.turned,
            "heads_third": heads,
            FOLDED_BEHIND: ("Transpose",) * match.steps,
        },
    )


class _TransposeMatch(NamedTuple):
    name: str
    layout: OperandLayout
    steps: int


def _last_foldable(
    transposes: Iterator[tuple[str, tuple[int, ...]]],
    known: Mapping[tuple[int, ...], OperandLayout],
) -> _TransposeMatch | None:
    """Finds the longest part of a chain of transposes that one matrix product can fold.

    The part begins next to the product. The result describes the value at the end of the part. The
    result is None if the product can fold no transpose.
    """
    match = None
    for steps, (name, order) in enumerate(transposes, 1):
        plain = tuple(range(len(order)))
        layout = {
            plain: OperandLayout(),
            (*plain[:-2], *plain[:-3:-1]): OperandLayout(turned=True),
            **known,
        }.get(order)
        match = match if layout is None else _TransposeMatch(name, layout, steps)
    return match


def _set_attributes(node: Node, more: Mapping[str, object]) -> Node:
    kept = {name: value for name, value in more.items() if value}
    attrs = {name: value for name, value in node.attrs if name not in more}
    return replace(node, attrs=tuple(sorted({**attrs, **kept}.items())))


def _has_heads(node: Node, graph: Graph) -> bool:
    """Returns whether oneDNN supports `heads_third` (axes 1 and 2 swapped) for a product.

    The product must have two operands of rank 4 with equal batch sizes, and no bias.
    """
    shapes = [value.shape for value in graph.inputs_of(node)]
    if [len(shape) for shape in shapes] != [4, 4]:
        return False
    a, b = (
        (shape[0], shape[2 if name in node.attr("heads_third", ()) else 1])
        for name, shape in zip("ab", shapes, strict=True)
    )
    return a == b


def _sources(name: str, graph: Graph) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Follows a chain of transposes backwards from a value; yields the operand of each transpose.

    Each item is a pair (operand, permutation). The permutation composes all transposes from the
    operand to the value.
    """
    order = tuple(range(len(graph.values[name].shape)))
    while name in graph.producers and name not in graph.outputs:
        step = _order(graph.producers[name], graph)
        if step is None:
            return
        name, order = graph.producers[name].inputs[0], tuple(step[axis] for axis in order)
        yield name, order


def _targets(name: str, graph: Graph) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Follows a chain of transposes forwards from a value; yields the result of each transpose.

    Each item is a pair (result, permutation). The permutation composes all transposes from the
    value to the result. The chain ends where a value has several readers.
    """
    order = tuple(range(len(graph.values[name].shape)))
    while name not in graph.outputs and len(graph.consumers.get(name, ())) == 1:
        (reader,) = graph.consumers[name]
        step = _order(reader, graph)
        if step is None:
            return
        name, order = reader.outputs[0], tuple(order[axis] for axis in step)
        yield name, order


def _order(node: Node, graph: Graph) -> tuple[int, ...] | None:
    """Returns the permutation of a Transpose.

    Returns None if the node is not a Transpose, or if its permutation is unknown.
    """
    if node.op != "Transpose":
        return None
    given = graph.values[node.inputs[1]].data if len(node.inputs) > 1 else node.attr("perm")
    rank = len(graph.values[node.inputs[0]].shape)
    return None if given is None else tuple(int(axis) % rank for axis in np.ravel(given))


def _remove_folded_transposes(graph: Graph) -> tuple[Node, ...]:
    """Removes each Transpose whose result is not read, or is written directly by a matrix product.

    Returns the remaining nodes.
    """
    written = {node.outputs[0] for node in graph if node.op in PRODUCTS}
    read, kept = {*graph.outputs}, []
    for node in reversed(graph.nodes):
        if node.op != "Transpose" or (node.outputs[0] in read and node.outputs[0] not in written):
            read.update(node.inputs)
            kept.append(node)
    return tuple(reversed(kept))


def folded_operators(node: Node) -> tuple[str, ...]:
    """Returns the types of all operators that a node computes: its own and the folded operators."""
    return (*node.attr(FOLDED_BEFORE, ()), node.op, *node.attr(FOLDED_BEHIND, ()))
