"""Replaces groups by ONNX Runtime's own operators if these are correct and not slower."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import onnx_ir as ir

from ms_fusion import __version__
from ms_fusion.cost import constant_foldable_nodes
from ms_fusion.onnx.fuse import functions
from ms_fusion.onnx.fuse.assumed_sizes import assume_sizes
from ms_fusion.onnx.fuse.decisions import rejection_of
from ms_fusion.onnx.fuse.fusion_request import FusionRequest, FusionResult
from ms_fusion.onnx.fuse.ledger_building import build_kernel_ledger, kernel_record, search_summary
from ms_fusion.onnx.fuse.model_times import time_models
from ms_fusion.onnx.fuse.ort import attention
from ms_fusion.onnx.fuse.ort.equivalents import Equivalent
from ms_fusion.onnx.fuse.ort.mapping import (
    MappedGroup,
    MappingDecision,
    apply_mapping,
    choose_equivalents,
    decide,
    estimate_benefits,
    raise_opset,
)
from ms_fusion.onnx.fuse.verification import (
    Comparison,
    Difference,
    bisect_culprit,
    is_within_tolerance,
)
from ms_fusion.progress import Milestone
from ms_fusion.readers.onnx_graph import project
from ms_fusion.rewrite import Rule
from tbe_impl.errors import InputError


def make_runtime_fuser(fusion_rules: str | Sequence[str | Rule]) -> Callable[..., FusionResult]:
    """Returns a function that fuses the model of a `FusionRequest` by ONNX Runtime's operators.

    Only groups that match the given rules are replaced.

    Raises:
        InputError: a given name is not the name of a rule.
    """
    equivalents, without = choose_equivalents(fusion_rules)

    def fuse(task: FusionRequest, *, verify: bool) -> FusionResult:
        compared = Comparison(
            task.source, project(task.model).graph, task.sizes, task.defaults, task.native
        )
        model, decided, notes = _decide_mapping(equivalents, without, task, compared)
        projection = project(model)
        task.say(Milestone(search_summary(len(projection.graph.nodes), decided.candidates)))
        mapped = decided.mapped
        made = apply_mapping(model, mapped)
        found: tuple[Difference, ...] = ()
        if verify:
            task.say("comparing in ONNX Runtime")
            found = compared.compare_fused(made)
            while mapped and not is_within_tolerance(found):
                by_candidate = {one.candidate: one for one in mapped}

                def is_right(some: Sequence[Any], known: Any = by_candidate) -> bool:
                    fused = apply_mapping(model, [known[one] for one in some])
                    return is_within_tolerance(compared.compare_fused(fused))

                wrong = bisect_culprit(list(by_candidate), is_right)
                decided.rejected.append(
                    rejection_of(wrong, projection.graph, 0.0, "the model differs with it")
                )
                mapped = [one for one in mapped if one.candidate != wrong]
                made = apply_mapping(model, mapped)
                found = compared.compare_fused(made)
        functions.mark(made, {}, __version__)
        sized, known = assume_sizes(model, projection, task.sizes, task.native)
        worth, beforehand = (
            estimate_benefits(mapped, sized, task.device),
            constant_foldable_nodes(sized),
        )
        kernels = [
            kernel_record(
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
        told = {
            "candidates": decided.candidates,
            "operators of ONNX Runtime": _count_operators(mapped),
        }
        ledger = build_kernel_ledger(
            task.source,
            sized,
            task.device,
            replace(task.cleaned, notes=(*task.cleaned.notes, *notes)),
            worth,
            kernels,
            decided.rejected,
            known,
            projection,
            told,
        )
        return FusionResult(made, ledger, found=found, times=time_models(compared, made))

    return fuse


def _decide_mapping(
    equivalents: Sequence[Equivalent],
    without: Sequence[Rule],
    task: FusionRequest,
    compared: Comparison,
) -> tuple[ir.Model, MappingDecision, tuple[str, ...]]:
    """Decides which groups ONNX Runtime's operators replace; returns (model, decision, notes).

    If the decision uses ONNX's Attention, the model is converted to the opset that contains
    Attention. Otherwise the model keeps its opset.
    """

    def decide_for(model: ir.Model) -> MappingDecision:
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
    newer = raise_opset(task.model, wanted, project(task.model))
    if newer is not None and _has_same_outputs(compared, newer):
        found = decide_for(newer)
        if any(attention.NAME in one.operators for one in found.mapped):
            told = (
                f"raised from version {task.model.opset_imports['']} of ONNX's operators to "
                f"{attention.VERSION}, which has {attention.NAME}"
            )
            return newer, found, (told,)
    return task.model, decide_for(task.model), ()


def _has_same_outputs(compared: Comparison, newer: ir.Model) -> bool:
    """Returns whether the converted model and the original both run and have the same outputs."""
    try:
        return is_within_tolerance(compared.compare_fused(newer))
    except InputError:
        return False


def _name(one: MappedGroup) -> str:
    return " + ".join(one.operators)


def _count_operators(mapped: Sequence[MappedGroup]) -> Mapping[str, int]:
    """Returns the number of replaced groups for each operator or sequence of operators."""
    return dict(Counter(map(_name, mapped)).most_common())
