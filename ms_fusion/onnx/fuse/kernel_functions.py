"""Fuses groups into model-local functions, each of which has a generated kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import numpy as np
import onnx_ir as ir

from ms_fusion import __version__
from ms_fusion.accuracy.worker_process import WorkerError
from ms_fusion.cost import CAPACITY_SHARE, Benefit
from ms_fusion.onnx.fuse import functions
from ms_fusion.onnx.fuse.assumed_sizes import assume_sizes
from ms_fusion.onnx.fuse.decisions import (
    Outcome,
    choose_rules,
    decide,
    estimate_benefits,
    find_candidates,
    reject_near_misses,
    rejection_of,
    remark_unmatched_rules,
)
from ms_fusion.onnx.fuse.functions import FusedGroup
from ms_fusion.onnx.fuse.fusion_request import FusionRequest, FusionResult
from ms_fusion.onnx.fuse.ledger_building import build_ledger, search_summary
from ms_fusion.onnx.fuse.model_times import time_models
from ms_fusion.onnx.fuse.reproducers import Reproducer, make_reproducer
from ms_fusion.onnx.fuse.size_request import SYMBOL_SIZE
from ms_fusion.onnx.fuse.timing import GroupChains, build_chains, measure_chains
from ms_fusion.onnx.fuse.unknown_size_split import split_at_unknown_sizes
from ms_fusion.onnx.fuse.verification import (
    Comparison,
    Difference,
    bisect_culprit,
    is_within_tolerance,
)
from ms_fusion.onnx.kernels.group_kernel import GroupKernel
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.progress import Milestone, Step
from ms_fusion.readers.onnx_graph import OnnxProjection, project
from ms_fusion.rewrite import Candidate, Rule
from tbe_impl.errors import FusionError

TIMED_KERNELS_MAX, ROUNDS, SWEEPS = 32, 3, 3
"""Limits of the timing with `verify`: number of kernels, rounds per sweep, and number of sweeps."""


def make_kernel_fuser(
    fusion_rules: str | Sequence[str | Rule], capacity_share: float = CAPACITY_SHARE
) -> Callable[..., FusionResult]:
    """Returns a function that fuses the model of a `FusionRequest` by the given rules.

    Args:
        fusion_rules: names of rules and of searches (such as ``Cluster``), or `Rule` objects.
        capacity_share: largest share of the on-chip memory that a tile may fill.

    Raises:
        InputError: a name is neither a rule nor a search.
    """
    rules, searches = choose_rules(fusion_rules)

    def fuse(task: FusionRequest, *, verify: bool) -> FusionResult:
        model, native, sizes = task.model, task.native, task.sizes
        projection = project(model)
        sized, known = assume_sizes(model, projection, sizes, native)
        _, tried = assume_sizes(model, projection, sizes, native, others=SYMBOL_SIZE)
        candidates = split_at_unknown_sizes(
            find_candidates(sized, rules, searches, task.kinds), projection.graph
        )
        task.say(Milestone(search_summary(len(sized.nodes), len(candidates))))
        worth = estimate_benefits(candidates, sized, task.device, capacity_share)
        outcome = Outcome(
            rejected=reject_near_misses(sized, rules, task.kinds, candidates),
            remarks=remark_unmatched_rules(rules, sized),
        )
        selection = decide(sized, projection, model, worth, outcome, native, tried, task.say)
        fused = _fuse_groups(model, selection.chosen, outcome)
        found: tuple[Difference, ...] = ()
        shown: list[Reproducer] = []
        compared = Comparison(task.source, projection.graph, sizes, task.defaults, native)
        if verify:
            task.say("comparing in ONNX Runtime")
            found = compared.compare_fused(fused)
            show = lambda kernel, inputs=None: _add_reproducer(  # noqa: E731
                shown, kernel, model, projection, tried, native, inputs
            )
            for kernel in outcome.wrong:
                show(kernel)
            while selection.chosen and not is_within_tolerance(found):
                wrong = bisect_culprit(
                    selection.chosen,
                    lambda some: is_within_tolerance(
                        compared.compare_fused(_fuse_groups(model, some, outcome))
                    ),
                )
                outcome.rejected.append(
                    rejection_of(wrong, sized, worth[wrong].us, "the model differs with it")
                )
                show(outcome.kernels[wrong], compared.inputs)
                selection = selection.exclude(wrong, worth[wrong].us)
                fused = _fuse_groups(model, selection.chosen, outcome)
                found = compared.compare_fused(fused)
        times = (
            _time_kernels(task, selection.chosen, worth, outcome, known)
            if verify and task.device.name == "cpu"
            else {}
        )
        ledger = build_ledger(
            task.source,
            sized,
            task.device,
            task.cleaned,
            selection,
            worth,
            outcome,
            known,
            projection,
            times,
        )
        return FusionResult(
            fused,
            ledger,
            [outcome.kernels[one] for one in selection.chosen],
            found,
            shown,
            times=time_models(compared, fused) if verify else {},
        )

    return fuse


def _fuse_groups(model: ir.Model, chosen: Sequence[Candidate], outcome: Outcome) -> ir.Model:
    """Returns a copy of the model in which the chosen groups are functions."""
    made = model.clone()
    projection = project(made)
    groups = []
    for one in chosen:
        kernel = outcome.kernels[one]
        groups.append(FusedGroup(kernel.name, kernel.node))
    functions.apply(made, groups, projection.nodes, projection.values)
    functions.mark(
        made,
        {one.function: outcome.kernels[c].name for one, c in zip(groups, chosen, strict=True)},
        __version__,
    )
    return made


def _time_kernels(
    task: FusionRequest,
    chosen: Sequence[Candidate],
    worth: Mapping[Candidate, Benefit],
    outcome: Outcome,
    sizes: Mapping[str, int],
) -> dict[str, tuple[float, float]]:
    """Times the kernels with the largest predicted savings on this machine's CPU.

    A kernel is timed only if all its sizes are in `sizes`, and if its operators can also be built
    separately in C.

    Returns:
        A dict from the name of a kernel to a pair of times in µs: the time of the separate
        operators, and the time of the kernel.
    """
    distinct = {
        outcome.kernels[one].name: one for one in sorted(chosen, key=lambda one: worth[one].us)
    }
    wanted = list(distinct.items())[::-1][:TIMED_KERNELS_MAX]
    both = {}
    for number, (name, one) in enumerate(wanted):
        task.say(Step("timing", number + 1, len(wanted)))
        rows = build_chains(outcome.kernels[one].node, sizes)
        if rows is not None:
            both[name] = rows
    return _measure_sweeps(both)


def _measure_sweeps(both: Mapping[str, GroupChains]) -> dict[str, tuple[float, float]]:
    """Times all kernels in several sweeps (passes over all kernels).

    Returns, for each kernel, a pair of times in µs over all sweeps: the minimum time of the
    separate operators, and the minimum time of the kernel. If other programs disturb one sweep, the
    minimum comes from another sweep.
    """
    times = dict.fromkeys(both, (math.inf, math.inf))
    for _ in range(SWEEPS):
        for name, rows in both.items():
            apart, fused = measure_chains(rows, ROUNDS)
            times[name] = min(times[name][0], apart), min(times[name][1], fused)
    return times


def _add_reproducer(
    shown: list[Reproducer],
    kernel: GroupKernel,
    model: ir.Model,
    projection: OnnxProjection,
    sizes: Mapping[str, int],
    native: NativeWorkers,
    inputs: Mapping[str, np.ndarray] | None,
) -> None:
    """Adds a reproducer (files that show the error) of a wrong fusion to `shown`.

    Adds nothing if ONNX Runtime cannot run the group alone.
    """
    with suppress(WorkerError, FusionError):
        shown.append(make_reproducer(kernel, model, projection, sizes, native, inputs))
