"""Replaces dynamic sizes by assumed values, and infers the sizes that follow from these values."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import onnx_ir as ir

from ms_fusion.accuracy.worker_process import WorkerError
from ms_fusion.graph import Graph, Value
from ms_fusion.onnx.canonicalization.cleanup import fold
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.readers.onnx_graph import UNKNOWN_RANK, OnnxProjection, project, substitute_sizes


def name_unknown_sizes(model: ir.Model) -> None:
    """Gives each size of an input that has neither a value nor a name the name ``INPUT.AXIS``.

    The model is changed in place. Values can then be assumed for these sizes.
    """
    for value in model.graph.inputs:
        if value.shape is not None:
            value.shape = ir.Shape(
                size if isinstance(size, int) or size.value is not None else f"{value.name}.{axis}"
                for axis, size in enumerate(value.shape)
            )


def assume_sizes(
    model: ir.Model,
    projection: OnnxProjection,
    sizes: Mapping[str, int],
    native: NativeWorkers,
    *,
    others: int = 1,
) -> tuple[Graph, dict[str, int]]:
    """Returns a pair: the graph with sizes in place of symbols, and a dict with the known sizes.

    The dict maps each symbol with a known value to this value. A symbol without a known value is
    replaced by 1 in the graph.

    Args:
        model: the model.
        projection: the graph of the model, with maps to the model's nodes and values.
        sizes: maps the symbol of a dynamic size to its assumed value.
        native: child processes that infer shapes.
        others: the assumed value of each symbol that occurs in an input's shape but not in `sizes`.
    """
    graph = projection.graph
    told = {symbol: sizes.get(symbol, others) for symbol in _symbols_of_inputs(graph)}
    open_ones = [
        value
        for value in graph.values.values()
        if value.is_dynamic
        and value.shape != UNKNOWN_RANK
        and not told.keys() >= set(value.shape) - _known_sizes(value)
    ]
    found = _infer_values(model, told, native) if open_ones else {}
    values, follows = dict(graph.values), dict[str, int]()
    for value in open_ones:
        shape = _consistent_shape(value, found.get(value.name), told)
        if shape is not None:
            values[value.name] = replace(value, shape=shape)
            follows |= {
                size: number
                for size, number in zip(value.shape, shape, strict=True)
                if isinstance(size, str)
            }
    known = {**follows, **told, **sizes}
    return substitute_sizes(replace(graph, values=values), known), known


def _symbols_of_inputs(graph: Graph) -> list[str]:
    shapes = [graph.values[name].shape for name in graph.inputs]
    return [
        size for shape in shapes if shape != UNKNOWN_RANK for size in shape if isinstance(size, str)
    ]


def _known_sizes(value: Value) -> set[int | str]:
    return {size for size in value.shape if isinstance(size, int) and size >= 0}


def _infer_values(
    model: ir.Model, told: Mapping[str, int], native: NativeWorkers
) -> Mapping[str, Value]:
    """Returns the model's values after shape inference with the sizes in `told`.

    `told` maps symbols to sizes.
    """
    made = model.clone()
    for value in made.graph.inputs:
        if value.shape is not None:
            value.shape = ir.Shape(
                [
                    size if isinstance(size, int) else told.get(str(size.value), size)
                    for size in value.shape
                ]
            )
    with suppress(WorkerError):
        native.infer_shapes(made)
        with suppress(Exception):  # values that the library cannot fold stay unknown
            fold(made)
        native.infer_shapes(made)
    return project(made).graph.values


def _consistent_shape(
    value: Value, found: Value | None, told: Mapping[str, int]
) -> tuple[int, ...] | None:
    """Returns the inferred shape, or None if it is not static or contradicts the known sizes."""
    if found is None or len(found.shape) != len(value.shape):
        return None
    shape = tuple(size for size in found.shape if isinstance(size, int) and size > 0)
    if len(shape) < len(found.shape):
        return None
    same = (
        told.get(str(size), number) if isinstance(size, str) or size < 0 else size
        for size, number in zip(value.shape, shape, strict=True)
    )
    return shape if all(one == number for one, number in zip(same, shape, strict=True)) else None
