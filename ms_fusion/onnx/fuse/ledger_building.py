"""Builds the ledger of a fused ONNX model: the report of its fusions."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ms_fusion import cost
from ms_fusion.cost import Benefit
from ms_fusion.devices import Device
from ms_fusion.graph import Graph
from ms_fusion.ledger import FusedKernel, Ledger, RejectedCandidate, Work
from ms_fusion.onnx.canonicalization.cleanup import CleanupResult
from ms_fusion.onnx.fuse.decisions import Outcome, operator_of
from ms_fusion.onnx.fuse.selection import Selection
from ms_fusion.onnx.fuse.verification import Difference
from ms_fusion.onnx.kernels.subgraphs import fused_node
from ms_fusion.readers.onnx_graph import OnnxProjection
from ms_fusion.rewrite import Candidate
from tbe_impl.errors import pluralize

INFERRED_SYMBOL_PREFIX = "unk__"
"""Prefix of the symbols that shape inference generates for unknown sizes."""
UNCHANGED_RUNTIME_WARNING = (
    "ONNX Runtime runs the fused model as before, operator by operator. "
    "What is saved is saved where its kernels run: in `ms_fusion.from_onnx`."
)
"""Warning in the ledger of a model whose groups are model-local functions."""
NAMES_SHOWN_MAX = 3
"""Largest number of names that a note lists."""


def search_summary(operators: int, candidates: int) -> str:
    """Returns the progress message that states how many operators and candidates were found."""
    return f"Found {pluralize(operators, 'operator')}, {pluralize(candidates, 'fusion candidate')}."


def build_ledger(
    source: Path,
    graph: Graph,
    device: Device,
    cleaned: CleanupResult,
    selection: Selection,
    worth: Mapping[Candidate, Benefit],
    outcome: Outcome,
    sizes: Mapping[str, int],
    projection: OnnxProjection,
    times: Mapping[str, tuple[float, float]],
) -> Ledger:
    """Builds the ledger of the fusions and the rejected candidates, with costs and reasons.

    Args:
        times: maps the name of a kernel to a pair of times in µs: the time of the separate
            operators, and the time of the kernel.
    """
    kernels, beforehand = list[FusedKernel](), cost.constant_foldable_nodes(graph)
    for one in selection.chosen:
        name = outcome.kernels[one].name
        apart_us, us = times.get(name, (None, None))
        kernels.append(
            kernel_record(
                one,
                graph,
                device,
                worth[one],
                name,
                "ms_fusion",
                beforehand,
                time_us=us,
                unfused_time_us=apart_us,
            )
        )
    how = "exact" if selection.is_exact else f"by search, at most {selection.gap:.1%} from the best"
    saved = {one: worth[one] for one in selection.chosen}
    told = {"candidates": len(worth), "selection": how}
    ledger = build_kernel_ledger(
        source, graph, device, cleaned, saved, kernels, outcome.rejected, sizes, projection, told
    )
    elsewhere = (UNCHANGED_RUNTIME_WARNING,) if kernels else ()
    return replace(
        ledger,
        notes=(*ledger.notes, *outcome.notes),
        warnings=(*elsewhere, *ledger.warnings),
    )


def build_kernel_ledger(
    source: Path,
    graph: Graph,
    device: Device,
    cleaned: CleanupResult,
    worth: Mapping[Candidate, Benefit],
    kernels: Sequence[FusedKernel],
    rejected: Sequence[RejectedCandidate],
    sizes: Mapping[str, int],
    projection: OnnxProjection,
    told: Mapping[str, object],
) -> Ledger:
    """Builds the ledger of the chosen candidates and of the kernels that replace these candidates.

    The ledger is the record of fused and unfused operators. A kernel is a generated kernel or an
    operator of ONNX Runtime.

    Args:
        worth: maps each chosen candidate to its saving.
        told: further entries for the field `environment` of the ledger.
    """
    inside = {name: one for one in worth for name in one.nodes}
    nodes = []
    for node in graph.nodes:
        held = inside.get(node.name)
        if held is None:
            nodes.append(node)
        elif node.name == held.nodes[-1]:
            nodes.append(fused_node(graph, held.nodes, held.rule, f"{held.rule}:{node.name}"))
    made = {value for node in nodes for value in node.outputs}
    hidden = {value for name in inside for value in graph.node(name).outputs} - made
    values = {name: value for name, value in graph.values.items() if name not in hidden}
    after = Graph(graph.name, tuple(nodes), values, graph.inputs, graph.outputs)
    met = {size for name in graph.inputs for size in projection.graph.values[name].shape}
    inner = [symbol for symbol in projection.symbols if symbol not in met]
    assumptions = [
        f"{symbol} is assumed to be {sizes.get(symbol, 1)}"
        for symbol in projection.symbols
        if symbol in met
    ]
    follow = [
        f"{symbol} = {sizes[symbol]}"
        for symbol in inner
        if symbol in sizes and not symbol.startswith(INFERRED_SYMBOL_PREFIX)
    ]
    if follow:
        assumptions.append(
            f"sizes that follow from those of the inputs ({len(follow)}): {_shorten_list(follow)}"
        )
    open_sizes = [symbol for symbol in inner if symbol not in sizes]
    if open_sizes:
        assumptions.append(
            "sizes that do not follow from those of the inputs are assumed to be 1 "
            f"({len(open_sizes)}): {_shorten_list(open_sizes)}"
        )
    unknown = [name for name in sizes if name not in projection.symbols]
    if unknown:
        own = ", ".join(symbol for symbol in projection.symbols if symbol in met)
        assumptions.append(
            f"no size of the model is called {', '.join(unknown)}; "
            f"those of its inputs are {own or 'all known'}"
        )
    beforehand = cost.constant_foldable_nodes(graph)
    if beforehand:
        assumptions.append(
            "operators that compute with weights alone run once and count nothing "
            f"({len(beforehand)}): "
            f"{_shorten_list([node.name for node in graph.nodes if node.name in beforehand])}"
        )
    steps = [f"clean-up: {pluralize(count, 'node')} less ({what})" for what, count in cleaned.steps]
    return Ledger(
        source.name,
        tuple(one for one in kernels if len(one.nodes) > 1),
        (),
        cost.summarise(graph, beforehand),
        cost.summarise(after, beforehand),
        environment={
            "device": device.name,
            "device source": device.source,
            "operators": len(graph.nodes),
            "saved bytes": sum(one.saved_bytes for one in worth.values()),
            "saved launches": sum(one.saved_launches for one in worth.values()),
            "saved us": sum(one.us for one in worth.values()),
            "read again bytes": sum(one.loss_bytes for one in worth.values()),
            "floor bytes": _floor_bytes(graph, beforehand),
            **told,
        },
        notes=(*steps, *assumptions, *cleaned.notes),
        single_operator_kernels=tuple(one for one in kernels if len(one.nodes) == 1),
        rejected=tuple(rejected),
    )


def _floor_bytes(graph: Graph, beforehand: Container[str]) -> int:
    """Returns the bytes that a model must move, fused or not.

    These are the bytes of each input, each weight and each output, counted once. The results of the
    operators in `beforehand` count as weights, because they are computed beforehand.
    """
    read = {name for node in graph.nodes if node.name not in beforehand for name in node.inputs} - {
        name for node in graph.nodes if node.name not in beforehand for name in node.outputs
    }
    return sum(graph.values[name].bytes for name in {*read, *graph.outputs})


def _shorten_list(names: Sequence[str]) -> str:
    return ", ".join([*names[:NAMES_SHOWN_MAX], *(["…"] if len(names) > NAMES_SHOWN_MAX else [])])


def kernel_record(
    one: Candidate,
    graph: Graph,
    device: Device,
    found: Benefit,
    name: str,
    generator: str,
    beforehand: Container[str],
    *,
    time_us: float | None = None,
    unfused_time_us: float | None = None,
) -> FusedKernel:
    """Builds the entry for a group's kernel in the ledger (the record of the fusions).

    An operator in `beforehand` can be constant-folded. Without fusion, its cost counts as zero.
    """
    node = fused_node(graph, one.nodes, one.rule)
    apart = [
        Work() if inner.name in beforehand else cost.work_of(inner, node.fused_body)
        for inner in node.fused_body.nodes
    ]
    parts = tuple(
        cost.stages(work, device, matrix=cost.is_matrix_product(inner.op))
        for work, inner in zip(apart, node.fused_body.nodes, strict=True)
    )
    work = cost.work_of(node, graph)
    has_product = any(cost.is_matrix_product(inner.op) for inner in node.fused_body.nodes)
    stages = cost.stages(work, device, matrix=has_product)
    operators = tuple(operator_of(graph.node(name)) for name in one.nodes)
    return FusedKernel(
        name=name,
        full_name=one.nodes[-1],
        operators=operators,
        nodes=one.nodes,
        body=operators,
        body_graph=node.fused_body,
        inputs=graph.inputs_of(node),
        outputs=graph.outputs_of(node),
        work=work,
        work_unfused=sum(apart, Work()),
        stages=stages,
        stages_unfused=parts,
        bound=cost.roofline_bound(stages),
        predicted_saving_us=found.us,
        generator=generator,
        time_us=time_us,
        unfused_time_us=unfused_time_us,
    )


def add_differences(
    ledger: Ledger, found: Sequence[Difference], reproducers: Sequence[str] = ()
) -> Ledger:
    """Adds the differences of the model's outputs and the paths of reproducers to the ledger.

    A reproducer is a directory with files that show the error of a wrong fusion.
    """
    told = tuple(
        f"verified: {one.name} differs by {one.largest:.3g}, {one.allowed:.3g} is allowed"
        + ("" if one.agrees else ": WRONG")
        for one in found
    )
    told += tuple(
        f"a fusion that is wrong can be seen alone: {place}/reproduce.py" for place in reproducers
    )
    largest = max((one.largest for one in found), default=0.0)
    return replace(
        ledger,
        notes=(*ledger.notes, *told),
        output_max_abs=largest if np.isfinite(largest) else None,
    )
