"""Describes one operator of a model for the function that emits the operator's expression."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ops.call import ONNX_OP, ONNX_VERSION
from ms_fusion.readers.onnx_graph import UNKNOWN_RANK
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
"""Dtypes that both ONNX and MindSpore's tensors support."""


@dataclass(frozen=True)
class OperatorUse:
    """An operator in its graph, with everything that its Python expression depends on.

    Attributes:
        node: the operator's node in `graph`.
        graph: the graph of the operator.
        texts: Python expressions of the inputs; an omitted input has an empty string.
        sizes: maps a value's name to its Python expression, for values that are known when the net
            is compiled. The value of the expression is an integer or a tuple.
        array: function that returns the elements of the constant with a given name, or None if the
            name denotes a computed value.
        part: function that stores an object, such as a primitive, as an attribute of the net. The
            function returns the Python expression of this attribute.
        is_fused: whether `auto_fuse` wrote the model. In such a model, an operator outside of a
            group is not fused later. If MindSpore computes this operator slowly, a generated kernel
            replaces the operator.
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
        """Returns whether an input is present."""
        return bool(self.text(position))

    def input_texts(self, *positions: int) -> str:
        """Joins the expressions of inputs by commas.

        An omitted input becomes None; omitted inputs at the end are dropped.
        """
        found = [self.text(position) or "None" for position in positions]
        while found and found[-1] == "None":
            found.pop()
        return ", ".join(found)

    def value(self, position: int = 0) -> Value:
        return self.graph.values[self.node.inputs[position]]

    def result(self, position: int = 0) -> Value:
        return self.graph.values[self.node.outputs[position]]

    def rank(self, position: int = 0) -> int:
        """Returns the rank of an input.

        Raises:
            InputError: the rank is unknown.
        """
        shape = self.value(position).shape
        if shape == UNKNOWN_RANK:
            raise self.refusal("the number of axes is not known")
        return len(shape)

    def require_elements(self) -> OperatorUse:
        """Raises `InputError` if the first input of the operator has no elements; returns self.

        For such an input, MindSpore's operator would compute a wrong result. An input of unknown
        size is accepted.
        """
        if 0 in self.value().shape:
            raise self.refusal("a tensor without elements")
        return self

    def known_shape(self, position: int = 0) -> tuple[int, ...]:
        """Returns the static shape of an input; raises `InputError` if a size is unknown."""
        return self._static_sizes(self.value(position).shape)

    def known_sides(self) -> tuple[int, ...]:
        """Returns the spatial sizes of the first input; raises `InputError` if one is unknown.

        The first input is an image, whose batch and channel sizes may be unknown.
        """
        return self._static_sizes(self.value().shape[2:])

    def known_result(self) -> tuple[int, ...]:
        """Returns the static shape of the result; raises `InputError` if a size is unknown."""
        return self._static_sizes(self.result().shape)

    def _static_sizes(self, shape: tuple[int | str, ...]) -> tuple[int, ...]:
        if not all(isinstance(size, int) and size >= 0 for size in shape):
            raise self.refusal("a size is not known before the net runs")
        return tuple(size for size in shape if isinstance(size, int))

    def is_computed(self, position: int) -> bool:
        """Returns whether an input is present and not constant."""
        return self.has(position) and self.array(self.value(position).name) is None

    def numbers(self, name: str, position: int | None = None) -> tuple[Any, ...] | None:
        """Returns the elements of the input at `position`, or of the attribute `name`.

        The function reads the attribute only if the input is absent. Returns None if the input and
        the attribute are absent. Raises `InputError` if the input is present but not constant.
        """
        found = self.attr(name)
        if position is not None and self.has(position):
            value = self.value(position)
            array = self.array(value.name)
            if array is None:
                raise self.refusal(f"{name} is computed while the net runs")
            found = value.data if value.kind == "constant" else tuple(array.reshape(-1).tolist())
        if found is None:
            return None
        return tuple(_flatten(found))

    def integers(self, name: str, position: int | None = None) -> tuple[int, ...] | None:
        """Returns the result of `numbers` converted to integers."""
        found = self.numbers(name, position)
        return None if found is None else tuple(map(int, found))

    def axis(self, default: int, rank: int | None = None) -> int:
        """Returns the ``axis`` attribute as a non-negative integer."""
        return int(self.attr("axis", default)) % max(rank or self.rank(), 1)

    def axes(self, position: int = 1, name: str = "axes") -> tuple[int, ...]:
        """Returns the axes of a reduction.

        If the node gives no axes, returns all axes, or no axes if ``noop_with_empty_axes`` is set.
        """
        found = self.integers(name, position)
        rank = self.rank()
        if not found:
            return () if self.attr("noop_with_empty_axes", 0) else tuple(range(rank))
        return tuple(sorted({axis % rank for axis in found}))

    def dtype(self, name: str) -> str:
        """Returns the Python expression, as source text, for the MindSpore dtype with this name.

        Raises:
            InputError: MindSpore has no such dtype.
        """
        if name not in DTYPES:
            raise self.refusal(f"MindSpore has no {name or 'dtype for it'}")
        return f"mindspore.{'bool_' if name == 'bool' else name}"

    def refusal(self, why: str) -> InputError:
        return InputError(f"{self.op} is not supported in a Cell: {why}", place=self.node.name)


def _flatten(item: Any) -> list[Any]:
    return [one for part in item for one in _flatten(part)] if isinstance(item, tuple) else [item]


def python_literal(value: Any) -> str:
    """Returns a number as a Python expression.

    >>> python_literal(2.0), python_literal(float("inf"))
    ('2.0', 'float("inf")')
    """
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)
