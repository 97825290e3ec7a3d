"""Loop levels during lowering: each statement is hoisted to the outermost legal level."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tbe_impl.codegen.passes.statements import number_prefetches
from tbe_impl.codegen.planning.polynomials import Poly
from tbe_impl.dsl.tensor import Tensor

if TYPE_CHECKING:
    from tbe_impl.codegen.planning.partition import LoopNest


@dataclass
class LoopScope:
    """One level.

    Attributes:
        variables: serial numbers that its loop changes: one, several for a fused loop, none outside
            all loops.
        blocks: serial numbers of which it covers a part: a block loop, or a thread's share.
        lines: its statements so far; a nested list is a block, a vector loop is one item.
        memo: values already computed on this level.
        rows: row buffers available on this level.
        is_sequential: whether its loop takes all its steps in sequence.
    """

    variables: frozenset[int] = frozenset()
    blocks: frozenset[int] = frozenset()
    lines: list[Any] = field(default_factory=list)
    memo: dict[Any, Value] = field(default_factory=dict)
    rows: dict[Any, RowBuffer] = field(default_factory=dict)
    is_sequential: bool = False


@dataclass(frozen=True)
class RowBuffer:
    """A row that one loop stores and later loops load.

    Attributes:
        loop: serial number of the loop that fills it.
        steps: its length.
        name: its C name.
        c: the C type of its elements.
    """

    loop: int
    steps: int
    name: str
    c: str


@dataclass(frozen=True)
class Value:
    """A vector in C.

    Attributes:
        text: its name, or a constant.
        tag: its kind; see `tbe_impl.codegen.vector_types`.
        depth: the level that defines it.
    """

    text: str
    tag: str
    depth: int = 0


@dataclass(frozen=True)
class VectorLoop:
    """A loop of LANES elements per step.

    Attributes:
        name: name of its variable.
        begin, limit: its range, in C, the end exclusive.
        head: peeled steps before whole vectors, in C; empty for none.
        first: statements of the peeled steps.
        copies: statements of the vectors of an unrolled iteration, one list each; empty for none.
        strips: the loop after fission into strips; empty for none.
        whole: statements of one vector; empty for a loop of too few steps.
        rest: statements of the remainder; empty when there is none.
        cells: alternative with table lookups, on processors with float16 arithmetic; see
            `tbe_impl.codegen.passes.table_loops`.
    """

    name: str
    begin: str
    limit: str
    head: str
    first: Sequence[Any]
    copies: Sequence[Sequence[Any]]
    strips: Sequence[Any]
    whole: Sequence[Any]
    rest: Sequence[Any]
    cells: Sequence[Any] = ()

    def lines(self) -> list[Any]:
        """All lines of the loop."""
        name, limit, at_once = self.name, self.limit, len(self.copies)
        found: list[Any] = [f"int64_t {name} = {self.begin};"]
        if self.head:
            count = f"{name}_head"
            found += [f"const int {count} = (int)least({self.head}, {limit} - {name});"]
            found += [f"if ({count} > 0) {{", [*self.first, f"{name} += {count};"], "}"]
        if at_once:
            copies = [
                item
                for place, copy in enumerate(self.copies)
                for item in ("{", number_prefetches(copy, place), "}")
            ]
            found += [
                f"for (; {name} + {at_once}*LANES <= {limit}; {name} += {at_once}*LANES) {{",
                copies,
                "}",
            ]
        if self.strips:
            found += ["#if STRIPS", *self.strips, "#endif"]
        if self.whole:
            found += [f"for (; {name} + LANES <= {limit}; {name} += LANES) {{", [*self.whole], "}"]
        if self.rest:
            count = f"const int {name}_rest = (int)({limit} - {name});"
            found += [f"if ({name} < {limit}) {{", [count, *self.rest], "}"]
        if self.cells:
            found = ["#if HALF_CELLS", *self.cells, "#else", *found, "#endif"]
        return ["{", found, "}"]


Index = Poly | Value
"""A polynomial of loop variables, or an integer vector."""


def loop_variables_in(indices: Iterable[object]) -> frozenset[int]:
    """Serial numbers of the loop variables in polynomials."""
    return frozenset().union(*(item.variables for item in indices if isinstance(item, Poly)))


@dataclass(frozen=True)
class TensorBuffer:
    """A tensor in memory, or a tile of one.

    Attributes:
        name: its C name.
        strides: strides of its dimensions, in elements.
        dtype: dtype of the elements in memory.
        origin: indices of the first element of a tile; empty for a whole tensor.
        elements: number of elements of a tile.
        depth: level that fills a tile.
    """

    name: str
    strides: tuple[Poly, ...]
    dtype: str
    origin: tuple[Poly, ...] = ()
    elements: Poly | None = None
    depth: int = 0


@dataclass(frozen=True)
class Tile:
    """A loop inside the vector loop, along which strided inputs are contiguous.

    Attributes:
        loop: its serial number.
        begin, count: its first step and trip count, in C.
        steps: maximum trip count.
    """

    loop: int
    begin: str
    count: str
    steps: int


@dataclass(frozen=True)
class UnrollAndJam:
    """Jammed steps of a loop.

    Attributes:
        loop: its serial number; its variable is the first step.
        steps: number of jammed steps.
    """

    loop: int
    steps: int

    def shift_index(self, index: Index, step: int) -> Index:
        """Shifts an index of the first step to a later one."""
        if not step or isinstance(index, Value):
            return index
        return index.substitute({self.loop: Poly.variable(self.loop) + Poly.from_int(step)})


@dataclass(frozen=True)
class AttachedTile:
    """A region of a stage that is computed in each step of a loop of another stage.

    Attributes:
        nest: its loops.
        reader: the result whose loops compute it, or the stage of an enclosing tile.
        at: index of that loop among the levels of the reader.
        sizes: shape of the region.
    """

    nest: LoopNest
    reader: Tensor
    at: int
    sizes: tuple[Poly, ...]


class MissingBuffer(Exception):
    """Requests that stages be stored before a nest, or before several independent nests.

    The program is planned again with those stages stored.
    """

    def __init__(self, *tensors: Tensor):
        super().__init__(*(tensor.name for tensor in tensors))
        self.tensors = tensors


def render(lines: list[Any], indent: int = 1) -> str:
    """Statements as text."""
    parts = []
    for line in lines:
        if isinstance(line, VectorLoop):
            parts.append(render(line.lines(), indent))
        elif isinstance(line, list):
            parts.append(render(line, indent + 1))
        else:
            parts.append("  " * indent + line)
    return "\n".join(parts)
