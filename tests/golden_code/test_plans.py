"""Partition of MindSpore groups: stores, nests, library calls; nothing is compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest

from ms_fusion.graph import Graph
from ms_fusion.kernel_server import sequence_assembly
from ms_fusion.lowering import nest_partition
from ms_fusion.lowering.composite_lowering import LoweredGroup, lower_composite
from ms_fusion.lowering.group_partition import partition_group
from ms_fusion.lowering.onednn import channels_last
from ms_fusion.lowering.onednn.onednn_steps import LibraryCall
from ms_fusion.lowering.onednn.transposes import folded_operators
from ms_fusion.readers.composite import CompositeKernel
from tbe_impl import compat
from tbe_impl.codegen.nest_text import show_nests
from tbe_impl.codegen.options import DEFAULT_OPTIONS
from tests.golden_code.comparing import Goldens
from tests.golden_code.groups import CHAINS, GROUPS, Make, composite, recorded
from tests.golden_code.pinned import numbered_from_zero


def plan_lines(group: LoweredGroup, graph: Graph) -> Iterator[str]:
    """The cheapest plan: stored values, the operators of each nest, and its loops."""
    found = nest_partition.plan_nests(group, graph)
    operators = {node.name: node.op for node in graph}
    makers = {name: node.op for node in graph for name in node.outputs}
    yield f"operators: {' '.join(operators.values())}"
    yield f"stored: {', '.join(f'{name} ({makers[name]})' for name in found.stored) or 'nothing'}"
    repeated = " ".join(node.op for node in graph if node.name in found.repeated_operators)
    yield f"repeated: {repeated or 'nothing'}"
    yield f"cost: {found.cost_us:.3g} us"
    for number, nest in enumerate(found.nests):
        yield f"nest {number}: {' '.join(operators[name] for name in nest)}"
    yield from (f"  {line}" for line in show_nests(found.layout, DEFAULT_OPTIONS).splitlines())


def planned_text(kernel: CompositeKernel) -> str:
    """The plan of a fully generated group."""
    with compat.installed(soc="cpu"):
        group = lower_composite(kernel)
        return "".join(f"{line}\n" for line in plan_lines(group, kernel.graph))


def chain_text(kernel: CompositeKernel) -> str:
    """The library calls of a group, and the plans between them."""
    graph = sequence_assembly._prepare_graph(kernel.graph)
    own = sequence_assembly.own_kernels(kernel)
    lines = [f"operators: {' '.join(node.op for node in kernel.graph)}"]
    for step in partition_group(graph).steps:
        part = step.kernel
        if isinstance(part, LibraryCall):
            covered = " ".join(
                one for name in part.covered for one in folded_operators(graph.node(name))
            )
            given = ", ".join(
                f"{key}={part.call.arguments[key]}" for key in sorted(part.call.arguments)
            )
            lines += [
                f"library: {covered}: {', '.join(step.reads)} → {', '.join(step.writes)}",
                f"  {part.call.function}({given})",
            ]
            continue
        _, group, region = next(own)
        lines.append(f"ours: {', '.join(region.inputs)} → {', '.join(step.writes)}")
        lines += [f"  {line}" for line in plan_lines(group, region)]
    return "".join(f"{line}\n" for line in lines)


def sections(
    kernels: Mapping[str, CompositeKernel],
    text: Callable[[CompositeKernel], str],
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """A section for each group, by its title."""
    found = []
    for title, kernel in kernels.items():
        with numbered_from_zero(monkeypatch):
            found.append(f"==== {title}\n{text(kernel)}")
    return "\n".join(found)


def made(table: Mapping[str, tuple[str, Make]]) -> dict[str, CompositeKernel]:
    """Groups by name, with descriptions."""
    return {f"{name}: {what}": composite(name, make) for name, (what, make) in table.items()}


def test_plans_of_groups(goldens: Goldens, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups defined here."""
    goldens.compare("plans/groups.txt", sections(made(GROUPS), planned_text, monkeypatch))


def test_plans_of_recorded_groups(goldens: Goldens, monkeypatch: pytest.MonkeyPatch) -> None:
    """MindSpore's groups of real nets."""
    kernels = recorded()
    assert len(GROUPS) + len(kernels) >= 20
    goldens.compare("plans/recorded.txt", sections(kernels, planned_text, monkeypatch))


def test_chains_with_a_library(goldens: Goldens, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without fast channels-last convolutions: the processor decides."""
    assert len(CHAINS) >= 10
    texts = {}
    for kind, quick in (("channels_last", True), ("blocks", False)):
        monkeypatch.setattr(channels_last, "quick_channels_last", lambda quick=quick: quick)
        texts[kind] = sections(made(CHAINS), chain_text, monkeypatch)
    goldens.compare_each("plans/chains", ".txt", texts)
