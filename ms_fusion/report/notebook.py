"""The ledger inside a notebook: static HTML without scripts or style sheets, in the colours of the notebook."""

from __future__ import annotations

from ms_fusion.ledger import FusedKernel, Ledger, UnfusedEdge
from ms_fusion.report.html import environment, metrics
from ms_fusion.report.printable import printable
from ms_fusion.report.text import (
    bytes_saved,
    carried_text,
    environment_text,
    fused_operators,
    operators_text,
    worst,
)
from ms_fusion.report.units import ABSENT, bytes_text, time_text, ulp_text

KERNELS_SHOWN = 15
UNFUSED_SHOWN = 10
NAME_LIMIT = 160


def to_static_html(ledger: Ledger) -> str:
    """Bars before and after, the kernels that save most, the edges with most at stake."""
    kernels = sorted(ledger.kernels, key=lambda kernel: -(bytes_saved(kernel) or 0))
    unfused = sorted(ledger.unfused, key=lambda edge: -edge.bytes_at_stake)
    return (
        environment()
        .get_template("notebook.html")
        .render(
            ledger=ledger,
            title=_show(ledger.title) or "Fusion ledger",
            subtitle=_show(environment_text(ledger)),
            fused_operators=fused_operators(ledger),
            summary=metrics(ledger),
            kernels=[_kernel(kernel) for kernel in kernels[:KERNELS_SHOWN]],
            more_kernels=max(0, len(kernels) - KERNELS_SHOWN),
            carried=_show(carried_text(ledger)),
            unfused=[_edge(edge) for edge in unfused[:UNFUSED_SHOWN]],
            more_unfused=max(0, len(unfused) - UNFUSED_SHOWN),
        )
    )


def _show(text: object) -> str:
    return printable(str(text), limit=NAME_LIMIT)


def _kernel(kernel: FusedKernel) -> dict[str, str]:
    error = worst(kernel.accuracy)
    return {
        "operators": _show(operators_text(kernel.operators)),
        "saved": bytes_text(bytes_saved(kernel)),
        "before": time_text(kernel.unfused_time_us),
        "after": time_text(kernel.time_us),
        "runs": ABSENT if kernel.launches is None else f"{kernel.launches:,}×",
        "ulp": ulp_text(error.fused_max_ulp if error else None),
        "source": _show(kernel.sources[0]) if kernel.sources else ABSENT,
    }


def _edge(edge: UnfusedEdge) -> dict[str, str]:
    return {
        "edge": _show(f"{edge.producer_op} → {edge.consumer_op or 'out of the sub-graph'}"),
        "stake": bytes_text(edge.bytes_at_stake),
        "why": _show(f"{edge.reason}: {edge.detail}"),
    }
