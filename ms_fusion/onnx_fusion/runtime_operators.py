"""Groups as ONNX Runtime's own operators, where one is right and not slower."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import onnx_ir as ir

from ms_fusion import __version__
from ms_fusion.cost import known_beforehand
from ms_fusion.formats.onnx_graph import assumed, project
from ms_fusion.onnx_fusion import functions
from ms_fusion.onnx_fusion.decisions import rejected
from ms_fusion.onnx_fusion.ledger_building import found_text, kernel_of, ledger_of_kernels
from ms_fusion.onnx_fusion.ort import attention
from ms_fusion.onnx_fusion.ort.equivalents import Equivalent
from ms_fusion.onnx_fusion.ort.mapping import (
    Decided,
    Mapped,
    applied,
    chosen_equivalents,
    decide,
    raised,
    worth_of,
)
from ms_fusion.onnx_fusion.task import Done, Task
from ms_fusion.onnx_fusion.verification import Comparison, Difference, agree, culprit
from ms_fusion.progress import Milestone
from ms_fusion.rewrite import Rule
from tbe_impl.errors import InputError


def as_runtime_operators(fusion_rules: str | Sequence[str | Rule]) -> Callable[..., Done]:
    """What maps a task's groups, by these rules.

    Raises:
        InputError: a name that is no rule.
    """
    equivalents, without = chosen_equivalents(fusion_rules)

    def fuse(task: Task, *, verify: bool) -> Done:
        compared = Comparison(
            task.source, project(task.model).graph, task.sizes, task.defaults, task.native
        )
        model, decided, notes = _decided(equivalents, without, task, compared)
        projection = project(model)
        task.say(Milestone(found_text(len(projection.graph.nodes), decided.candidates)))
        mapped = decided.mapped
        made = applied(model, mapped)
        found: tuple[Difference, ...] = ()
        if verify:
            task.say("comparing in ONNX Runtime")
            found = compared.with_fused(made)
            while mapped and not agree(found):
                by_candidate = {one.candidate: one for one in mapped}
                wrong = culprit(
                    list(by_candidate),
                    lambda some: agree(
                        compared.with_fused(applied(model, [by_candidate[one] for one in some]))  # noqa: B023
                    ),
                )
                decided.rejected.append(
                    rejected(wrong, projection.graph, 0.0, "the model differs with it")
                )
                mapped = [one for one in mapped if one.candidate != wrong]
                made = applied(model, mapped)
                found = compared.with_fused(made)
        functions.mark(made, {}, __version__)
        sized = assumed(projection.graph, task.sizes)
        worth, beforehand = worth_of(mapped, sized, task.device), known_beforehand(sized)
        kernels = [
            kernel_of(
                one.candidate,
                sized,
                task.device,
                worth[one.candidate],
                _name(one),
                "onnxruntime",
                beforehand,
                time_us=one.tried.us,
                unfused_time_us=one.tried.before_us,
            )
            for one in mapped
        ]
        told = {"candidates": decided.candidates, "operators of ONNX Runtime": _counted(mapped)}
        ledger = ledger_of_kernels(
            task.source,
            sized,
            task.device,
            replace(task.cleaned, notes=(*task.cleaned.notes, *notes)),
            worth,
            kernels,
            decided.rejected,
            task.sizes,
            projection,
            told,
        )
        return Done(made, ledger, found=found)

    return fuse


def _decided(
    equivalents: Sequence[Equivalent], without: Sequence[Rule], task: Task, compared: Comparison
) -> tuple[ir.Model, Decided, tuple[str, ...]]:
    """What is mapped: in the model raised to the version that has attention, where that is used then, else in the model as it is."""

    def decided(model: ir.Model) -> Decided:
        return decide(
            equivalents,
            without,
            task.kinds,
            model,
            project(model),
            task.sizes,
            task.native,
            task.say,
        )

    wanted = [one for one in equivalents if one.rule.kind in task.kinds]
    newer = raised(task.model, wanted, project(task.model))
    if newer is not None and _same(compared, newer):
        found = decided(newer)
        if any(attention.NAME in one.operators for one in found.mapped):
            told = f"raised from version {task.model.opset_imports['']} of ONNX's operators to {attention.VERSION}, which has {attention.NAME}"
            return newer, found, (told,)
    return task.model, decided(task.model), ()


def _same(compared: Comparison, newer: ir.Model) -> bool:
    """Whether a raised model gives what the original does; not where neither can be run here."""
    try:
        return agree(compared.with_fused(newer))
    except InputError:
        return False


def _name(one: Mapped) -> str:
    return " + ".join(one.operators)


def _counted(mapped: Sequence[Mapped]) -> Mapping[str, int]:
    """Operators that were written → for how many groups."""
    return dict(Counter(map(_name, mapped)).most_common())
