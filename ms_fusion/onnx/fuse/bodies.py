"""Fuses inside the bodies of If, Loop and Scan.

Each body is copied to a separate model. The values of the outer graph that the body reads become
inputs of this model. The model is cleaned and fused like any other model, and its graph then
replaces the body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import onnx_ir as ir

from ms_fusion.ledger import Ledger, Summary
from ms_fusion.onnx.canonicalization.cleanup import clean
from ms_fusion.onnx.canonicalization.model_edits import is_op, remove_unread_initializers
from ms_fusion.onnx.fuse.fusion_request import FusionRequest, FusionResult
from tbe_impl.errors import pluralize

_SUMS = ("saved bytes", "saved launches", "saved us", "read again bytes", "floor bytes")
"""Entries of a ledger's environment whose values are summed over all bodies."""
OPERATORS_WITH_BODIES = ("If", "Loop", "Scan")


@dataclass(frozen=True)
class FusedBody:
    """A body that was replaced.

    Attributes:
        place: the operator and its attribute, such as ``Loop scan_3, body``.
        node: the operator.
        attribute: name of the attribute.
        before: the graph that was replaced.
        result: the result of the fusion.
    """

    place: str
    node: ir.Node
    attribute: str
    before: ir.Graph
    result: FusionResult

    def undo(self) -> None:
        """Restores the original body."""
        self.node.attributes[self.attribute] = ir.AttrGraph(self.attribute, self.before)


def fuse_bodies(fuse: Callable[..., FusionResult], task: FusionRequest) -> list[FusedBody]:
    """Fuses the bodies of all If, Loop and Scan of the task's model in place, inner ones first.

    Returns the bodies in which a group was fused.
    """
    found = []
    for node, name, graph in list(_bodies(task.model.graph)):
        outer = _captured_values(graph)
        if any(value.type is None for value in outer) or not len(graph):
            continue
        source = task.native.place(".onnx")
        alone = _standalone_model(graph, outer, task.model)
        ir.save(ir.external_data.load_to_model(alone), source)
        cleaned = clean(alone, task.native, task.device.name)
        own = replace(task, source=source, model=alone, cleaned=cleaned)
        result = fuse(own, verify=False)
        same_opset = result.model.opset_imports.get("") == task.model.opset_imports.get("")
        if not _kernel_count(result.ledger) or not same_opset:
            continue
        place = f"{node.op_type} {node.name or node.outputs[0].name}, {name}"
        body = FusedBody(place, node, name, graph, result)
        _replace_body(body, outer, task.model)
        found.append(body)
    return found


def _kernel_count(ledger: Ledger) -> int:
    return len(ledger.kernels) + len(ledger.single_operator_kernels)


def _bodies(graph: ir.Graph) -> Iterator[tuple[ir.Node, str, ir.Graph]]:
    """Yields (operator, attribute of its body, body) for each body, inner bodies first."""
    for node in graph:
        if not is_op(node, *OPERATORS_WITH_BODIES):
            continue
        for name, attribute in node.attributes.items():
            if attribute.type == ir.AttributeType.GRAPH:
                yield from _bodies(attribute.as_graph())
                yield node, name, attribute.as_graph()


def _captured_values(graph: ir.Graph) -> list[ir.Value]:
    """Returns the values of outer graphs that a body, or a body inside this body, reads."""
    made: set[ir.Value] = set()
    read: dict[ir.Value, None] = {}

    def visit(one: ir.Graph) -> None:
        made.update(one.inputs)
        made.update(one.initializers.values())
        for node in one:
            read.update(dict.fromkeys(value for value in node.inputs if value is not None))
            made.update(node.outputs)
            for attribute in node.attributes.values():
                if attribute.type == ir.AttributeType.GRAPH:
                    visit(attribute.as_graph())
        read.update(dict.fromkeys(one.outputs))

    visit(graph)
    return [value for value in read if value not in made]


