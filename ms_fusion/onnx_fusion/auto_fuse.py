"""ONNX in, fused ONNX and kernels out: `auto_fuse`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import onnx_ir as ir

from ms_fusion.devices import device
from ms_fusion.formats.onnx_defaults import put_back, taken_off
from ms_fusion.formats.onnx_file import open_model
from ms_fusion.formats.onnx_graph import project
from ms_fusion.ledger import Ledger
from ms_fusion.onnx_fusion import functions
from ms_fusion.onnx_fusion.arguments import LEVELS, checked, checked_lowered
from ms_fusion.onnx_fusion.cleanup import Cleaned, clean, untouched
from ms_fusion.onnx_fusion.kernel_functions import as_kernels
from ms_fusion.onnx_fusion.ledger_building import unknown_sizes, with_errors
from ms_fusion.onnx_fusion.native import Native
from ms_fusion.onnx_fusion.output_files import KERNELS, check_weights, write
from ms_fusion.onnx_fusion.runtime_operators import as_runtime_operators
from ms_fusion.onnx_fusion.shared_kernel_directory import REPRODUCERS
from ms_fusion.onnx_fusion.task import Progress, Task
from ms_fusion.onnx_fusion.verification import Comparison, agree
from ms_fusion.progress import Milestone
from ms_fusion.rule_dicts import FusionRules
from tbe_impl.errors import InputError


class AlreadyFusedError(InputError):
    """The model carries our mark; nothing was written."""

    code = "already-fused"


def auto_fuse(
    input: Path | str,
    output: Path | str | None = None,
    *,
    fusion_rules: FusionRules = "all",
    opt_level: int = 3,
    device_name: str = "cpu",
    target: str = "any",
    assume: Mapping[str, int] | None = None,
    lower: str | Sequence[str] = (),
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
        fusion_rules: ``all``, or names of rules (with commas, or as a sequence); rules of your own
            may stand among them, as `Rule`s or as dicts (`ms_fusion.rule_dicts`).
        opt_level: 0 clean-up only, 1 within operations, 2 across them, 3 everything with search.
        device_name: ``cpu`` (measured on the spot), ``ascend910a``, ``ascend910b`` or ``ascend310p``, or a JSON file that
            describes a device of one's own (`ms_fusion.devices.described`).
        target: ``any`` for a model that every ONNX runtime loads, with kernels beside it; ``ort`` for one of ONNX Runtime's own
            operators, where it has them and they are not slower, without kernels.
        assume: sizes for the cost model of those of inputs that are not known before run time; the others count as 1, and
            sizes inside of the model follow.
        lower: operators that are written in simpler ones, whatever the device has: ``Gemm`` (MatMul and Add), ``Conv``
            (im2col and MatMul); names with commas, or a sequence.
        dry_run: decide, and write nothing.
        verify: run original and fused in ONNX Runtime; a fusion that changes a result is named and dropped, clean-up that
            does is left away. On a CPU kernels are timed besides: what each saves stands beside what was promised.
        debug: write maps from generated code to ONNX nodes beside the kernels.
        report: where the report goes, as HTML.
        progress: told what is being done.

    Returns:
        What was fused, and with numbers and reasons what was not.

    Raises:
        InputError: the model, a rule or a place cannot be used, or the model is to be verified and gives other numbers
            each time it runs; `AlreadyFusedError` for one that was fused before.
    """
    say = progress or (lambda text: None)
    given = checked(
        input,
        output,
        fusion_rules=fusion_rules,
        opt_level=opt_level,
        device_name=device_name,
        target=target,
        assume=assume,
        lower=lower,
        dry_run=dry_run,
        report=report,
    )
    source, place, sizes = given.source, given.place, given.sizes
    fuse = (
        as_runtime_operators(given.rules)
        if target == "ort"
        else as_kernels(given.rules, given.capacity_share)
    )
    target_device = device(device_name)
    lowered = (*given.lower, *checked_lowered(target_device.lacks))
    say("reading")
    model = open_model(source)
    if functions.is_fused(model):
        raise AlreadyFusedError(
            "the model has been fused already",
            place=str(input),
            remedy="Fuse the model that it was made from",
        )
    check_weights(model, (place, None if report is None else Path(report)))
    say(Milestone(f"Fusing {source.name} for {target_device.name}."))
    defaults = taken_off(model)
    with Native() as native:
        say("cleaning up")
        model, cleaned = _cleaned(
            model, source, target_device.name, lowered, sizes, defaults, native, verify=verify
        )
        unknown = unknown_sizes(project(model).graph, sizes)
        if defaults:
            cleaned = replace(cleaned, notes=(*cleaned.notes, _noted(defaults)))
        task = Task(
            source, model, cleaned, LEVELS[opt_level], target_device, sizes, defaults, native, say
        )
        say("looking for fusions")
        done = fuse(task, verify=verify)
        if place is not None:
            say("writing")
            put_back(done.model, defaults)
            write(done.model, place, done.kernels, target_device.name, done.shown, debug=debug)
    places = (
        [f"{KERNELS}/{REPRODUCERS}/{one.name}" for one in done.shown] if place is not None else []
    )
    ledger = with_errors(done.ledger, done.found, places)
    ledger = replace(ledger, warnings=(*ledger.warnings, *unknown))
    if report is not None:
        ledger.to_html(report)
    return ledger


def _noted(defaults: Mapping[str, object]) -> str:
    some = ", ".join([*defaults][:3]) + (", …" if len(defaults) > 3 else "")
    return f"inputs that have a default ({len(defaults)}: {some}) may be fed, so nothing is made of their numbers beforehand; where nobody feeds them, take them off the inputs"


def _cleaned(
    model: ir.Model,
    source: Path,
    device_name: str,
    lowered: Sequence[str],
    sizes: Mapping[str, int],
    defaults: Mapping[str, ir.TensorProtocol],
    native: Native,
    *,
    verify: bool,
) -> tuple[ir.Model, Cleaned]:
    """The model without what it does not need; as it was where that changes its results."""
    cleaned = clean(model, native, device_name, lowered)
    if not verify:
        return model, cleaned
    compared = Comparison(source, project(model).graph, sizes, defaults, native)
    if agree(compared.with_fused(model)):
        return model, cleaned
    again = open_model(source)
    taken_off(again)
    cleaned = untouched(again, native)
    if not agree(compared.with_fused(again)):
        raise InputError(
            "ONNX Runtime gives other numbers for the same operators, so that nothing can be compared",
            place=str(source),
            remedy="Fuse it without verifying, if it draws random numbers",
        )
    return again, cleaned
