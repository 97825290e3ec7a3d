"""A model for a Cell: its graph, with the groups that were fused as single operators with a body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx_ir as ir
from onnx_ir.passes import common as passes

from ms_fusion.formats.onnx_defaults import as_weights
from ms_fusion.formats.onnx_file import open_model
from ms_fusion.formats.onnx_graph import project
from ms_fusion.graph import Graph, Node
from ms_fusion.onnx_cell.inlining import inline
from ms_fusion.onnx_cell.operators import OPERATORS
from ms_fusion.onnx_cell.sizes import OF_SIZES
from ms_fusion.onnx_fusion.cleanup import clean
from ms_fusion.onnx_fusion.functions import DOMAIN, copied, is_fused
from ms_fusion.onnx_fusion.groups import fused_node
from ms_fusion.onnx_fusion.inlining import write_functions_in
from ms_fusion.onnx_fusion.native import Native

WORDS = OPERATORS.keys() | OF_SIZES | {"Shape", "Size", "Constant", "If"}
"""Operators that a Cell has a line for, or several."""


@dataclass(frozen=True)
class Opened:
    """A model that was read.

    Attributes:
        graph: all operators, those in groups too.
        units: what is computed, in order: single operators, and groups with a body.
        tensors: the model's constants by name.
        bodies: operator → name of an attribute → the graph that it is.
        is_fused: whether `auto_fuse` wrote it.
    """

    graph: Graph
    units: tuple[Node, ...]
    tensors: Mapping[str, np.ndarray]
    bodies: Mapping[str, Mapping[str, Graph]]
    is_fused: bool


def read(path: Path) -> Opened:
    """Reads a model that `auto_fuse` wrote, or any other, which is cleaned up then; inputs with a default are constants.

    Raises:
        InputError: it cannot be read.
        WorkerError: its shapes cannot be inferred.
    """
    model = open_model(path)
    as_weights(model)
    with Native() as native:
        groups: list[tuple[str, list[ir.Node]]] = []
        fused = is_fused(model)
        if fused:
            inline(model, native, WORDS)
            groups = _inlined(model)
            write_functions_in(model)
            passes.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
            native.infer_shapes(model)
        else:
            clean(model, native, "cpu")
            if inline(model, native, WORDS):
                clean(model, native, "cpu")
        passes.LiftSubgraphInitializersToMainGraphPass()(model)
        projection = project(model, bodies=True)
    names = {id(node): name for name, node in projection.nodes.items()}
    held: dict[str, str] = {}
    made: dict[str, Node] = {}
    for function, nodes in groups:
        inside = [names[id(node)] for node in nodes if id(node) in names]
        group = fused_node(projection.graph, inside, function)
        made[group.name] = group
        held |= dict.fromkeys(inside, group.name)
    # what is known stands beside the operators, also where it is a result of the model
    units = [
        made.get(node.name, node)
        for node in projection.graph.nodes
        if held.get(node.name, node.name) == node.name and node.op != "Constant"
    ]
    tensors = {
        name: value.const_value.numpy()
        for name, value in projection.values.items()
        if value.const_value is not None
    }
    return Opened(projection.graph, tuple(units), tensors, projection.bodies, fused)


def _inlined(model: ir.Model) -> list[tuple[str, list[ir.Node]]]:
    """Writes the functions of our domain into the model: the name of each, and its operators."""
    found = []
    for call in [node for node in model.graph if node.domain == DOMAIN]:
        function = model.functions[call.op_identifier()]
        known: dict[ir.Value | None, ir.Value | None] = {
            None: None,
            **dict(zip(function.inputs, call.inputs, strict=True)),
        }
        made = []
        for number, node in enumerate(function):
            copy = copied(node, known, f"{call.name}/{node.op_type}_{number}")
            for old, new in zip(node.outputs, copy.outputs, strict=True):
                new.name = f"{call.name}/{old.name}" if old.name else ""
            made.append(copy)
        results = [known[value] for value in function.outputs]
        ir.convenience.replace_nodes_and_values(
            model.graph,
            call,
            [call],
            made,
            call.outputs,
            results,  # type: ignore[arg-type]
        )
        found.append((function.name, [node for node in made if node.op_type != "Constant"]))
    model.functions.clear()
    model.opset_imports.pop(DOMAIN, None)
    return found
