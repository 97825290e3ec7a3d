"""Writes a DSL graph as an operator file: the back end for CANN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tbe_impl.cann.graph_source import NO_ELIMINATION, emit_assignments
from tbe_impl.cann.operator_source import (
    RESERVED_NAMES,
    OperatorSource,
    SourceArgument,
    size_lines,
    write_operator_source,
)
from tbe_impl.cann.python_names import Names
from tbe_impl.cann.reshape_elimination import eliminate_reshapes
from tbe_impl.compiled import CodeUse
from tbe_impl.dsl.tensor import Operation, Tensor, shape_text, static_shape, variables_of
from tbe_impl.errors import InputError

_HEAD = "{name}, written from its graph; `tbe_impl` and CANN both run it."


@dataclass(frozen=True)
class CannSource:
    """An operator file.

    The class implements `Planned` and `Compiled` of `tbe_impl.compiled`.

    Attributes:
        name: name of the operator function.
        source: the text of the file.
        words: the DSL operations of the graph.
    """

    name: str
    source: str
    words: tuple[str, ...]

    def compile(self) -> CannSource:
        """Returns this object.

        Later, `Operator.build_for_device` compiles the file with CANN.
        """
        return self

    def run(
        self,
        arrays: Sequence[np.ndarray],
        values: Mapping[int, int | float],
        threads: int,
        results: Sequence[np.ndarray] | None = None,
    ) -> tuple[np.ndarray, ...]:
        """Raises `InputError`: only an Ascend chip can run the compiled file."""
        raise InputError(
            "the CANN back end writes an operator file and runs nothing",
            place=self.name,
            remedy="Load the file with tbe_impl.load_operator, "
            "and call build(...) or build_for_device(...)",
        )

    def report(self) -> CodeUse:
        """Returns the name of the operator function, and the DSL operations of the graph."""
        return CodeUse((self.name,), words=self.words)


def plan(name: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> CannSource:
    """Writes the operator file of a graph; the operator's parameters are x1, x2, … and y1, y2, …

    Raises:
        InputError: an operation has no equivalent in CANN's DSL, or a size in the graph is not the
            size of an input axis.
    """
    function = Names(RESERVED_NAMES).new(name)
    source = write_graph(
        function,
        _HEAD.format(name=function),
        {f"x{number}": one for number, one in enumerate(inputs, 1)},
        {f"y{number}": one for number, one in enumerate(outputs, 1)},
    )
    stages = {id(op): op for _, op in source.stages}
    return CannSource(function, source.text, tuple(map(_word, stages.values())))


def write_graph(
    name: str, head: str, inputs: Mapping[str, Tensor], outputs: Mapping[str, Tensor]
) -> OperatorSource:
    """Writes the operator file of a graph; reshapes between static sizes are eliminated.

    Args:
        name: name of the operator function.
        head: content of the module's docstring.
        inputs, outputs: parameter name → tensor, in the order of the parameters.

    Raises:
        InputError: an operation has no equivalent in CANN's DSL, or a size in the graph is not the
            size of an input axis.
    """
    given, made = list(inputs.values()), list(outputs.values())
    variables = list(variables_of(made))
    names = Names({*RESERVED_NAMES, "math", "shape"})
    sizes = {id(one): names.new_numbered("size") for one in variables}
    changes = NO_ELIMINATION if variables else eliminate_reshapes(given, made)
    arguments = [
        SourceArgument(
            names.new(own),
            tensor.dtype,
            _describe(tensor),
            None if variables else changes.shapes.get(id(tensor), static_shape(tensor)) or (1,),
        )
        for own, tensor in inputs.items()
    ]
    results = [
        SourceArgument(names.new(own), tensor.dtype, _describe(tensor))
        for own, tensor in outputs.items()
    ]
    own_names = [one.name for one in arguments]
    lines = size_lines(given, own_names, sizes)
    if len(lines) < len(sizes):
        raise InputError(
            "a size that is not the size of an input cannot be written for CANN",
            place=name,
            expected=f"{len(sizes)} sizes of inputs",
            got=str(len(lines)),
        )

    def name_of(op: Operation, is_whole: bool) -> str:
        return names.new_numbered(_word(op))

    by_tensor = {id(tensor): own for tensor, own in zip(given, own_names, strict=True)}
    assignments, returned = emit_assignments(made, by_tensor, sizes, name_of, changes)
    return write_operator_source(
        name, head, arguments, results, assignments, returned, size_lines=lines
    )


def _word(op: Operation) -> str:
    return "element" if op.dsl_call is None else op.dsl_call.name


def _describe(tensor: Tensor) -> str:
    return f"{shape_text(tensor.shape)} {tensor.dtype}"
