"""The ledger as terminal text (rich): tables that fit 80 columns, plain when piped or under NO_COLOR."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Sequence
from math import isnan
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from ms_fusion.ledger import (
    Accuracy,
    CarriedKernel,
    FusedKernel,
    Ledger,
    RejectedCandidate,
    Suggestion,
    UnfusedEdge,
)
from ms_fusion.report.printable import printable, scope_of
from ms_fusion.report.units import (
    ABSENT,
    bytes_text,
    count_text,
    percent_text,
    share_text,
    time_text,
    ulp_text,
)

UNFUSED_SHOWN = 10
STEPS_SHOWN = 6
KERNELS_SHOWN = 40
TEXT_WIDTH = 100
COLUMN_GAP = 2
"""Cells between two columns of a table."""

_ASCII = str.maketrans({
    "µ": "u", "→": "->", "…": "...", "–": "-", "−": "-", "·": "|", "×": "x", "±": "+-", "’": "'",
    "│": "|", "─": "-", "└": "`", "├": "|",
})  # fmt: skip


class Writer:
    """Puts text on a console; on one that cannot show Unicode, in ASCII."""

    def __init__(self, console: Console):
        self.console = console
        self.ascii = not (console.encoding or "ascii").lower().replace("-", "").startswith("utf")

    def text(self, content: str, style: str = "") -> Text:
        """Text that is never read as markup, with what could steer the terminal escaped."""
        shown = "\n".join(printable(line) for line in content.split("\n"))
        if self.ascii:
            shown = shown.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")
        return Text(shown, style=style)

    def lines(self, *parts: tuple[str, str]) -> Text:
        """Several lines in one cell, each with its style; empty ones are left out."""
        return Text("\n").join(self.text(content, style) for content, style in parts if content)

    def put(self, content: str = "", style: str = "") -> None:
        self.console.print(self.text(content, style), highlight=False, soft_wrap=False)

    def heading(self, content: str, aside: str = "") -> None:
        self.console.print()
        title = self.text(content, "bold")
        if aside:
            title.append_text(self.text(f"  {aside}", "dim"))
        self.console.print(title)

    def table(self, *columns: tuple[str, str]) -> Table:
        """A table with thin rules; a column is (heading, ``left`` or ``right`` or ``wide``)."""
        table = Table(
            box=None,
            pad_edge=False,
            padding=(0, COLUMN_GAP, 0, 0),
            header_style="dim",
            expand=False,
        )
        for heading, kind in columns:
            if kind == "wide":
                table.add_column(self.text(heading), ratio=1, overflow="fold", min_width=20)
            else:
                table.add_column(self.text(heading), justify=kind, no_wrap=True)  # type: ignore[arg-type]
        return table


def render_text(ledger: Ledger, console: Console) -> None:
    """Print the whole ledger on the console."""
    write = Writer(console)
    _header(ledger, write)
    _summary(ledger, write)
    _kernels(ledger, write)
    _carried(ledger.carried, write)
    _rejected(ledger.rejected, write)
    _unfused(ledger.unfused, write)
    _suggestions(ledger.unfused, write)
    _hot_spots(ledger, write)
    for title, lines in (("Shapes seen", map(str, ledger.shapes)), ("Notes", ledger.notes)):
        for number, line in enumerate(lines):
            if not number:
                write.heading(title)
            _hanging(write, "· ", line)


def to_text(ledger: Ledger, *, width: int = TEXT_WIDTH) -> str:
    """The ledger as plain text without colours."""
    return plain_text(render_text, ledger, width=width)


def plain_text(render: Callable[[Any, Console], None], found: Any, *, width: int) -> str:
    """What a renderer prints, without colours."""
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,
        legacy_windows=False,
    )
    render(found, console)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def environment_text(ledger: Ledger) -> str:
    """Device, version and preset in one line."""
    environment = ledger.environment
    parts = [str(environment[key]) for key in ("device", "processor") if environment.get(key)]
    if environment.get("mindspore"):
        parts.append(f"MindSpore {environment['mindspore']}")
    if ledger.preset:
        parts.append(f"preset {ledger.preset}")
    return " · ".join(parts)


def summary_rows(ledger: Ledger) -> list[tuple[str, str, str, str]]:
    """What changed, as (name, before, after, change)."""
    before, after = ledger.before, ledger.after
    rows: list[tuple[str, Any, Any, Any]] = [
        ("nodes", before.nodes, after.nodes, count_text),
        ("edges", before.edges, after.edges, count_text),
        ("launches", before.launches, after.launches, count_text),
        ("bytes moved", before.bytes_moved, after.bytes_moved, bytes_text),
        ("peak memory", before.peak_memory_bytes, after.peak_memory_bytes, bytes_text),
        ("time", before.time_us, after.time_us, time_text),
    ]
    return [(name, show(old), show(new), percent_text(new, old)) for name, old, new, show in rows]


def _header(ledger: Ledger, write: Writer) -> None:
    write.put(f"Fusion ledger: {ledger.title}" if ledger.title else "Fusion ledger", "bold")
    line = environment_text(ledger)
    if line:
        write.put(line)
    if ledger.flags:
        _hanging(write, "flags: ", ledger.flags, "dim")


def _summary(ledger: Ledger, write: Writer) -> None:
    write.console.print()
    table = write.table(("", "left"), ("before", "right"), ("after", "right"), ("change", "right"))
    for name, before, after, change in summary_rows(ledger):
        style = "green" if change.startswith("−") else "yellow" if change.startswith("+") else ""
        table.add_row(
            write.text(name), write.text(before), write.text(after), write.text(change, style)
        )
    write.console.print(table)
    line = f"{fused_operators(ledger):,} of {ledger.before.nodes:,} operators run in {_plural(len(ledger.kernels), 'fused kernel')}"
    if ledger.single_operator_kernels:
        count = len(ledger.single_operator_kernels)
        line += f"; {_plural(count, 'generated kernel')} of one operator {'is' if count == 1 else 'are'} no fusion"
    write.put(line + ".")
    if difference := difference_text(ledger):
        write.put(difference)


def difference_text(ledger: Ledger) -> str:
    """How far outputs are from the unfused run's, in the units that were measured; empty where nothing was."""
    ulp, absolute = ledger.output_max_ulp, ledger.output_max_abs
    if ulp is None and absolute is None:
        return ""
    if not ulp and not absolute:
        return "Outputs do not differ from the unfused run."
    if ulp is None:
        return f"Outputs differ from the unfused run by at most {ulp_text(absolute)} (absolute)."
    rest = "" if absolute is None else f" ({ulp_text(absolute)} absolute)"
    return f"Outputs differ from the unfused run by at most {ulp_text(ulp)} ULP{rest}."


