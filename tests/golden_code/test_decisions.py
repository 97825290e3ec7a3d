"""Fusion decisions and reasons for recorded nets and ONNX models; nothing is built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ms_fusion import devices
from ms_fusion.capture.dump_ledger import read
from ms_fusion.cost import Benefit
from ms_fusion.devices import Device
from ms_fusion.graph import Graph
from ms_fusion.ledger import Ledger
from ms_fusion.onnx.canonicalization.cleanup import clean
from ms_fusion.onnx.fuse.arguments import LEVELS
from ms_fusion.onnx.fuse.assumed_sizes import assume_sizes
from ms_fusion.onnx.fuse.decisions import (
    choose_rules,
    estimate_benefits,
    find_candidates,
    operator_of,
)
from ms_fusion.onnx.fuse.selection import select
from ms_fusion.onnx.fuse.unknown_size_split import split_at_unknown_sizes
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.readers.onnx_defaults import remove_defaults
from ms_fusion.readers.onnx_file import open_model
from ms_fusion.readers.onnx_graph import project
from ms_fusion.rewrite import Candidate
from tests.cases import cases
from tests.golden_code.comparing import Goldens
from tests.ms_fusion.onnx.fuse.corpus import MODELS

MACHINE = Device(
    name="cpu",
    bandwidth_bytes_per_s=2e10,
    flops_per_s=1e11,
    vector_flops_per_s=2e10,
    launch_us=6.0,
    on_chip_bytes=1 << 20,
    source="made up for tests",
    cores=4,
)
"""A substitute for the processor, which other tests measure."""

PLAIN = "--opt_level=2"
MORE = (
    "--opt_level=2 --enable_expand_ops=Sigmoid,Softmax,LayerNorm,ReduceMean,SigmoidGrad "
    "--enable_cluster_ops=Div,Greater,GreaterEqual,NotEqual"
)
NONE = "--opt_level=0"
DUMPS = {
    **{
        f"{name}_f": (PLAIN, MORE)
        for name in ("Block", "Control", "ConvNet", "MyNet", "Odd", "OpNet", "Step")
    },
    **{f"{name}_u": (NONE, PLAIN) for name in ("Block", "Control", "ConvNet", "MyNet", "OpNet")},
}
"""Recorded nets, and the flags of their reasons."""

ONNX = (
    "bert_small",
    "bert_spelled",
    "bert_half",
    "gpt_small",
    "gpt_spelled",
    "llama_small",
    "llama_spelled",
    "t5_small",
    "vit_small",
    "resnet_small",
    "resnet_silu",
    "mobilenet_hard",
    "yolo_small",
    "unet_small",
    "lstm_one",
    "gru_steps",
    "random_0",
    "random_1",
    "random_2",
    "torch_layer",
)
SHOWN = 12
"""Rejected candidates that are shown per rule."""


@pytest.fixture(autouse=True)
def no_measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets the processor to `MACHINE`."""
    monkeypatch.setattr(devices, "measure_cpu", lambda: MACHINE)


def ledger_lines(ledger: Ledger) -> Iterator[str]:
    """Counts, kernels with operators and savings, edges with reasons, and further records."""
    for title, one in (("before", ledger.before), ("after", ledger.after)):
        yield (
            f"{title}: {one.nodes} nodes, {one.edges} edges, {one.launches} launches, "
            f"{one.bytes_moved} bytes"
        )
    for title, kernels in (("fused", ledger.kernels), ("single", ledger.single_operator_kernels)):
        for kernel in kernels:
            saving = (
                f"{kernel.predicted_saving_us:.3g}"
                if kernel.predicted_saving_us is not None
                else "-"
            )
            yield (
                f"{title}: {' + '.join(kernel.operators)} | {' '.join(kernel.body)} | "
                f"{kernel.bound} | saves {saving} us"
            )
    for edge in ledger.unfused:
        advice = edge.suggestion.flags or edge.suggestion.kind if edge.suggestion else "-"
        yield (
            f"apart: {edge.producer_op} -> {edge.consumer_op or '(leaves)'} | {edge.reason} | "
            f"{edge.detail} | {edge.bytes_at_stake} | {advice}"
        )
    for spot in ledger.hot_spots:
        yield f"hot spot: {spot}"
    for note in ledger.notes:
        yield f"note: {note}"


@cases("name", list(DUMPS))
def test_decisions_on_recorded_nets(name: str, goldens: Goldens, repository: Path) -> None:
    place = repository / "tests" / "data" / "ms_2_10" / name
    lines = []
    for flags in DUMPS[name]:
        lines += [f"==== {flags}", *ledger_lines(read(place, flags=flags, device="CPU"))]
    goldens.compare(f"decisions/{name}.txt", "".join(f"{line}\n" for line in lines))


def onnx_lines(source: Path, native: NativeWorkers) -> Iterator[str]:
    """Clean-up steps, the chosen candidates, and the rejected ones with their savings."""
    model = open_model(source)
    remove_defaults(model)
    cleaned = clean(model, native)
    projection = project(model)
    graph, _ = assume_sizes(model, projection, {}, native)
    rules, searches = choose_rules("all")
    found = split_at_unknown_sizes(
        find_candidates(graph, rules, searches, LEVELS[3]), projection.graph
    )
    worth = estimate_benefits(found, graph, MACHINE)
    selection = select(graph, {one: how.us for one, how in worth.items() if how.is_worth_it})
    yield f"cleaned: {', '.join(f'{count} {what}' for what, count in cleaned.steps) or 'nothing'}"
    yield from (f"note: {note}" for note in cleaned.notes)
    yield f"{len(graph.nodes)} operators, {len(found)} candidates, {len(selection.chosen)} chosen"
    yield from sorted(
        f"fused: {_candidate(one, graph)} | {worth[one].us:.3g} us" for one in selection.chosen
    )
    yield from _left(worth, set(selection.chosen), graph)


def _left(
    worth: Mapping[Candidate, Benefit], chosen: set[Candidate], graph: Graph
) -> Iterator[str]:
    """Rejected candidates with the largest savings per rule."""
    by_rule: dict[str, list[tuple[float, str]]] = {}
    for one, how in worth.items():
        if one not in chosen:
            why = "overlaps" if how.is_worth_it else how.refusal_reason or "saves nothing"
            by_rule.setdefault(one.rule, []).append(
                (-how.us, f"{_candidate(one, graph)} | {how.us:.3g} us | {why}")
            )
    for rule in sorted(by_rule):
        lines = [line for _, line in sorted(by_rule[rule])]
        yield from (f"left: {line}" for line in lines[:SHOWN])
        if len(lines) > SHOWN:
            yield f"left: {len(lines) - SHOWN} more of {rule}"


def _candidate(one: Candidate, graph: Graph) -> str:
    operators = [operator_of(graph.node(name)) for name in one.nodes]
    shown = " ".join(operators[:16]) + (f" … {len(operators)}" if len(operators) > 16 else "")
    return f"{one.rule} ({one.kind}): {shown}"


def test_decisions_on_onnx_models(goldens: Goldens, tmp_path: Path) -> None:
    assert len(ONNX) >= 20
    with NativeWorkers() as native:
        for name in ONNX:
            lines = onnx_lines(MODELS[name](tmp_path / f"{name}.onnx"), native)
            goldens.compare(f"decisions/onnx/{name}.txt", "".join(f"{line}\n" for line in lines))
