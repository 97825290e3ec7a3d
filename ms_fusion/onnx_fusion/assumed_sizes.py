"""Dynamic sizes as numbers: those that `--assume` gives, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import onnx_ir as ir

from ms_fusion.accuracy.worker import WorkerError
from ms_fusion.formats.onnx_graph import UNKNOWN_RANK, Projection, assumed, project
from ms_fusion.graph import Graph, Value
from ms_fusion.onnx_fusion.cleanup import fold
from ms_fusion.onnx_fusion.native import Native


def with_sizes(
    model: ir.Model,
    projection: Projection,
    sizes: Mapping[str, int],
    native: Native,
    *,
    others: int = 1,
) -> tuple[Graph, dict[str, int]]:
    """The graph of a model in which sizes are numbers, and the number for each symbol; what nothing says is 1 in the graph.

    Args:
        model: it.
        projection: of it.
        sizes: symbols of its inputs → numbers.
        native: infers shapes.
        others: symbols of its inputs that are not named are this.
    """
    graph = projection.graph
    told = {symbol: sizes.get(symbol, others) for symbol in _symbols_of_inputs(graph)}
    open_ones = [
        value
        for value in graph.values.values()
        if value.is_dynamic
        and value.shape != UNKNOWN_RANK
        and not told.keys() >= set(value.shape) - _numbers(value)
    ]
    found = _inferred(model, told, native) if open_ones else {}
    values, follows = dict(graph.values), dict[str, int]()
    for value in open_ones:
        shape = _agreeing(value, found.get(value.name), told)
        if shape is not None:
            values[value.name] = replace(value, shape=shape)
            follows |= {
                size: number
                for size, number in zip(value.shape, shape, strict=True)
                if isinstance(size, str)
            }
    known = {**follows, **told, **sizes}
    return assumed(replace(graph, values=values), known), known


def _symbols_of_inputs(graph: Graph) -> list[str]:
    shapes = [graph.values[name].shape for name in graph.inputs]
    return [
        size for shape in shapes if shape != UNKNOWN_RANK for size in shape if isinstance(size, str)
    ]


def _numbers(value: Value) -> set[int | str]:
    return {size for size in value.shape if isinstance(size, int) and size >= 0}


def _inferred(model: ir.Model, told: Mapping[str, int], native: Native) -> Mapping[str, Value]:
    """The values of the model with these sizes, as far as shape inference comes."""
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
        with suppress(Exception):  # what a library cannot fold stays unknown
            fold(made)
        native.infer_shapes(made)
    return project(made).graph.values


def _agreeing(value: Value, found: Value | None, told: Mapping[str, int]) -> tuple[int, ...] | None:
    """The shape that was found, if it is one in numbers that says what is known of the value."""
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
