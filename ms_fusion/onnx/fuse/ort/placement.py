"""Builds the onnx-ir operators that replace groups, in the model or in a separate model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx_ir as ir

from ms_fusion.graph import Graph, Node
from ms_fusion.onnx.fuse.ort.equivalents import Site

INITIALIZERS_IR_VERSION = 4
"""First IR version in which an initializer need not be an input."""


def nodes_of(site: Site, known: dict[str, ir.Value | None], name: str) -> list[ir.Node]:
    """Returns the operators of a replacement.

    `known` maps names to values of the model. The function adds the results of the operators to
    `known`.
    """
    made: list[ir.Node] = []
    for key, array in site.constants.items():
        constant = ir.node(
            "Constant", [], {"value": ir.tensor(array)}, name=f"{name}/constant_{len(made)}"
        )
        constant.outputs[0].name = _unused_name(f"{name}/constant_{len(made)}", known)
        known[key] = constant.outputs[0]
        made.append(constant)
    for call in site.calls:
        given = [known[value] if value else None for value in call.inputs]
        node = ir.node(
            call.op,
            given,
            dict(call.attributes),
            domain=call.domain,
            num_outputs=len(call.outputs),
            name=f"{name}/{call.op}_{len(made)}",
        )
        for place, (result, value) in enumerate(zip(call.outputs, node.outputs, strict=True)):
            value.name = (
                _unused_name(f"{name}/{call.op}_{len(made)}_{place}", known) if result else ""
            )
            known[result] = value
        made.append(node)
    return made


def _unused_name(name: str, known: Mapping[str, ir.Value | None]) -> str:
    return name if name not in known else _unused_name(f"{name}'", known)


def standalone_model(
    site: Site, group: Node, model: ir.Model, values: Mapping[str, ir.Value]
) -> ir.Model:
    """Returns a model of the replacement alone.

    The group's inputs become ``x0``, ``x1`` and so on.
    """
    body = group.body
    assert body is not None
    known: dict[str, ir.Value | None] = {}
    inputs = []
    for number, name in enumerate(body.inputs):
        known[name] = ir.Value(name=f"x{number}", shape=values[name].shape, type=values[name].type)
        inputs.append(known[name])
    constants: list[ir.Node] = []
    for name, value in body.values.items():
        if value.kind == "constant" and name in values and values[name].const_value is not None:
            one = ir.node("Constant", [], {"value": values[name].const_value})
            one.outputs[0].name = f"c{len(constants)}"
            known[name] = one.outputs[0]
            constants.append(one)
    nodes = nodes_of(site, known, "k")
    outputs = [known[name] for name in body.outputs]
    for name, made in zip(body.outputs, outputs, strict=True):
        assert made is not None
        made.shape, made.type = values[name].shape, values[name].type
    imports = {**model.opset_imports, **dict.fromkeys(_domains([site]), 1)}
    graph = ir.Graph(
        inputs,  # type: ignore[arg-type]
        outputs,  # type: ignore[arg-type]
        nodes=[*constants, *nodes],
        opset_imports=imports,
        name="written",
    )
    return ir.Model(graph, ir_version=model.ir_version)


def hold_weights(model: ir.Model, body: Graph, values: Mapping[str, ir.Value]) -> None:
    """Turns inputs of a group's model that are weights into initializers, as in the whole model.

    ONNX Runtime prepares products with constant weights when it loads a model.

    Args:
        model: a model whose inputs ``x0``, ``x1`` … are those of the group.
        body: the graph of the group.
        values: maps the name of a value in the model's `Graph` to the value of the model.
    """
    given = {value.name: value for value in model.graph.inputs}
    for number, name in enumerate(body.inputs):
        tensor = values[name].const_value
        if tensor is not None:
            value = given[f"x{number}"]
            value.const_value = ir.tensor(tensor.numpy(), dtype=tensor.dtype)
            model.graph.inputs.remove(value)
            model.graph.register_initializer(value)
    model.ir_version = max(model.ir_version, INITIALIZERS_IR_VERSION)


def replace_groups(
    model: ir.Model,
    sites: Sequence[tuple[Site, Node]],
    nodes: Mapping[str, ir.Node],
    values: Mapping[str, ir.Value],
) -> None:
    """Replaces groups in place; the model's inputs and outputs keep their names.

    Args:
        model: the model.
        sites: pairs (replacement, group). The groups share no operator.
        nodes: maps the name of a node in the model's `Graph` to the node of the model.
        values: maps the name of a value in the model's `Graph` to the value of the model.
    """
    now: dict[str, ir.Value | None] = dict(values)
    for site, group in sites:
        body = group.body
        assert body is not None
        old = [nodes[node.name] for node in body.nodes]
        before = [now[name] for name in body.outputs]
        made = nodes_of(site, now, group.name)
        after = [now[name] for name in body.outputs]
        for one, two in zip(before, after, strict=True):
            assert one is not None
            assert two is not None
            two.shape, two.type = one.shape, one.type
        ir.convenience.replace_nodes_and_values(
            model.graph,
            old[-1],
            old,
            made,
            before,  # type: ignore[arg-type]
            after,  # type: ignore[arg-type]
        )
    for domain in _domains([site for site, _ in sites]):
        model.opset_imports.setdefault(domain, 1)
    if sites:
        model.graph.sort()


def _domains(sites: Sequence[Site]) -> set[str]:
    """Returns the domains of the operators that the replacements call, except ONNX's own domain."""
    return {call.domain for site in sites for call in site.calls} - {""}
