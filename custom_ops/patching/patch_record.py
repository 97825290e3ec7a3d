"""Records the replacements that `patch` made, and undoes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from custom_ops.core.framework import nn


@dataclass(frozen=True)
class Replacement:
    """The outcome of `patch` for one Cell, or for one sequence of Cells or functions.

    Attributes:
        place: dotted path of the replaced Cell in the net. If several Cells are replaced, the path
            of the first.
        before: the replaced Cells, or the names of the replaced functions.
        after: the replacement, or None if the replacement was refused.
        reason: reason why the replacement was refused; an empty string for an accepted replacement.
        note: condition under which the replacement is used; an empty string means always.
    """

    place: str
    before: tuple[Any, ...]
    after: Any
    reason: str = ""
    note: str = ""

    def __str__(self) -> str:
        was = " + ".join(one if isinstance(one, str) else type(one).__name__ for one in self.before)
        now = f"left: {self.reason}" if self.after is None else type(self.after).__name__
        return f"{self.place}: {was} → {now}" + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True)
class Slot:
    """A position in the net: the parent Cell, the name of the child, and the original child."""

    parent: Any
    name: str
    original: Any

    def put(self, cell: Any) -> None:
        """Replaces the child by another Cell."""
        # setattr is not used, because MindSpore would rename the Parameters
        self.parent._cells[self.name] = cell
        if type(self.parent) is nn.SequentialCell:
            self.parent.cell_list = list(self.parent._cells.values())

    def undo(self) -> None:
        """Restores the original child, with the training flag of the replacement."""
        self.original.set_train(self.parent._cells[self.name].training)
        self.put(self.original)


@dataclass(frozen=True)
class Change:
    """A Cell whose class was replaced, the original class, and the names of the added children."""

    cell: Any
    kind: type
    parts: tuple[str, ...]

    def undo(self) -> None:
        """Restores the original class and removes the added children."""
        for name in self.parts:
            self.cell._cells.pop(name, None)
        self.cell.__class__ = self.kind


class PatchRecord:
    """The record of one call of `patch`.

    Attributes:
        replaced: replacements by fused operators.
        refused: refused replacements, with the reasons.
    """

    def __init__(
        self,
        net: Any,
        replaced: Sequence[Replacement],
        refused: Sequence[Replacement],
        steps: Sequence[Slot | Change],
    ):
        self.replaced, self.refused = tuple(replaced), tuple(refused)
        self._net, self._steps = net, list(steps)

    def undo(self) -> None:
        """Restores the original net; a second call has no effect."""
        for step in reversed(self._steps):
            step.undo()
        self._steps = []
        forget_graphs(self._net)

    def __str__(self) -> str:
        return "\n".join(map(str, (*self.replaced, *self.refused))) or "nothing is replaced"


def forget_graphs(net: Any) -> None:
    """Clears the compile caches of the net's Cells, so that graphs are recompiled."""
    for _, cell in net.cells_and_names():
        cell.compile_cache.clear()
