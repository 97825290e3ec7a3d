"""Finds, tries, chooses and applies replacements of groups by ONNX Runtime's own operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import onnx_ir as ir

from ms_fusion.cost import Benefit, benefit, constant_foldable_nodes
from ms_fusion.devices import Device
from ms_fusion.graph import Graph, Node
from ms_fusion.ledger import RejectedCandidate
from ms_fusion.onnx.fuse.arguments import check_names
from ms_fusion.onnx.fuse.decisions import (
    Progress,
    find_candidates,
    reject_near_misses,
    rejection_of,
)
from ms_fusion.onnx.fuse.equal_groups import signature
from ms_fusion.onnx.fuse.ort import attention
from ms_fusion.onnx.fuse.ort.equivalents import Equivalent, Site
from ms_fusion.onnx.fuse.ort.operator_trials import TrialResult, run_trial, trial_sizes
from ms_fusion.onnx.fuse.ort.placement import replace_groups
from ms_fusion.onnx.fuse.ort.table import EQUIVALENTS, UNMAPPED_RULES
from ms_fusion.onnx.kernels.subgraphs import fused_node, is_convex, order_of
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.progress import Step
from ms_fusion.readers.onnx_graph import OnnxProjection, project
from ms_fusion.rewrite import Candidate, Match, Rule, find_matches
from ms_fusion.rules import DEFAULT_RULES

RAISABLE_OPSET_MIN = 18
"""Oldest opset from which a model is converted to the opset that attention needs."""


ADAPTER_OPERATORS = frozenset({"Cast", "Shape", "Concat", "Expand", "Reshape", "Slice", "Where"})
"""Operators that only adapt the inputs of a replacement. The ledger does not list them."""


@dataclass(frozen=True)
class MappedGroup:
    """A group that is replaced by ONNX Runtime's operators.

    Attributes:
        candidate: the operators of the group.
        group: the group as a fused operator.
        site: the match with its replacement.
        operators: types of the replacement's operators, except those that only adapt inputs.
        tried: the result of running the group and its replacements, with measured times.
    """

    candidate: Candidate
    group: Node
    site: Site
    operators: tuple[str, ...]
    tried: TrialResult


@dataclass
class MappingDecision:
    """The replaced and the rejected groups.

    Attributes:
        mapped: the replaced groups, which share no operator.
        rejected: the rejected candidates, with reasons.
        candidates: number of all candidates, replaced or rejected.
    """

    mapped: list[MappedGroup] = field(default_factory=list)
    rejected: list[RejectedCandidate] = field(default_factory=list)
    candidates: int = 0


def choose_equivalents(
    wanted: str | Sequence[str | Rule],
) -> tuple[tuple[Equivalent, ...], tuple[Rule, ...]]:
    """Returns a pair: the `Equivalent` of each rule in `wanted`, and the rules that have none.

    Raises:
        InputError: a name in `wanted` is not the name of a rule.
    """
    known = {one.rule.name: one for one in EQUIVALENTS}
    rules = {rule.name: rule for rule in DEFAULT_RULES}
    check_names(wanted, tuple(dict.fromkeys((*known, *rules))))
    found: list[Equivalent] = []
    without: list[Rule] = []
    for one in wanted.split(",") if isinstance(wanted, str) else wanted:
        name = one.name if isinstance(one, Rule) else one.strip()
        if name == "all":
            found += EQUIVALENTS
            without += [rule for rule in DEFAULT_RULES if rule.name in UNMAPPED_RULES]
        elif name in known:
            found.append(known[name])
        else:
            without.append(one if isinstance(one, Rule) else rules[name])
    return tuple(one for one in EQUIVALENTS if one in found), tuple(dict.fromkeys(without))


def raise_opset(
    model: ir.Model, equivalents: Sequence[Equivalent], projection: OnnxProjection
) -> ir.Model | None:
    """Converts the model to the opset that contains ONNX's Attention.

    Returns None in these cases: the model contains no attention to replace, the model's opset is
    too old, this opset already contains Attention, or the conversion fails.
    """
    version = model.opset_imports.get("", 0)
    if not RAISABLE_OPSET_MIN <= version < attention.VERSION:
        return None
    order = order_of(projection.graph)
    rules = [one.rule for one in equivalents if one in attention.EQUIVALENTS]
    if not any(True for rule in rules for _ in find_matches(rule, projection.graph, order)):
        return None
    from onnxscript import version_converter

    made = model.clone()
    with suppress(Exception):  # the library may raise any exception on a malformed model
        version_converter.convert_version(made, attention.VERSION, fallback=False)
        if made.opset_imports.get("") == attention.VERSION:
            return made
    return None


def decide(
    equivalents: Sequence[Equivalent],
    without: Sequence[Rule],
    kinds: Sequence[str],
    model: ir.Model,
    projection: OnnxProjection,
    sizes: Mapping[str, int],
    native: NativeWorkers,
    say: Progress,
) -> MappingDecision:
    """Finds candidates, tries their replacements and chooses among them.

    If candidates share operators, the larger candidate is tried first. Groups with equal graphs are
    tried only once.
    """
    graph, decided = projection.graph, MappingDecision()
    known: dict[str, TrialResult] = {}
    taken: set[str] = set()
    tried_sizes = trial_sizes(model, projection, sizes, native)
    found = [one for one in equivalents if one.rule.kind in kinds]
    sites = [(one, match) for equivalent in found for one, match in find_sites(equivalent, graph)]
    version = model.opset_imports.get("", 0)
    for number, (one, match) in enumerate(sites):
        names = tuple(node.name for node in match.nodes)
        if taken.intersection(names):
            continue
        say(Step("group", number + 1, len(sites)))
        candidate = Candidate(one.rule.name, one.rule.kind, names)
        decided.candidates += 1
        group = fused_node(graph, names, one.rule.name)
        assert group.body is not None
        written, reasons = write_sites(one, Site(match, version, projection.values), group)
        if not written:
            decided.rejected.append(rejection_of(candidate, graph, 0.0, "; ".join(reasons)))
            continue
        key = signature(group.body) + repr(list(written))
        if key not in known:
            known[key] = run_trial(group, written, model, projection, tried_sizes, native)
        result = known[key]
        if result.written is None:
            decided.rejected.append(rejection_of(candidate, graph, 0.0, result.reason))
            continue
        site = written[result.written]
        operators = tuple(call.op for call in site.calls if call.op not in ADAPTER_OPERATORS)
        decided.mapped.append(MappedGroup(candidate, group, site, operators, result))
        taken |= set(names)
    others = find_candidates(graph, without, (), kinds)
    mapped = [one.candidate for one in decided.mapped]
    decided.rejected += reject_near_misses(
        graph, (*(one.rule for one in found), *without), kinds, (*mapped, *others)
    )
    for other in others:
        decided.candidates += 1
        decided.rejected.append(
            rejection_of(
                other,
                graph,
                0.0,
                UNMAPPED_RULES.get(other.rule, "ONNX Runtime has no operator for it"),
            )
        )
    return decided


def find_sites(one: Equivalent, graph: Graph) -> Iterator[tuple[Equivalent, Match]]:
    """Yields the matches of an equivalent's pattern; matches with more operators come first."""
    order = order_of(graph)
    found = sorted(find_matches(one.rule, graph, order), key=lambda match: -len(match.nodes))
    # A single operator of another dtype is omitted, as it already is ONNX Runtime's own operator.
    found = [match for match in found if len(match.nodes) > 1 or _dtype(match) in one.dtypes]
    return (
        (one, match)
        for match in found
        if is_convex(graph, [node.name for node in match.nodes], order)
    )


