"""Puts our operators into an existing network: the same Parameters, each place checked on a sample, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import custom_ops
from custom_ops.framework import HAS_MINDSPORE, ms, nn
from custom_ops.operators.conv_bn import ConvBN
from tbe_impl.comparing import TOLERANCE
from tbe_impl.errors import InputError, MissingError


@dataclass(frozen=True)
class Rule:
    """Cells in a row, by their exact classes of `mindspore.nn`, and what stands for them.

    Attributes:
        classes: names of them.
        make: from the Cells to ours, with the same Parameters.
        applies: why not, from the Cells; empty where it does.
    """

    classes: tuple[str, ...]
    make: Callable[..., Any]
    applies: Callable[..., str] = lambda *_: ""


def _conv(conv: Any, *_: Any) -> str:
    return "" if conv.data_format == "NCHW" else f"data_format {conv.data_format} is not computed"


def _conv_bn(conv: Any, bn: Any, *_: Any) -> str:
    if getattr(bn, "format", "NCHW") != "NCHW" or conv.out_channels != bn.num_features:
        return "the normalisation is of other channels"
    return _conv(conv)


def _conv_bn_leaky(conv: Any, bn: Any, leaky: Any) -> str:
    return f"alpha is {leaky.alpha}" if leaky.alpha < 0 else _conv_bn(conv, bn)


def _dense(dense: Any, *_: Any) -> str:
    return "its own activation follows" if dense.activation_flag else ""


def _norm_dense(norm: Any, dense: Any) -> str:
    if tuple(norm.normalized_shape) != (dense.in_channels,) or norm.begin_norm_axis != -1:
        return "the normalisation is of other axes"
    return _dense(dense)


def _gelu(dense: Any, gelu: Any) -> Any:
    return custom_ops.MatMulBiasGELU.from_cells(dense, gelu.approximate == "tanh")


RULES = (
    Rule(("Conv2d", "BatchNorm2d", "ReLU"), lambda c, b, _: custom_ops.ConvBNReLU.from_cells(c, b), _conv_bn),
    Rule(("Conv2d", "BatchNorm2d", "SiLU"), lambda c, b, _: custom_ops.ConvBNSiLU.from_cells(c, b), _conv_bn),
    Rule(("Conv2d", "BatchNorm2d", "LeakyReLU"), lambda c, b, r: custom_ops.ConvBNLeakyReLU.from_cells(c, b, alpha=r.alpha), _conv_bn_leaky),
    Rule(("Conv2d", "BatchNorm2d"), lambda c, b: ConvBN.from_cells(c, b), _conv_bn),
    Rule(("LayerNorm", "Dense"), lambda n, d: custom_ops.LayerNormLinear.from_cells(n, d), _norm_dense),
    Rule(("Dense", "ReLU"), lambda d, _: custom_ops.MatMulBiasReLU.from_cells(d), _dense),
    Rule(("Dense", "GELU"), _gelu, _dense),
    Rule(("Dense", "SiLU"), lambda d, _: custom_ops.MatMulBiasSiLU.from_cells(d), _dense),
    Rule(("Conv2d",), lambda c: custom_ops.Conv2d.from_cells(c), _conv),
    Rule(("BatchNorm2d",), lambda b: custom_ops.BatchNorm.from_cells(b), lambda b: "" if b.format == "NCHW" else "another format"),
    Rule(("BatchNorm1d",), lambda b: custom_ops.BatchNorm.from_cells(b)),
    Rule(("LayerNorm",), lambda n: custom_ops.LayerNorm.from_cells(n)),
    Rule(("GELU",), lambda g: custom_ops.GELU(g.approximate == "tanh")),
    Rule(("SiLU",), lambda _: custom_ops.Swish()),
    Rule(("Softmax",), lambda s: custom_ops.Softmax.from_cells(s)),
)  # fmt: skip
"""Longer ones first. Those of several Cells hold in an nn.SequentialCell, which calls its Cells one after the other."""

HOOKS = (
    "_lazy_forward_pre_hook", "_lazy_forward_hook", "_lazy_backward_pre_hook", "_lazy_backward_hook",
    "_lazy_forward_pre_hook_with_kwargs", "_lazy_forward_hook_with_kwargs", "_cell_backward_pre_hook", "_cell_backward_hook",
    "_lazy_state_dict_hooks", "_lazy_load_state_dict_pre_hooks",
)  # fmt: skip
"""Where a Cell keeps its hooks."""


@dataclass(frozen=True)
class Replacement:
    """One place.

    Attributes:
        place: names from the net down, with dots; of several Cells that of the first.
        before: the Cells that were there.
        after: what is there now; None where it was refused.
        reason: why it was refused; empty where it was not.
    """

    place: str
    before: tuple[Any, ...]
    after: Any
    reason: str = ""

    def __str__(self) -> str:
        was = " + ".join(type(one).__name__ for one in self.before)
        now = f"left: {self.reason}" if self.after is None else type(self.after).__name__
        return f"{self.place}: {was} → {now}"


class PatchRecord:
    """What `patch` did.

    Attributes:
        replaced: the places that have our operators now.
        refused: those that could have had them, and why they have not.
    """

    def __init__(self, net: Any, replaced: Sequence[Replacement], refused: Sequence[Replacement], slots: Sequence[_Slot]):  # fmt: skip
        self.replaced, self.refused = tuple(replaced), tuple(refused)
        self._net, self._slots = net, list(slots)

    def undo(self) -> None:
        """Puts back what was there, with the training flag that its place has now; a second call does nothing."""
        for slot in reversed(self._slots):
            slot.was.set_train(slot.parent._cells[slot.name].training)
            slot.put(slot.was)
        self._slots = []
        _forget_graphs(self._net)

    def __str__(self) -> str:
        return "\n".join(map(str, (*self.replaced, *self.refused))) or "nothing is replaced"


@dataclass(frozen=True)
class _Slot:
    """A name in a Cell, and what stood there."""

    parent: Any
    name: str
    was: Any

    def put(self, cell: Any) -> None:
        # not by an attribute: MindSpore would give the Parameters other names
        self.parent._cells[self.name] = cell
        if type(self.parent) is nn.SequentialCell:
            self.parent.cell_list = list(self.parent._cells.values())


@dataclass(frozen=True)
class _Candidate:
    place: str
    slots: tuple[_Slot, ...]
    rule: Rule

    @property
    def cells(self) -> tuple[Any, ...]:
        return tuple(slot.was for slot in self.slots)


def patch(net: Any, *sample_inputs: Any, tolerance: float | None = None) -> PatchRecord:
    """Replaces sub-Cells of a network by our operators, with the same Parameters under the same names.

    In place: nn.Conv2d, BatchNorm1d and BatchNorm2d, LayerNorm, GELU, SiLU, Softmax; in an nn.SequentialCell also a convolution
    with the normalisation and activation after it, and a dense layer with its activation or the normalisation before it,
    where nn.Identity is left in the place of the others. Subclasses of these, Cells with hooks, and Cells with a precision of
    their own (`to_float`) stay as they are; so does the net itself.

    With sample inputs the net is run before, in PyNative and not in training; each replacement is compared with what its Cells
    made of what they were given, and stays out where it disagrees or was not reached; the results of the whole net are compared
    last.

    Args:
        net: an nn.Cell; call it afterwards as before.
        sample_inputs: what it is called with.
        tolerance: how far a replacement may be off, relative to the root mean square; by default that of the dtype.

    Returns:
        What was replaced and where; its `undo()` puts everything back.

    Raises:
        InputError: no Cell, or the whole net disagrees though its parts do not; then nothing is replaced.
        MissingError: there is no MindSpore.
    """
    if not HAS_MINDSPORE:
        raise MissingError("patch needs MindSpore", place="patch", remedy="Run: pip install 'ms_fusion[cpu]'")  # fmt: skip
    if not isinstance(net, nn.Cell):
        raise InputError("patch: this is no Cell", place="patch", expected="an nn.Cell", got=type(net).__name__)  # fmt: skip
    found, refused = [], []
    for candidate in _candidates(net):
        reason = candidate.rule.applies(*candidate.cells)
        if reason:
            refused.append(Replacement(candidate.place, candidate.cells, None, reason))
        else:
            found.append(candidate)
    replaced, slots = [], []
    with _trial(net):
        seen, whole = _observed(net, found, sample_inputs) if sample_inputs else ({}, None)
        made: dict[tuple[int, ...], Any] = {}
        for candidate in found:
            cells = candidate.cells
            key = tuple(map(id, cells))
            after = made[key] if key in made else candidate.rule.make(*cells)
            made[key] = after
            reason = _disagreement(after, seen.get(key), tolerance) if sample_inputs else ""
            if reason:
                refused.append(Replacement(candidate.place, cells, None, reason))
                continue
            for number, slot in enumerate(candidate.slots):
                slot.put(after if number == 0 else nn.Identity())
                slots.append(slot)
            replaced.append(Replacement(candidate.place, cells, after))
        record = PatchRecord(net, replaced, refused, slots)
        _forget_graphs(net)
        if sample_inputs:
            reason = _difference(net(*sample_inputs), whole, tolerance)
            if reason:
                record.undo()
                raise InputError(f"patch: the net disagrees though its parts do not: {reason}", place="patch", got=str(record))  # fmt: skip
    for slot in slots:
        slot.parent._cells[slot.name].set_train(slot.was.training)
    for one in replaced:
        # a normalisation may be frozen
        one.after.set_train(one.before[min(1, len(one.before) - 1)].training)
    _forget_graphs(net)
    return record


def _candidates(net: Any) -> Iterator[_Candidate]:
    """Every place that a rule names, the longest rule first; nothing inside of our own operators."""
    for place, parent in net.cells_and_names():
        if type(parent).__module__.startswith("custom_ops"):
            continue
        children = [_Slot(parent, name, cell) for name, cell in parent._cells.items()]
        taken = 0
        for number, slot in enumerate(children):
            if number < taken or slot.was is None:
                continue
            rest = children[number:] if type(parent) is nn.SequentialCell else [slot]
            rule = next((rule for rule in RULES if _matches(rule, rest)), None)
            if rule is not None:
                taken = number + len(rule.classes)
                path = f"{place}.{slot.name}" if place else slot.name
                yield _Candidate(path, tuple(rest[: len(rule.classes)]), rule)


def _matches(rule: Rule, slots: Sequence[_Slot]) -> bool:
    if len(slots) < len(rule.classes):
        return False
    pairs = list(zip(slots, rule.classes, strict=False))
    if any(type(slot.was) is not getattr(nn, name) or not _is_plain(slot.was) for slot, name in pairs):  # fmt: skip
        return False
    # a rule of several Cells that does not hold leaves room for those of one
    return len(rule.classes) == 1 or not rule.applies(*(slot.was for slot in slots[: len(rule.classes)]))  # fmt: skip


def _is_plain(cell: Any) -> bool:
    """Whether it has no hooks, no precision of its own, no backward of its own."""
    hooked = any(getattr(cell, name, None) for name in HOOKS) or "construct" in vars(cell)
    flags = cell.get_flags() if hasattr(cell, "get_flags") else {}
    return not (hooked or cell.has_bprop or flags.get("fp16") or flags.get("fp32") or flags.get("bf16"))  # fmt: skip


@contextmanager
def _trial(net: Any) -> Iterator[None]:
    """PyNative and no training; modes and the values that a run changes are as before afterwards."""
    mode = ms.get_context("mode")
    training = [(cell, cell.training) for _, cell in net.cells_and_names()]
    ms.set_context(mode=ms.PYNATIVE_MODE)
    try:
        net.set_train(False)
        yield
    finally:
        ms.set_context(mode=mode)
        net.set_train(False)
        for cell, flag in training:
            # set_train goes down to all parts; the order is from the net to them
            cell.set_train(flag)


def _observed(net: Any, found: Sequence[_Candidate], inputs: Sequence[Any]) -> tuple[dict[tuple[int, ...], tuple[Any, Any]], Any]:  # fmt: skip
    """What the first Cell of each candidate was given and the last one made, in the first call; and what the net made."""
    given: dict[int, Any] = {}
    made: dict[int, Any] = {}
    handles = []
    for cell in {id(one): one for candidate in found for one in candidate.cells}.values():

        def keep(cell: Any, inputs: Any, output: Any) -> None:
            given.setdefault(id(cell), inputs)
            made.setdefault(id(cell), output)

        handles.append(cell.register_forward_hook(keep))
    try:
        whole = net(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    keys = [tuple(map(id, candidate.cells)) for candidate in found]
    return {key: (given[key[0]], made[key[-1]]) for key in keys if key[0] in given and key[-1] in made}, whole  # fmt: skip


def _disagreement(cell: Any, seen: tuple[Any, Any] | None, tolerance: float | None) -> str:
    """Why a replacement is not used; empty where it is."""
    if seen is None:
        return "the sample inputs do not reach it"
    try:
        made = cell(*seen[0])
    except Exception as error:  # noqa: BLE001 - whatever it is, the Cell that was there stays
        return f"it fails: {error}".splitlines()[0]
    return _difference(made, seen[1], tolerance)


def _difference(got: Any, want: Any, tolerance: float | None) -> str:
    if isinstance(want, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(got) != len(want):
            return "another number of results"
        return next(filter(None, (_difference(a, b, tolerance) for a, b in zip(got, want, strict=True))), "")  # fmt: skip
    if not isinstance(want, ms.Tensor):
        return "" if got is want or got == want else f"{got} in the place of {want}"
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype} {got.shape} in the place of {want.dtype} {want.shape}"
    a, b = (one.astype(ms.float32).asnumpy().astype(np.float64) for one in (got, want))
    # both are off, MindSpore's functions by some dozens of units
    allowed = 32 * TOLERANCE.get(str(want.dtype).lower(), 0) if tolerance is None else tolerance
    scale = float(np.sqrt(np.mean(b * b))) if b.size else 0.0
    same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= allowed * (np.abs(b) + scale))
    return "" if same.all() else f"{np.abs(a - b)[~same].max():.2g} off where {allowed:.2g} of {scale:.2g} is allowed"  # fmt: skip


def _forget_graphs(net: Any) -> None:
    """Graphs that were compiled with what was there before are compiled anew."""
    for _, cell in net.cells_and_names():
        cell.compile_cache.clear()
