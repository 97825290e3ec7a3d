"""Applies source edits to Cells one by one, and verifies each edit."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from custom_ops.core.framework import nn
from custom_ops.patching import attention, layer_chains, multihead_attention
from custom_ops.patching.attention_core import AttentionCore
from custom_ops.patching.data_flow import Flow, eliminate_dead_assignments
from custom_ops.patching.inlinable_calls import UnreadableSource, arguments_of, is_readable
from custom_ops.patching.patch_record import Change, Replacement
from custom_ops.patching.rules import is_plain
from custom_ops.patching.source import Body
from custom_ops.patching.source_edits import NOT_TRAINING, Edit, build_class, write_source
from custom_ops.patching.verification import (
    RecordedCall,
    TrainingEffects,
    compare_training_effects,
    disagreement,
    training_effects,
)

ONLY_INFERENCE = "not in training"


@dataclass
class PatchedCell:
    """A Cell with an edited `construct`.

    Attributes:
        place: path of the Cell in the net.
        cell: the edited Cell.
        seen: a recorded call of the Cell with the sample inputs, or None if there is none.
        kind: original class of the Cell.
        body: normalised source of the Cell's `construct`.
        edits: accepted edits.
        refused: refused edits, with the reasons.
        parts: names of the child Cells that the edits add.
    """

    place: str
    cell: Any
    seen: RecordedCall | None
    kind: type
    body: Body
    edits: list[Edit] = field(default_factory=list)
    refused: list[Replacement] = field(default_factory=list)
    parts: tuple[str, ...] = ()

    def apply_edits(self, edits: list[Edit]) -> None:
        """Applies these edits to the original `construct`, and undoes all other edits."""
        for name in self.parts:
            self.cell._cells.pop(name, None)
        self.parts = tuple(edit.name for edit in edits)
        self.cell.__class__ = self.kind
        if not edits:
            return
        source = write_source(self.body, edits)
        for edit in edits:
            # setattr is not used, because MindSpore would rename the Parameters
            self.cell._cells[edit.name] = edit.cell
        self.cell.__class__ = build_class(self.kind, self.body.function, source)

    def change(self) -> Change:
        """Returns a `Change`; the `undo` of the `Change` undoes all edits."""
        return Change(self.cell, self.kind, self.parts)

    def replacements(self) -> list[Replacement]:
        """Returns a `Replacement` for each accepted edit."""
        return [
            Replacement(
                self.path(edit),
                edit.before,
                unwrap_operator(edit.cell),
                note=ONLY_INFERENCE if NOT_TRAINING in edit.guards else "",
            )
            for edit in self.edits
        ]

    def path(self, edit: Edit) -> str:
        """Returns the path of the first Cell that an edit replaces.

        If the edit does not replace a child Cell, the path of the edited Cell is returned.
        """
        for name, cell in self.cell.cells_and_names():
            if cell is edit.before[0]:
                return ".".join(filter(None, (self.place, name)))
        return self.place or type(self.cell).__name__


def unwrap_operator(cell: Any) -> Any:
    """Returns the operator inside an `AttentionCore`, and any other Cell unchanged."""
    return cell.attention if isinstance(cell, AttentionCore) else cell


def find_edits(
    place: str, cell: Any, seen: RecordedCall | None
) -> tuple[PatchedCell, list[Edit]] | None:
    """Returns (`PatchedCell`, its possible edits), or None if the source cannot be analysed."""
    if not is_readable(cell) or not is_plain(cell) or isinstance(cell, nn.MultiheadAttention):
        return None
    given: Mapping[str, Any] | None = None
    if seen is not None:
        given = seen.arguments(cell)
    try:
        body = Body(cell, given)
    except UnreadableSource:
        return None
    arguments = arguments_of(body.tree)
    body.statements = eliminate_dead_assignments(body.statements, arguments)
    flow = Flow(body.statements, arguments)
    owner = PatchedCell(place, cell, seen, type(cell), body)
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
    """Returns the ids of the nodes that an edit removes or replaces.

    Nodes that the edit reuses in the replacement are excluded.
    """
    found: set[int] = set()
    for node in flow.nodes():
        if id(node) in edit.statements or id(node) in edit.expressions:
            found |= {id(one) for one in ast.walk(node)}
    kept = [part for parts in (*edit.statements.values(), *edit.ahead.values()) for part in parts]
    for part in (*kept, *edit.expressions.values()):
        found -= {id(one) for one in ast.walk(part)}
    return found


def try_edits(
    owner: PatchedCell, edits: list[Edit], flags: Mapping[int, bool], tolerance: float | None
) -> None:
    """Applies edits one by one, and keeps each edit that does not change the Cell's results.

    The function compares the results of the Cell before and after each edit. In training, the
    function also compares the gradients. If an edit changes the results or gradients, the edit is
    undone and recorded as refused.
    """
    trains = owner.seen is not None and flags.get(id(owner.cell), False)
    for edit in edits:
        if edit.takes_mask and not trains and NOT_TRAINING not in edit.guards:
            edit.guards.append(NOT_TRAINING)
    seen = owner.seen
    before: TrainingEffects | None = None
    for edit in edits:
        owner.apply_edits([*owner.edits, edit])
        reason = ""
        if seen is not None:
            reason = disagreement(lambda: seen.replay(owner.cell), seen.output, tolerance)
            if not reason and trains and NOT_TRAINING not in edit.guards:
                try:
                    before = before or _gradients_without_edits(
                        owner, seen, flags, [*owner.edits, edit]
                    )
                    after = training_effects(owner.cell, seen, flags, _is_mask)
                    reason = compare_training_effects(
                        after,
                        before,
                        lambda edit=edit: _gradients_without_edits(
                            owner, seen.perturb(), flags, [*owner.edits, edit]
                        ),  # type: ignore[misc]
                        tolerance,
                    )
                except Exception as error:  # noqa: BLE001 - any failure refuses the edit
                    reason = f"its gradient fails: {error}".splitlines()[0]
        if reason:
            owner.refused.append(Replacement(owner.path(edit), edit.before, None, reason))
        else:
            owner.edits.append(edit)
    owner.apply_edits(owner.edits)


def _gradients_without_edits(
    owner: PatchedCell, seen: RecordedCall, flags: Mapping[int, bool], edits: list[Edit]
) -> TrainingEffects:
    """Computes the gradients and moving averages of the Cell while all edits are undone.

    Afterwards the function applies `edits` again.
    """
    owner.apply_edits([])
    try:
        return training_effects(owner.cell, seen, flags, _is_mask)
    finally:
        owner.apply_edits(edits)


def _is_mask(name: str) -> bool:
    return "mask" in name or "bias" in name


def try_multihead_attention(
    place: str,
    cell: Any,
    seen: RecordedCall | None,
    trains: bool,
    tolerance: float | None,
    *,
    sampled: bool,
) -> tuple[Replacement, Change | None]:
    """Patches an nn.MultiheadAttention with fused attention.

    Returns the outcome as a `Replacement`, and the `Change` that undoes the patch. The `Change` is
    None if the Cell is not patched.
    """
    reason = multihead_attention.why_not(cell) or (
        "" if is_plain(cell) else "the Cell has hooks, or a precision that `to_float` set"
    )
    if not reason and sampled and seen is None:
        reason = "the sample inputs do not reach it"
    if reason:
        return Replacement(place, (cell,), None, reason), None
    kind = type(cell)
    cell._cells[multihead_attention.PART] = multihead_attention.build_attention(
        mask_in_training=trains
    )
    cell.__class__ = multihead_attention.MultiheadAttention
    change = Change(cell, kind, (multihead_attention.PART,))
    if seen is not None:
        reason = disagreement(lambda: seen.replay(cell), seen.output, tolerance)
    if reason:
        change.undo()
        return Replacement(place, (cell,), None, reason), None
    note = (
        ONLY_INFERENCE if cell.dropout > 0 else "" if trains else "in training only without a mask"
    )
    return Replacement(place, ("MultiheadAttention",), cell.fused_attention, note=note), change
