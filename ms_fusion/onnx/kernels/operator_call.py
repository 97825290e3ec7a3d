"""Describes one ONNX operator during lowering, as its rule receives it."""

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
    """One operator during lowering.

    Attributes:
        node: the operator.
        inputs: traced tensors, arrays for constants, None for an omitted input.
        outputs: as the graph describes them.
        sizes: shape of each output in integers and DSL expressions; None for an unknown size.
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
        """Returns an input; None if it is omitted."""
        return self.inputs[position] if position < len(self.inputs) else None

    def integers(self, name: str, position: int | None = None) -> tuple[int, ...] | None:
        """Returns an attribute of old opsets that is a constant input in new ones: axes, sizes."""
        found = self.optional_input(position) if position is not None else None
        if found is None:
            found = self.attr(name)
        if found is None:
            return None
        if isinstance(found, TracedArray):
            raise InputError(f"{name} is computed while the model runs", place=self.node.name)
        return tuple(int(one) for one in np.asarray(found).reshape(-1))

    def axis(self, default: int) -> int:
        """Returns the ``axis`` attribute, normalised to non-negative."""
        return int(self.attr("axis", default)) % max(self.inputs[0].ndim, 1)


LoweringRule = Callable[[OperatorCall], Any]