def _standalone_model(graph: ir.Graph, outer: list[ir.Value], model: ir.Model) -> ir.Model:
    """Returns a model with copies of a body and of the outer constants that the body reads."""
    copy = graph.clone(allow_outer_scope_values=True)
    for value in outer:
        made = ir.Value(
            name=value.name, shape=value.shape, type=value.type, const_value=value.const_value
        )
        _rewire(copy, value, made)
        if value.const_value is not None and not value.is_graph_input():
            copy.register_initializer(made)
        else:
            copy.inputs.append(made)
    copy.opset_imports.update(model.opset_imports)
    return ir.Model(copy, ir_version=model.ir_version)


def _rewire(graph: ir.Graph, before: ir.Value, after: ir.Value) -> None:
    """Makes a graph and its bodies read a new value instead of a given one.

    Readers of the given value outside of this graph do not change.
    """
    for node in graph.all_nodes():
        for place, value in enumerate(node.inputs):
            if value is before:
                node.replace_input_with(place, after)
        for attribute in node.attributes.values():
            if attribute.type == ir.AttributeType.GRAPH:
                inner = attribute.as_graph()
                inner.outputs[:] = [after if one is before else one for one in inner.outputs]
    graph.outputs[:] = [after if one is before else one for one in graph.outputs]


def _replace_body(body: FusedBody, outer: list[ir.Value], model: ir.Model) -> None:
    """Replaces a body by the fused body; the fused body then reads the outer graphs' values."""
    made = body.result.model
    graph = made.graph
    remove_unread_initializers(made)
    by_name = {value.name: value for value in outer}
    for value in (*graph.inputs[len(body.before.inputs) :], *graph.initializers.values()):
        if value.name in by_name:
            _rewire(graph, value, by_name[value.name])
            graph.initializers.pop(value.name or "", None)
    del graph.inputs[len(body.before.inputs) :]
    body.node.attributes[body.attribute] = ir.AttrGraph(body.attribute, graph)
    model.functions.update(made.functions)
    for domain, version in made.opset_imports.items():
        model.opset_imports.setdefault(domain, version)


def _add_totals(whole: Summary, body: Summary) -> Summary:
    """Returns the totals of a graph, with those of one run of a body."""
    return replace(
        whole,
        launches=whole.launches + body.launches,
        bytes_moved=whole.bytes_moved + body.bytes_moved,
        flops=whole.flops + body.flops,
    )


def add_bodies(done: FusionResult, bodies: list[FusedBody]) -> FusionResult:
    """Returns the result `done` with the kernels and ledger entries of the fused bodies added.

    The ledger is the record of fused and unfused operators.
    """
    ledger = done.ledger
    told = dict(ledger.environment)
    for one in bodies:
        own = one.result.ledger
        count = _kernel_count(own)
        ledger = replace(
            ledger,
            before=_add_totals(ledger.before, own.before),
            after=_add_totals(ledger.after, own.after),
            kernels=(*ledger.kernels, *own.kernels),
            single_operator_kernels=(
                *ledger.single_operator_kernels,
                *own.single_operator_kernels,
            ),
            rejected=(*ledger.rejected, *own.rejected),
            warnings=tuple(dict.fromkeys((*ledger.warnings, *own.warnings))),
            notes=(
                *ledger.notes,
                f"inside {one.place}: {pluralize(count, 'group')} of "
                f"{pluralize(own.environment['operators'], 'operator')}; "
                "times and savings count one run of the body",
            ),
        )
        for key in (*_SUMS, "candidates", "operators"):
            told[key] = told[key] + own.environment[key]
        for key in ("custom operators", "operators of ONNX Runtime"):
            if key in told:
                counts = dict(told[key])
                for name, number in own.environment[key].items():
                    counts[name] = counts.get(name, 0) + number
                told[key] = counts
    kernels = done.kernels
    if kernels is not None:
        kernels = [*kernels, *(kernel for one in bodies for kernel in one.result.kernels or ())]
    operators = {one.name: one for one in done.operators}
    operators |= {own.name: own for one in bodies for own in one.result.operators}
    return replace(
        done,
        ledger=replace(ledger, environment=told),
        kernels=kernels,
        operators=tuple(operators.values()),
    )
