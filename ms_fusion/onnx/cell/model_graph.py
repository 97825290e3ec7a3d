"""Reads an ONNX model to build a Cell; each fused group becomes a single node with a body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx_ir as ir
from onnx_ir.passes import common as passes

from ms_fusion.graph import Graph, Node
from ms_fusion.onnx.canonicalization.cleanup import clean
from ms_fusion.onnx.canonicalization.inlining import inline_model_functions
from ms_fusion.onnx.cell.inlining import inline
from ms_fusion.onnx.cell.operators import OPERATORS
from ms_fusion.onnx.cell.sizes import SIZE_OPERATORS
from ms_fusion.onnx.fuse.functions import DOMAIN, copy_node, is_fused
from ms_fusion.onnx.kernels.subgraphs import fused_node
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.readers.onnx_defaults import convert_defaults_to_weights
from ms_fusion.readers.onnx_file import open_model
from ms_fusion.readers.onnx_graph import project
from tbe_impl.errors import InputError

CELL_OPERATORS = OPERATORS.keys() | SIZE_OPERATORS | {"Shape", "Size", "Constant", "If"}
"""ONNX operator types that the generated source of a Cell can express."""


@dataclass(frozen=True)
class CellModel:
    """An ONNX model in the form that the writer of a Cell reads.

    Attributes:
        graph: the graph of all operators, including the operators in groups.
        units: the nodes in execution order: single operators, and fused groups with a body.
        tensors: the model's constants by name.
        bodies: maps the name of an operator to a dict. This dict maps the name of an attribute of
            the operator to the subgraph in this attribute.
        is_fused: whether `auto_fuse` wrote the model.
    """

    graph: Graph
    units: tuple[Node, ...]
    tensors: Mapping[str, np.ndarray]
    bodies: Mapping[str, Mapping[str, Graph]]
    is_fused: bool


def read_model(path: Path) -> CellModel:
    """Reads a model, and cleans it up unless `auto_fuse` wrote it.

    An input with a default value becomes a constant.

    Raises:
        InputError: the model cannot be read.
        WorkerError: the shapes of the model cannot be inferred.
    """
    model = open_model(path)
    convert_defaults_to_weights(model)
    with NativeWorkers() as native:
        groups: list[tuple[str, list[ir.Node]]] = []
        fused = is_fused(model)
        if fused:
            inline(model, native, CELL_OPERATORS)
            groups = _inline_group_functions(model)
            passes.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
            native.infer_shapes(model)
        else:
            clean(model, native, "cpu", keeps_weights=True)
            if inline(model, native, CELL_OPERATORS):
                clean(model, native, "cpu", keeps_weights=True)
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
    # `units` contains no Constant nodes, even for outputs of the model; `tensors` holds the values.
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
    return CellModel(projection.graph, tuple(units), tensors, projection.bodies, fused)


def _inline_group_functions(model: ir.Model) -> list[tuple[str, list[ir.Node]]]:
    """Inlines the functions of the ms_fusion domain; each function is a fused group.

    Returns one pair (function name, inlined operators without Constant nodes) for each call of a
    function. Calls in bodies of other operators are inlined too, but are not in the result.
    """
    found = []
    for call in [node for node in model.graph if node.domain == DOMAIN]:
        function = model.functions.get(call.op_identifier())
        if function is None:
            raise InputError(
                "the model calls kernels of a library of ONNX Runtime",
                place=call.name or call.op_type,
                remedy='Fuse the original model with target="any"',
            )
        known: dict[ir.Value | None, ir.Value | None] = {
            None: None,
            **dict(zip(function.inputs, call.inputs, strict=True)),
        }
        made = []
        for number, node in enumerate(function):
            copy = copy_node(node, known, f"{call.name}/{node.op_type}_{number}")
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
    inline_model_functions(model)  # the calls in bodies of If, Loop and Scan
    model.functions.clear()
    model.opset_imports.pop(DOMAIN, None)
    return found
