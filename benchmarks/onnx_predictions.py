"""Predicted and measured savings of fusions: ``python -m benchmarks.onnx_predictions``.

Every candidate of the corpus models, in relevant sizes, that lowers to C kernels is timed twice:
one kernel per operator, and fused. Both run as C sequences on the same arrays, interleaved.
``--prepare`` only compiles and needs no quiet machine.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import measuring, prediction_misses
from benchmarks.scatter import scatter
from ms_fusion.cost import Benefit, measure_cpu
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.onnx.canonicalization.cleanup import clean
from ms_fusion.onnx.fuse.decisions import choose_rules, estimate_group_benefit, find_candidates
from ms_fusion.onnx.fuse.timing import GroupChains, build_chains, measure_chains
from ms_fusion.onnx.kernels.subgraphs import fused_node
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.ops.call import ONNX_OP
from ms_fusion.readers.onnx_file import open_model
from ms_fusion.readers.onnx_graph import project, substitute_sizes
from tests.ms_fusion.onnx.fuse.corpus import convolutional, random_graphs, transformers

SWEEPS = 6
NOISE_US = 1.0
"""A smaller prediction is not measured: clock and call take as long."""


def models() -> Mapping[str, Callable[[Path], Path]]:
    """The models whose candidates are measured."""
    nets = {
        f"{family}_{tokens}": functools.partial(
            write,
            sizes=transformers.Sizes(d=d, heads=heads, batch=batch, tokens=tokens, spelled=spelled),
        )
        for family, write in transformers.FAMILIES.items()
        for d, heads, batch, tokens, spelled in (
            (256, 4, 2, 128, True),
            (512, 8, 1, 512, False),
            (128, 4, 1, 256, True),
        )
    }
    images = {
        f"{family}_{side}": functools.partial(
            write, sizes=convolutional.Sizes(channels=16, side=side, batch=2, activation=activation)
        )
        for family, write in convolutional.FAMILIES.items()
        for side, activation in ((64, "Relu"), (96, "Silu"))
    }
    graphs = {
        f"random_{seed}": functools.partial(
            random_graphs.random_graph, seed=seed, rows=rows, columns=columns
        )
        for seed in range(8)
        for rows, columns in (((64, 128), (1024, 256), (4096, 256), (512, 512))[seed % 4],)
    }
    return {**nets, **images, **graphs}


@functools.cache
def launch_us() -> float:
    """Measures the time in µs that one more kernel adds to a C sequence of tiny kernels."""
    steps = 64
    names = [f"v{number}" for number in range(steps + 1)]
    nodes = tuple(Node(made, "Neg", (read,), (made,)) for read, made in itertools.pairwise(names))
    values = {
        name: Value(name, (16,), "float32", "input" if name == "v0" else "result") for name in names
    }
    node = Node(
        "row", "Row", ("v0",), (names[-1],), body=Graph("row", nodes, values, ("v0",), (names[-1],))
    )
    rows = build_chains(node, {})
    assert rows is not None
    apart, fused = measure_chains(rows, 20)
    return (apart - fused) / (steps - 1)


@dataclass(frozen=True)
class Case:
    """A candidate, ready to run.

    Attributes:
        name: model and rule.
        operators: its operators.
        predicted: prediction of the cost model.
        rows: its C sequences, fused and one kernel per operator.
    """

    name: str
    operators: tuple[str, ...]
    predicted: Benefit
    rows: GroupChains


def cases(limit: int) -> Iterator[Case]:
    """Candidates without duplicates: no two have the same operators on the same sizes."""
    rules, searches = choose_rules("all")
    device, seen = replace(measure_cpu(), launch_us=launch_us()), set[object]()
    with NativeWorkers() as native, tempfile.TemporaryDirectory() as directory:
        for name, write in models().items():
            model = open_model(write(Path(directory) / "model.onnx"))
            clean(model, native)
            graph = substitute_sizes(project(model).graph, {})
            kept = 0
            for one in find_candidates(
                graph, rules, searches, ("intra-operator", "cross-operator", "pipeline")
            ):
                node = fused_node(graph, one.nodes, one.rule)
                assert node.body is not None
                key = tuple(
                    (
                        part.op,
                        *(graph.values[value].shape for value in (*part.inputs, *part.outputs)),
                    )
                    for part in node.body.nodes
                )
                if key in seen or kept >= limit:
                    continue
                seen.add(key)
                rows = build_chains(node, {})
                if rows is None:
                    continue
                predicted = estimate_group_benefit(node, graph, device)
                if abs(predicted.us) < NOISE_US:
                    continue
                kept += 1
                operators = tuple(str(part.attr(ONNX_OP)) for part in node.body.nodes)
                yield Case(f"{name} {one.rule}", operators, predicted, rows)


def rank_correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Spearman's rank correlation; ties share their mean rank."""

    def ranks(values: np.ndarray) -> np.ndarray:
        _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
        ends = np.cumsum(counts)
        return (ends - (counts - 1) / 2)[inverse]

    return float(np.corrcoef(ranks(one), ranks(other))[0, 1])


def main() -> None:
    """Measures, prints the share of right signs and the rank correlation, and writes the record.

    The record is ``build/bench/onnx_predictions.json``; wrong results are printed too.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prepare", action="store_true", help="only compile")
    parser.add_argument("--each", type=int, default=16, help="candidates of a model, at most")
    parser.add_argument("--rounds", type=int, default=6)
    given = parser.parse_args()
    found = list(cases(given.each))
    print(f"{len(found)} candidates")
    if given.prepare:
        return
    rows = []
    least = [(np.inf, np.inf)] * len(found)
    for _ in range(SWEEPS):
        # a temporary disturbance must not hit the same candidate each time
        least = [
            tuple(map(min, one, measure_chains(case.rows, given.rounds)))
            for one, case in zip(least, found, strict=True)
        ]  # type: ignore[misc]
    for case, (apart, fused) in zip(found, least, strict=True):
        rows.append(
            {
                "case": case.name,
                "operators": case.operators,
                "predicted_us": case.predicted.us,
                "refused": case.predicted.refusal_reason,
                "measured_us": apart - fused,
                "apart_us": apart,
                "fused_us": fused,
                "saved_bytes": case.predicted.saved_bytes,
                "saved_launches": case.predicted.saved_launches,
            }
        )
    summary = summarise(rows)
    print(summary, *prediction_misses.table(rows), sep="\n")
    drawing = scatter(
        [
            (
                row["predicted_us"],
                row["measured_us"],
                f"{row['case']}: {', '.join(row['operators'])}",
            )
            for row in rows
        ],
        "predicted saving, µs",
        "measured saving, µs",
    )
    measuring.PLACE.mkdir(parents=True, exist_ok=True)
    (measuring.PLACE / "onnx_predictions.svg").write_text(drawing, "utf-8")
    measuring.write(
        "onnx_predictions",
        {
            "machine": measuring.describe_machine(),
            "device": str(measure_cpu()),
            "summary": summary,
            "rows": rows,
        },
    )


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Share of right signs, rank correlation, number of predictions off by more than 2."""
    predicted = np.array([row["predicted_us"] for row in rows])
    saved = np.array([row["measured_us"] for row in rows])
    right = np.sign(predicted) == np.sign(saved)
    ratio = predicted / np.where(saved == 0, 1e-9, saved)
    return {
        "candidates": len(rows),
        "sign right": round(float(right.mean()), 3),
        "rank correlation": round(rank_correlation(predicted, saved), 3),
        "within a factor of 2": round(float(((ratio > 0.5) & (ratio < 2)).mean()), 3),
    }


if __name__ == "__main__":
    main()
