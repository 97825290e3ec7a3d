"""Puts our operators into an existing network: the same Parameters, each place checked on a sample, and the way back.

In: a net and a sample of its inputs. Out: the same net with our operators, and a record that undoes it. It changes no Parameter
and no class of the user's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from custom_ops.core.framework import HAS_MINDSPORE, nn
from custom_ops.patching import known_equivalents, mixed_precision
from custom_ops.patching.call_site_edits import Owner, owner_of, try_edits, try_heads
from custom_ops.patching.inlinable_calls import is_open
from custom_ops.patching.patch_record import Change, PatchRecord, Replacement, Slot, forget_graphs
from custom_ops.patching.rules import Rule, is_plain, rule_for
from custom_ops.patching.verification import (
    Seen,
    difference,
    disagreement,
    observed,
    slope_difference,
    slopes,
    trial,
)
from tbe_impl.environment import is_off_and_said
from tbe_impl.errors import InputError, MissingError

__all__ = ["PatchRecord", "Replacement", "patch"]

AFTER_AMP = (
    "ms.amp has set it to level {level} already; call patch first, and ms.amp on the patched net"
)
OFF = "MS_FUSION=off is set in the environment"
NARROW_LEVELS = ("O1", "O2", "O3")
UNREACHED = "the sample inputs do not reach it"


def patch(net: Any, *sample_inputs: Any, tolerance: float | None = None) -> PatchRecord:
    """Replaces parts of a network by our operators, with the same Parameters under the same names.

    In place of single Cells: nn.Conv2d, BatchNorm1d and BatchNorm2d, LayerNorm, GELU, SiLU, Softmax, Embedding, and Cells of
    other libraries that call themselves RMSNorm or LayerNorm. Of Cells in a row: a convolution with the normalisation and
    activation after it, a dense layer with its activation or the normalisation before it; in an nn.SequentialCell, and in any
    Cell whose `construct` hands what one makes to the next and to nobody else. Softmax and activations that are called as
    functions or primitives. Attention, softmax(scale·q kᵀ + masks)·v, in any Cell whose `construct`, with what it calls,
    computes it; and nn.MultiheadAttention. Subclasses of MindSpore's Cells, Cells with hooks, and Cells with a precision of their
    own (`to_float`) stay as they are; so does the net itself.

    A Cell whose source was read keeps its parts and gets ours beside them; its class is replaced by one with another
    `construct`, which calls the old one where the conditions it was read under (an argument is None, a flag is false) do not
    hold.

    With sample inputs the net is run before, in PyNative and not in training; each replacement is compared with what its Cells
    made of what they were given, and stays out where it disagrees or was not reached; the results of the whole net are compared
    last. A net that is in training has its gradients and moving values compared too. Attention with a mask is used in training
    only if the net was in training here, and never while weights are dropped out.

    Args:
        net: an nn.Cell; call it afterwards as before.
        sample_inputs: what it is called with.
        tolerance: how far a replacement may be off, relative to the root mean square; by default that of the dtype.

    Returns:
        What was replaced and where; its `undo()` puts everything back. Nothing is under ``MS_FUSION=off``.

    Raises:
        InputError: no Cell, or the whole net disagrees though its parts do not; then nothing is replaced.
        MissingError: there is no MindSpore.
    """
    if not HAS_MINDSPORE:
        raise MissingError(
            "patch needs MindSpore", place="patch", remedy="Run: pip install 'ms_fusion[cpu]'"
        )
    if not isinstance(net, nn.Cell):
        raise InputError(
            "patch: this is no Cell", place="patch", expected="an nn.Cell", got=type(net).__name__
        )
    if is_off_and_said():
        return PatchRecord(net, (), (Replacement("", (net,), None, OFF),), ())
    mixed_precision.watch()
    with trial(net) as flags:
        return _Patch(net, sample_inputs, tolerance, flags).run()


@dataclass(frozen=True)
class _Candidate:
    place: str
    slots: tuple[Slot, ...]
    rule: Rule | None
    made: Any = None

    @property
    def cells(self) -> tuple[Any, ...]:
        return tuple(slot.was for slot in self.slots)


class _Patch:
    """One call of `patch`."""

    def __init__(self, net: Any, inputs: tuple[Any, ...], tolerance: float | None, flags: Any):
        self.net, self.inputs, self.tolerance, self.flags = net, inputs, tolerance, flags
        self.replaced: list[Replacement] = []
        self.refused: list[Replacement] = []
        self.steps: list[Slot | Change] = []
        self.owners: list[Owner] = []

    def run(self) -> PatchRecord:
        """All of it."""
        cells = dict(self.net.cells_and_names())
        candidates = list(_candidates(self.net))
        self.seen: dict[int, Seen] = {}
        whole = None
        if self.inputs:
            watched = [cell for cell in cells.values() if is_open(cell) and is_plain(cell)]
            watched += [cell for one in candidates for cell in one.cells]
            self.seen, whole = observed(self.net, watched, self.inputs)
        self._sources(cells)
        if self._trains():
            self._without_wrong_masks()
        taken = {id(cell) for owner in self.owners for edit in owner.edits for cell in edit.before}
        self._slots([one for one in candidates if not taken & set(map(id, one.cells))])
        forget_graphs(self.net)
        record = self._record()
        if self.inputs:
            reason = difference(self.net(*self.inputs), whole, self.tolerance)
            if reason:
                record.undo()
                raise InputError(
                    f"patch: the net disagrees though its parts do not: {reason}",
                    place="patch",
                    got=str(record),
                )
        self._put_flags()
        return record

    def _record(self) -> PatchRecord:
        owners = [owner for owner in self.owners if owner.edits]
        replaced = [one for owner in owners for one in owner.replacements()] + self.replaced
        refused = [one for owner in self.owners for one in owner.refused] + self.refused
        level = getattr(self.net, "_amp_level", "O0")
        if level in NARROW_LEVELS:
            refused.append(Replacement("", (self.net,), None, AFTER_AMP.format(level=level)))
        steps = [*(owner.change() for owner in owners), *self.steps]
        return PatchRecord(self.net, replaced, refused, steps)

    def _trains(self) -> bool:
        return bool(self.inputs) and self.flags.get(id(self.net), False)

    def _slopes(self, *, nudged: bool = False) -> Any:
        """Of the weights."""
        seen = Seen(self.inputs, {}, None)
        return slopes(self.net, seen.nudged() if nudged else seen, self.flags, lambda _: True)

    def _sources(self, cells: dict[str, Any]) -> None:
        """Cells whose source is read, parts before what they are in: it is tried again and again, and they are quicker then."""
        for place, cell in reversed(cells.items()):
            if type(cell) is nn.MultiheadAttention:
                made, change = try_heads(
                    place,
                    cell,
                    self.seen.get(id(cell)),
                    self._trains(),
                    self.tolerance,
                    sampled=bool(self.inputs),
                )
                (self.replaced if change else self.refused).append(made)
                self.steps += [change] if change else []
                continue
            seen = self.seen.get(id(cell))
            if self.inputs and seen is None:
                continue
            found = owner_of(place, cell, seen)
            if found is not None:
                owner, edits = found
                try_edits(owner, edits, self.flags, self.tolerance)
                self.owners.insert(0, owner)

    def _slots(self, candidates: list[_Candidate]) -> None:
        """Cells that others stand for."""
        made: dict[tuple[int, ...], Any] = {}
        gone: set[int] = set()
        for one in candidates:
            cells = one.cells
            if any(id(slot.parent) in gone for slot in one.slots):
                continue
            key = tuple(map(id, cells))
            reason = one.rule.applies(*cells) if one.rule else ""
            after = None
            if not reason:
                if key not in made:
                    made[key] = one.rule.make(*cells) if one.rule else one.made
                after = made[key]
                reason = self._why_not(one, after)
            if reason:
                self.refused.append(Replacement(one.place, cells, None, reason))
                continue
            for number, slot in enumerate(one.slots):
                slot.put(after if number == 0 else nn.Identity())
                self.steps.append(slot)
            self.replaced.append(Replacement(one.place, cells, after))
            gone |= {id(part) for cell in cells for _, part in cell.cells_and_names()}

    def _why_not(self, one: _Candidate, after: Any) -> str:
        first, last = (self.seen.get(id(cell)) for cell in (one.cells[0], one.cells[-1]))
        if not self.inputs:
            return "" if one.rule else "it is believed only on a sample"
        if first is None or last is None:
            return UNREACHED
        reason = disagreement(lambda: first.again(after), last.output, self.tolerance)
        if not reason and one.rule is None:
            reason = known_equivalents.why_not(one.cells[0], after, first, self.tolerance)
        return reason

    def _without_wrong_masks(self) -> None:
        """Masks get no gradient from our attention; where they need one it stays out."""
        masked = [owner for owner in self.owners if any(edit.takes_mask for edit in owner.edits)]
        heads = [step.cell.fused_attention for step in self.steps if isinstance(step, Change)]
        if not masked and not heads:
            return
        after = self._slopes()
        for owner in masked:
            owner.put([edit for edit in owner.edits if not edit.takes_mask])
        for part in heads:
            part.mask_in_training = False
        if slope_difference(
            after, self._slopes(), lambda: self._slopes(nudged=True), self.tolerance
        ):
            for owner in masked:
                for edit in [edit for edit in owner.edits if edit.takes_mask]:
                    owner.edits.remove(edit)
                    owner.refused.append(
                        Replacement(owner.path(edit), edit.before, None, "its mask has a gradient")
                    )
            return
        for owner in masked:
            owner.put(owner.edits)
        for part in heads:
            part.mask_in_training = True

    def _put_flags(self) -> None:
        """New parts train where those did that they stand for."""
        flags = self.flags

        def flag(cell: Any, otherwise: bool) -> bool:
            return bool(flags.get(id(cell), otherwise))

        for owner in self.owners:
            own = flag(owner.cell, False)
            for edit in owner.edits:
                # a normalisation may be frozen
                before = [cell for cell in edit.before if isinstance(cell, nn.Cell)]
                flags[id(edit.cell)] = flag(before[min(1, len(before) - 1)], own) if before else own
        for step in self.steps:
            if isinstance(step, Slot):
                flags[id(step.parent._cells[step.name])] = flag(step.was, False)
        for one in self.replaced:
            if isinstance(one.before[0], nn.Cell):
                flags[id(one.after)] = flag(one.before[min(1, len(one.before) - 1)], False)


def _candidates(net: Any) -> Iterator[_Candidate]:
    """Every place that a rule names, the longest rule first; nothing inside of our own operators."""
    for place, parent in net.cells_and_names():
        if type(parent).__module__.startswith("custom_ops"):
            continue
        children = [Slot(parent, name, cell) for name, cell in parent._cells.items()]
        taken = 0
        for number, slot in enumerate(children):
            if number < taken or slot.was is None:
                continue
            path = f"{place}.{slot.name}" if place else slot.name
            rest = children[number:] if type(parent) is nn.SequentialCell else [slot]
            rule = rule_for(tuple(one.was for one in rest))
            if rule is not None:
                taken = number + len(rule.classes)
                yield _Candidate(path, tuple(rest[: len(rule.classes)]), rule)
                continue
            made = known_equivalents.candidate(slot.was)
            if made is not None:
                yield _Candidate(path, (slot,), None, made)
