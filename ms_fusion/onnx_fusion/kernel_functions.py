"""Groups as model-local functions, each with a kernel of ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import numpy as np
import onnx_ir as ir

from ms_fusion import __version__
from ms_fusion.accuracy.worker import WorkerError
from ms_fusion.cost import CAPACITY_SHARE, Benefit
from ms_fusion.formats.onnx_graph import Projection, project
from ms_fusion.onnx_fusion import functions
from ms_fusion.onnx_fusion.assumed_sizes import with_sizes
from ms_fusion.onnx_fusion.decisions import (
    Outcome,
    candidates_in,
    chosen_rules,
    decide,
    refused_in,
    rejected,
    unmatched,
    worth_of,
)
from ms_fusion.onnx_fusion.foreign_sizes import within_known_sizes
from ms_fusion.onnx_fusion.functions import Fused
from ms_fusion.onnx_fusion.kernels import GroupKernel
from ms_fusion.onnx_fusion.ledger_building import found_text, ledger_of
from ms_fusion.onnx_fusion.native import Native
from ms_fusion.onnx_fusion.reproducers import Reproducer, reproducer
from ms_fusion.onnx_fusion.task import Done, Task
from ms_fusion.onnx_fusion.timing import Rows, measured, rows_of
from ms_fusion.onnx_fusion.verification import SYMBOL_SIZE, Comparison, Difference, agree, culprit
from ms_fusion.progress import Milestone, Step
from ms_fusion.rewrite import Candidate, Rule
from tbe_impl.errors import FusionError

TIMED, ROUNDS, SWEEPS = 32, 3, 3
"""So many kernels are timed where a model is verified, each so often in each of so many sweeps."""


def as_kernels(
    fusion_rules: str | Sequence[str | Rule], capacity_share: float = CAPACITY_SHARE
) -> Callable[..., Done]:
    """What fuses a task by these rules; tiles fill at most this share of the on-chip memory.

    Raises:
        InputError: a name that is no rule.
    """
    rules, searches = chosen_rules(fusion_rules)

    def fuse(task: Task, *, verify: bool) -> Done:
        model, native, sizes = task.model, task.native, task.sizes
        projection = project(model)
        sized, known = with_sizes(model, projection, sizes, native)
        _, tried = with_sizes(model, projection, sizes, native, others=SYMBOL_SIZE)
        candidates = within_known_sizes(
            candidates_in(sized, rules, searches, task.kinds), projection.graph
        )
        task.say(Milestone(found_text(len(sized.nodes), len(candidates))))
        worth = worth_of(candidates, sized, task.device, capacity_share)
        outcome = Outcome(
            rejected=refused_in(sized, rules, task.kinds, candidates),
            remarks=unmatched(rules, sized),
        )
        selection = decide(sized, projection, model, worth, outcome, native, tried, task.say)
        fused = _fused(model, selection.chosen, outcome)
        found: tuple[Difference, ...] = ()
        shown: list[Reproducer] = []
        if verify:
            task.say("comparing in ONNX Runtime")
            compared = Comparison(task.source, projection.graph, sizes, task.defaults, native)
            found = compared.with_fused(fused)
            show = lambda kernel, inputs=None: _shown(  # noqa: E731
                shown, kernel, model, projection, tried, native, inputs
            )
            for kernel in outcome.wrong:
                show(kernel)
            while selection.chosen and not agree(found):
                wrong = culprit(
                    selection.chosen,
                    lambda some: agree(compared.with_fused(_fused(model, some, outcome))),
                )
                outcome.rejected.append(
                    rejected(wrong, sized, worth[wrong].us, "the model differs with it")
                )
                show(outcome.kernels[wrong], compared.inputs)
                selection = selection.without(wrong, worth[wrong].us)
                fused = _fused(model, selection.chosen, outcome)
                found = compared.with_fused(fused)
        times = (
            _timed(task, selection.chosen, worth, outcome)
            if verify and task.device.name == "cpu"
            else {}
        )
        ledger = ledger_of(
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
        return Done(fused, ledger, [outcome.kernels[one] for one in selection.chosen], found, shown)

    return fuse


def _fused(model: ir.Model, chosen: Sequence[Candidate], outcome: Outcome) -> ir.Model:
    """A copy of the model with these groups as functions."""
    made = model.clone()
    projection = project(made)
    groups = []
    for one in chosen:
        kernel = outcome.kernels[one]
        groups.append(Fused(kernel.name, kernel.node))
    functions.apply(made, groups, projection.nodes, projection.values)
    functions.mark(
        made,
        {one.function: outcome.kernels[c].name for one, c in zip(groups, chosen, strict=True)},
        __version__,
    )
    return made


def _timed(
    task: Task, chosen: Sequence[Candidate], worth: Mapping[Candidate, Benefit], outcome: Outcome
) -> dict[str, tuple[float, float]]:
    """Name of a kernel → µs of its operators apart, and fused; of those that promise most, where both are C."""
    distinct = {
        outcome.kernels[one].name: one for one in sorted(chosen, key=lambda one: worth[one].us)
    }
    wanted = list(distinct.items())[::-1][:TIMED]
    both = {}
    for number, (name, one) in enumerate(wanted):
        task.say(Step("timing", number + 1, len(wanted)))
        rows = rows_of(outcome.kernels[one].node, task.sizes)
        if rows is not None:
            both[name] = rows
    return _least(both)


def _least(both: Mapping[str, Rows]) -> dict[str, tuple[float, float]]:
    """The least of several sweeps over all kernels: what disturbs for a while does not meet a kernel each time."""
    times = dict.fromkeys(both, (math.inf, math.inf))
    for _ in range(SWEEPS):
        for name, rows in both.items():
            apart, fused = measured(rows, ROUNDS)
            times[name] = min(times[name][0], apart), min(times[name][1], fused)
    return times


def _shown(
    shown: list[Reproducer],
    kernel: GroupKernel,
    model: ir.Model,
    projection: Projection,
    sizes: Mapping[str, int],
    native: Native,
    inputs: Mapping[str, np.ndarray] | None,
) -> None:
    """Adds what shows that a fusion is wrong; none where ONNX Runtime gives no numbers for it alone."""
    with suppress(WorkerError, FusionError):
        shown.append(reproducer(kernel, model, projection, sizes, native, inputs))
