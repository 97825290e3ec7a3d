"""Code generator output for a graph, without compilation: C and loop nests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tbe_impl.chip.tiled_nests import partition_into_nests
from tbe_impl.codegen.nest_text import show_nests
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.program import Layout, Program, layout_of
from tbe_impl.cpu import prepared_kernel
from tbe_impl.dsl.tensor import Operation, Tensor
from tbe_impl.runtime.store import Store
from tests.golden_code.comparing import without_comments
from tests.golden_code.graphs import Built, Graph
from tests.golden_code.pinned import numbered_from_zero

_MARK = re.compile(r"\bgraph_[0-9a-f]{40}\b")
_TABLE_ROW = re.compile(r"\{(?:\d+, ){63}\d+\},")


@dataclass(frozen=True)
class Written:
    """A graph with its parts.

    Attributes:
        built: the graph.
        parts: in sequence: a program, or a library stage.
    """

    built: Built
    parts: tuple[Program | Operation, ...]


def written(graph: Graph, monkeypatch: pytest.MonkeyPatch, cache: Path) -> Written:
    """A new graph and its code generator output."""
    with numbered_from_zero(monkeypatch):
        built = graph.build()
    planned = prepared_kernel.plan(
        built.outputs,
        built.inputs,
        name=graph.name,
        options=built.options,
        cache=Store(cache),
    )
    parts: list[Program | Operation] = []
    for step in planned.sequence.steps:
        part = step.kernel
        parts.append(part if isinstance(part, Operation) else part.write())
    return Written(built, tuple(parts))


def source_of(found: Written) -> str:
    """The C of all parts, without comments, markers, and coefficients from a numerical library."""
    return "".join(map(_source, found.parts))


def _source(part: Program | Operation) -> str:
    if isinstance(part, Operation):
        return f"library {_word(part)}\n"
    return _TABLE_ROW.sub("{64 numbers},", _MARK.sub("graph_mark", without_comments(part.source)))


def nests_text(found: Written) -> str:
    """The loop nests of all parts and the stored stages; then the groups of a chip schedule."""
    lines = [line for part in found.parts for line in _nests(part, found.built.options)]
    lines.append("on a chip:")
    for nest in partition_into_nests(found.built.outputs):
        names = ", ".join(op.name for op in nest.members)
        results = ", ".join(op.name for op in nest.results)
        lines.append(f"  {names} → {results}")
    return "".join(f"{line}\n" for line in lines)


def _nests(part: Program | Operation, options: Options) -> Iterator[str]:
    if isinstance(part, Operation):
        yield f"a library computes {_word(part)}"
        return
    words = [tensor.op for tensor in part.outputs if tensor.op.kind == "library"]
    if words:
        yield f"C by hand computes {', '.join(map(_word, words))}"
        return
    layout = layout_of(part.outputs, part.inputs, options)
    yield f"inputs: {_names(part.inputs)}; outputs: {_names(part.outputs)}"
    yield f"stored between nests: {_stored(layout, part.outputs)}"
    for number, nest in enumerate(layout.nests):
        yield f"nest {number} stores {', '.join(root.tensor.name for root in nest.roots)}"
    yield from show_nests(layout, options).splitlines()


def _stored(layout: Layout, outputs: tuple[Tensor, ...]) -> str:
    last = {id(tensor) for tensor in outputs}
    names = [
        root.tensor.name
        for nest in layout.nests
        for root in nest.roots
        if id(root.tensor) not in last
    ]
    return ", ".join(names) or "nothing"


def _names(tensors: tuple[Tensor, ...]) -> str:
    return ", ".join(tensor.name for tensor in tensors) or "none"


def _word(op: Operation) -> str:
    return op.dsl_call.name if op.dsl_call is not None else op.name
