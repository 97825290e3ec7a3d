"""Derived gradients against central differences in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tbe_impl.dsl as dsl
from tbe_impl.autodiff.reverse_mode import gradients
from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import Const
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.interpreter import evaluate

STEP = 1e-5
DIRECTIONS = 4


class Derived:
    """A graph with its backward.

    Attributes:
        inputs, outputs: tensors of the forward.
        given: the gradients of the outputs; None for integer outputs.
        found: the derived gradient of each input.
    """

    def __init__(self, outputs: Any, inputs: Sequence[Tensor]):
        self.outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        self.inputs = list(inputs)
        self.given = [
            dsl.placeholder(one.shape, one.dtype) if is_float(one.dtype) else None
            for one in self.outputs
        ]
        self.found = gradients(self.outputs, self.inputs, self.given)

    def feed(self, arrays: Sequence[np.ndarray], weights: Sequence[Any]) -> dict[int, np.ndarray]:
        """``id`` of every placeholder → its array."""
        pairs = [*zip(self.inputs, arrays, strict=True), *zip(self.given, weights, strict=True)]
        return {id(tensor): array for tensor, array in pairs if tensor is not None}


def derived(build: Callable[..., Any], *arrays: np.ndarray, values: Any = None) -> Derived:
    """The graph that `build` builds from tensors like the arrays."""
    inputs = [dsl.placeholder(array.shape, str(array.dtype)) for array in arrays]
    return Derived(build(*inputs), inputs)


def weights_of(outputs: Sequence[Tensor], values: Any = None, seed: int = 1) -> list[Any]:
    """Random gradients of the outputs."""
    rng = np.random.default_rng(seed)
    sizes = [
        [
            s.value if isinstance(s, Const) else evaluate.evaluate_scalar(s, values)
            for s in one.shape
        ]
        for one in outputs
    ]
    return [
        rng.uniform(0.5, 2, size).astype(one.dtype) if is_float(one.dtype) else None
        for one, size in zip(outputs, sizes, strict=True)
    ]


def assert_derivatives(
    graph: Derived, arrays: Sequence[np.ndarray], values: Any = None, *, tolerance: float = 1e-6
) -> None:
    """Raises unless Σ gradient · direction equals the change of Σ output · weight along random
    directions.
    """
    weights = weights_of(graph.outputs, values)
    floats = [at for at, array in enumerate(arrays) if array.dtype == np.float64]
    found = [graph.found[at] for at in floats]
    assert all(one is not None for one in found)
    computed = evaluate.run(found, graph.feed(arrays, weights), values)
    for at, one in zip(floats, computed, strict=True):
        assert one.dtype == arrays[at].dtype
        assert one.shape == arrays[at].shape

    def total(moved: Sequence[np.ndarray]) -> float:
        pairs = [
            (tensor, weight)
            for tensor, weight in zip(graph.outputs, weights, strict=True)
            if weight is not None
        ]
        outputs = evaluate.run([tensor for tensor, _ in pairs], graph.feed(moved, weights), values)
        return sum(
            float((one * weight).sum()) for one, (_, weight) in zip(outputs, pairs, strict=True)
        )

    rng = np.random.default_rng(2)
    for _ in range(DIRECTIONS):
        directions = {at: rng.normal(size=arrays[at].shape) for at in floats}
        sides = [
            total(
                [
                    array + sign * STEP * directions[at] if at in directions else array
                    for at, array in enumerate(arrays)
                ]
            )
            for sign in (1, -1)
        ]
        wanted = (sides[0] - sides[1]) / (2 * STEP)
        got = sum(
            float((one * directions[at]).sum()) for at, one in zip(floats, computed, strict=True)
        )
        scale = 1 + sum(
            float(np.abs(one * directions[at]).sum())
            for at, one in zip(floats, computed, strict=True)
        )
        assert abs(got - wanted) <= tolerance * scale, (got, wanted)
