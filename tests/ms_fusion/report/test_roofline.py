"""The roofline plot: places of dots, ticks and roofs, computed by hand."""

from __future__ import annotations

from typing import Any

import pytest

from ms_fusion.graph import Graph
from ms_fusion.ledger import FusedKernel, Ledger, Stages, Summary, Work
from ms_fusion.report.roofline import Roofline, roofline
from tests.cases import cases

EMPTY = Graph("empty", (), {})


def kernel(op: str, flops: int, transferred: int, **times: Any) -> FusedKernel:
    work = Work(flops, transferred // 2, transferred // 2, 1)
    return FusedKernel("k", "k", (op,), ("op",), (op,), EMPTY, (), (), work=work, **times)


def plot_of(*kernels: FusedKernel, **roofs: Any) -> Roofline | None:
    summary = Summary(EMPTY, 0, 0, 0, 0, 0, 0)
    return roofline(Ledger("net", kernels, (), summary, summary, environment=roofs))


ROOFS = {"bandwidth_gb_per_s": 10.0, "vector_gflop_per_s": 100.0, "matrix_gflop_per_s": 1e3}
# 1 FLOP/B at 10 GFLOP/s, and 4 FLOP/B as modelled: 100 µs
TIMED = kernel("Exp", 10**6, 10**6, time_us=100.0)
MODELLED = kernel("MatMul", 4 * 10**6, 10**6, stages=Stages(20.0, 30.0, 60.0, 50.0))
TICKS = ["0.1", "1", "10", "100", "1,000", "10,000"]


def test_dots_ticks_and_roofs_lie_where_they_should() -> None:
    """x is 56 to 556 for the decades 0.1 to 1000, y is 304 to 14 for 1 to 10000."""
    plot = plot_of(TIMED, MODELLED, **ROOFS)
    assert plot is not None
    assert (plot.left, plot.top, plot.right, plot.bottom) == (56, 14, 556, 304)
    assert plot.ticks_x == tuple(zip([56, 181, 306, 431, 556], TICKS[:5], strict=True))
    assert plot.ticks_y == tuple(zip([304, 231.5, 159, 86.5, 14], TICKS[1:], strict=True))
    timed, modelled = plot.dots
    assert (timed.kernel, timed.x, timed.y, timed.measured) == (0, 181, 231.5, True)
    # 181 + 125 · log10(4); 40 GFLOP/s: 231.5 − 72.5 · log10(4)
    assert (modelled.kernel, modelled.x, modelled.y, modelled.measured) == (1, 256.3, 187.9, False)
    assert timed.title == "Exp: 1 FLOP/B, 10 GFLOP/s"
    assert modelled.title == "MatMul: 4 FLOP/B, 40 GFLOP/s (modelled)"
    assert plot.bandwidth == "10 GB/s"
    products, others = plot.roofs
    assert (products.name, products.peak, products.ridge, products.raised) == (
        "matrix products",
        "1e+03 GFLOP/s",
        "100 FLOP/B",
        False,
    )
    assert (others.name, others.peak, others.ridge) == (
        "other arithmetic",
        "100 GFLOP/s",
        "10 FLOP/B",
    )
    assert products.line == ((56, 304), (431, 86.5), (556, 86.5))
    assert others.line == ((56, 304), (306, 159), (556, 159))

    # 10⁻¹² and 10³ GFLOP/s: twelve decades are shown
    slow = kernel("Exp", 10**3, 10**3, time_us=1e12)
    plot = plot_of(slow, kernel("Exp", 10**9, 10**9, time_us=1e3))
    assert plot is not None
    small = ("1e-8", "1e-7", "1e-6", "1e-5", "1e-4", "0.001", "0.01", "0.1")
    assert [text for _, text in plot.ticks_y] == [*small, *TICKS[1:]]
    assert [text for _, text in plot.ticks_x] == TICKS[:3]
    assert plot.dots[1].y == pytest.approx(14 + 290 / 12, abs=0.06)


@cases(
    "kernels, roofs, bandwidth, peaks",
    [
        # 10⁶ B in 30 + 50 µs; 4·10⁶ FLOP in 60 µs
        ([MODELLED], {}, "12.5 GB/s", ["66.7 GFLOP/s"]),
        ([MODELLED], {"matrix_gflop_per_s": 50.0}, "12.5 GB/s", ["50 GFLOP/s"]),
        ([TIMED], {}, "", []),
        ([TIMED], {"bandwidth_gb_per_s": 10.0}, "10 GB/s", []),
        ([TIMED], {"vector_gflop_per_s": 5.0, "bandwidth_gb_per_s": 2.0}, "2 GB/s", ["10 GFLOP/s"]),
        ([TIMED], {"vector_gflop_per_s": 50.0}, "", []),
        *(
            ([MODELLED], {"bandwidth_gb_per_s": wrong}, "12.5 GB/s", ["66.7 GFLOP/s"])
            for wrong in (0, -1.0, float("nan"), float("inf"), "10", None)
        ),
        *(
            ([TIMED, kernel("Exp", 10**6, 10**6, time_us=time_us)], {}, "", [])
            for time_us in (None, 0.0, -1.0, 5e-324, float("inf"), float("nan"))
        ),
        ([TIMED, kernel("Exp", 0, 10**6, time_us=1.0)], {}, "", []),
        ([TIMED, kernel("Exp", 10**6, 0, time_us=1.0)], {}, "", []),
        (
            [MODELLED, kernel("Exp", 10**6, 10**6, stages=Stages(1.0, 0.0, 0.0, 0.0))],
            {},
            "12.5 GB/s",
            ["66.7 GFLOP/s"],
        ),
    ],
)
def test_roofs_are_given_or_modelled(
    kernels: list[FusedKernel], roofs: dict[str, Any], bandwidth: str, peaks: list[str]
) -> None:
    """A kernel without a speed has no dot; a plot has a dot."""
    plot = plot_of(*kernels, **roofs)
    assert plot is not None
    has_stages = len(kernels) == 2 and kernels[1].stages is not None
    assert [one.kernel for one in plot.dots] == [0, 1][: 1 + has_stages]
    assert plot_of(*(one for one in kernels[1:] if not one.stages)) is None
    assert plot.bandwidth == bandwidth
    assert [one.peak for one in plot.roofs] == peaks
    assert [one.raised for one in plot.roofs] == [one == "10 GFLOP/s" for one in peaks]