def _dtype(match: Match) -> str:
    return match.graph.values[match.nodes[-1].outputs[0]].dtype


def write_sites(one: Equivalent, place: Site, group: Node) -> tuple[dict[str, Site], list[str]]:
    """Builds all variants of the replacement of a group.

    Returns a pair: a dict of the variants by name, and the reasons why other variants failed.
    """
    found: dict[str, Site] = {}
    reasons: list[str] = []
    dtype = _dtype(place.match)
    if dtype not in one.dtypes:
        return {}, [f"ONNX Runtime has none in {dtype or 'an unknown dtype'}"]
    for name, write in one.writers:
        site = Site(place.match, place.version, place.sources)
        reason = write(site)
        made = {output for call in site.calls for output in call.outputs}
        if not reason and not made.issuperset(group.outputs):
            reason = "what is computed on the way is read elsewhere"
        if reason:
            reasons.append(f"no {name}: {reason}")
        else:
            found[name] = site
    return found, reasons


def apply_mapping(model: ir.Model, mapped: Sequence[MappedGroup]) -> ir.Model:
    """Returns a copy of the model in which the mapped groups are replaced."""
    made = model.clone()
    projection = project(made)
    replace_groups(
        made, [(one.site, one.group) for one in mapped], projection.nodes, projection.values
    )
    return made


def estimate_benefits(
    mapped: Sequence[MappedGroup], graph: Graph, device: Device
) -> dict[Candidate, Benefit]:
    """Returns, for each group, the predicted saving per call if one kernel computes the group."""
    beforehand = constant_foldable_nodes(graph)
    found = {}
    for one in (item.candidate for item in mapped):
        names = [name for name in one.nodes if name not in beforehand] or one.nodes
        found[one] = benefit(fused_node(graph, names, one.rule), graph, device)
    return found
