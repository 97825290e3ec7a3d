"""Replaces groups by custom operators of ONNX Runtime that call our kernels, if these are faster.

Each group is timed in the installed ONNX Runtime in three forms: unchanged, as ONNX Runtime's own
fused operators, and as our kernel. ONNX Runtime also fuses across the borders of a group. Therefore
the whole model is then timed with and without each kind of group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import onnx_ir as ir

from ms_fusion import __version__
from ms_fusion.accuracy.worker_process import WorkerError
from ms_fusion.cost import constant_foldable_nodes
from ms_fusion.graph import Graph
from ms_fusion.ledger import Ledger, RejectedCandidate
from ms_fusion.onnx.canonicalization.transposes import sink_transposes, transposed_elements
from ms_fusion.onnx.fuse import functions
from ms_fusion.onnx.fuse.assumed_sizes import assume_sizes
from ms_fusion.onnx.fuse.decisions import choose_rules, rejection_of
from ms_fusion.onnx.fuse.equal_groups import signature
from ms_fusion.onnx.fuse.fusion_request import FusionRequest, FusionResult
from ms_fusion.onnx.fuse.ledger_building import build_kernel_ledger, kernel_record, search_summary
from ms_fusion.onnx.fuse.model_times import RATIO_MAX, is_cheap, time_models
from ms_fusion.onnx.fuse.ort.kernel_proposals import (
    OURS,
    Proposal,
    Replacement,
    propose,
    write_replacement,
)
from ms_fusion.onnx.fuse.ort.mapping import MappedGroup, apply_mapping, estimate_benefits
from ms_fusion.onnx.fuse.ort.operator_trials import (
    TrialResult,
    measure_times,
    run_trial,
    trial_sizes,
)
from ms_fusion.onnx.fuse.ort.table import EQUIVALENTS
from ms_fusion.onnx.fuse.verification import Comparison, bisect_culprit, is_within_tolerance
from ms_fusion.onnx.kernels.clusters import EPILOGUE
from ms_fusion.onnx.ort_library.operator_library import LibraryBuilder
from ms_fusion.onnx.ort_library.operator_text import OperatorText
from ms_fusion.progress import Milestone, Step
from ms_fusion.readers.onnx_graph import OnnxProjection, project
from ms_fusion.rewrite import Rule
from tbe_impl.errors import CompileError, InputError, pluralize

GROUP_RATIO_MAX = 0.97
"""Maximum ratio of a replacement's time to the group's time, each run alone in ONNX Runtime."""
PRODUCT_RATIO_MAX = 1.0
"""The same for groups with a product, whose epilogue costs ONNX Runtime more in the whole model."""
ROUNDS_MAX = 2
"""How often smaller groups are tried in place of those with which the whole model is slower."""
KINDS_MAX = 16
"""Largest number of kinds of groups that are left out in turn."""


@dataclass
class OperatorDecision:
    """The groups that are replaced by custom operators, and the rejected groups.

    Attributes:
        mapped: the replaced groups, which share no operator.
        kinds: signature of each replaced group. Groups with equal signatures are of one kind.
        operators: our kernels among the replacements, by name.
        rejected: the rejected candidates, with reasons.
        candidates: number of candidates.
        refused: signatures of groups with which the whole model is slower.
        trials: results of trials, by the signature of the group.
    """

    mapped: list[MappedGroup] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    operators: dict[str, OperatorText] = field(default_factory=dict)
    rejected: list[RejectedCandidate] = field(default_factory=list)
    candidates: int = 0
    refused: set[str] = field(default_factory=set)
    trials: dict[str, TrialResult] = field(default_factory=dict)

    def drop(self, unwanted: Callable[[MappedGroup, str], bool]) -> OperatorDecision:
        """Returns the decision without the replaced groups for which `unwanted` is true."""
        kept = [pair for pair in zip(self.mapped, self.kinds, strict=True) if not unwanted(*pair)]
        return replace(self, mapped=[one for one, _ in kept], kinds=[kind for _, kind in kept])

    @property
    def used(self) -> list[OperatorText]:
        """The custom operators that the replacements of the groups call."""
        names = {call.op for one in self.mapped for call in one.site.calls}
        return [one for name, one in self.operators.items() if name in names]


def make_operator_fuser(fusion_rules: str | Sequence[str | Rule]) -> Callable[..., FusionResult]:
    """Returns a function that fuses the model of a `FusionRequest` for ``target="ort-kernels"``.

    Raises:
        InputError: a given name is neither a rule nor a search.
    """
    rules, searches = choose_rules(fusion_rules)

    def fuse(task: FusionRequest, *, verify: bool) -> FusionResult:
        task = replace(task, model=_with_late_transposes(task.model))
        projection = project(task.model)
        wanted = {rule.name for rule in rules}
        equivalents = [one for one in EQUIVALENTS if one.rule.name in wanted or searches]
        proposals = propose(projection.graph, equivalents, rules, searches, task.kinds)
        task.say(Milestone(search_summary(len(projection.graph.nodes), len(proposals))))
        builder = LibraryBuilder(task.native.directory)
        compared = Comparison(task.source, projection.graph, task.sizes, task.defaults, task.native)
        decided = OperatorDecision(candidates=len(proposals))
        for _ in range(ROUNDS_MAX):
            refused = len(decided.refused)
            decide(decided, proposals, projection, task, builder)
            library = _build_library(decided, task, builder)
            decided = _drop_wrong(decided, projection.graph, task, compared, library)
            decided = _drop_slow(decided, projection.graph, task, compared, library)
            if len(decided.refused) == refused:
                break
        made = apply_mapping(task.model, decided.mapped)
        times = time_models(compared, made, library)
        found = compared.compare_fused(made, library) if verify else ()
        functions.mark(made, {one.name: one.name for one in decided.used}, __version__)
        ledger = _build_ledger(task, projection, decided)
        return FusionResult(made, ledger, found=found, operators=decided.used, times=times)

    return fuse


def _with_late_transposes(model: ir.Model) -> ir.Model:
    """Returns the model with Transposes behind sums; unchanged if they then move more elements."""
    made = model.clone()
    sink_transposes(made)
    return made if transposed_elements(made) <= transposed_elements(model) else model


def decide(
    decided: OperatorDecision,
    proposals: Sequence[Proposal],
    projection: OnnxProjection,
    task: FusionRequest,
    builder: LibraryBuilder,
) -> None:
    """Tries the proposals in ONNX Runtime, and adds those that are faster to the decision.

    A round tries groups that share no operator, and builds one library with all their kernels. If
    the trial of a group fails, smaller groups with some of its operators are tried in later rounds.
    """
    version = task.model.opset_imports.get("", 0)
    sizes = trial_sizes(task.model, projection, task.sizes, task.native)
    known = decided.trials
    written: dict[str, Replacement] = {}
    taken = {name for one in decided.mapped for name in one.candidate.nodes}
    rejected = {one.nodes for one in decided.rejected}
    waiting = [one for one in proposals if one.candidate.nodes not in rejected]
    while waiting:
        batch: list[tuple[Replacement, str]] = []
        used, later = set(taken), list[Proposal]()
        for proposal in waiting:
            if taken.intersection(proposal.candidate.nodes):
                continue
            if used.intersection(proposal.candidate.nodes):
                later.append(proposal)
                continue
            replacement = write_replacement(proposal, version, projection.values)
            if not replacement.sites:
                decided.rejected.append(
                    rejection_of(proposal.candidate, projection.graph, None, replacement.reason)
                )
                continue
            assert replacement.group.body is not None
            key = signature(replacement.group.body)
            if key not in decided.refused:
                used |= set(replacement.candidate.nodes)
                batch.append((replacement, key))
        new = {key: one for one, key in batch if key not in known}
        written |= new
        library = _build_round(list(new.values()), task, builder)
        for number, (key, one) in enumerate(new.items()):
            task.say(Step("group", number + 1, len(new)))
            known[key] = (
                run_trial(
                    one.group,
                    one.sites,
                    task.model,
                    projection,
                    sizes,
                    task.native,
                    library=library,
                    ratio_max=PRODUCT_RATIO_MAX
                    if one.candidate.rule == EPILOGUE
                    else GROUP_RATIO_MAX,
                )
                if isinstance(library, Path)
                else TrialResult(None, reason=library)
            )
        for one, key in batch:
            result = known[key]
            if result.written is None:
                decided.rejected.append(
                    rejection_of(one.candidate, projection.graph, None, result.reason)
                )
                continue
            taken |= set(one.candidate.nodes)
            # Equal groups share the operator of the first one, whose name they call.
            _take(decided, one, key, result)
        waiting = later


def _take(decided: OperatorDecision, one: Replacement, key: str, result: TrialResult) -> None:
    assert result.written is not None
    site = one.sites[result.written]
    if result.written == OURS and one.operator is not None:
        decided.operators[one.operator.name] = one.operator
    operators = (OURS,) if result.written == OURS else tuple(call.op for call in site.calls)
    decided.mapped.append(MappedGroup(one.candidate, one.group, site, operators, result))
    decided.kinds.append(key)


def _build_round(
    new: Sequence[Replacement], task: FusionRequest, builder: LibraryBuilder
) -> Path | str:
    """Compiles new kernels into a shared library; returns its path, or the reason for a failure."""
    texts = {one.operator.name: one.operator for one in new if one.operator is not None}
    library = task.native.place(".so")
    task.say(Milestone(f"Building {pluralize(len(texts), 'kernel')}.")) if texts else None
    try:
        builder.build(list(texts.values()), library)
    except CompileError as error:
        return f"no kernel: {error.what}"
    return library


def _build_library(
    decided: OperatorDecision, task: FusionRequest, builder: LibraryBuilder
) -> Path | None:
    operators = {one.name: one for one in (*task.operators, *decided.used)}
    if not operators:
        return None
    library = task.native.place(".so")
    builder.build(list(operators.values()), library)
    return library


def _drop_wrong(
    decided: OperatorDecision,
    graph: Graph,
    task: FusionRequest,
    compared: Comparison,
    library: Path | None,
) -> OperatorDecision:
    """Drops replacements that change the results of the whole model."""

    def agrees(some: Sequence[MappedGroup]) -> bool:
        return is_within_tolerance(compared.compare_fused(apply_mapping(task.model, some), library))

    try:
        while decided.mapped and not agrees(decided.mapped):
            by_candidate = {one.candidate: one for one in decided.mapped}
            wrong = bisect_culprit(
                list(by_candidate),
                lambda some: agrees([by_candidate[one] for one in some]),  # noqa: B023
            )
            decided.rejected.append(rejection_of(wrong, graph, None, "the model differs with it"))
            decided = decided.drop(lambda one, _: one.candidate == wrong)  # noqa: B023
    except InputError:
        task.say(Milestone("The original model does not run here, so nothing could be compared."))
    return decided


def _drop_slow(
    decided: OperatorDecision,
    graph: Graph,
    task: FusionRequest,
    compared: Comparison,
    library: Path | None,
) -> OperatorDecision:
    """Drops the replacements of a kind of groups if they make the whole model slower.

    Drops nothing if the model does not run, or if a run takes too long.
    """
    run = partial(task.native.run, library=library)

    def save(one: OperatorDecision) -> Path:
        place = task.native.place(".onnx")
        ir.save(ir.external_data.load_to_model(apply_mapping(task.model, one.mapped)), place)
        return place

    kinds = list(dict.fromkeys(decided.kinds))[:KINDS_MAX]
    try:
        if not is_cheap(compared):
            return decided
        fused = save(decided)
        for number, kind in enumerate(kinds):
            task.say(Step("kind of group", number + 1, len(kinds)))
            fewer = decided.drop(lambda _, own: own == kind)  # noqa: B023
            other = save(fewer)
            paths = {"all": fused, "fewer": other}
            times = measure_times(paths, compared.inputs, run)
            if times["fewer"] < times["all"] * RATIO_MAX:
                again = measure_times(paths, compared.inputs, run)
                times = {name: min(us, again[name]) for name, us in times.items()}
            if times["fewer"] < times["all"] * RATIO_MAX:
                reason = (
                    f"the model takes {times['all']:.0f} µs with it and {times['fewer']:.0f} µs "
                    "without, since ONNX Runtime fuses it with its neighbours"
                )
                decided.rejected += [
                    rejection_of(one.candidate, graph, None, reason)
                    for one, own in zip(decided.mapped, decided.kinds, strict=True)
                    if own == kind
                ]
                fewer.refused.add(kind)
                decided, fused = fewer, other
    except (WorkerError, InputError):
        pass
    return decided


def _build_ledger(
    task: FusionRequest,
    projection: OnnxProjection,
    decided: OperatorDecision,
) -> Ledger:
    sized, known = assume_sizes(task.model, projection, task.sizes, task.native)
    worth = estimate_benefits(decided.mapped, sized, task.device)
    beforehand = constant_foldable_nodes(sized)
    kernels = [
        kernel_record(
            one.candidate,
            sized,
            task.device,
            worth[one.candidate],
            _name(one),
            "ms_fusion" if one.operators == (OURS,) else "onnxruntime",
            beforehand,
            time_us=one.tried.us,
            unfused_time_us=one.tried.before_us,
        )
        for one in decided.mapped
    ]
    counts = Counter(kernel.name for kernel in kernels)
    told: dict[str, object] = {
        "candidates": decided.candidates,
        "custom operators": dict(counts.most_common()),
    }
    return build_kernel_ledger(
        task.source,
        sized,
        task.device,
        task.cleaned,
        worth,
        kernels,
        decided.rejected,
        known,
        projection,
        told,
    )


def _name(one: MappedGroup) -> str:
    if one.operators != (OURS,):
        return " + ".join(one.operators)
    return next(call.op for call in one.site.calls if call.domain == functions.DOMAIN)
