"""Report values are medians with a spread, errors relative with a verdict, roofs upper bounds."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ms_fusion.accuracy.ulp import ulp_difference
from ms_fusion.capture.median_spread import median_and_spread
from ms_fusion.capture.profiler import CALLS_PROFILED, read_profile, times_of
from ms_fusion.devices import Device
from ms_fusion.graph import Graph, Node, Source, Value
from ms_fusion.ledger import Accuracy, FusedKernel, Ledger, Stages, Summary, Work
from ms_fusion.report.roofline import roofline
from ms_fusion.report.text import to_text
from ms_fusion.report.verdicts import has_clear_times, is_clear_saving
from ms_fusion.report.wording import difference_text, error_texts, spread_text, summary_rows
from ms_fusion.why_not.hot_spots import hot_spots
from tests.cases import cases
from tests.ms_fusion.report.ledgers import transformer_ledger

VALUES = {name: Value(name, (256, 256), "float32", "input") for name in ("x", "w")} | {
    name: Value(name, (256, 256), "float32") for name in "abcy"
}
BODY = Graph(
    "body",
    (Node("p", "MatMul", ("x", "w"), ("a",)), Node("g", "GeLU", ("a",), ("y",))),
    VALUES,
    ("x", "w"),
    ("y",),
)


def kernel(*body: str, **more: object) -> FusedKernel:
    return FusedKernel(
        "fused",
        "Default/fused",
        body,
        tuple(f"{op}-op" for op in body),
        body,
        BODY,
        (VALUES["x"],),
        (VALUES["y"],),
        **more,  # type: ignore[arg-type]
    )


def test_hot_spots_are_those_of_the_fused_run() -> None:
    """A fused operator has no time of its own; its kernel has."""
    after = Graph(
        "after",
        (
            Node("Default/fused", "Fused_MatMul_GeLU", ("x", "w"), ("y",), body=BODY),
            Node("s", "Sort", ("y",), ("c",)),
        ),
        VALUES,
        ("x", "w"),
        ("c",),
    )
    roofs = Device("made up", 8e9, 1e11, 1.0, 1 << 20, "this test", vector_flops_per_s=1e9, cores=4)
    fused = kernel("MatMul", "GeLU", sources=(Source("net.py", 7),))
    first, second = hot_spots(
        after,
        {"Default/fused": 1000.0, "s": 250.0},
        spreads_us={"Default/fused": 12.5},
        kernels={"Default/fused": fused},
        roofs=roofs,
    )
    assert (first.op, first.share, first.spread_us, str(first.source)) == (
        "MatMul + GeLU",
        0.8,
        12.5,
        "net.py:7",
    )
    # 2 x 256^3 FLOP and those of GeLU by the matrix unit
    assert first.detail.startswith("compute, 3") and "assumed" not in first.detail
    assert (second.op, second.spread_us) == ("Sort", None)


@cases("cores, says", [(1, "compute, 26% of the roof"), (8, "memory, 66% of the roof")])
def test_all_cores_make_the_roof(cores: int, says: str) -> None:
    graph = Graph("g", (Node("n", "Neg", ("x",), ("y",)),), VALUES, ("x",), ("y",))
    roofs = Device(
        "made up", 8e9, 1e11, 1.0, 1 << 20, "this test", vector_flops_per_s=1e9 / 4, cores=cores
    )
    time_us = 1000.0 if cores == 1 else 100.0
    (spot,) = hot_spots(graph, {"n": time_us}, roofs=roofs)
    assert spot.detail.startswith(says), spot.detail


@cases(
    "times, median, spread",
    [
        ([5.0], 5.0, 0.0),
        ([1.0, 3.0], 2.0, 0.5),
        ([4.0, 1.0, 2.0, 3.0, 1000.0], 3.0, 1.0),
        ([2.0] * 9, 2.0, 0.0),
    ],
)
def test_one_interruption_says_nothing(times: list[float], median: float, spread: float) -> None:
    assert median_and_spread(times) == (median, spread)


def test_operators_are_timed_in_several_sessions(tmp_path: Path) -> None:
    sessions = []
    for number, ms in enumerate((0.004, 0.005, 0.009)):
        table = tmp_path / f"cpu_op_execute_timestamp_{number}.txt"
        runs = " ".join(f"{start},{ms},0" for start in range(2 * CALLS_PROFILED))
        table.write_text(f"Default/Mul-op0;HostCpuOps;{runs}\n")
        sessions.append(read_profile(table))
    assert times_of(sessions) == {"Default/Mul-op0": (2.0, 5.0, 2.5)}


def test_a_loss_within_the_spread_is_no_loss() -> None:
    noisy = kernel(
        "Mul",
        "Add",
        time_us=12_530.0,
        unfused_time_us=10_000.0,
        time_spread_us=3000.0,
        unfused_time_spread_us=400.0,
    )
    assert noisy.measured_saving_us == -2530.0 and not is_clear_saving(noisy)
    assert is_clear_saving(replace(noisy, time_spread_us=100.0))
    assert is_clear_saving(replace(noisy, time_spread_us=None)), "nothing is known of it"
    ledger = transformer_ledger(30)
    text = to_text(replace(ledger, kernels=(noisy,)), width=140)
    assert "real −2.53 ms" in text and "±3.03 ms" in text


@cases("after, clear", [(91_000.0, True), (147_000.0, False), (150_000.0, False)])
def test_whole_calls_differ_by_more_than_they_spread_or_not(after: float, clear: bool) -> None:
    ledger = transformer_ledger(30)
    ledger = replace(
        ledger,
        before=replace(ledger.before, time_us=148_230.0, time_spread_us=2_000.0),
        after=replace(ledger.after, time_us=after, time_spread_us=1_000.0),
    )
    assert has_clear_times(ledger) == clear
    (change,) = (row[3] for row in summary_rows(ledger) if row[0] == "time")
    assert (change == "–") != clear
    said = spread_text(ledger)
    assert "±2.00 ms before and ±1.00 ms after" in said
    assert ("differ by no more than that" in said) != clear


@cases(
    "got, wanted, relative",
    [
        ([1e-9, 1.0], [0.0, 1.0], 1e-9),
        ([0.0, 2.0 + 1e-6], [0.0, 2.0], 5e-7),
        ([0.0, 0.0], [0.0, 0.0], 0.0),
        ([0.5, 0.0], [0.0, 0.0], 0.5),
        ([math.nan, 1.0], [0.0, 1.0], math.inf),
    ],
)
def test_errors_are_relative_to_the_largest_value(
    got: list[float], wanted: list[float], relative: float
) -> None:
    found = ulp_difference(np.array(got), np.array(wanted), "float64")
    assert found.max_rel == pytest.approx(relative)


def test_near_zero_ulp_say_nothing_and_relative_errors_do() -> None:
    near_zero = ulp_difference(np.array([1e-9, 1.0], np.float32), np.array([1e-16, 1.0]), "float32")
    assert near_zero.max_ulp > 4e6 and near_zero.max_rel < 2e-9


@cases(
    "fused, unfused, verdict, good",
    [
        (0.0, 0.0, "exact", True),
        (1.5e-7, 1.2e-7, "as unfused", True),
        (3e-7, 1e-8, "rounding", True),
        (3e-4, 2e-4, "as unfused", True),
        (3e-4, 1e-6, "300× worse", False),
        (3e-4, None, "too large", False),
        (math.inf, 1e-7, "NaN differs", False),
        (math.inf, math.inf, "as unfused", True),
    ],
)
def test_an_error_has_a_verdict(
    fused: float, unfused: float | None, verdict: str, good: bool
) -> None:
    entry = Accuracy("seeded", 4.8e6, 1e-9, 3.0, 1e-9, fused_max_rel=fused, unfused_max_rel=unfused)
    assert error_texts(kernel("Mul", accuracy=(entry,))) == (
        f"{fused:.1e}" if fused else "0",
        verdict,
        good,
    )


@cases("relative, verdict", [(3e-7, "rounding"), (1e-2, "too large")])
def test_outputs_have_a_verdict(relative: float, verdict: str) -> None:
    ledger = replace(
        transformer_ledger(30), output_max_ulp=4.8e6, output_max_abs=1e-6, output_max_rel=relative
    )
    said = difference_text(ledger)
    assert said.endswith(f"of their largest value (1e-06 absolute): {verdict}.")
    assert "ULP" not in said


def ledger_of(*kernels: FusedKernel, **environment: float) -> Ledger:
    summary = Summary(BODY, 2, 1, 2, 0, 0, 0)
    return Ledger("net", kernels, (), summary, summary, environment=environment)


def timed(op: str, gflop_per_s: float, *, compute_us: float) -> FusedKernel:
    """A kernel of 1 MFLOP with this rate; the model predicts this compute time."""
    time_us = 1e6 / gflop_per_s / 1e3
    return kernel(
        op,
        "Add",
        work=Work(10**6, 2**19, 2**19, 1),
        time_us=time_us,
        stages=Stages(1.0, 10.0, compute_us, 10.0),
    )


def test_products_and_other_arithmetic_have_roofs_of_their_own() -> None:
    """The roof was 63 GFLOP/s, that of a vector unit, below products at 200."""
    plain = [timed("Exp", 40.0, compute_us=1e6 / 63e3) for _ in range(5)]
    plot = roofline(ledger_of(timed("MatMul", 200.0, compute_us=1e6 / 208e3), *plain))
    assert plot is not None
    assert [(roof.name, roof.peak, roof.raised) for roof in plot.roofs] == [
        ("matrix products", "208 GFLOP/s", False),
        ("other arithmetic", "63 GFLOP/s", False),
    ]


def test_no_dot_lies_above_its_roof() -> None:
    kernels = [timed("MatMul", 300.0, compute_us=1e6 / 208e3), timed("Exp", 90.0, compute_us=10.0)]
    roofs = {"bandwidth_gb_per_s": 20.0, "matrix_gflop_per_s": 250.0, "vector_gflop_per_s": 126.0}
    plot = roofline(ledger_of(*kernels, **roofs))
    assert plot is not None and plot.bandwidth == "20 GB/s"
    assert [(roof.peak, roof.raised) for roof in plot.roofs] == [
        ("300 GFLOP/s", True),
        ("126 GFLOP/s", False),
    ]
    for dot, roof in zip(plot.dots, plot.roofs, strict=True):
        assert dot.y >= roof.line[-1][1], "down is larger"
