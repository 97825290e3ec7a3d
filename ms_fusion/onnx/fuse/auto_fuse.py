"""Implements `auto_fuse`, which turns an ONNX model into a fused ONNX model and its kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import onnx_ir as ir

from ms_fusion.devices import device
from ms_fusion.ledger import Ledger
from ms_fusion.onnx.canonicalization.cleanup import CleanupResult, clean, prepare_without_cleanup
from ms_fusion.onnx.canonicalization.model_edits import remove_unread_initializers
from ms_fusion.onnx.fuse import functions
from ms_fusion.onnx.fuse.arguments import LEVELS, check_arguments, parse_lowered_operators
from ms_fusion.onnx.fuse.assumed_sizes import name_unknown_sizes
from ms_fusion.onnx.fuse.bodies import FusedBody, add_bodies, fuse_bodies
from ms_fusion.onnx.fuse.fusion_request import FusionRequest, FusionResult, Progress
from ms_fusion.onnx.fuse.kernel_functions import make_kernel_fuser
from ms_fusion.onnx.fuse.kernel_operators import make_operator_fuser
from ms_fusion.onnx.fuse.ledger_building import add_differences
from ms_fusion.onnx.fuse.model_times import is_gain
from ms_fusion.onnx.fuse.ort.operator_trials import sizes_of
from ms_fusion.onnx.fuse.output_files import KERNELS, check_weights, write_model
from ms_fusion.onnx.fuse.rule_dicts import FusionRules
from ms_fusion.onnx.fuse.runtime_operators import make_runtime_fuser
from ms_fusion.onnx.fuse.shared_kernel_directory import REPRODUCERS
from ms_fusion.onnx.fuse.size_request import unknown_size_warnings
from ms_fusion.onnx.fuse.verification import Comparison, is_within_tolerance
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.onnx.ort_library.operator_library import LibraryBuilder
from ms_fusion.progress import Milestone
from ms_fusion.readers.onnx_defaults import remove_defaults, restore_defaults
from ms_fusion.readers.onnx_file import open_model
from ms_fusion.readers.onnx_graph import project
from tbe_impl.errors import InputError


class AlreadyFusedError(InputError):
    """Raised for a model that `auto_fuse` has already fused. No file is written in this case."""

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
    force: bool = False,
    debug: bool = False,
    report: Path | str | None = None,
    progress: Progress | None = None,
) -> Ledger:
    """Fuses an ONNX model.

    Args:
        input: path of the model; the file is never changed.
        output: path of the fused model; ``kernels/`` is written into the same directory. Required
            unless `dry_run`.
        fusion_rules: ``all``, or names of rules and of searches, as a comma-separated string or as
            a sequence. The searches ``Cluster``, ``Epilogue`` and ``Siblings`` find groups without
            a pattern. A sequence may also contain the user's own rules, as `Rule` objects or as
            dicts (`ms_fusion.onnx.fuse.rule_dicts`).
        opt_level: 0 runs only the clean-up. Level 1 adds fusions of the kind ``intra-operator``,
            2 adds ``cross-operator``, 3 adds ``pipeline`` (see `ms_fusion.rewrite.Rule`).
        device_name: ``cpu`` (measured on this machine), ``ascend910a``, ``ascend910b``,
            ``ascend310p``, or the path of a JSON file that describes a device
            (`ms_fusion.devices.read_device`).
        target: ``any`` gives a model that every ONNX runtime loads, and kernels in a separate
            directory. ``ort`` gives a model without kernels. This model uses ONNX Runtime's own
            fused operators if these exist and are not slower. ``ort-kernels`` gives a model that
            calls our custom operators, and the library ``kernels/libms_fusion_ort.so`` that
            implements these operators. The session of ONNX Runtime has to register this library. A
            group is replaced only if a measurement in the installed ONNX Runtime shows that the
            replacement is faster.
        assume: values that the cost model uses for dynamic sizes of inputs. A size without a name
            gets the name ``INPUT.AXIS``, which it also has in the fused model. All other dynamic
            sizes of inputs count as 1. Sizes inside the model are inferred from the sizes of the
            inputs.
        lower: operators to lower on every device, as a comma-separated string or as a sequence:
            ``Gemm`` (to MatMul and Add) and ``Conv`` (to im2col and MatMul).
        dry_run: whether to decide on fusions without writing files.
        verify: whether to run the original and the fused model in ONNX Runtime. A fusion that
            changes a result is reported and dropped. A clean-up that changes a result is undone. On
            a CPU the kernels are also timed, and the ledger (the record of fused and unfused
            operators) contains measured and predicted savings.
        force: whether a model for ONNX Runtime is written even if the model is not faster.
        debug: whether to write files that map the lines of the generated code to ONNX nodes.
        report: path of the HTML report; None if no report is wanted.
        progress: callback that receives a message for each step, as a string.

    Returns:
        The ledger. It lists the fusions and the rejected candidates with costs and reasons.

    Raises:
        InputError: the model, a rule or a path cannot be used. The error is also raised if `verify`
            is set and the original model's results differ between runs.
        AlreadyFusedError: `auto_fuse` has already fused the model.
    """
    say = progress or (lambda text: None)
    given = check_arguments(
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
    fuse = {
        "any": lambda: make_kernel_fuser(given.rules, given.capacity_share),
        "ort": lambda: make_runtime_fuser(given.rules),
        "ort-kernels": lambda: make_operator_fuser(given.rules),
    }[target]()
    target_device = device(device_name)
    lowered = (*given.lower, *parse_lowered_operators(target_device.lacks))
    say("reading")
    model = open_model(source)
    if functions.is_fused(model):
        raise AlreadyFusedError(
            "the model has been fused already",
            place=str(input),
            remedy="Fuse the original model",
        )
    check_weights(model, (place, None if report is None else Path(report)))
    say(Milestone(f"Fusing {source.name} for {target_device.name}."))
    defaults = remove_defaults(model)
    name_unknown_sizes(model)
    with NativeWorkers() as native:
        say("cleaning up")
        model, cleaned = _clean_model(
            model, source, target_device.name, lowered, sizes, defaults, native, verify=verify
        )
        projection = project(model)
        unknown = unknown_size_warnings(
            projection.graph, sizes, None if target == "any" else sizes_of(projection, sizes)
        )
        if defaults:
            cleaned = replace(cleaned, notes=(*cleaned.notes, _defaults_note(defaults)))
        task = FusionRequest(
            source, model, cleaned, LEVELS[opt_level], target_device, sizes, defaults, native, say
        )
        if target != "any" and unknown:
            say("running the model")
            _require_known_sizes(task)
        say("looking for fusions")
        task, bodies = _fuse_bodies(fuse, task, verify=verify)
        done = add_bodies(fuse(task, verify=verify), bodies)
        gained = target == "any" or is_gain(
            done.times, len(done.ledger.kernels) + len(done.ledger.single_operator_kernels)
        )
        is_written = place is not None and (gained or force)
        if place is not None and is_written:
            say("writing")
            remove_unread_initializers(done.model)
            restore_defaults(done.model, defaults)
            write_model(
                done.model,
                place,
                done.kernels,
                target_device.name,
                done.shown,
                operators=done.operators,
                debug=debug,
            )
    places = [f"{KERNELS}/{REPRODUCERS}/{one.name}" for one in done.shown] if is_written else []
    told = {
        "model times": dict(done.times),
        "is gain": gained,
        "onnxruntime": version("onnxruntime"),
    }
    ledger = replace(done.ledger, environment={**done.ledger.environment, **told})
    ledger = add_differences(ledger, done.found, places)
    ledger = replace(ledger, warnings=(*ledger.warnings, *unknown))
    if report is not None:
        ledger.to_html(report)
    return ledger


def _require_known_sizes(task: FusionRequest) -> None:
    """Runs the original model with small values of the sizes that are neither known nor assumed.

    Raises:
        InputError: the model does not take these sizes. The message asks for others.
    """
    graph = project(task.model).graph
    _ = Comparison(task.source, graph, task.sizes, task.defaults, task.native).original_outputs


def _fuse_bodies(
    fuse: Callable[..., FusionResult], task: FusionRequest, *, verify: bool
) -> tuple[FusionRequest, list[FusedBody]]:
    """Fuses inside the bodies of If, Loop and Scan of the task's model, in place.

    With `verify`, the original bodies are restored if the fused bodies change the model's results.
    """
    bodies = fuse_bodies(fuse, task)
    if not bodies:
        return task, []
    operators = {one.name: one for body in bodies for one in body.result.operators}
    task = replace(task, operators=tuple(operators.values()))
    if verify and not _agrees(task):
        for body in reversed(bodies):
            body.undo()
        note = "the model differs with fused bodies, so they stay as they are"
        cleaned = replace(task.cleaned, notes=(*task.cleaned.notes, note))
        return replace(task, operators=(), cleaned=cleaned), []
    return task, bodies


def _agrees(task: FusionRequest) -> bool:
    """Returns whether the task's model computes the same results as the original model."""
    graph = project(task.model).graph
    compared = Comparison(task.source, graph, task.sizes, task.defaults, task.native)
    library = None
    if task.operators:
        library = task.native.place(".so")
        LibraryBuilder(task.native.directory).build(task.operators, library)
    return is_within_tolerance(compared.compare_fused(task.model, library))