def fused_operators(ledger: Ledger) -> int:
    """How many of the operators before fusion run in a fused kernel; one that was split over two counts once."""
    return len(
        {name for kernel in ledger.kernels for name in kernel.nodes if name in ledger.before.graph}
    )


def bytes_saved(kernel: FusedKernel) -> int | None:
    """Bytes that the kernel does not move and its operators apart did; None when no work was counted."""
    return kernel.work_unfused.bytes - kernel.work.bytes if kernel.work_unfused.bytes else None


def worst(accuracy: Iterable[Accuracy]) -> Accuracy | None:
    """The entry with the largest error in ULP on inputs without special values, else the first."""
    entries = [entry for entry in accuracy if not isnan(entry.fused_max_ulp)]
    usual = [entry for entry in entries if entry.inputs != "edges"] or entries
    return max(usual, key=lambda entry: entry.fused_max_ulp, default=None)


def operators_text(operators: Sequence[str]) -> str:
    """``Mul + Add``; long rows of the same operator are counted."""
    parts: list[tuple[str, int]] = []
    for operator in operators:
        if parts and parts[-1][0] == operator:
            parts[-1] = (operator, parts[-1][1] + 1)
        else:
            parts.append((operator, 1))
    return " + ".join(f"{count}×{name}" if count > 1 else name for name, count in parts)


def build_text(kernel: FusedKernel) -> str:
    """How our generator built a kernel, in one line; empty for another's."""
    build = kernel.build
    if build is None:
        return ""
    if build.why:
        return f"by ms_fusion: not built, computed by its formulas in NumPy ({build.why})"
    steps = [
        f"{operators_text(step.operators)} by oneDNN"
        if step.by == "onednn"
        else _plural(step.nests, "loop nest")
        for step in build.steps[:STEPS_SHOWN]
    ]
    if len(build.steps) > STEPS_SHOWN:
        steps.append(f"{_plural(len(build.steps) - STEPS_SHOWN, 'step')} more")
    took = "from the cache" if build.cached else f"built in {build.seconds:.2f} s"
    return f"by ms_fusion: {', '.join(steps)}; {took}"


def generators_text(ledger: Ledger) -> str:
    """Who built the kernels, ``ms_fusion``, ``MindSpore`` or ``ONNX Runtime``."""
    named = {"mindspore": "MindSpore", "onnxruntime": "ONNX Runtime"}
    found = sorted({kernel.generator for kernel in ledger.kernels})
    return " and ".join(named.get(one, one) for one in found)


