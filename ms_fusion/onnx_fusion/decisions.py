"""Decides which fusions are made: candidates, benefits, and kernels that were verified."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import onnx_ir as ir

from ms_fusion.accuracy.worker import WorkerError
from ms_fusion.cost import CAPACITY_SHARE, Benefit, benefit, known_beforehand, work_of
from ms_fusion.devices import Device
from ms_fusion.formats.onnx_graph import ONNX_OP, Projection
from ms_fusion.graph import Graph, Node
from ms_fusion.ledger import RejectedCandidate
from ms_fusion.onnx_fusion.arguments import check_names
from ms_fusion.onnx_fusion.clusters import SEARCHES, with_layouts
from ms_fusion.onnx_fusion.equal_groups import for_another, signature
from ms_fusion.onnx_fusion.functions import Fused
from ms_fusion.onnx_fusion.groups import fused_node, is_closed, order_of
from ms_fusion.onnx_fusion.kernel_sequence import launches
from ms_fusion.onnx_fusion.kernels import GroupKernel, build_all
from ms_fusion.onnx_fusion.lowering_rules import has_meaning
from ms_fusion.onnx_fusion.native import Native
from ms_fusion.onnx_fusion.selection import Selection, select
from ms_fusion.onnx_fusion.verification import check_group
from ms_fusion.progress import Milestone, Step
from ms_fusion.rewrite import Candidate, Rule, matches, near_misses
from ms_fusion.rules import DEFAULT_RULES
from tbe_impl.errors import CompileError, FusionError, MissingError

Progress = Callable[[str], None]


@dataclass
class Outcome:
    """What became of the candidates, step by step.

    Attributes:
        kernels: of those that were built and agree with ONNX Runtime.
        tried: signature of a group → its kernel, or why there is none; groups that are alike share it.
        rejected: the others, with reasons.
        wrong: kernels that give other numbers than ONNX Runtime.
        uncompiled: why kernels are not there that the C compiler should have made.
        remarks: what else is to be known.
    """

    kernels: dict[Candidate, GroupKernel] = field(default_factory=dict)
    tried: dict[str, GroupKernel | str] = field(default_factory=dict)
    rejected: list[RejectedCandidate] = field(default_factory=list)
    wrong: list[GroupKernel] = field(default_factory=list)
    uncompiled: list[FusionError] = field(default_factory=list)
    remarks: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known of all of them."""
        first = self.uncompiled[:1]
        lost = [f"kernels could not be built ({len(self.uncompiled)}): {one}" for one in first]
        return (*lost, *self.remarks)


def chosen_rules(wanted: str | Sequence[str | Rule]) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Rules and searches by name; rules of the user's own may stand among the names.

    Raises:
        InputError: a name that is neither.
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


def candidates_in(
    graph: Graph, rules: Iterable[Rule], searches: Sequence[str], kinds: Sequence[str]
) -> list[Candidate]:
    """Every set of operators that may become one kernel, each once, under the first name that found it.

    At least two of them are launched in each call where they stand apart: what only changes a shape saves nothing, and what
    computes with weights alone (their transpose) runs once.
    """
    order = order_of(graph)
    may = {node.name for node in graph.nodes if has_meaning(node, graph)}
    is_one: Callable[[Node], bool] = lambda node: node.name in may  # noqa: E731
    found = [
        Candidate(rule.name, rule.kind, tuple(node.name for node in match.nodes))
        for rule in rules
        for match in matches(rule, graph, order)
    ]
    for name in searches:
        found += SEARCHES[name](graph, is_one)
    if searches:
        found += [with_layouts(one, graph, is_one) for one in found]
    launched = {
        node.name for node in graph.nodes if work_of(node, graph).launches
    } - known_beforehand(graph)
    distinct: dict[tuple[str, ...], Candidate] = {}
    for one in found:
        if one.kind in kinds and len(launched.intersection(one.nodes)) > 1:
            distinct.setdefault(one.nodes, one)
    return [one for one in distinct.values() if is_closed(graph, one.nodes, order)]


def refused_in(
    graph: Graph, rules: Iterable[Rule], kinds: Sequence[str], candidates: Iterable[Candidate]
) -> list[RejectedCandidate]:
    """Where the pattern of a rule fits and its check says no, with that text.

    Places whose operators are a candidate anyway are left out.
    """
    order = order_of(graph)
    known = {one.nodes for one in candidates}
    found: dict[tuple[str, ...], RejectedCandidate] = {}
    for rule in rules:
        for match, against in near_misses(rule, graph, order) if rule.kind in kinds else ():
            one = Candidate(rule.name, rule.kind, tuple(node.name for node in match.nodes))
            if one.nodes not in known:
                found.setdefault(one.nodes, rejected(one, graph, 0.0, against))
    return list(found.values())


