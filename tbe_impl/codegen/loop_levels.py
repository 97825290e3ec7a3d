"""Loop levels during lowering: each statement is hoisted to the outermost level that is legal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tbe_impl.codegen.polynomials import Poly
from tbe_impl.codegen.statements import of_vector
from tbe_impl.dsl.tensor import Tensor

if TYPE_CHECKING:
    from tbe_impl.codegen.partition import Nest


@dataclass
class Scope:
    """One level.

    Attributes:
        variables: serial numbers of what its loop changes: one, several of a fused loop, none outside all loops.
        blocks: serial numbers of what it sees a part of: its loop goes from block to block, or its thread has a share.
        lines: its statements so far; a nested list is a block, and a vector loop may stand among them as a whole.
        memo: what was computed on this level already.
        rows: rows of stages that are kept for the next loop: which loop filled them, how long it is, and where they lie.
        in_turn: whether its loop takes all steps of its variable that are to be taken here, one after the other.
    """

    variables: frozenset[int] = frozenset()
    blocks: frozenset[int] = frozenset()
    lines: list[Any] = field(default_factory=list)
    memo: dict[Any, Value] = field(default_factory=dict)
    rows: dict[Any, Row] = field(default_factory=dict)
    in_turn: bool = False


@dataclass(frozen=True)
class Row:
    """A row that one loop wrote and later ones read; `c` is the type of its elements."""

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
        depth: the level on which it is known.
    """

    text: str
    tag: str
    depth: int = 0


@dataclass(frozen=True)
class VectorLoop:
    """A loop that takes LANES steps at once.

    Attributes:
        name: of its variable.
        begin, limit: its first step, and the one behind its last, in C.
        head: how many steps stand before whole vectors begin, in C; empty where they begin at once.
        first: statements for the steps of the head.
        copies: statements for several vectors at once, one list each; none where one follows the other.
        strips: the loop over several vectors in halves, on processors that gain by it; none where one follows the other.
        whole: statements for a vector; none where there are too few steps for one.
        rest: statements for the steps that are left; none where none can be.
        cells: all of it in another way, on processors that compute with halves; see `tbe_impl.codegen.table_loops`.
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
        """All of it."""
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
                for item in ("{", of_vector(copy, place), "}")
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
"""A polynomial of loop variables, or a vector of whole numbers."""


def loops_of(indices: Iterable[object]) -> frozenset[int]:
    """Serial numbers of the loops that polynomials among these follow."""
    return frozenset().union(*(item.variables for item in indices if isinstance(item, Poly)))


@dataclass(frozen=True)
class Buffer:
    """A tensor in memory, or a tile of one.

    Attributes:
        name: in C.
        strides: the steps of its dimensions, in elements.
        dtype: of these.
        origin: of a tile, the indices of its first element; else none.
        elements: of a tile, how many there are.
        depth: of a tile, the level on which it is filled.
    """

    name: str
    strides: tuple[Poly, ...]
    dtype: str
    origin: tuple[Poly, ...] = ()
    elements: Poly | None = None
    depth: int = 0


@dataclass(frozen=True)
class Tile:
    """A loop inside the vector loop, over which strided inputs are contiguous.

    Attributes:
        loop: its serial number.
        begin, count: its first step and how many there are, in C.
        steps: most that there are.
    """

    loop: int
    begin: str
    count: str
    steps: int


@dataclass(frozen=True)
class Together:
    """Steps of a loop that are computed at once.

    Attributes:
        loop: its serial number; its variable is the first step.
        steps: how many.
    """

    loop: int
    steps: int

    def moved(self, index: Index, step: int) -> Index:
        """An index of the first step as that of a later one."""
        if not step or isinstance(index, Value):
            return index
        return index.substitute({self.loop: Poly.variable(self.loop) + Poly.of(step)})


@dataclass(frozen=True)
class TileMade:
    """A part of a stage that is computed in each step of a loop of another.

    Attributes:
        nest: its loops.
        reader: the result in whose loops it is computed, or the stage of a tile around.
        at: the place of that loop among the levels of the reader.
        sizes: of the part, by dimension.
    """

    nest: Nest
    reader: Tensor
    at: int
    sizes: tuple[Poly, ...]


class NeedsBuffer(Exception):
    """Stages have to be stored before this nest, or before nests that have nothing to do with each other; the plan is made again with them."""

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
