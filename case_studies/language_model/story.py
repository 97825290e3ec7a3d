"""The language model in four stages: launches, memory traffic, training speed and equal losses."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from case_studies.language_model.sizes import SIZES, Size
from case_studies.language_model.stages import (
    CUSTOM,
    MODEL,
    PRESETS,
    SERVER,
    STAGES,
    UNFUSED,
    arrays,
)
from case_studies.language_model.training import Trained
from ms_fusion.report.wording import operators_text
from tbe_impl import environment
from tbe_impl.tuning_store import processor

if TYPE_CHECKING:
    from ms_fusion import Ledger
    from ms_fusion.ledger import Summary

MIB = 2**20
SHOWN = 8
"""Listed kernels of the ledger."""


@dataclass(frozen=True)
class Row:
    """Figures of a stage; those of the graph are from the ledger of one training step.

    Attributes:
        operators, launches, bytes_moved, planned_bytes: of the compiled graph: operators, kernel
            launches, bytes read and written, peak of the tensors; None without a ledger.
        step_s: median of a training step.
        tokens_per_s: trained characters per second.
        times: speed-up over unfused.
        peak_bytes: peak memory of the process.
        last_loss: loss of the last step.
        differs: largest relative difference of a loss from the unfused one.
    """

    stage: str
    operators: int | None
    launches: int | None
    bytes_moved: int | None
    planned_bytes: int | None
    step_s: float
    tokens_per_s: float
    times: float
    peak_bytes: int | None
    compile_s: float
    last_loss: float
    differs: float


def ledger_of(stage: str, what: str, size: Size, *, measure: bool) -> Ledger:
    """Ledger of a training step in that stage.

    Args:
        measure: also time each operator and compare each kernel with float64.
    """
    import mindspore as ms

    import ms_fusion as mf

    ms.set_context(mode=ms.GRAPH_MODE)
    step = STAGES[stage].training_step(what, size)
    inputs = map(ms.Tensor, arrays(what, size, step=0))
    return mf.explain(
        step,
        *inputs,
        preset="auto",
        generator=STAGES[stage].generator,
        measure=measure,
        accuracy=measure,
    )


def rows(
    trained: Mapping[str, Trained], ledgers: Mapping[str, Ledger], size: Size, *, settled: int
) -> tuple[Row, ...]:
    """Figures of each stage.

    Args:
        settled: untimed steps in which MindSpore tunes the thread counts of its kernels.
    """
    graphs: dict[str, Summary] = {name: ledger.after for name, ledger in ledgers.items()}
    for name in (SERVER, PRESETS):  # both need the unfused graph
        if name in ledgers:
            graphs[UNFUSED] = ledgers[name].before
    unfused = trained[UNFUSED]
    found = []
    for name, one in trained.items():
        graph, step_s = graphs.get(name), one.step_s(first=settled)
        apart = (abs(a - b) / abs(b) for a, b in zip(one.losses, unfused.losses, strict=True))
        found.append(
            Row(
                stage=name,
                operators=graph.nodes if graph else None,
                launches=graph.launches if graph else None,
                bytes_moved=graph.bytes_moved if graph else None,
                planned_bytes=graph.peak_memory_bytes if graph else None,
                step_s=step_s,
                tokens_per_s=size.tokens / step_s,
                times=unfused.step_s(first=settled) / step_s,
                peak_bytes=one.peak_bytes,
                compile_s=one.compile_s,
                last_loss=one.losses[-1],
                differs=max(apart),
            )
        )
    return tuple(found)


def table(found: Sequence[Row]) -> str:
    """The figures as text."""
    heads = (
        "stage",
        "operators",
        "launches",
        "MiB moved",
        "ms a step",
        "tokens/s",
        "times",
        "MiB held",
        "last loss",
        "differs",
    )
    lines = [heads]
    for row in found:
        lines.append(
            (
                row.stage,
                _format_number(row.operators),
                _format_number(row.launches),
                _format_number(row.bytes_moved, MIB, ".1f"),
                f"{row.step_s * 1e3:.1f}",
                f"{row.tokens_per_s:,.0f}",
                f"{row.times:.2f} ×",
                _format_number(row.peak_bytes, MIB, ".0f"),
                f"{row.last_loss:.4f}",
                f"{row.differs:.0e}",
            )
        )
    widths = [max(len(line[place]) for line in lines) for place in range(len(heads))]
    return "\n".join(
        "  ".join(
            [
                line[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)),
            ]
        )
        for line in lines
    )


def _format_number(number: float | None, unit: float = 1, form: str = ",.0f") -> str:
    return "–" if number is None else format(number / unit, form)


def describe_kernels(ledgers: Mapping[str, Ledger]) -> str:
    """Fusion counts of the kernels with the most operators."""
    lines = []
    if SERVER in ledgers:
        ledger = ledgers[SERVER]
        inside = sum(len(kernel.operators) for kernel in ledger.kernels)
        lines.append(
            f"{STAGES[SERVER].says}: {inside} of {ledger.before.nodes} operators in "
            f"{len(ledger.kernels)} kernels, such as"
        )
        seen: dict[tuple[str, ...], int] = {}
        for kernel in ledger.kernels:
            seen[kernel.operators] = seen.get(kernel.operators, 0) + 1
        most = sorted(seen, key=len, reverse=True)[:SHOWN]
        lines += [f"  {seen[names]} × ({operators_text(names)})" for names in most]
    if CUSTOM in ledgers:
        ledger = ledgers[CUSTOM]
        names = [kernel.name for kernel in ledger.carried]
        each = (f"{names.count(name)} × {name}" for name in dict.fromkeys(names))
        lines.append(
            f"{STAGES[CUSTOM].says}: {len(names)} kernels that the network brings along: "
            f"{', '.join(each)}"
        )
    return "\n".join(lines)


def record(size_name: str, found: Sequence[Row], trained: Mapping[str, Trained]) -> dict[str, Any]:
    """All results for JSON, with the machine."""
    return {
        "processor": processor(),
        "threads": environment.threads(),
        "python": platform.python_version(),
        "what": MODEL,
        "size": {"name": size_name, **asdict(SIZES[size_name])},
        "stages": [asdict(row) for row in found],
        "losses": {name: one.losses for name, one in trained.items()},
        "seconds": {name: one.seconds for name, one in trained.items()},
    }
