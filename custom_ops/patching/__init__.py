"""Replaces parts of an existing network by fused operators, and verifies each replacement.

In: a net and optional sample inputs. Out: the same net with fused operators and the same
Parameters, and a record that can undo all replacements.
Must not: change a Parameter or a class that the user defined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from custom_ops.core.framework import HAS_MINDSPORE, nn
from custom_ops.patching import equivalent_cells, mixed_precision
from custom_ops.patching.call_site_edits import (
    PatchedCell,
    find_edits,
    try_edits,
    try_multihead_attention,
)
from custom_ops.patching.inlinable_calls import is_readable
from custom_ops.patching.patch_record import Change, PatchRecord, Replacement, Slot, forget_graphs
from custom_ops.patching.rules import Rule, is_plain, rule_for
from custom_ops.patching.verification import (
    RecordedCall,
    compare_training_effects,
    difference,
    disagreement,
    record_calls,
    training_effects,
    trial,
)
from tbe_impl.environment import is_off_with_warning
from tbe_impl.errors import InputError, MissingError

__all__ = ["PatchRecord", "Replacement", "patch"]

AFTER_AMP_REASON = (
    "ms.amp has set it to level {level} already; call patch first, and ms.amp on the patched net"
)
OFF_REASON = "MS_FUSION=off is set in the environment"
NARROW_LEVELS = ("O1", "O2", "O3")
UNREACHED_REASON = "the sample inputs do not reach it"


def patch(net: Any, *sample_inputs: Any, tolerance: float | None = None) -> PatchRecord:
    """Replaces parts of a network by fused operators that use the same Parameters and names.

    `patch` replaces:

    - single Cells: nn.Conv2d, BatchNorm1d and BatchNorm2d, LayerNorm, GELU, SiLU, Softmax,
      Embedding, and Cells of other libraries with a class name that contains RMSNorm or LayerNorm;
    - sequences of Cells: convolution, normalisation and activation; dense layer and activation;
      normalisation and dense layer;
    - calls of softmax and of activations as functions or primitives;
    - nn.MultiheadAttention, and the computation softmax(scale·q kᵀ + masks)·v in the `construct` of
      any Cell or in a function that this `construct` calls.

    `patch` finds sequences of Cells in an nn.SequentialCell. In the `construct` of any other Cell,
    `patch` finds a sequence if the result of each layer goes only to the next layer. `patch` does
    not replace subclasses of MindSpore's Cells, Cells with hooks, Cells with a precision set by
    `to_float`, or the net itself.

    If `patch` edits the source of a Cell, the Cell keeps its child Cells and gets the fused
    operators as further children. The class of the Cell is replaced by a subclass with a new
    `construct`. An edit may be valid only under a condition, for example that an argument is None
    or a flag is false. If such a condition does not hold, the new `construct` calls the original
    `construct`.

    With sample inputs, `patch` first runs the net in PyNative mode, outside of training, and
    records the outputs of each Cell. `patch` then compares the outputs of each replacement with the
    recorded outputs of the replaced Cells. `patch` refuses a replacement if the outputs differ, or
    if the sample call does not run the replaced Cells. If the net is in training, `patch` also
    compares gradients, and the moving averages of BatchNorm. At the end, `patch` compares the
    results of the whole net before and after all replacements.

    If the net is not in training when `patch` is called, two kinds of attention are fused for
    inference only: attention with a mask that is added to the attention scores, and
    nn.MultiheadAttention with any kind of mask. While dropout of the attention weights is active in
    training, fused attention is never used.

    Args:
        net: an nn.Cell. `patch` changes `net` in place.
        sample_inputs: arguments of a sample call.
        tolerance: allowed error of a replacement, relative to the root mean square of the result.
            The default depends on the dtype.

    Returns:
        A record of the replacements that were made and refused. The method `undo()` of the record
        restores the net. With ``MS_FUSION=off`` nothing is replaced.

    Raises:
        InputError: `net` is not a Cell. The error is also raised if the results of the patched net
            differ from those of the original net, although each replacement was verified. In this
            case the net is restored first.
        MissingError: MindSpore is not installed.
    """
    if not HAS_MINDSPORE:
        raise MissingError(
            "patch needs MindSpore", place="patch", remedy="Run: pip install 'ms_fusion[cpu]'"
        )
    if not isinstance(net, nn.Cell):
        raise InputError(
            "patch: this is not a Cell",
            place="patch",
            expected="an nn.Cell",
            got=type(net).__name__,
        )
    if is_off_with_warning():
        return PatchRecord(net, (), (Replacement("", (net,), None, OFF_REASON),), ())
    mixed_precision.hook_amp()
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
        return tuple(slot.original for slot in self.slots)


class _Patch:
    """State of one call of `patch`."""

    def __init__(self, net: Any, inputs: tuple[Any, ...], tolerance: float | None, flags: Any):
        self.net, self.inputs, self.tolerance, self.flags = net, inputs, tolerance, flags
        self.replaced: list[Replacement] = []
        self.refused: list[Replacement] = []
        self.steps: list[Slot | Change] = []
        self.owners: list[PatchedCell] = []

    def run(self) -> PatchRecord:
        """Runs all steps of `patch` and returns the record of the replacements."""
        cells = dict(self.net.cells_and_names())
        candidates = list(_candidates(self.net))
        self.seen: dict[int, RecordedCall] = {}
        whole = None
        if self.inputs:
            watched = [cell for cell in cells.values() if is_readable(cell) and is_plain(cell)]
            watched += [cell for one in candidates for cell in one.cells]
            self.seen, whole = record_calls(self.net, watched, self.inputs)
        self._edit_sources(cells)
        if self._is_training():
            self._drop_masks_with_gradient()
        taken = {id(cell) for owner in self.owners for edit in owner.edits for cell in edit.before}
        self._replace_slots([one for one in candidates if not taken & set(map(id, one.cells))])
        forget_graphs(self.net)
        record = self._record()
        if self.inputs:
            reason = difference(self.net(*self.inputs), whole, self.tolerance)
            if reason:
                record.undo()
                raise InputError(
                    f"patch: the net's results differ although those of its parts agree: {reason}",
                    place="patch",
                    got=str(record),
                )
        self._set_training_flags()
        return record

    def _record(self) -> PatchRecord:
        owners = [owner for owner in self.owners if owner.edits]
        replaced = [one for owner in owners for one in owner.replacements()] + self.replaced
        refused = [one for owner in self.owners for one in owner.refused] + self.refused
        level = getattr(self.net, "_amp_level", "O0")
        if level in NARROW_LEVELS:
            refused.append(Replacement("", (self.net,), None, AFTER_AMP_REASON.format(level=level)))
        steps = [*(owner.change() for owner in owners), *self.steps]
        return PatchRecord(self.net, replaced, refused, steps)

    def _is_training(self) -> bool:
        return bool(self.inputs) and self.flags.get(id(self.net), False)

    def _weight_gradients(self, *, nudged: bool = False) -> Any:
        """Returns the gradients of the weights, computed with the sample inputs.

        If `nudged` is true, the sample inputs are perturbed by about one rounding error.
        """
        seen = RecordedCall(self.inputs, {}, None)
        return training_effects(
            self.net, seen.perturb() if nudged else seen, self.flags, lambda _: True
        )

    def _edit_sources(self, cells: dict[str, Any]) -> None:
        """Edits the sources of Cells, and verifies each edit.

        Child Cells are edited before their parents. The children are then already fused when a
        parent is verified, so that the verification is faster.
        """
        for place, cell in reversed(cells.items()):
            if type(cell) is nn.MultiheadAttention:
                made, change = try_multihead_attention(
                    place,
                    cell,
                    self.seen.get(id(cell)),
                    self._is_training(),
                    self.tolerance,
                    sampled=bool(self.inputs),
                )
                (self.replaced if change else self.refused).append(made)
                self.steps += [change] if change else []
                continue
            seen = self.seen.get(id(cell))
            if self.inputs and seen is None:
                continue
            found = find_edits(place, cell, seen)
            if found is not None:
                owner, edits = found
                try_edits(owner, edits, self.flags, self.tolerance)
                self.owners.insert(0, owner)

    def _replace_slots(self, candidates: list[_Candidate]) -> None:
        """Replaces child Cells in their parent Cells, without editing a source."""
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
            return UNREACHED_REASON
        reason = disagreement(lambda: first.replay(after), last.output, self.tolerance)
        if not reason and one.rule is None:
            reason = equivalent_cells.why_not(one.cells[0], after, first, self.tolerance)
        return reason

    def _drop_masks_with_gradient(self) -> None:
        """Undoes the fusion of masked attention if a mask needs a gradient.

        The fused operator computes no gradient of a mask. To detect whether a mask needs a
        gradient, this method compares the gradients of the weights with and without fused masked
        attention. If the gradients differ, the method undoes the edits that fuse attention with a
        mask. A patched nn.MultiheadAttention stays patched, but the flag `mask_in_training` of the
        fused attention becomes false.
        """
        masked = [owner for owner in self.owners if any(edit.takes_mask for edit in owner.edits)]
        heads = [step.cell.fused_attention for step in self.steps if isinstance(step, Change)]
        if not masked and not heads:
            return
        after = self._weight_gradients()
        for owner in masked:
            owner.apply_edits([edit for edit in owner.edits if not edit.takes_mask])
        for part in heads:
            part.mask_in_training = False
        if compare_training_effects(
            after,
            self._weight_gradients(),
            lambda: self._weight_gradients(nudged=True),
            self.tolerance,
        ):
            for owner in masked:
                for edit in [edit for edit in owner.edits if edit.takes_mask]:
                    owner.edits.remove(edit)
                    owner.refused.append(
                        Replacement(owner.path(edit), edit.before, None, "its mask has a gradient")
                    )
            return
        for owner in masked:
            owner.apply_edits(owner.edits)
        for part in heads:
            part.mask_in_training = True

    def _set_training_flags(self) -> None:
        """Sets the training flag of each new Cell to the flag of the Cell that it replaces."""
        flags = self.flags

        def flag(cell: Any, otherwise: bool) -> bool:
            return bool(flags.get(id(cell), otherwise))

        for owner in self.owners:
            own = flag(owner.cell, False)
            for edit in owner.edits:
                # the second of several replaced Cells decides, because it may be a frozen BatchNorm
                before = [cell for cell in edit.before if isinstance(cell, nn.Cell)]
                flags[id(edit.cell)] = flag(before[min(1, len(before) - 1)], own) if before else own
        for step in self.steps:
            if isinstance(step, Slot):
                flags[id(step.parent._cells[step.name])] = flag(step.original, False)
        for one in self.replaced:
            if isinstance(one.before[0], nn.Cell):
                flags[id(one.after)] = flag(one.before[min(1, len(one.before) - 1)], False)


def _candidates(net: Any) -> Iterator[_Candidate]:
    """Yields each Cell and each sequence of Cells in the net that may be replaced.

    If several rules match at one Cell, the rule for the longest sequence is used. The children of
    fused operators are skipped.
    """
    for place, parent in net.cells_and_names():
        if type(parent).__module__.startswith("custom_ops"):
            continue
        children = [Slot(parent, name, cell) for name, cell in parent._cells.items()]
        taken = 0
        for number, slot in enumerate(children):
            if number < taken or slot.original is None:
                continue
            path = f"{place}.{slot.name}" if place else slot.name
            rest = children[number:] if type(parent) is nn.SequentialCell else [slot]
            rule = rule_for(tuple(one.original for one in rest))
            if rule is not None:
                taken = number + len(rule.classes)
                yield _Candidate(path, tuple(rest[: len(rule.classes)]), rule)
                continue
            made = equivalent_cells.candidate(slot.original)
            if made is not None:
                yield _Candidate(path, (slot,), None, made)
