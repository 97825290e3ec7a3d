"""Inlines ONNX function bodies and unrolls loops with a known trip count."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx_ir.passes import common as passes

from ms_fusion.accuracy.worker_process import WorkerError
from ms_fusion.onnx.canonicalization.cleanup import fold
from ms_fusion.onnx.native.child import NativeWorkers

NODES_MAX = 20_000
"""Largest number of operators into which one loop is unrolled."""
NESTING_MAX = 8
"""Largest nesting depth of inlined functions and loops."""
AXES_INPUT_OPSET = 13
"""First opset in which Unsqueeze reads its axes as an input."""


def inline(model: ir.Model, native: NativeWorkers, known: Collection[str]) -> bool:
    """Inlines function bodies and unrolls loops in place, and returns whether the model changed.

    `known` is a set of operator types. An operator whose type is not in `known` is replaced by the
    function body that ONNX defines for the type, if there is one. A ``Loop`` or ``Scan`` with a
    known trip count is unrolled. Other operators are left unchanged.
    """
    changed = False
    for _ in range(NESTING_MAX):
        wanted = [node for node in _nodes(model) if _is_inlinable(node, known)]
        if not wanted:
            break
        _infer(model, native)
        names = _Names(model)
        if not any(_inline_one(model, node, native, names) for node in wanted):
            break
        changed = True
        fold(model)
        passes.RemoveUnusedNodesPass()(model)
    if changed:
        _infer(model, native)
    return changed


def _nodes(model: ir.Model) -> Iterator[ir.Node]:
    return ir.traversal.RecursiveGraphIterator(model.graph)


def _infer(model: ir.Model, native: NativeWorkers) -> None:
    # If inference fails, shapes stay unknown. Later code rejects the operators that need them.
    with suppress(WorkerError):
        native.infer_shapes(model)


def _is_inlinable(node: ir.Node, known: Collection[str]) -> bool:
    if node.domain not in ("", "ai.onnx"):
        return False
    has_graph = any(
        item.type in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)
        for item in node.attributes.values()
    )
    return node.op_type in ("Loop", "Scan") or (node.op_type not in known and not has_graph)


def _inline_one(model: ir.Model, node: ir.Node, native: NativeWorkers, names: _Names) -> bool:
    if node.graph is None:
        return False  # it was inside a loop that has been unrolled
    if node.op_type in ("Loop", "Scan"):
        made = (_unroll_loop if node.op_type == "Loop" else _unroll_scan)(model, node, names)
        results = made and [
            one for one, value in zip(made, node.outputs, strict=True) if value.name
        ]
    else:
        results = _inline_function(model, node, native, names)
    if results is None:
        return False
    copies = [_node("Identity", [one], names, node) for one in results]
    wanted = [value for value in node.outputs if value.name]
    ir.convenience.replace_nodes_and_values(
        node.graph, node, [node], copies, wanted, [one.outputs[0] for one in copies]
    )
    return True


class _Names:
    """Allocates names that the model does not use."""

    def __init__(self, model: ir.Model):
        self.taken = {
            value.name
            for node in _nodes(model)
            for value in (*node.inputs, *node.outputs)
            if value is not None
        }
        self.taken |= {node.name for node in _nodes(model)}
        self.taken |= {
            value.name
            for graph in model.graphs()
            for value in (*graph.inputs, *graph.initializers.values())
        }

    def new(self, stem: str) -> str:
        number, name = 0, stem
        while name in self.taken:
            number += 1
            name = f"{stem}_{number}"
        self.taken.add(name)
        return name


def _node(
    op: str, inputs: Sequence[ir.Value | None], names: _Names, beside: ir.Node, **attributes: int
) -> ir.Node:
    told = [ir.AttrInt64(name, value) for name, value in attributes.items()]
    made = ir.Node("", op, inputs, told, name=names.new(f"{beside.name or beside.op_type}/{op}"))
    made.outputs[0].name = names.new(f"{made.name}/result")
    return made


def _add_constant(model: ir.Model, array: np.ndarray, names: _Names) -> ir.Value:
    name = names.new("known")
    tensor = ir.tensor(array, name=name)
    value = ir.Value(
        name=name, shape=ir.Shape(array.shape), type=ir.TensorType(tensor.dtype), const_value=tensor
    )
    model.graph.register_initializer(value)
    return value


def _splice_body(
    model: ir.Model, body: ir.Graph, given: Sequence[ir.Value | None], node: ir.Node, names: _Names
) -> list[ir.Value]:
    """Moves the operators of `body` in front of `node`, and returns the results of `body`.

    The values `given` replace the inputs of `body`.
    """
    assert node.graph is not None
    known = dict(zip(body.inputs, given, strict=True))
    results: list[Any] = [known.get(value, value) for value in body.outputs]
    body.outputs.clear()
    for own, value in known.items():
        for reader, place in own.uses():
            reader.replace_input_with(place, value)
    for name, constant in list(body.initializers.items()):
        body.initializers.pop(name)
        if constant not in known:
            constant.name = names.new(f"{node.name}/{name}")
            model.graph.register_initializer(constant)
    nodes = list(body)
    body.remove(nodes)
    for one in nodes:
        one.name = names.new(f"{node.name}/{one.name or one.op_type}")
        for value in one.outputs:
            value.name = names.new(f"{node.name}/{value.name}") if value.name else value.name
    node.graph.insert_before(node, nodes)
    return results


def _inline_function(
    model: ir.Model, node: ir.Node, native: NativeWorkers, names: _Names
) -> list[ir.Value] | None:
    try:
        body = native.function_of(node, model.opset_imports.get("", 0))
    except WorkerError:
        return None
    if body is None:
        return None
    return _splice_body(
        model,
        body,
        list(dict.fromkeys(value for value in node.inputs if value is not None)),
        node,
        names,
    )


def _constant_array(value: ir.Value | None) -> np.ndarray | None:
    tensor = None if value is None else ir.convenience.get_const_tensor(value)
    return None if tensor is None else tensor.numpy()


def _has_true_condition(body: ir.Graph) -> bool:
    """Returns whether the condition that a loop body returns is always true."""
    value: ir.Value = body.outputs[0]
    while (maker := value.producer()) is not None and maker.op_type == "Identity":
        assert maker.inputs[0] is not None
        value = maker.inputs[0]
    found = _constant_array(value)
    return value is body.inputs[1] or (found is not None and bool(found.all()))


def _unrollable_body(node: ir.Node, count: int) -> ir.Graph | None:
    """Returns the body of a loop if `count` copies of the body have at most `NODES_MAX` operators.

    Returns None if the copies have more operators, or if `count` is not positive.
    """
    body = node.attributes["body"].as_graph()
    size = sum(1 for _ in ir.traversal.RecursiveGraphIterator(body))
    return body if count > 0 and count * max(size, 1) <= NODES_MAX else None


def _unroll_loop(model: ir.Model, node: ir.Node, names: _Names) -> list[ir.Value] | None:
    count, starts = _constant_array(node.inputs[0]), _constant_array(node.inputs[1])
    body = (
        None
        if count is None or count.size != 1
        else _unrollable_body(node, int(count.reshape(-1)[0]))
    )
    if count is None or body is None or not _has_true_condition(body):
        return None
    if node.inputs[1] is not None and (starts is None or not starts.all()):
        return None
    state: list[ir.Value] = [value for value in node.inputs[2:] if value is not None]
    going = _add_constant(model, np.array(True), names)
    rows: list[list[ir.Value]] = []
    for number in range(int(count.reshape(-1)[0])):
        given = [_add_constant(model, np.array(number), names), going, *state]
        made = _splice_body(model, body.clone(allow_outer_scope_values=True), given, node, names)
        state = made[1 : 1 + len(state)]
        rows.append(made[1 + len(state) :])
    return [
        *state,
        *(_stack_values(model, column, 0, node, names) for column in zip(*rows, strict=True)),
    ]


def _unroll_scan(model: ir.Model, node: ir.Node, names: _Names) -> list[ir.Value] | None:
    told: Callable[[str], tuple[int, ...]] = lambda name: (  # noqa: E731
        tuple(node.attributes[name].as_ints()) if name in node.attributes else ()
    )
    read = node.attributes["num_scan_inputs"].as_int()
    state = [value for value in node.inputs[: len(node.inputs) - read] if value is not None]
    sequences = [value for value in node.inputs[len(node.inputs) - read :] if value is not None]
    made_count = len(node.outputs) - len(state)
    axes, ways = (
        told("scan_input_axes") or (0,) * read,
        told("scan_input_directions") or (0,) * read,
    )
    out_axes, out_ways = (
        told("scan_output_axes") or (0,) * made_count,
        told("scan_output_directions") or (0,) * made_count,
    )
    if model.opset_imports.get("", 0) < 9 or not sequences or sequences[0].shape is None:
        return None
    length = sequences[0].shape[axes[0]]
    body = _unrollable_body(node, length) if isinstance(length, int) else None
    if body is None or not isinstance(length, int):
        return None
    rows: list[list[ir.Value]] = []
    for number in range(length):
        given: list[ir.Value | None] = [*state]
        for value, axis, way in zip(sequences, axes, ways, strict=True):
            place = _add_constant(model, np.array(length - 1 - number if way else number), names)
            part = _node("Gather", [value, place], names, node, axis=axis)
            assert node.graph is not None
            node.graph.insert_before(node, part)
            given.append(part.outputs[0])
        made = _splice_body(model, body.clone(allow_outer_scope_values=True), given, node, names)
        state, row = made[: len(state)], made[len(state) :]
        rows.append(row)
    columns = zip(zip(*rows, strict=True), out_axes, out_ways, strict=True)
    return [
        *state,
        *(
            _stack_values(model, column[::-1] if way else column, axis, node, names)
            for column, axis, way in columns
        ),
    ]


def _stack_values(
    model: ir.Model, values: Sequence[ir.Value], axis: int, node: ir.Node, names: _Names
) -> ir.Value:
    """Stacks values on a new axis and returns the stack; inserts the operators before `node`."""
    assert node.graph is not None
    parts = []
    for value in values:
        if model.opset_imports.get("", 0) >= AXES_INPUT_OPSET:
            part = _node(
                "Unsqueeze", [value, _add_constant(model, np.array([axis]), names)], names, node
            )
        else:
            part = ir.Node(
                "",
                "Unsqueeze",
                [value],
                [ir.AttrInt64s("axes", [axis])],
                name=names.new(f"{node.name}/Unsqueeze"),
            )
            part.outputs[0].name = names.new(f"{part.name}/result")
        parts.append(part)
    joined = _node("Concat", [part.outputs[0] for part in parts], names, node, axis=axis)
    node.graph.insert_before(node, [*parts, joined])
    return joined.outputs[0]
