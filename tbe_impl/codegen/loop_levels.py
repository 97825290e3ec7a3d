"""Represents the levels of the open loops during lowering."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.planning.polynomials import Poly
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.records import Record

if TYPE_CHECKING:
    from tbe_impl.codegen.planning.partition import LoopNest


@dataclass
class LoopScope:
    """One loop level and the statements emitted on it so far.

    Attributes:
        variables: serial numbers of the variables that the loop changes. A serial number is the
            unique integer of a variable or an axis (`IterVar.serial`). Most loops change one
            variable, a fused loop changes several, and the level outside all loops changes none.
        blocks: serial numbers of the variables that take only some of their values in one run of
            the loop. The loop is then a block loop (it steps from block to block), or each thread
            runs a part of its iterations.
        body: the statements so far.
        memo: values already computed on this level.
    """

    variables: frozenset[int] = frozenset()
    blocks: frozenset[int] = frozenset()
    body: list[ir.Stmt] = field(default_factory=list)
    memo: dict[Any, Value] = field(default_factory=dict)


class Value(Record):
    """A vector.

    Attributes:
        expr: the variable or the constant that holds the vector.
        depth: number of the innermost loop level that changes the vector.
        level: number of the loop level whose statements define the variable.
    """

    expr: ir.Expr
    depth: int = 0
    level: int = 0

    @property
    def tag(self) -> str:
        """Kind of the vector."""
        return self.expr.kind


Index = Poly | Value
"""An index of a tensor: a polynomial of loop variables, or an integer vector."""


def loop_variables_in(indices: Iterable[object]) -> frozenset[int]:
    """Returns the serial numbers of the loop variables in polynomials."""
    return frozenset().union(*(item.variables for item in indices if isinstance(item, Poly)))


def polys_of(indices: Mapping[int, Index]) -> dict[int, Poly | None]:
    """Returns a copy of `indices` with None in place of each index that is no polynomial."""
    return {key: item if isinstance(item, Poly) else None for key, item in indices.items()}


class TensorBuffer(Record):
    """A tensor in memory, or a tile of a tensor.

    Attributes:
        name: name of the pointer.
        strides: strides of the dimensions, in elements.
        dtype: dtype of the elements in memory.
        number: number of the tensor among the pointers of the program; −1 for a tile or row.
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
    number: int = -1

    def pointer(self, *offsets: ir.Expr) -> ir.Pointer:
        """Returns the address of an element."""
        return ir.Pointer(ir.Var(self.name, "pointer"), offsets)


class AttachedTile(Record):
    """A region (tile) of a stage that is computed in each iteration of a loop of another stage.

    Attributes:
        nest: the loop nest that computes the tile.
        reader: the stage whose loops enclose the tile. It is a stored result or another tiled
            stage.
        at: position of the enclosing loop among the levels of `reader`.
        sizes: shape of the tile.
    """

    nest: LoopNest
    reader: Tensor
    at: int
    sizes: tuple[Poly, ...]


class MissingBuffer(Exception):
    """Raised when a loop nest cannot be generated unless further tensors are stored in memory.

    The argument `tensors` contains these tensors. The caller then plans the program again, and
    stores these tensors in memory.
    """

    def __init__(self, *tensors: Tensor):
        super().__init__(*(tensor.name for tensor in tensors))
        self.tensors = tensors
