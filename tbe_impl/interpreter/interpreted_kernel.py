"""A DSL graph that NumPy interprets, with the interface of a compiled kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tbe_impl.compiled import CodeUse
from tbe_impl.dsl.graph_display import show
from tbe_impl.dsl.tensor import Tensor, stages_of
from tbe_impl.interpreter import evaluate


@dataclass(frozen=True)
class InterpretedKernel:
    """A graph that is interpreted.

    The class implements `Planned` and `Compiled`.

    Attributes:
        inputs, outputs: the tensors of the graph.
        rounding: one of `evaluate.ROUNDINGS`.
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    rounding: str

    def compile(self) -> InterpretedKernel:
        """Returns this object, because the interpreter needs no code."""
        return self

    @property
    def source(self) -> str:
        """The graph as text, one operation per line."""
        return show(self.outputs)

    def run(
        self,
        arrays: Sequence[np.ndarray],
        values: Mapping[int, int | float],
        threads: int,
        results: Sequence[np.ndarray] | None = None,
    ) -> tuple[np.ndarray, ...]:
        """See `Compiled.run`; NumPy chooses the number of threads.

        Raises:
            InputError: the rounding is unknown, or a shape differs from the declared shape.
        """
        given = {id(tensor): array for tensor, array in zip(self.inputs, arrays, strict=True)}
        found = evaluate.run(self.outputs, given, values, rounding=self.rounding)
        if results is None:
            return found
        for place, array in zip(results, found, strict=True):
            place[...] = array
        return tuple(results)

    def report(self) -> CodeUse:
        """Returns the DSL operations; NumPy computes all of them."""
        calls = (op.dsl_call for op in stages_of(self.outputs))
        return CodeUse(words=tuple(call.name for call in calls if call is not None))