def _kernels(ledger: Ledger, write: Writer) -> None:
    if not ledger.kernels:
        write.heading("Fused kernels", "none")
        return
    kernels = sorted(ledger.kernels, key=lambda kernel: -(bytes_saved(kernel) or 0))
    write.heading(
        "Fused kernels",
        f"{len(kernels):,}, built by {generators_text(ledger)}, most bytes saved first",
    )
    table = write.table(
        ("operators, kernel, source", "wide"), ("body", "right"), ("saved", "right"), ("time", "right"),
        ("saving", "right"), ("runs", "right"), ("max ULP", "right"),
    )  # fmt: skip
    shown = kernels[:KERNELS_SHOWN]
    numbers = [_kernel_numbers(kernel, write) for kernel in shown]
    room = max(20, write.console.width - _width(table.columns[1:], numbers))
    for kernel, cells in zip(shown, numbers, strict=True):
        table.add_row(
            write.lines(
                (operators_text(kernel.operators), "bold"),
                (shorten(kernel.name, room), "dim"),
                (build_text(kernel), "dim" if kernel.build and not kernel.build.why else "yellow"),
                (_short_source(kernel, room), "cyan"),
            ),
            *cells,
        )
    write.console.print(table)
    if len(kernels) > KERNELS_SHOWN:
        write.put(f"… and {len(kernels) - KERNELS_SHOWN:,} more", "dim")


def carried_text(ledger: Ledger) -> str:
    """``2×AddReLU + Swish (custom_ops)``: what the net brings along, by whose it is."""
    whose = dict.fromkeys(kernel.by for kernel in ledger.carried)
    return ", ".join(
        f"{operators_text([one.name for one in ledger.carried if one.by == by])} ({by})"
        for by in whose
    )


def _carried(kernels: Sequence[CarriedKernel], write: Writer) -> None:
    if not kernels:
        return
    write.heading("Kernels that the net brings", f"{len(kernels):,}, kept as they are")
    table = write.table(("operator, source", "wide"), ("by", "right"), ("time", "right"), ("runs", "right"))  # fmt: skip
    room = max(20, write.console.width - 40)
    for kernel in kernels[:KERNELS_SHOWN]:
        table.add_row(
            write.lines(
                (kernel.name, "bold"),
                (operators_text(kernel.operators), ""),
                (shorten(scope_of(kernel.full_name), room), "dim"),
                (_short_source(kernel, room), "cyan"),
            ),
            write.text(kernel.by),
            write.text(time_text(kernel.time_us)),
            write.text(ABSENT if kernel.launches is None else f"{kernel.launches:,}×"),
        )
    write.console.print(table)
    if len(kernels) > KERNELS_SHOWN:
        write.put(f"… and {len(kernels) - KERNELS_SHOWN:,} more", "dim")


def _rejected(candidates: Sequence[RejectedCandidate], write: Writer) -> None:
    if not candidates:
        return
    write.heading("Fusions not made", f"{len(candidates):,}")
    table = write.table(("operators, reason", "wide"), ("found by", "left"), ("would save", "right"))  # fmt: skip
    for one in sorted(candidates, key=lambda one: -one.saving_us)[:KERNELS_SHOWN]:
        table.add_row(
            write.lines((operators_text(one.operators), "bold"), (one.reason, "dim")),
            write.text(one.rule),
            write.text(time_text(one.saving_us)),
        )
    write.console.print(table)
    if len(candidates) > KERNELS_SHOWN:
        write.put(f"… and {len(candidates) - KERNELS_SHOWN:,} more", "dim")


def _kernel_numbers(kernel: FusedKernel, write: Writer) -> tuple[Text, ...]:
    """Body, bytes saved, times, savings, runs and error of one kernel: a cell each."""
    error, saved = worst(kernel.accuracy), bytes_saved(kernel)
    return (
        write.text(f"{len(kernel.body)} ops"),
        write.text(bytes_text(saved), "red" if saved is not None and saved < 0 else "green"),
        _pair(write, time_text(kernel.unfused_time_us), time_text(kernel.time_us), "→ "),
        _savings(write, kernel),
        write.text(ABSENT if kernel.launches is None else f"{kernel.launches:,}×"),
        _pair(write, ulp_text(error.unfused_max_ulp), ulp_text(error.fused_max_ulp), "→ ")
        if error
        else write.text(ABSENT),
    )


def _width(columns: Sequence[Column], rows: Sequence[Sequence[Text]]) -> int:
    """Cells that the columns take, with what keeps each from its neighbour."""
    texts = [[column.header, *cells] for column, *cells in zip(columns, *rows, strict=True)]
    return sum(
        COLUMN_GAP + max(cell_len(line) for text in column for line in str(text).split("\n"))
        for column in texts
    )


def _pair(write: Writer, before: str, after: str, arrow: str) -> Text:
    if before == after == ABSENT:
        return write.text(ABSENT)
    return write.lines((before, "dim"), (f"{arrow}{after}", ""))


def _savings(write: Writer, kernel: FusedKernel) -> Text:
    predicted, measured = kernel.predicted_saving_us, kernel.measured_saving_us
    if predicted is None and measured is None:
        return write.text(ABSENT)
    style = "red" if measured is not None and measured < 0 else ""
    return write.lines(
        (f"model {time_text(predicted)}", "dim"),
        ("" if measured is None else f"real {time_text(measured)}", style),
    )


