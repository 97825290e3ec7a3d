"""The ledger of a fused ONNX model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ms_fusion import cost
from ms_fusion.cost import Benefit
from ms_fusion.devices import Device
from ms_fusion.formats.onnx_graph import Projection
from ms_fusion.graph import Graph
from ms_fusion.ledger import FusedKernel, Ledger, RejectedCandidate, Work
from ms_fusion.onnx_fusion.cleaning import Cleaned
from ms_fusion.onnx_fusion.deciding import Outcome, operator_of
from ms_fusion.onnx_fusion.groups import fused_node
from ms_fusion.onnx_fusion.selection import Selection
from ms_fusion.onnx_fusion.verification import Difference
from ms_fusion.rewrite import Candidate

MADE_UP = "unk__"
"""How the names of sizes begin that shape inference gives, and nobody knows."""


def ledger_of(
    source: Path,
    graph: Graph,
    device: Device,
    cleaned: Cleaned,
    selection: Selection,
    worth: Mapping[Candidate, Benefit],
    outcome: Outcome,
    sizes: Mapping[str, int],
    projection: Projection,
    times: Mapping[str, tuple[float, float]],
) -> Ledger:
    """What was fused, and with numbers and reasons what was not; `times`: kernel → µs of its operators apart, and fused."""
    kernels = []
    for one in selection.chosen:
        name = outcome.kernels[one].name
        apart_us, us = times.get(name, (None, None))
        kernels.append(kernel_of(one, graph, device, worth[one], f"{one.rule}_{name}", "ms_fusion", time_us=us, unfused_time_us=apart_us))  # fmt: skip
    how = "exact" if selection.is_exact else f"by search, at most {selection.gap:.1%} from the best"
    saved = {one: worth[one] for one in selection.chosen}
    told = {"candidates": len(worth), "selection": how}
    ledger = ledger_of_kernels(source, graph, device, cleaned, saved, kernels, outcome.rejected, sizes, projection, told)  # fmt: skip
    return replace(ledger, notes=(*ledger.notes, *outcome.notes))


def ledger_of_kernels(
    source: Path,
    graph: Graph,
    device: Device,
    cleaned: Cleaned,
    worth: Mapping[Candidate, Benefit],
    kernels: Sequence[FusedKernel],
    rejected: Sequence[RejectedCandidate],
    sizes: Mapping[str, int],
    projection: Projection,
    told: Mapping[str, object],
) -> Ledger:
    """The ledger of what was chosen, whoever runs it; `worth` says what each of that saves, `told` what else is to be known."""
    inside = {name: one for one in worth for name in one.nodes}
    nodes = []
    for node in graph.nodes:
        held = inside.get(node.name)
        if held is None:
            nodes.append(node)
        elif node.name == held.nodes[-1]:
            nodes.append(fused_node(graph, held.nodes, held.rule, f"{held.rule}:{node.name}"))
    after = Graph(graph.name, tuple(nodes), graph.values, graph.inputs, graph.outputs)
    met = {size for name in graph.inputs for size in projection.graph.values[name].shape}
    follows = {symbol for symbol in projection.symbols if symbol in sizes and symbol not in met}
    told_of = [symbol for symbol in projection.symbols if symbol not in follows or not symbol.startswith(MADE_UP)]  # fmt: skip
    assumptions = [f"{symbol} is {sizes[symbol]} then" if symbol in follows else f"{symbol} is assumed to be {sizes.get(symbol, 1)}" for symbol in told_of]  # fmt: skip
    unknown = [name for name in sizes if name not in projection.symbols]
    if unknown:
        own = ", ".join(symbol for symbol in projection.symbols if symbol in met)
        assumptions.append(f"no size of the model is called {', '.join(unknown)}; those of its inputs are {own or 'all known'}")  # fmt: skip
    steps = [f"clean-up: {count} nodes less ({what})" for what, count in cleaned.steps]
    return Ledger(
        source.name,
        tuple(one for one in kernels if len(one.nodes) > 1),
        (),
        cost.summarise(graph),
        cost.summarise(after),
        environment={
            "device": device.name,
            "device source": device.source,
            "operators": len(graph.nodes),
            "saved bytes": sum(one.saved_bytes for one in worth.values()),
            "saved launches": sum(one.saved_launches for one in worth.values()),
            "saved us": sum(one.us for one in worth.values()),
            **told,
        },
        notes=(*steps, *assumptions, *cleaned.notes),
        single_operator_kernels=tuple(one for one in kernels if len(one.nodes) == 1),
        rejected=tuple(rejected),
    )


def kernel_of(
    one: Candidate, graph: Graph, device: Device, found: Benefit, name: str, generator: str, *, time_us: float | None = None, unfused_time_us: float | None = None
) -> FusedKernel:  # fmt: skip
    """A group of the graph as what the ledger knows of a kernel."""
    node = fused_node(graph, one.nodes, one.rule)
    assert node.body is not None
    apart = [cost.work_of(inner, node.body) for inner in node.body.nodes]
    parts = tuple(cost.stages(work, device, matrix=cost.is_matrix_product(inner.op)) for work, inner in zip(apart, node.body.nodes, strict=True))  # fmt: skip
    work = cost.work_of(node, graph)
    has_product = any(cost.is_matrix_product(inner.op) for inner in node.body.nodes)
    stages = cost.stages(work, device, matrix=has_product)
    operators = tuple(operator_of(graph.node(name)) for name in one.nodes)
    return FusedKernel(
        name=name,
        full_name=one.nodes[-1],
        operators=operators,
        nodes=one.nodes,
        body=operators,
        body_graph=node.body,
        inputs=graph.inputs_of(node),
        outputs=graph.outputs_of(node),
        work=work,
        work_unfused=sum(apart, Work()),
        stages=stages,
        stages_unfused=parts,
        bound=cost.bound(stages),
        predicted_saving_us=found.us,
        generator=generator,
        time_us=time_us,
        unfused_time_us=unfused_time_us,
    )


def with_errors(ledger: Ledger, found: Sequence[Difference], reproducers: Sequence[str] = ()) -> Ledger:  # fmt: skip
    """The ledger with what comparing the models showed, and where what is wrong can be seen alone."""
    told = tuple(
        f"verified: {one.name} differs by {one.largest:.3g}, {one.allowed:.3g} is allowed"
        + ("" if one.agrees else ": WRONG")
        for one in found
    )
    told += tuple(f"a fusion that is wrong can be seen alone: {place}/reproduce.py" for place in reproducers)  # fmt: skip
    largest = max((one.largest for one in found), default=0.0)
    return replace(ledger, notes=(*ledger.notes, *told), output_max_abs=largest if np.isfinite(largest) else None)  # fmt: skip