def _defaults_note(defaults: Mapping[str, object]) -> str:
    some = ", ".join([*defaults][:3]) + (", …" if len(defaults) > 3 else "")
    return (
        f"inputs that have a default ({len(defaults)}: {some}) may be fed, so nothing is made of "
        "their numbers beforehand; where nobody feeds them, take them off the inputs"
    )


def _clean_model(
    model: ir.Model,
    source: Path,
    device_name: str,
    lowered: Sequence[str],
    sizes: Mapping[str, int],
    defaults: Mapping[str, ir.TensorProtocol],
    native: NativeWorkers,
    *,
    verify: bool,
) -> tuple[ir.Model, CleanupResult]:
    """Returns a pair: the cleaned model, and the record of the clean-up.

    With `verify`, a clean-up that changes the model's results is undone.
    """
    cleaned = clean(model, native, device_name, lowered)
    if not verify:
        return model, cleaned
    compared = Comparison(source, project(model).graph, sizes, defaults, native)
    if is_within_tolerance(compared.compare_fused(model)):
        return model, cleaned
    again = open_model(source)
    remove_defaults(again)
    name_unknown_sizes(again)
    cleaned = prepare_without_cleanup(again, native)
    if not is_within_tolerance(compared.compare_fused(again)):
        raise InputError(
            "ONNX Runtime gives other numbers for the same operators, "
            "so that nothing can be compared",
            place=str(source),
            remedy="Fuse it without verifying, if it draws random numbers",
        )
    return again, cleaned
