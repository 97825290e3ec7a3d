"""Decides which fusions are applied: finds candidates, estimates savings, verifies kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import onnx_ir as ir

from ms_fusion.accuracy.worker_process import WorkerError
from ms_fusion.cost import CAPACITY_SHARE, Benefit, benefit, constant_foldable_nodes, work_of
from ms_fusion.devices import Device
from ms_fusion.graph import Graph, Node
from ms_fusion.ledger import RejectedCandidate
from ms_fusion.onnx.fuse.arguments import check_names
from ms_fusion.onnx.fuse.equal_groups import retarget_kernel, signature
from ms_fusion.onnx.fuse.functions import FusedGroup
from ms_fusion.onnx.fuse.selection import Selection, select
from ms_fusion.onnx.fuse.verification import check_group
from ms_fusion.onnx.kernels.clusters import SEARCHES, absorb_layouts
from ms_fusion.onnx.kernels.group_kernel import GroupKernel, build_all
from ms_fusion.onnx.kernels.kernel_sequence import kernel_graphs
from ms_fusion.onnx.kernels.operator_lowering import has_lowering_rule
from ms_fusion.onnx.kernels.subgraphs import fused_node, is_convex, order_of
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.ops.call import ONNX_OP
from ms_fusion.progress import Milestone, Step
from ms_fusion.readers.onnx_graph import OnnxProjection
from ms_fusion.rewrite import Candidate, Rule, find_matches, find_near_misses
from ms_fusion.rules import DEFAULT_RULES
from tbe_impl.errors import CompileError, FusionError, MissingError, pluralize

Progress = Callable[[str], None]


@dataclass
class Outcome:
    """The results for all candidates (sets of operators to fuse), collected step by step.

    Attributes:
        kernels: the kernels that were built and whose results agree with ONNX Runtime's results.
        tried: maps the signature of a group to the kernel of the group, or to the reason why the
            group has no kernel. Equal groups share an entry.
        rejected: the rejected candidates, with reasons.
        wrong: the kernels whose results differ from ONNX Runtime's results.
        uncompiled: the errors of the kernels that could not be compiled.
        remarks: further notes for the ledger (the record of fused and unfused operators).
    """

    kernels: dict[Candidate, GroupKernel] = field(default_factory=dict)
    tried: dict[str, GroupKernel | str] = field(default_factory=dict)
    rejected: list[RejectedCandidate] = field(default_factory=list)
    wrong: list[GroupKernel] = field(default_factory=list)
    uncompiled: list[FusionError] = field(default_factory=list)
    remarks: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes for the ledger: `remarks`, and a note on kernels that could not be compiled."""
        first = self.uncompiled[:1]
        lost = [f"kernels could not be built ({len(self.uncompiled)}): {one}" for one in first]
        return (*lost, *self.remarks)


def choose_rules(wanted: str | Sequence[str | Rule]) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Returns the fusion rules and the names of the searches that `wanted` selects.

    A search, such as ``Cluster``, finds candidates without a pattern.

    Raises:
        InputError: a name in `wanted` is neither a rule nor a search.
    """
    names = wanted.split(",") if isinstance(wanted, str) else list(wanted)
    known = {rule.name: rule for rule in DEFAULT_RULES}
    check_names(names, (*known, *SEARCHES))
    rules: list[Rule] = []
    searches: list[str] = []
    for one in names:
        if isinstance(one, Rule):
            rules.append(one)
        elif one.strip() == "all":
            rules += DEFAULT_RULES
            searches += SEARCHES
        elif one.strip() in known:
            rules.append(known[one.strip()])
        else:
            searches.append(one.strip())
    return tuple(dict.fromkeys(rules)), tuple(dict.fromkeys(searches))


def find_candidates(
    graph: Graph, rules: Iterable[Rule], searches: Sequence[str], kinds: Sequence[str]
) -> list[Candidate]:
    """Returns every set of operators that may become one kernel.

    A set that several rules find gets the name of the first rule. A candidate contains at least two
    operators that are launched in each call. Operators that only change a shape do not count,
    because they are not launched. Operators on weights alone, such as a transpose of a weight, run
    only once. They do not count either.
    """
    order = order_of(graph)
    may = {node.name for node in graph.nodes if has_lowering_rule(node, graph)}
    is_one: Callable[[Node], bool] = lambda node: node.name in may  # noqa: E731
    found = [
        Candidate(rule.name, rule.kind, tuple(node.name for node in match.nodes))
        for rule in rules
        for match in find_matches(rule, graph, order)
    ]
    for name in searches:
        found += SEARCHES[name](graph, is_one)
    if searches:
        found += [absorb_layouts(one, graph, is_one) for one in found]
    launched = {
        node.name for node in graph.nodes if work_of(node, graph).launches
    } - constant_foldable_nodes(graph)
    distinct: dict[tuple[str, ...], Candidate] = {}
    for one in found:
        if one.kind in kinds and len(launched.intersection(one.nodes)) > 1:
            distinct.setdefault(one.nodes, one)
    return [one for one in distinct.values() if is_convex(graph, one.nodes, order)]


def reject_near_misses(
    graph: Graph, rules: Iterable[Rule], kinds: Sequence[str], candidates: Iterable[Candidate]
) -> list[RejectedCandidate]:
    """Returns the pattern matches that the checks of the rules reject, each with the reason.

    A match is omitted if `candidates` contains the same set of operators.
    """
    order = order_of(graph)
    known = {one.nodes for one in candidates}
    found: dict[tuple[str, ...], RejectedCandidate] = {}
    for rule in rules:
        for match, against in find_near_misses(rule, graph, order) if rule.kind in kinds else ():
            one = Candidate(rule.name, rule.kind, tuple(node.name for node in match.nodes))
            if one.nodes not in known:
                found.setdefault(one.nodes, rejection_of(one, graph, None, against))
    return list(found.values())


def remark_unmatched_rules(rules: Iterable[Rule], graph: Graph) -> tuple[str, ...]:
    """Returns a remark for each of the user's own rules whose pattern matches nowhere."""
    order = order_of(graph)
    own = [rule for rule in rules if rule not in DEFAULT_RULES]
    return tuple(
        f"the rule {rule.name} fits nowhere in the model"
        for rule in own
        if not any(
            True for find in (find_matches, find_near_misses) for _ in find(rule, graph, order)
        )
    )


