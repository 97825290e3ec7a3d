"""ONNX in, fused ONNX and kernels out: `auto_fuse`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import onnx_ir as ir

from ms_fusion import __version__
from ms_fusion.accuracy.worker import WorkerError
from ms_fusion.devices import device
from ms_fusion.formats.onnx_file import open_model
from ms_fusion.formats.onnx_graph import Projection, assumed, project
from ms_fusion.ledger import Ledger
from ms_fusion.onnx_fusion import functions
from ms_fusion.onnx_fusion.cleaning import clean
from ms_fusion.onnx_fusion.deciding import (
    Outcome,
    candidates_in,
    chosen_rules,
    decide,
    rejected,
    worth_of,
)
from ms_fusion.onnx_fusion.functions import Fused
from ms_fusion.onnx_fusion.kernels import GroupKernel
from ms_fusion.onnx_fusion.native import Native
from ms_fusion.onnx_fusion.reproducers import PLACE, Reproducer, reproducer
from ms_fusion.onnx_fusion.telling import ledger_of, with_errors
from ms_fusion.onnx_fusion.verification import Comparison, Difference, agree, culprit
from ms_fusion.onnx_fusion.written import KERNELS, checked_place, checked_report, write
from ms_fusion.rewrite import Candidate, Rule
from tbe_impl.errors import FusionError, InputError

LEVELS: Mapping[int, tuple[str, ...]] = {
    0: (),
    1: ("intra-operator",),
    2: ("intra-operator", "cross-operator"),
    3: ("intra-operator", "cross-operator", "pipeline"),
}
"""Level of optimisation → the kinds of fusion that are tried."""
Progress = Callable[[str], None]


class AlreadyFusedError(InputError):
    """The model carries our mark; nothing was written."""

    code = "already-fused"


def auto_fuse(
    input: Path | str,
    output: Path | str | None = None,
    *,
    fusion_rules: str | Sequence[str | Rule] = "all",
    opt_level: int = 3,
    device_name: str = "cpu",
    assume: Mapping[str, int] | None = None,
    dry_run: bool = False,
    verify: bool = False,
    debug: bool = False,
    report: Path | str | None = None,
    progress: Progress | None = None,
) -> Ledger:
    """Fuses an ONNX model.

    Args:
        input: the model; it is never changed.
        output: where the fused model goes; ``kernels/`` with the kernels lies beside it. Needed unless `dry_run`.
        fusion_rules: ``all``, or names of rules (with commas, or as a sequence); rules of one's own may stand among them.
        opt_level: 0 clean-up only, 1 within operations, 2 across them, 3 everything with search.
        device_name: ``cpu`` (measured on the spot), ``ascend910a``, ``ascend910b`` or ``ascend310p``.
        assume: sizes for the cost model of those that are not known before run time; the others count as 1.
        dry_run: decide, and write nothing.
        verify: run original and fused in ONNX Runtime; a fusion that changes a result is named and dropped.
        debug: write maps from generated code to ONNX nodes beside the kernels.
        report: where the report goes, as HTML.
        progress: told what is being done.

    Returns:
        What was fused, and with numbers and reasons what was not.

    Raises:
        InputError: the model, a rule or a place cannot be used; `AlreadyFusedError` for a model that was fused before.
    """
    say = progress or (lambda text: None)
    source = Path(os.path.realpath(input))  # links in a circle are an error when it is opened
    rules, searches = chosen_rules(fusion_rules)
    if opt_level not in LEVELS:
        raise InputError("unknown level of optimisation", place="opt_level", expected="0, 1, 2 or 3", got=str(opt_level))  # fmt: skip
    target_device, sizes = device(device_name), dict(assume or {})
    target = None if dry_run else checked_place(source, output)
    if report is not None:
        checked_report(Path(report), source, target)
    say("reading")
    model = open_model(source)
    if functions.is_fused(model):
        raise AlreadyFusedError("the model has been fused already", place=str(input), remedy="Fuse the model that it was made from")  # fmt: skip
    with Native() as native:
        say("cleaning up")
        cleaned = clean(model, native, target_device.name)
        projection = project(model)
        sized = assumed(projection.graph, sizes)
        say("looking for fusions")
        candidates = candidates_in(sized, rules, searches, LEVELS[opt_level])
        worth = worth_of(candidates, sized, target_device)
        outcome = Outcome()
        selection = decide(sized, projection, model, worth, outcome, native, sizes, say)
        fused = _fused(model, selection.chosen, outcome)
        found: tuple[Difference, ...] = ()
        shown: list[Reproducer] = []
        if verify:
            say("comparing in ONNX Runtime")
            compared = Comparison(source, projection.graph, sizes, native)
            found = compared.with_fused(fused)
            show = lambda kernel, inputs=None: _shown(shown, kernel, model, projection, sizes, native, inputs)  # noqa: E731  # fmt: skip
            for kernel in outcome.wrong:
                show(kernel)
            while selection.chosen and not agree(found):
                wrong = culprit(selection.chosen, lambda some: agree(compared.with_fused(_fused(model, some, outcome))))  # fmt: skip
                outcome.rejected.append(rejected(wrong, sized, worth[wrong].us, "the model differs with it"))  # fmt: skip
                show(outcome.kernels[wrong], compared.inputs)
                selection = selection.without(wrong, worth[wrong].us)
                fused = _fused(model, selection.chosen, outcome)
                found = compared.with_fused(fused)
        ledger = ledger_of(source, sized, target_device, cleaned, selection, worth, outcome, sizes, projection)  # fmt: skip
        if target is not None:
            say("writing")
            write(
                fused,
                target,
                [outcome.kernels[one] for one in selection.chosen],
                device_name,
                shown,
                debug=debug,
            )
    places = [f"{KERNELS}/{PLACE}/{one.name}" for one in shown] if target is not None else []
    ledger = with_errors(ledger, found, places)
    if report is not None:
        ledger.to_html(report)
    return ledger


def _fused(model: ir.Model, chosen: Sequence[Candidate], outcome: Outcome) -> ir.Model:
    """A copy of the model with these groups as functions."""
    made = model.clone()
    projection = project(made)
    groups = []
    for one in chosen:
        kernel = outcome.kernels[one]
        groups.append(Fused(f"{one.rule}_{kernel.name}", kernel.node))
    functions.apply(made, groups, projection.nodes, projection.values)
    functions.mark(made, {one.function: outcome.kernels[c].name for one, c in zip(groups, chosen, strict=True)}, __version__)  # fmt: skip
    return made


def _shown(
    shown: list[Reproducer], kernel: GroupKernel, model: ir.Model, projection: Projection, sizes: Mapping[str, int],
    native: Native, inputs: Mapping[str, np.ndarray] | None,
) -> None:  # fmt: skip
    """Adds what shows that a fusion is wrong; none where ONNX Runtime gives no numbers for it alone."""
    with suppress(WorkerError, FusionError):
        shown.append(reproducer(kernel, model, projection, sizes, native, inputs))
