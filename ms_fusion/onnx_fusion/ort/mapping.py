"""Groups of a model that become ONNX Runtime's own operators: found, tried, chosen, put into their places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import onnx_ir as ir

from ms_fusion.cost import Benefit, benefit, known_beforehand
from ms_fusion.devices import Device
from ms_fusion.formats.onnx_graph import Projection, project
from ms_fusion.graph import Graph, Node
from ms_fusion.ledger import RejectedCandidate
from ms_fusion.onnx_fusion.arguments import check_names
from ms_fusion.onnx_fusion.decisions import Progress, candidates_in, refused_in, rejected
from ms_fusion.onnx_fusion.equal_groups import signature
from ms_fusion.onnx_fusion.groups import fused_node, is_closed, order_of
from ms_fusion.onnx_fusion.native import Native
from ms_fusion.onnx_fusion.ort import attention
from ms_fusion.onnx_fusion.ort.equivalents import Equivalent, Site
from ms_fusion.onnx_fusion.ort.operator_trials import Tried, sizes_of, tried
from ms_fusion.onnx_fusion.ort.placement import replace
from ms_fusion.onnx_fusion.ort.table import EQUIVALENTS, WITHOUT
from ms_fusion.progress import Step
from ms_fusion.rewrite import Candidate, Match, Rule, matches
from ms_fusion.rules import DEFAULT_RULES

RAISED_FROM = 18
"""Models from this version of ONNX's operators on are raised where a newer operator is needed."""


ONLY_FITTING = frozenset({"Cast", "Shape", "Concat", "Expand", "Reshape", "Slice", "Where"})
"""Operators that only make inputs fit; they are not named."""


@dataclass(frozen=True)
class Mapped:
    """A group that becomes operators of ONNX Runtime.

    Attributes:
        candidate: its operators.
        group: they as one.
        site: what is written for them.
        operators: names of what is written.
        tried: its times.
    """

    candidate: Candidate
    group: Node
    site: Site
    operators: tuple[str, ...]
    tried: Tried


@dataclass
class Decided:
    """What is mapped, and what is not.

    Attributes:
        mapped: no two share an operator.
        rejected: the others, with reasons.
        candidates: how many there were.
    """

    mapped: list[Mapped] = field(default_factory=list)
    rejected: list[RejectedCandidate] = field(default_factory=list)
    candidates: int = 0


def chosen_equivalents(
    wanted: str | Sequence[str | Rule],
) -> tuple[tuple[Equivalent, ...], tuple[Rule, ...]]:
    """By names of rules: what ONNX Runtime has for them, and those for which it has nothing.

    Raises:
        InputError: a name that is no rule.
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
            without += [rule for rule in DEFAULT_RULES if rule.name in WITHOUT]
        elif name in known:
            found.append(known[name])
        else:
            without.append(one if isinstance(one, Rule) else rules[name])
    return tuple(one for one in EQUIVALENTS if one in found), tuple(dict.fromkeys(without))


def raised(
    model: ir.Model, equivalents: Sequence[Equivalent], projection: Projection
) -> ir.Model | None:
    """The model with the version of operators that attention needs; None where it has none, or cannot be raised."""
    version = model.opset_imports.get("", 0)
    if not RAISED_FROM <= version < attention.VERSION:
        return None
    order = order_of(projection.graph)
    rules = [one.rule for one in equivalents if one in attention.EQUIVALENTS]
    if not any(True for rule in rules for _ in matches(rule, projection.graph, order)):
        return None
    from onnxscript import version_converter

    made = model.clone()
    with suppress(Exception):  # whatever a library raises on an odd model
        version_converter.convert_version(made, attention.VERSION, fallback=False)
        if made.opset_imports.get("") == attention.VERSION:
            return made
    return None


def decide(
    equivalents: Sequence[Equivalent],
    without: Sequence[Rule],
    kinds: Sequence[str],
    model: ir.Model,
    projection: Projection,
    sizes: Mapping[str, int],
    native: Native,
    say: Progress,
) -> Decided:
    """Finds what may be mapped, the largest first, and tries it; groups that are alike are tried once."""
    graph, decided = projection.graph, Decided()
    known: dict[str, Tried] = {}
    taken: set[str] = set()
    tried_sizes = sizes_of(projection, sizes)
    found = [one for one in equivalents if one.rule.kind in kinds]
    sites = [(one, match) for equivalent in found for one, match in _found(equivalent, graph)]
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
        written, reasons = _written(one, Site(match, version, projection.values), group)
        if not written:
            decided.rejected.append(rejected(candidate, graph, 0.0, "; ".join(reasons)))
            continue
        key = signature(group.body) + repr(list(written))
        if key not in known:
            known[key] = tried(group, written, model, projection, tried_sizes, native)
        result = known[key]
        if result.written is None:
            decided.rejected.append(rejected(candidate, graph, 0.0, result.reason))
            continue
        site = written[result.written]
        operators = tuple(call.op for call in site.calls if call.op not in ONLY_FITTING)
        decided.mapped.append(Mapped(candidate, group, site, operators, result))
        taken |= set(names)
    others = candidates_in(graph, without, (), kinds)
    mapped = [one.candidate for one in decided.mapped]
    decided.rejected += refused_in(
        graph, (*(one.rule for one in found), *without), kinds, (*mapped, *others)
    )
    for other in others:
        decided.candidates += 1
        decided.rejected.append(
            rejected(
                other, graph, 0.0, WITHOUT.get(other.rule, "ONNX Runtime has no operator for it")
            )
        )
    return decided


def _found(one: Equivalent, graph: Graph) -> Iterator[tuple[Equivalent, Match]]:
    """Where its pattern fits, places with more operators first."""
    order = order_of(graph)
    found = sorted(matches(one.rule, graph, order), key=lambda match: -len(match.nodes))
    # a single operator in a dtype that ONNX Runtime has it in is one already
    found = [match for match in found if len(match.nodes) > 1 or _dtype(match) in one.dtypes]
    return (
        (one, match)
        for match in found
        if is_closed(graph, [node.name for node in match.nodes], order)
    )


def _dtype(match: Match) -> str:
    return match.graph.values[match.nodes[-1].outputs[0]].dtype


def _written(one: Equivalent, place: Site, group: Node) -> tuple[dict[str, Site], list[str]]:
    """What its writers write at a place, by name, and why the others do not."""
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


def applied(model: ir.Model, mapped: Sequence[Mapped]) -> ir.Model:
    """A copy of the model with these groups mapped."""
    made = model.clone()
    projection = project(made)
    replace(made, [(one.site, one.group) for one in mapped], projection.nodes, projection.values)
    return made


def worth_of(mapped: Sequence[Mapped], graph: Graph, device: Device) -> dict[Candidate, Benefit]:
    """What the model of costs says of each as one kernel, in each call."""
    beforehand = known_beforehand(graph)
    found = {}
    for one in (item.candidate for item in mapped):
        names = [name for name in one.nodes if name not in beforehand] or one.nodes
        found[one] = benefit(fused_node(graph, names, one.rule), graph, device)
    return found
