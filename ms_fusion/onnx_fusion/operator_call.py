"""One ONNX operator during lowering: what its rule receives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ms_fusion.formats.onnx_graph import ONNX_VERSION
from ms_fusion.graph import Node, Value
from tbe_impl.errors import InputError
from tbe_impl.tracing.arrays import Traced


@dataclass(frozen=True)
class Call:
    """One operator being said.

    Attributes:
        node: the operator.
        inputs: traced tensors, arrays for constants, None for what is left out.
        outputs: as the graph describes them, with sizes the language can compute with.
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

    def given(self, position: int) -> Any:
        """An input, None when it is left out."""
        return self.inputs[position] if position < len(self.inputs) else None

    def integers(self, name: str, position: int | None = None) -> tuple[int, ...] | None:
        """Axes, sizes and the like, which are an attribute in old versions and a constant input in new ones."""
        found = self.given(position) if position is not None else None
        if found is None:
            found = self.attr(name)
        if found is None:
            return None
        if isinstance(found, Traced):
            raise InputError(f"{name} is computed while the model runs", place=self.node.name)
        return tuple(int(one) for one in np.asarray(found).reshape(-1))

    def axis(self, default: int) -> int:
        """The attribute, counted from the first axis."""
        return int(self.attr("axis", default)) % max(self.inputs[0].ndim, 1)


Meaning = Callable[[Call], Any]