def estimate_benefits(
    candidates: Iterable[Candidate],
    graph: Graph,
    device: Device,
    capacity_share: float = CAPACITY_SHARE,
) -> dict[Candidate, Benefit]:
    """Returns, for each candidate, the predicted saving per call.

    Groups with equal graphs share one estimate.
    """
    known: dict[str, Benefit] = {}
    worth, beforehand = {}, constant_foldable_nodes(graph)
    for one in candidates:
        node = fused_node(graph, [name for name in one.nodes if name not in beforehand], one.rule)
        key = signature(node.fused_body)
        if key not in known:
            known[key] = estimate_group_benefit(node, graph, device, capacity_share)
        worth[one] = known[key]
    return worth


def estimate_group_benefit(
    fused: Node, graph: Graph, device: Device, capacity_share: float = CAPACITY_SHARE
) -> Benefit:
    """Returns the predicted saving of a fused operator.

    On a CPU, a library computes the matrix products of a group. This library can fuse only some of
    the operators that follow a product. The estimate therefore uses the kernels into which
    `kernel_graphs` splits the group.
    """
    if device.name == "cpu":
        return benefit(fused, graph, device, kernel_graphs, capacity_share)
    return benefit(fused, graph, device, capacity_share=capacity_share)


def decide(
    graph: Graph,
    projection: OnnxProjection,
    model: ir.Model,
    worth: Mapping[Candidate, Benefit],
    outcome: Outcome,
    native: NativeWorkers,
    sizes: Mapping[str, int],
    say: Progress,
) -> Selection:
    """Selects candidates, and builds and verifies their kernels.

    A candidate without a verified kernel is dropped, and the selection is repeated.
    """
    open_to_choice = {one: found.us for one, found in worth.items() if found.is_worth_it}
    for one, found in worth.items():
        if not found.is_worth_it:
            reason = (
                found.refusal_reason
                or f"it would save {found.us:.2f} µs: {pluralize(found.saved_bytes, 'byte')} less, "
                f"{found.loss_bytes} read again, "
                f"{pluralize(found.recomputed_flops, 'operation')} done again"
            )
            outcome.rejected.append(rejection_of(one, graph, found.us, reason))
    while True:
        selection = select(graph, open_to_choice)
        new = {
            one: fused_node(projection.graph, one.nodes, one.rule)
            for one in selection.chosen
            if one not in outcome.kernels
        }
        keys = {one: signature(node.fused_body) for one, node in new.items()}
        distinct = {keys[one]: node for one, node in new.items() if keys[one] not in outcome.tried}
        if distinct:
            say(Milestone(f"Building {pluralize(len(distinct), 'kernel')}."))
        for number, (key, made) in enumerate(
            zip(distinct, build_all(tuple(distinct.values())), strict=True)
        ):
            say(Step("kernel", number + 1, len(distinct)))
            outcome.tried[key] = _verify_kernel(made, projection, model, outcome, native, sizes)
        wrong = False
        for one, node in new.items():
            tried = outcome.tried[keys[one]]
            if isinstance(tried, str):
                outcome.rejected.append(rejection_of(one, graph, worth[one].us, tried))
                del open_to_choice[one]
                wrong = True
            else:
                outcome.kernels[one] = retarget_kernel(tried, node)
        if not wrong:
            break
    chosen = set(selection.chosen)
    for one, us in open_to_choice.items():
        if one not in chosen:
            outcome.rejected.append(
                rejection_of(one, graph, us, "others that share operators with it save more")
            )
    return selection


def _verify_kernel(
    kernel: GroupKernel | FusionError,
    projection: OnnxProjection,
    model: ir.Model,
    outcome: Outcome,
    native: NativeWorkers,
    sizes: Mapping[str, int],
) -> GroupKernel | str:
    """Compares a kernel with ONNX Runtime; returns the kernel, or the reason why it is rejected.

    If the kernel could not be built, `kernel` is the error, and this error is the reason.
    """
    if isinstance(kernel, MissingError | CompileError):
        outcome.uncompiled.append(kernel)
    if isinstance(kernel, FusionError):
        return f"no kernel: {kernel.what}"
    try:
        found = check_group(
            kernel,
            FusedGroup(kernel.name, kernel.node),
            model,
            native,
            projection.nodes,
            projection.values,
            sizes,
        )
    except (WorkerError, FusionError) as error:
        return f"not checked: {error}"
    for difference in found:
        if not difference.agrees:
            outcome.wrong.append(kernel)
            return (
                f"the kernel differs from ONNX Runtime by {difference.largest:.3g} in "
                f"{difference.name}, where {difference.allowed:.3g} is allowed"
            )
    return kernel


def rejection_of(one: Candidate, graph: Graph, us: float | None, reason: str) -> RejectedCandidate:
    """Returns the entry of a rejected candidate in the ledger (the record of the fusions)."""
    operators = tuple(operator_of(graph.node(name)) for name in one.nodes)
    return RejectedCandidate(one.rule, one.kind, operators, one.nodes, us, reason)


def operator_of(node: Node) -> str:
    """Returns the ONNX type of an operator."""
    return str(node.attr(ONNX_OP, node.op))
