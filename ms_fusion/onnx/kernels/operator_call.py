"""Describes one ONNX operator for its lowering rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ms_fusion.graph import Node, Value
from ms_fusion.readers.onnx_graph import ONNX_VERSION
from tbe_impl.errors import InputError
from tbe_impl.tracing.arrays import TracedArray


@dataclass(frozen=True)
class OperatorCall:
    """One operator as its lowering rule receives it.

    Attributes:
        node: the operator.
        inputs: a traced tensor for each input, an array for a constant, None for an omitted input.
        outputs: values of the outputs in the graph.
        sizes: shape of each output; a size is an integer, a DSL expression, or None if unknown.
    """

    node: Node
    inputs: tuple[Any, ...]
    outputs: tuple[Value, ...]
    sizes: tuple[tuple[Any, ...], ...]

    @property
    def version(self) -> int:
        return int(self.node.attr(ONNX_VERSION, 0))

    def attr(self, name: str, default: Any = None) -> Any:
        return self.node.attr(name, default)

    def optional_input(self, position: int) -> Any:
        """Returns an input; None if the input is omitted."""
        return self.inputs[position] if position < len(self.inputs) else None

    def integers(self, name: str, position: int | None = None) -> tuple[int, ...] | None:
        """Returns integers, such as axes or sizes, from a constant input or from an attribute.

        Old opsets have the attribute `name` instead of the input at `position`. Returns None if
        neither is given. Raises `InputError` if the input is computed.
        """
        found = self.optional_input(position) if position is not None else None
        if found is None:
            found = self.attr(name)
        if found is None:
            return None
        if isinstance(found, TracedArray):
            raise InputError(f"{name} is computed while the model runs", place=self.node.name)
        return tuple(int(one) for one in np.asarray(found).reshape(-1))

    def axis(self, default: int) -> int:
        """Returns the ``axis`` attribute as a non-negative number."""
        return int(self.attr("axis", default)) % max(self.inputs[0].ndim, 1)


LoweringRule = Callable[[OperatorCall], Any]
