"""Renders the ledger as static HTML without scripts, in the colours of the notebook."""

from __future__ import annotations

from ms_fusion.ledger import FusedKernel, Ledger, UnfusedEdge
from ms_fusion.report.html import environment, metrics
from ms_fusion.report.printable import printable_text
from ms_fusion.report.units import ABSENT_TEXT, bytes_text, time_text
from ms_fusion.report.wording import (
    bytes_saved,
    carried_text,
    edges_at_stake,
    environment_text,
    error_texts,
    fused_operators,
    group_identical_rows,
    operators_text,
    times_text,
)

KERNELS_SHOWN = 15
UNFUSED_EDGES_SHOWN = 10
NAME_LIMIT = 160


def to_static_html(ledger: Ledger) -> str:
    """Returns the notebook's HTML for a ledger.

    The HTML has three parts. Bars compare the net without and with fusion. A list has the kernels
    that save the most memory traffic. Another list has the unfused edges whose fusion would save
    the most memory traffic.
    """
    kernels = sorted(ledger.kernels, key=lambda kernel: -(bytes_saved(kernel) or 0))
    unfused, groups = edges_at_stake(ledger.unfused), group_identical_rows(kernels)
    return (
        environment()
        .get_template("notebook.html")
        .render(
            ledger=ledger,
            title=_show(ledger.title) or "Fusion ledger",
            subtitle=_show(environment_text(ledger)),
            fused_operators=fused_operators(ledger),
            summary=metrics(ledger),
            kernels=[_kernel(kernels[some[0]], len(some)) for some in groups[:KERNELS_SHOWN]],
            more_kernels=sum(map(len, groups[KERNELS_SHOWN:])),
            carried=_show(carried_text(ledger)),
            unfused=[_edge(edge) for edge in unfused[:UNFUSED_EDGES_SHOWN]],
            more_unfused=max(0, len(unfused) - UNFUSED_EDGES_SHOWN),
        )
    )


def _show(text: object) -> str:
    return printable_text(str(text), limit=NAME_LIMIT)


def _kernel(kernel: FusedKernel, count: int) -> dict[str, str]:
    error, remark, _ = error_texts(kernel)
    return {
        "operators": _show(operators_text(kernel.operators)) + times_text(count),
        "saved": bytes_text(bytes_saved(kernel)),
        "before": time_text(kernel.unfused_time_us),
        "after": time_text(kernel.time_us),
        "runs": ABSENT_TEXT if kernel.launches is None else f"{kernel.launches:,}×",
        "error": f"{error} ({remark})" if remark else error,
        "source": _show(kernel.sources[0]) if kernel.sources else ABSENT_TEXT,
    }


def _edge(edge: UnfusedEdge) -> dict[str, str]:
    return {
        "edge": _show(f"{edge.producer_op} → {edge.consumer_op or 'out of the sub-graph'}"),
        "stake": bytes_text(edge.bytes_at_stake),
        "why": _show(f"{edge.reason}: {edge.detail}"),
    }
