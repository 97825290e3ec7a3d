"""Replaces chosen groups by calls of model-local functions, which every ONNX runtime can run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import onnx_ir as ir

from ms_fusion.graph import Node

DOMAIN = "ms_fusion"
MARK = "ms_fusion.fused"
"""Metadata key whose presence marks a model as fused."""
ANY_CONSTANT_OPSET = 9
"""First opset in which a Constant may contain integers or booleans."""


@dataclass(frozen=True)
class FusedGroup:
    """A group that becomes a function.

    Attributes:
        function: name of the function.
        node: the fused operator, whose body is the group's graph.
    """

    function: str
    node: Node


def is_fused(model: ir.Model) -> bool:
    """Returns whether the model is marked as fused."""
    return MARK in model.metadata_props


def mark(model: ir.Model, kernels: Mapping[str, str], version: str) -> None:
    """Marks the model as fused, with ms_fusion's version and the kernel of each function."""
    told = {"version": version, "kernels": dict(sorted(kernels.items()))}
    model.metadata_props[MARK] = json.dumps(told, separators=(",", ":"))


def apply(
    model: ir.Model,
    groups: Sequence[FusedGroup],
    nodes: Mapping[str, ir.Node],
    values: Mapping[str, ir.Value],
) -> None:
    """Replaces groups by calls of functions, in place.

    The model's inputs and outputs keep their names.

    Args:
        model: the model.
        groups: the groups, which share no operator.
        nodes: maps the name of a node in the model's `Graph` to the node of the model.
        values: maps the name of a value in the model's `Graph` to the value of the model.
    """
    for group in groups:
        key = (DOMAIN, group.function, "")
        if key not in model.functions:
            graph = graph_of(model, group, nodes, values, _fed_constants(model, group, values))
            model.functions[key] = ir.Function(DOMAIN, group.function, graph=graph, attributes=[])
    now = dict(values)
    for group in groups:
        _replace_group(model, group, nodes, now)
    if groups:
        model.opset_imports.setdefault(DOMAIN, 1)
        model.graph.sort()


def graph_of(
    model: ir.Model,
    group: FusedGroup,
    nodes: Mapping[str, ir.Node],
    values: Mapping[str, ir.Value],
    fed: Sequence[str] = (),
) -> ir.Graph:
    """Returns a new graph with copies of a group's operators.

    Small constants are embedded, except the constants in `fed`, which become inputs.
    """
    body = group.node.fused_body
    known: dict[ir.Value | None, ir.Value | None] = {None: None}
    inputs = []
    for number, name in enumerate((*body.inputs, *fed)):
        source = values[name]
        made = ir.Value(name=f"x{number}", shape=source.shape, type=source.type)
        known[source] = made
        inputs.append(made)
    inside: list[ir.Node] = []
    for name in body.values:
        source = values.get(name)  # type: ignore[assignment]
        if (
            name not in fed
            and body.values[name].kind == "constant"
            and source is not None
            and source.const_value is not None
        ):
            constant = ir.node(
                "Constant", [], {"value": source.const_value}, name=f"constant_{len(inside)}"
            )
            constant.outputs[0].name = f"c{len(inside)}"
            known[source] = constant.outputs[0]
            inside.append(constant)
    used = {value for node in body.nodes for value in node.inputs} | set(body.outputs)
    for number, node in enumerate(body.nodes):
        source_node = nodes[node.name]
        copy = copy_node(source_node, known, f"{source_node.op_type}_{number}")
        for place, new in enumerate(copy.outputs):
            new.name = f"v{number}_{place}" if node.outputs[place] in used else ""
        inside.append(copy)
    outputs = [known[values[name]] for name in body.outputs]
    return ir.Graph(
        inputs,
        outputs,  # type: ignore[arg-type]
        nodes=inside,
        opset_imports=_imports(model),
        name=group.function,
    )


def copy_node(node: ir.Node, known: dict[ir.Value | None, ir.Value | None], name: str) -> ir.Node:
    """Copies an operator under another name.

    Args:
        node: the operator to copy.
        known: maps a value that the original reads to the value that the copy reads. The function
            adds the results: for each result of the original, the result of the copy. The results
            of the copy have no names yet.
        name: name of the copy.
    """
    copy = ir.Node(
        node.domain,
        node.op_type,
        [known[value] for value in node.inputs],
        list(node.attributes.values()),
        num_outputs=len(node.outputs),
        version=node.version,
        name=name,
    )
    for old, new in zip(node.outputs, copy.outputs, strict=True):
        new.shape, new.type = old.shape, old.type
        known[old] = new
    return copy


def _fed_constants(model: ir.Model, group: FusedGroup, values: Mapping[str, ir.Value]) -> list[str]:
    """Returns the names of the group's constants that a function cannot contain.

    Before opset 9, a Constant cannot hold integers or booleans. The calls of the function pass such
    constants as inputs.
    """
    body = group.node.fused_body
    if model.opset_imports.get("", 0) >= ANY_CONSTANT_OPSET:
        return []
    held = {
        name: values[name]
        for name, value in body.values.items()
        if value.kind == "constant" and name in values
    }
    return [
        name
        for name, value in held.items()
        if value.dtype is None or not value.dtype.is_floating_point()
    ]


def _imports(model: ir.Model) -> dict[str, int]:
    return {domain: version for domain, version in model.opset_imports.items() if domain != DOMAIN}


def _replace_group(
    model: ir.Model, group: FusedGroup, nodes: Mapping[str, ir.Node], now: dict[str, ir.Value]
) -> None:
    """Replaces a group by a call. `now` maps the names of values to the model's current values."""
    body = group.node.fused_body
    old = [nodes[node.name] for node in body.nodes]
    before = [now[name] for name in body.outputs]
    call = ir.Node(
        DOMAIN,
        group.function,
        [now[name] for name in (*body.inputs, *_fed_constants(model, group, now))],
        num_outputs=len(before),
        name=group.node.name,
    )
    for one, made in zip(before, call.outputs, strict=True):
        made.shape, made.type = one.shape, one.type
    ir.convenience.replace_nodes_and_values(model.graph, old[-1], old, [call], before, call.outputs)
    now.update(zip(body.outputs, call.outputs, strict=True))
