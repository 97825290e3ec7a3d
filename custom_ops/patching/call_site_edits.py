"""Puts operators into Cells whose source says where: one edit after the other, each checked."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from custom_ops.core.framework import nn
from custom_ops.patching import attention, layer_chains, multihead_attention
from custom_ops.patching.attention_core import AttentionCore
from custom_ops.patching.data_flow import Flow, without_unread
from custom_ops.patching.inlinable_calls import Unreadable, arguments_of, is_open
from custom_ops.patching.patch_record import Change, Replacement
from custom_ops.patching.rules import is_plain
from custom_ops.patching.source import Body
from custom_ops.patching.source_edits import NOT_TRAINING, Edit, class_with, written
from custom_ops.patching.verification import Seen, Slopes, disagreement, slope_difference, slopes

ONLY_INFERENCE = "not in training"


@dataclass
class Owner:
    """A Cell whose `construct` is changed.

    Attributes:
        place: names from the net down.
        cell: the Cell.
        seen: a call of it, if there was one.
        kind: its class before.
        edits: that hold.
        refused: what could have been, and why it is not.
        parts: names of those that it got.
    """

    place: str
    cell: Any
    seen: Seen | None
    kind: type
    body: Body
    edits: list[Edit] = field(default_factory=list)
    refused: list[Replacement] = field(default_factory=list)
    parts: tuple[str, ...] = ()

    def put(self, edits: list[Edit]) -> None:
        """These edits and no others."""
        for name in self.parts:
            self.cell._cells.pop(name, None)
        self.parts = tuple(edit.name for edit in edits)
        self.cell.__class__ = self.kind
        if not edits:
            return
        source = written(self.body, edits)
        for edit in edits:
            # not by an attribute: MindSpore would give the Parameters other names
            self.cell._cells[edit.name] = edit.cell
        self.cell.__class__ = class_with(self.kind, self.body.function, source)

    def change(self) -> Change:
        """For the way back."""
        return Change(self.cell, self.kind, self.parts)

    def replacements(self) -> list[Replacement]:
        """What it has now."""
        return [
            Replacement(
                self.path(edit),
                edit.before,
                shown(edit.cell),
                note=ONLY_INFERENCE if NOT_TRAINING in edit.guards else "",
            )
            for edit in self.edits
        ]

    def path(self, edit: Edit) -> str:
        """Where an edit is: the first of its Cells, or the Cell itself."""
        for name, cell in self.cell.cells_and_names():
            if cell is edit.before[0]:
                return ".".join(filter(None, (self.place, name)))
        return self.place or type(self.cell).__name__


def shown(cell: Any) -> Any:
    """The operator in it."""
    return cell.attention if isinstance(cell, AttentionCore) else cell


def owner_of(place: str, cell: Any, seen: Seen | None) -> tuple[Owner, list[Edit]] | None:
    """A Cell and what its source could have; None where it is not read."""
    if not is_open(cell) or not is_plain(cell) or isinstance(cell, nn.MultiheadAttention):
        return None
    given: Mapping[str, Any] | None = None
    if seen is not None:
        given = seen.arguments(cell)
    try:
        body = Body(cell, given)
    except Unreadable:
        return None
    arguments = arguments_of(body.tree)
    body.statements = without_unread(body.statements, arguments)
    flow = Flow(body.statements, arguments)
    owner = Owner(place, cell, seen, type(cell), body)
    edits: list[Edit] = []
    taken: set[int] = set()
    for found in attention.find(flow, body.scope):
        if isinstance(found, str):
            where = place or type(cell).__name__
            owner.refused.append(Replacement(where, ("attention",), None, found))
            continue
        edits.append(found)
    for edit in edits:
        taken |= _nodes_of(flow, edit)
    edits += layer_chains.find(flow, body.scope, taken)
    edits += layer_chains.find_functions(flow, body.scope, taken)
    return owner, edits


def _nodes_of(flow: Flow, edit: Edit) -> set[int]:
    """Numbers of the nodes in statements that an edit replaces whole, and of the steps in those that it does not."""
    found: set[int] = set()
    for node in flow.nodes():
        if id(node) in edit.statements or id(node) in edit.expressions:
            found |= {id(one) for one in ast.walk(node)}
    kept = [part for parts in (*edit.statements.values(), *edit.ahead.values()) for part in parts]
    for part in (*kept, *edit.expressions.values()):
        found -= {id(one) for one in ast.walk(part)}
    return found


def try_edits(
    owner: Owner, edits: list[Edit], flags: Mapping[int, bool], tolerance: float | None
) -> None:
    """Each edit holds where results and, in training, gradients are what they were."""
    trains = owner.seen is not None and flags.get(id(owner.cell), False)
    for edit in edits:
        if edit.takes_mask and not trains and NOT_TRAINING not in edit.guards:
            edit.guards.append(NOT_TRAINING)
    seen = owner.seen
    before: Slopes | None = None
    for edit in edits:
        owner.put([*owner.edits, edit])
        reason = ""
        if seen is not None:
            reason = disagreement(lambda: seen.again(owner.cell), seen.output, tolerance)
            if not reason and trains and NOT_TRAINING not in edit.guards:
                try:
                    before = before or _slopes_without(owner, seen, flags, [*owner.edits, edit])
                    after = slopes(owner.cell, seen, flags, _is_mask)
                    reason = slope_difference(
                        after,
                        before,
                        lambda edit=edit: _slopes_without(
                            owner, seen.nudged(), flags, [*owner.edits, edit]
                        ),  # type: ignore[misc]
                        tolerance,
                    )
                except Exception as error:  # noqa: BLE001 - what cannot be compared stays as it is
                    reason = f"its gradient fails: {error}".splitlines()[0]
        if reason:
            owner.refused.append(Replacement(owner.path(edit), edit.before, None, reason))
        else:
            owner.edits.append(edit)
    owner.put(owner.edits)


def _slopes_without(
    owner: Owner, seen: Seen, flags: Mapping[int, bool], edits: list[Edit]
) -> Slopes:
    """Of the Cell as it was; it has these edits again afterwards."""
    owner.put([])
    try:
        return slopes(owner.cell, seen, flags, _is_mask)
    finally:
        owner.put(edits)


def _is_mask(name: str) -> bool:
    return "mask" in name or "bias" in name


def try_heads(
    place: str,
    cell: Any,
    seen: Seen | None,
    trains: bool,
    tolerance: float | None,
    *,
    sampled: bool,
) -> tuple[Replacement, Change | None]:
    """nn.MultiheadAttention with our attention."""
    reason = multihead_attention.why_not(cell) or (
        "" if is_plain(cell) else "it has hooks or a precision of its own"
    )
    if not reason and sampled and seen is None:
        reason = "the sample inputs do not reach it"
    if reason:
        return Replacement(place, (cell,), None, reason), None
    kind = type(cell)
    cell._cells[multihead_attention.PART] = multihead_attention.part(mask_in_training=trains)
    cell.__class__ = multihead_attention.MultiheadAttention
    change = Change(cell, kind, (multihead_attention.PART,))
    if seen is not None:
        reason = disagreement(lambda: seen.again(cell), seen.output, tolerance)
    if reason:
        change.undo()
        return Replacement(place, (cell,), None, reason), None
    note = (
        ONLY_INFERENCE if cell.dropout > 0 else "" if trains else "in training only without a mask"
    )
    return Replacement(place, ("MultiheadAttention",), cell.fused_attention, note=note), change
