"""One operator of a model while its line of Python is written."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ms_fusion.formats.onnx_graph import ONNX_OP, ONNX_VERSION, UNKNOWN_RANK
from ms_fusion.graph import Graph, Node, Value
from tbe_impl.errors import InputError

DTYPES = frozenset(
    {
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "float32",
        "float64",
        "bfloat16",
        "complex64",
        "complex128",
    }
)
"""Those of MindSpore's tensors that ONNX has."""


@dataclass(frozen=True)
class Use:
    """An operator where it stands.

    Attributes:
        node: the operator.
        graph: where it stands.
        texts: what stands for its inputs, empty for one that is left out.
        sizes: value of whole numbers that are known while the net is compiled → the tuple, or the number, that it is.
        array: the numbers of a constant of the model by its name; None for what is none.
        part: keeps an object, a primitive say, as a part of the net, and gives the text for it.
        is_fused: whether the model was fused, so that what stands alone in it waits for no neighbours: kernels of ours take the
            place of operators that MindSpore computes slowly.
    """

    node: Node
    graph: Graph
    texts: tuple[str, ...]
    sizes: Mapping[str, str]
    array: Callable[[str], Any]
    part: Callable[[str, Any], str]
    is_fused: bool = False

    @property
    def op(self) -> str:
        return str(self.node.attr(ONNX_OP))

    @property
    def version(self) -> int:
        return int(self.node.attr(ONNX_VERSION, 0))

    def attr(self, name: str, default: Any = None) -> Any:
        return self.node.attr(name, default)

    def text(self, position: int = 0) -> str:
        return self.texts[position] if position < len(self.texts) else ""

    def has(self, position: int) -> bool:
        """Whether an input is there."""
        return bool(self.text(position))

    def given(self, *positions: int) -> str:
        """Texts of inputs behind each other, those that are left out as None at no end."""
        found = [self.text(position) or "None" for position in positions]
        while found and found[-1] == "None":
            found.pop()
        return ", ".join(found)

    def value(self, position: int = 0) -> Value:
        return self.graph.values[self.node.inputs[position]]

    def result(self, position: int = 0) -> Value:
        return self.graph.values[self.node.outputs[position]]

    def rank(self, position: int = 0) -> int:
        """Number of axes of an input.

        Raises:
            InputError: nobody knows it.
        """
        shape = self.value(position).shape
        if shape == UNKNOWN_RANK:
            raise self.refused("the number of axes is not known")
        return len(shape)

    def filled(self) -> Use:
        """Itself, where its input may have elements.

        Raises:
            InputError: it has none, and MindSpore's operator makes wrong numbers of that.
        """
        if 0 in self.value().shape:
            raise self.refused("a tensor without elements")
        return self

    def known_shape(self, position: int = 0) -> tuple[int, ...]:
        """A shape in numbers."""
        return self._known(self.value(position).shape)

    def known_sides(self) -> tuple[int, ...]:
        """The sides of an image in numbers; how many images there are need not be known."""
        return self._known(self.value().shape[2:])

    def known_result(self) -> tuple[int, ...]:
        """The shape of the result in numbers."""
        return self._known(self.result().shape)

    def _known(self, shape: tuple[int | str, ...]) -> tuple[int, ...]:
        if not all(isinstance(size, int) and size >= 0 for size in shape):
            raise self.refused("a size is not known before the net runs")
        return tuple(size for size in shape if isinstance(size, int))

    def is_computed(self, position: int) -> bool:
        """Whether an input is neither left out nor a constant."""
        return self.has(position) and self.array(self.value(position).name) is None

    def numbers(self, name: str, position: int | None = None) -> tuple[Any, ...] | None:
        """Numbers from an input that is a constant, or from an attribute; None where neither is there."""
        found = self.attr(name)
        if position is not None and self.has(position):
            value = self.value(position)
            array = self.array(value.name)
            if array is None:
                raise self.refused(f"{name} is computed while the net runs")
            found = value.data if value.kind == "constant" else tuple(array.reshape(-1).tolist())
        if found is None:
            return None
        return tuple(_flat(found))

    def whole(self, name: str, position: int | None = None) -> tuple[int, ...] | None:
        """Likewise whole numbers."""
        found = self.numbers(name, position)
        return None if found is None else tuple(map(int, found))

    def axis(self, default: int, rank: int | None = None) -> int:
        """The attribute, counted from the first axis."""
        return int(self.attr("axis", default)) % max(rank or self.rank(), 1)

    def axes(self, position: int = 1, name: str = "axes") -> tuple[int, ...]:
        """Axes of a reduction; all of them where none are named."""
        found = self.whole(name, position)
        rank = self.rank()
        if not found:
            return () if self.attr("noop_with_empty_axes", 0) else tuple(range(rank))
        return tuple(sorted({axis % rank for axis in found}))

    def dtype(self, name: str) -> str:
        """MindSpore's own of that name.

        Raises:
            InputError: it has none.
        """
        if name not in DTYPES:
            raise self.refused(f"MindSpore has no {name or 'dtype for it'}")
        return f"mindspore.{'bool_' if name == 'bool' else name}"

    def refused(self, why: str) -> InputError:
        return InputError(f"{self.op} has no Cell here: {why}", place=self.node.name)


def _flat(item: Any) -> list[Any]:
    return [one for part in item for one in _flat(part)] if isinstance(item, tuple) else [item]


def number(value: Any) -> str:
    """A number as Python reads it.

    >>> number(2.0), number(float("inf"))
    ('2.0', 'float("inf")')
    """
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)
