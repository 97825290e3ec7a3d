"""Represents loop levels during lowering, which hoists statements to outer levels."""

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
    """One loop level and the statements emitted on it so far.

    Attributes:
        variables: serial numbers of the variables that the loop changes: one for most loops,
            several for a fused loop, none for the level outside all loops.
        blocks: serial numbers of the variables that do not take all their values in one run of the
            loop, because it is a block loop or because each thread runs a part of the iterations.
        lines: the statements so far: a string for a line, a nested list for a C block, a
            `VectorLoop` for a vector loop.
        memo: values already computed on this level.
        rows: row buffers available on this level.
        is_sequential: whether the loop is sequential and covers its whole range.
    """

    variables: frozenset[int] = frozenset()
    blocks: frozenset[int] = frozenset()
    lines: list[Any] = field(default_factory=list)
    memo: dict[Any, Value] = field(default_factory=dict)
    rows: dict[Any, RowBuffer] = field(default_factory=dict)
    is_sequential: bool = False


@dataclass(frozen=True)
class RowBuffer:
    """A buffer for one row, which one loop stores and later loops load.

    Attributes:
        loop: serial number of the loop that fills the buffer.
        steps: number of elements.
        name: C name of the buffer.
        c: C type of an element.
    """

    loop: int
    steps: int
    name: str
    c: str


@dataclass(frozen=True)
class Value:
    """A vector in the generated C.

    Attributes:
        text: name of the C variable, or a constant.
        tag: kind of the vector; see `tbe_impl.codegen.vector_types`.
        depth: number of the loop level that defines the vector.
    """

    text: str
    tag: str
    depth: int = 0


@dataclass(frozen=True)
class VectorLoop:
    """A loop that processes LANES elements per step.

    Attributes:
        name: name of the loop variable.
        begin, limit: begin and exclusive end of the loop, in C.
        head: number of peeled elements before the first whole vector, in C; empty for none.
        first: statements for the peeled elements.
        copies: for an unrolled loop, the statements of each vector of an iteration; else empty.
        strips: the loop after loop fission (`tbe_impl.codegen.passes.loop_fission`); empty without
            fission.
        whole: statements for one vector; empty if the loop has too few elements for a vector.
        rest: statements for the remainder; empty when there is none.
        cells: an alternative loop with table lookups, for processors with float16 arithmetic; see
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
        """Returns all lines of the loop."""
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
"""An index of a tensor: a polynomial of loop variables, or an integer vector."""


def loop_variables_in(indices: Iterable[object]) -> frozenset[int]:
    """Returns the serial numbers of the loop variables in polynomials."""
    return frozenset().union(*(item.variables for item in indices if isinstance(item, Poly)))


@dataclass(frozen=True)
class TensorBuffer:
    """A tensor in memory, or a tile of a tensor.

    Attributes:
        name: C name of the pointer.
        strides: strides of the dimensions, in elements.
        dtype: dtype of the elements in memory.
        origin: indices of the first element of a tile; empty for a whole tensor.
        elements: number of elements of a tile; None for a whole tensor.
        depth: number of the loop level that fills a tile.
    """

    name: str
    strides: tuple[Poly, ...]
    dtype: str
    origin: tuple[Poly, ...] = ()
    elements: Poly | None = None
    depth: int = 0


@dataclass(frozen=True)
class Tile:
    """A loop inside the vector loop, for inputs that are strided along the vector loop.

    Such inputs are contiguous along this inner loop.

    Attributes:
        loop: serial number of the loop.
        begin, count: first value of the loop variable and trip count, in C.
        steps: maximum trip count.
    """

    loop: int
    begin: str
    count: str
    steps: int


@dataclass(frozen=True)
class UnrollAndJam:
    """Unroll-and-jam of a loop: several consecutive iterations are emitted together.

    Attributes:
        loop: serial number of the loop; its variable has the value of the first jammed iteration.
        steps: number of jammed iterations.
    """

    loop: int
    steps: int

    def shift_index(self, index: Index, step: int) -> Index:
        """Translates an index of the first jammed iteration to jammed iteration `step`."""
        if not step or isinstance(index, Value):
            return index
        return index.substitute({self.loop: Poly.variable(self.loop) + Poly.from_int(step)})


@dataclass(frozen=True)
class AttachedTile:
    """A region (tile) of a stage that is computed in each iteration of a loop of another stage.

    Attributes:
        nest: the loop nest that computes the tile.
        reader: the stage whose loops enclose the tile: a stored result, or another tiled stage.
        at: position of the enclosing loop among the levels of `reader`.
        sizes: shape of the tile.
    """

    nest: LoopNest
    reader: Tensor
    at: int
    sizes: tuple[Poly, ...]


class MissingBuffer(Exception):
    """Raised when a loop nest cannot be generated unless further tensors are stored in memory.

    The argument `tensors` contains these tensors. The program is then planned again, and stores
    them in memory.
    """

    def __init__(self, *tensors: Tensor):
        super().__init__(*(tensor.name for tensor in tensors))
        self.tensors = tensors


def render(lines: list[Any], indent: int = 1) -> str:
    """Returns statements as C text."""
    parts = []
    for line in lines:
        if isinstance(line, VectorLoop):
            parts.append(render(line.lines(), indent))
        elif isinstance(line, list):
            parts.append(render(line, indent + 1))
        else:
            parts.append("  " * indent + line)
    return "\n".join(parts)
