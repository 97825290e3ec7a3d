"""What `patch` replaced, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from custom_ops.core.framework import nn


@dataclass(frozen=True)
class Replacement:
    """One place.

    Attributes:
        place: names from the net down, with dots; of several Cells that of the first.
        before: the Cells that were there, or what a function or a row of functions computed.
        after: what is there now; None where it was refused.
        reason: why it was refused; empty where it was not.
        note: where it holds only sometimes: when.
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
    """A name in a Cell, and what stood there."""

    parent: Any
    name: str
    was: Any

    def put(self, cell: Any) -> None:
        """Something else in its place."""
        # not by an attribute: MindSpore would give the Parameters other names
        self.parent._cells[self.name] = cell
        if type(self.parent) is nn.SequentialCell:
            self.parent.cell_list = list(self.parent._cells.values())

    def undo(self) -> None:
        """What was there, with the training flag that its place has now."""
        self.was.set_train(self.parent._cells[self.name].training)
        self.put(self.was)


@dataclass(frozen=True)
class Change:
    """A Cell that does something else: its class before, and the names of the parts that it got."""

    cell: Any
    kind: type
    parts: tuple[str, ...]

    def undo(self) -> None:
        """As it was."""
        for name in self.parts:
            self.cell._cells.pop(name, None)
        self.cell.__class__ = self.kind


class PatchRecord:
    """What `patch` did.

    Attributes:
        replaced: the places that have our operators now.
        refused: those that could have had them, and why they have not.
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
        """Puts back what was there; a second call does nothing."""
        for step in reversed(self._steps):
            step.undo()
        self._steps = []
        forget_graphs(self._net)

    def __str__(self) -> str:
        return "\n".join(map(str, (*self.replaced, *self.refused))) or "nothing is replaced"


def forget_graphs(net: Any) -> None:
    """Graphs that were compiled with what was there before are compiled anew."""
    for _, cell in net.cells_and_names():
        cell.compile_cache.clear()
