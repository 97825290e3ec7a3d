"""Draws inputs for kernels: random values, with or without edge cases among them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ms_fusion.accuracy.replay import replay
from ms_fusion.graph import Graph, Value
from ms_fusion.ops import operators_with
from ms_fusion.ops.call import Array, is_float, numpy_dtype
from ms_fusion.ops.op_info import Trait
from tbe_impl.errors import InputError

POSITIVE_ONLY = operators_with(Trait.LIMITED_DOMAIN)
"""Operators that return NaN for operands outside a limited range, for example below 0."""

Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]


def _draw_normal(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return random.normal(0.0, 2.0, shape)


def _draw_fractions(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return random.uniform(0.1, 0.9, shape)


def _draw_above_one(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return random.uniform(1.1, 3.0, shape)


def seeded_inputs(graph: Graph, seed: int) -> dict[str, Array]:
    """Returns random inputs with the graph's shapes and dtypes; `seed` determines the values.

    Floats have a normal distribution with a standard deviation of 2. If a `POSITIVE_ONLY` operator
    reads values that depend on an input, the floats of this input are drawn from 0.1 … 0.9 instead.
    If the graph returns NaN for these inputs, all floats are drawn from 0.1 … 0.9. If the graph
    still returns NaN, all floats are drawn from 1.1 … 3. If the graph returns NaN for all three
    attempts, the inputs of the first attempt are returned. `_integer_range` gives the range of
    integers.
    """
    drawn: dict[str, Array] = {}
    for everywhere, fussy in (
        (_draw_normal, _draw_fractions),
        (_draw_fractions, _draw_fractions),
        (_draw_above_one, _draw_above_one),
    ):
        drawn = _draw(graph, seed, everywhere, fussy)
        try:
            results = replay(graph, drawn)
        except InputError:
            return drawn
        if not any(
            result.dtype.kind == "f" and np.isnan(result).any() for result in results.values()
        ):
            return drawn
    return _draw(graph, seed, _draw_normal, _draw_fractions)


def edge_inputs(graph: Graph, seed: int) -> dict[str, Array]:
    """Returns the inputs of `seeded_inputs` with `special_values` in place of some elements.

    The special values replace the first elements of each floating-point input. They replace at most
    half of the elements. For two consecutive floating-point inputs x and y of sufficient size, each
    pair of special values (a, b) occurs as (x[i], y[i]) at some index i. The other elements keep
    their random values. So a reduction reads rows with special values and rows without special
    values. An input of one element is not changed.
    """
    inputs = seeded_inputs(graph, seed)
    period = 1
    for name in graph.inputs:
        value = graph.values[name]
        if name not in inputs or not is_float(value.dtype):
            continue
        special = special_values(value.dtype)
        array = inputs[name].copy()
        flat = array.reshape(-1)
        count = min(flat.size // 2, len(special) ** 2)
        flat[:count] = special[(np.arange(count) // period) % len(special)]
        inputs[name] = array
        period = len(special) if period == 1 else 1
    return inputs


def special_values(dtype: str) -> Array:
    """Returns NaN, ±inf, ±0, ±1, 0.5, the extreme numbers of a dtype, and thresholds of exp.

    The thresholds are numbers near which exp overflows or underflows in float32.
    """
    import ml_dtypes

    limits = ml_dtypes.finfo(numpy_dtype(dtype))
    numbers = (
        np.nan,
        np.inf,
        -np.inf,
        0.0,
        -0.0,
        float(limits.smallest_subnormal),
        -float(limits.smallest_subnormal),
        float(limits.tiny),
        float(limits.max),
        -float(limits.max),
        1.0,
        -1.0,
        0.5,
        88.5,
        89.0,
        -87.5,
        -104.0,
    )
    with np.errstate(all="ignore"):
        return np.array(numbers, np.float64).astype(numpy_dtype(dtype))


def _draw(graph: Graph, seed: int, everywhere: Draw, fussy: Draw) -> dict[str, Array]:
    careful = _values_reaching(graph, POSITIVE_ONLY)
    drawn: dict[str, Array] = {}
    for position, name in enumerate(graph.inputs):
        value = graph.values[name]
        if value.kind == "constant" and value.data is not None:
            continue
        random = np.random.default_rng((seed, position))
        shape = tuple(size if isinstance(size, int) and size >= 0 else 1 for size in value.shape)
        if is_float(value.dtype):
            drawn[name] = (fussy if name in careful else everywhere)(random, shape).astype(
                numpy_dtype(value.dtype)
            )
        elif value.dtype == "bool":
            drawn[name] = random.integers(0, 2, shape).astype(np.bool_)
        else:
            low, high = _integer_range(graph, value)
            drawn[name] = random.integers(low, high, shape).astype(np.dtype(value.dtype))
    return drawn


def _values_reaching(graph: Graph, operators: frozenset[str]) -> frozenset[str]:
    """Returns the names of all values on which the results of `operators` depend."""
    reaching: set[str] = set()
    for node in reversed(graph.nodes):
        if node.op in operators or any(name in reaching for name in node.outputs):
            reaching.update(node.inputs)
    return frozenset(reaching)


def _integer_range(graph: Graph, value: Value) -> tuple[int, int]:
    """Returns the half-open range of the random elements of an integer input.

    Indices are in the range of the table that they index. Other integers are small.
    """
    for node in graph.consumers.get(value.name, ()):
        if node.op == "Gather" and node.inputs[1] == value.name:
            table = graph.values[node.inputs[0]]
            sizes = [size for size in table.shape if isinstance(size, int) and size > 0]
            return 0, min(sizes, default=1)
        if node.op == "OneHot" and node.inputs[0] == value.name:
            return 0, 4
    return (0, 16) if value.dtype.startswith("u") else (-8, 9)