def unmatched(rules: Iterable[Rule], graph: Graph) -> tuple[str, ...]:
    """A remark for each rule of the user's own whose pattern fits nowhere."""
    order = order_of(graph)
    own = [rule for rule in rules if rule not in DEFAULT_RULES]
    return tuple(
        f"the rule {rule.name} fits nowhere in the model"
        for rule in own
        if not any(True for find in (matches, near_misses) for _ in find(rule, graph, order))
    )


def worth_of(
    candidates: Iterable[Candidate],
    graph: Graph,
    device: Device,
    capacity_share: float = CAPACITY_SHARE,
) -> dict[Candidate, Benefit]:
    """What each candidate saves in each call; those that are alike save the same."""
    known: dict[str, Benefit] = {}
    worth, beforehand = {}, known_beforehand(graph)
    for one in candidates:
        node = fused_node(graph, [name for name in one.nodes if name not in beforehand], one.rule)
        key = signature(_body(node))
        if key not in known:
            known[key] = judged(node, graph, device, capacity_share)
        worth[one] = known[key]
    return worth


def judged(
    fused: Node, graph: Graph, device: Device, capacity_share: float = CAPACITY_SHARE
) -> Benefit:
    """What a candidate saves; on a CPU its products are calls of a library that takes little along."""
    if device.name == "cpu":
        return benefit(fused, graph, device, launches, capacity_share)
    return benefit(fused, graph, device, capacity_share=capacity_share)


def decide(
    graph: Graph,
    projection: Projection,
    model: ir.Model,
    worth: Mapping[Candidate, Benefit],
    outcome: Outcome,
    native: Native,
    sizes: Mapping[str, int],
    say: Progress,
) -> Selection:
    """Selects, builds, checks; what cannot be built or is wrong is struck out, and the rest selected anew."""
    open_to_choice = {one: found.us for one, found in worth.items() if found.is_worth_it}
    for one, found in worth.items():
        if not found.is_worth_it:
            reason = (
                found.refused
                or f"it would save {found.us:.2f} µs: {found.saved_bytes} bytes less, {found.loss_bytes} read again, {found.recomputed_flops} operations done again"
            )
            outcome.rejected.append(rejected(one, graph, found.us, reason))
    while True:
        selection = select(graph, open_to_choice)
        new = {
            one: fused_node(projection.graph, one.nodes, one.rule)
            for one in selection.chosen
            if one not in outcome.kernels
        }
        keys = {one: signature(_body(node)) for one, node in new.items()}
        distinct = {keys[one]: node for one, node in new.items() if keys[one] not in outcome.tried}
        if distinct:
            say(Milestone(f"Building {len(distinct)} kernels."))
        for number, (key, made) in enumerate(
            zip(distinct, build_all(tuple(distinct.values())), strict=True)
        ):
            say(Step("kernel", number + 1, len(distinct)))
            outcome.tried[key] = _proved(made, projection, model, outcome, native, sizes)
        wrong = False
        for one, node in new.items():
            tried = outcome.tried[keys[one]]
            if isinstance(tried, str):
                outcome.rejected.append(rejected(one, graph, worth[one].us, tried))
                del open_to_choice[one]
                wrong = True
            else:
                outcome.kernels[one] = for_another(tried, node)
        if not wrong:
            break
    chosen = set(selection.chosen)
    for one, us in open_to_choice.items():
        if one not in chosen:
            outcome.rejected.append(
                rejected(one, graph, us, "others that share operators with it save more")
            )
    return selection


def _body(node: Node) -> Graph:
    assert node.body is not None
    return node.body


def _proved(
    kernel: GroupKernel | FusionError,
    projection: Projection,
    model: ir.Model,
    outcome: Outcome,
    native: Native,
    sizes: Mapping[str, int],
) -> GroupKernel | str:
    """A kernel held against ONNX Runtime; or why there is none."""
    if isinstance(kernel, MissingError | CompileError):
        outcome.uncompiled.append(kernel)
    if isinstance(kernel, FusionError):
        return f"no kernel: {kernel.what}"
    try:
        found = check_group(
            kernel,
            Fused(kernel.name, kernel.node),
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
            return f"the kernel differs from ONNX Runtime by {difference.largest:.3g} in {difference.name}, where {difference.allowed:.3g} is allowed"
    return kernel


def rejected(one: Candidate, graph: Graph, us: float, reason: str) -> RejectedCandidate:
    """A candidate for the ledger's list of those that were not made."""
    operators = tuple(operator_of(graph.node(name)) for name in one.nodes)
    return RejectedCandidate(one.rule, one.kind, operators, one.nodes, us, reason)


def operator_of(node: Node) -> str:
    """The operator's type as ONNX names it."""
    return str(node.attr(ONNX_OP, node.op))