def shorten(text: str, width: int) -> str:
    """The text with … in its middle where it is too long; the end, which tells names apart, stays longer."""
    if len(text) <= width:
        return text
    head = max(0, (width - 1) // 3)
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def _short_source(kernel: FusedKernel | CarriedKernel, room: int) -> str:
    if not kernel.sources:
        return ""
    more = f" +{len(kernel.sources) - 1}" if len(kernel.sources) > 1 else ""
    return shorten(str(kernel.sources[0]), room - len(more)) + more


def _unfused(edges: Sequence[UnfusedEdge], write: Writer) -> None:
    if not edges:
        write.heading("Edges not fused", "none")
        return
    ordered = sorted(edges, key=lambda edge: -edge.bytes_at_stake)
    write.heading("Edges not fused", f"{len(edges):,}, most bytes at stake first")
    table = write.table(("edge", "wide"), ("at stake", "right"), ("why", "wide"))
    room = max(20, (write.console.width - 16) // 2)
    for edge in ordered[:UNFUSED_SHOWN]:
        place = edge.consumer_source or edge.producer_source
        table.add_row(
            write.lines(
                (f"{edge.producer_op} → {edge.consumer_op or 'out of the sub-graph'}", "bold"),
                (shorten(scope_of(edge.consumer or edge.producer), room), "dim"),
                (shorten(str(place), room) if place else "", "cyan"),
            ),
            write.text(bytes_text(edge.bytes_at_stake)),
            write.lines((edge.reason, "yellow"), (edge.detail, "")),
        )
    write.console.print(table)
    if len(ordered) > UNFUSED_SHOWN:
        write.put(f"… and {len(ordered) - UNFUSED_SHOWN:,} more", "dim")


def suggestions(edges: Iterable[UnfusedEdge]) -> list[tuple[Suggestion, int, int]]:
    """Each suggestion once, with the edges it would fuse and the bytes at stake on them, most bytes first."""
    found: dict[Suggestion, list[int]] = {}
    for edge in edges:
        if edge.suggestion is not None:
            found.setdefault(edge.suggestion, []).append(edge.bytes_at_stake)
    rows = [(suggestion, len(stakes), sum(stakes)) for suggestion, stakes in found.items()]
    return sorted(rows, key=lambda row: -row[2])


def _suggestions(edges: Sequence[UnfusedEdge], write: Writer) -> None:
    rows = suggestions(edges)
    if not rows:
        return
    write.heading("Suggestions")
    for suggestion, count, stake in rows:
        at_stake = f" ({_plural(count, 'edge')}, {bytes_text(stake)} at stake)"
        _hanging(write, f"{suggestion.kind}: ", suggestion.text + at_stake)
        if suggestion.flags:
            _hanging(write, "  add ", suggestion.flags, "cyan")


def _hot_spots(ledger: Ledger, write: Writer) -> None:
    if not ledger.hot_spots:
        return
    write.heading("Hot spots")
    table = write.table(
        ("operator", "wide"), ("time", "right"), ("share", "right"), ("what bounds it", "wide")
    )
    room = max(20, (write.console.width - 20) // 2)
    for spot in ledger.hot_spots:
        table.add_row(
            write.lines(
                (spot.op, "bold"),
                (shorten(scope_of(spot.node) or spot.node, room), "dim"),
                (shorten(str(spot.source), room) if spot.source else "", "cyan"),
            ),
            write.text(time_text(spot.time_us)),
            write.text(share_text(spot.share)),
            write.lines(
                (spot.detail, ""), (f"Remedy: {spot.remedy}" if spot.remedy else "", "green")
            ),
        )
    write.console.print(table)


def _hanging(write: Writer, mark: str, content: str, style: str = "") -> None:
    """A paragraph whose later lines stand under its first word."""
    table = Table.grid(padding=0)
    table.add_column(width=cell_len(mark), no_wrap=True)
    table.add_column(overflow="fold")
    room = max(20, write.console.width - cell_len(mark))
    table.add_row(write.text(mark, "bold"), write.text(_broken(content, room), style))
    write.console.print(table)


def _broken(content: str, room: int) -> str:
    """The text in lines: words that are longer than a line, as lists in flags are, go on behind one of their commas."""
    lines = [""]
    for word in content.split():
        if lines[-1] and cell_len(f"{lines[-1]} {word}") <= room:
            lines[-1] += f" {word}"
            continue
        lines.append("")
        for piece in re.findall(r"[^,]+,*|,+", word) if cell_len(word) > room else [word]:
            if lines[-1] and cell_len(lines[-1] + piece) > room:
                lines.append("")
            lines[-1] += piece
    return "\n".join(lines[1:])


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
