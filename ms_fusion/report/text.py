"""Renders the ledger as terminal text; without colours in a pipe or under NO_COLOR."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from ms_fusion.ledger import (
    CarriedKernel,
    FusedKernel,
    Ledger,
    UnfusedEdge,
)
from ms_fusion.report.printable import printable_text, scope_of
from ms_fusion.report.units import ABSENT_TEXT, bytes_text, share_text, time_text
from ms_fusion.report.verdicts import is_clear_saving
from ms_fusion.report.wording import (
    RejectionsByReason,
    build_text,
    bytes_saved,
    difference_text,
    edges_at_stake,
    environment_text,
    error_texts,
    flags_text,
    fused_operators,
    generators_text,
    group_identical_rows,
    kernel_source_text,
    operators_text,
    rejection_sections,
    saving_spread_text,
    shorten,
    spread_text,
    suggestions,
    summary_rows,
    times_text,
)
from tbe_impl.errors import pluralize

UNFUSED_EDGES_SHOWN = 10
KERNELS_SHOWN = 40
REJECTED_CANDIDATES_SHOWN = 5
"""Number of rejected fusion candidates that are shown for each reason."""
TEXT_WIDTH = 100
COLUMN_GAP = 2
"""Width of the gap between two columns of a table, in character cells."""

_ASCII_REPLACEMENTS = str.maketrans(
    {
        "µ": "u",
        "→": "->",
        "…": "...",
        "–": "-",
        "−": "-",
        "·": "|",
        "×": "x",
        "±": "+-",
        "’": "'",
        "│": "|",
        "─": "-",
        "└": "`",
        "├": "|",
    }
)


class Writer:
    """Writes text to a console, in ASCII characters if the console cannot encode Unicode."""

    def __init__(self, console: Console):
        self.console = console
        self.ascii = not (console.encoding or "ascii").lower().replace("-", "").startswith("utf")

    def text(self, content: str, style: str = "") -> Text:
        """Returns `content` as a `rich.text.Text`, with control characters escaped.

        Markup in `content` is not interpreted.
        """
        shown = "\n".join(printable_text(line) for line in content.split("\n"))
        if self.ascii:
            shown = (
                shown.translate(_ASCII_REPLACEMENTS)
                .encode("ascii", "backslashreplace")
                .decode("ascii")
            )
        return Text(shown, style=style)

    def lines(self, *parts: tuple[str, str]) -> Text:
        """Returns a table cell with one line for each pair (content, style).

        Pairs without content are omitted.
        """
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
        """Returns an empty table without borders.

        Each column is a pair (heading, kind). The kind is the alignment ``left`` or ``right``, or
        ``wide`` for a column whose text wraps.
        """
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
                table.add_column(
                    self.text(heading),
                    justify=kind,  # type: ignore[arg-type]
                    no_wrap=True,
                )
        return table


def render_text(ledger: Ledger, console: Console) -> None:
    """Prints the whole ledger on the console."""
    write = Writer(console)
    _render_header(ledger, write)
    _render_summary(ledger, write)
    _render_kernels(ledger, write)
    _render_carried(ledger.carried, write)
    for title, aside, groups in rejection_sections(ledger.rejected):
        _render_rejected(title, aside, groups, write)
    _render_unfused(ledger.unfused, write)
    _render_suggestions(ledger.unfused, write)
    _render_hot_spots(ledger, write)
    for title, lines in (("Shapes seen", map(str, ledger.shapes)), ("Notes", ledger.notes)):
        for number, line in enumerate(lines):
            if not number:
                write.heading(title)
            _print_hanging(write, "· ", line)
    if ledger.flags:
        write.console.print()
        _print_hanging(write, "flags: ", flags_text(ledger), "dim")


def to_text(ledger: Ledger, *, width: int = TEXT_WIDTH) -> str:
    """Returns the ledger as plain text without colours."""
    return plain_text(render_text, ledger, width=width)


def plain_text(render: Callable[[Any, Console], None], found: Any, *, width: int) -> str:
    """Calls `render(found, console)`, and returns its output as text without colours."""
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


def _render_header(ledger: Ledger, write: Writer) -> None:
    write.put(f"Fusion ledger: {ledger.title}" if ledger.title else "Fusion ledger", "bold")
    line = environment_text(ledger)
    if line:
        write.put(line)
    for warning in ledger.warnings:
        _print_hanging(write, "Warning: ", warning, "yellow")


def _render_summary(ledger: Ledger, write: Writer) -> None:
    write.console.print()
    table = write.table(("", "left"), ("before", "right"), ("after", "right"), ("change", "right"))
    for name, before, after, change in summary_rows(ledger):
        style = "green" if change.startswith("−") else "yellow" if change.startswith("+") else ""
        table.add_row(
            write.text(name), write.text(before), write.text(after), write.text(change, style)
        )
    write.console.print(table)
    line = (
        f"{fused_operators(ledger):,} of {pluralize(ledger.before.nodes, 'operator')} run in "
        f"{pluralize(len(ledger.kernels), 'fused kernel')}"
    )
    if ledger.single_operator_kernels:
        count = len(ledger.single_operator_kernels)
        line += (
            f"; {pluralize(count, 'generated kernel')} of one operator "
            f"{'is' if count == 1 else 'are'} no fusion"
        )
    write.put(line + ".")
    for sentence in filter(None, (difference_text(ledger), spread_text(ledger))):
        write.put(sentence)


def _render_kernels(ledger: Ledger, write: Writer) -> None:
    if not ledger.kernels:
        write.heading("Fused kernels", "none")
        return
    kernels = sorted(ledger.kernels, key=lambda kernel: -(bytes_saved(kernel) or 0))
    write.heading(
        "Fused kernels",
        f"{len(kernels):,}, built by {generators_text(ledger)}, most bytes saved first",
    )
    table = write.table(
        ("operators, kernel, source", "wide"),
        ("time", "right"),
        ("saving", "right"),
        ("runs", "right"),
        ("saved", "right"),
        ("body", "right"),
        ("error", "right"),
    )
    groups = group_identical_rows(kernels)
    shown = groups[:KERNELS_SHOWN]
    numbers = [_kernel_numbers(kernels[places[0]], write) for places in shown]
    room = max(20, write.console.width - _width(table.columns[1:], numbers))
    for places, cells in zip(shown, numbers, strict=True):
        kernel = kernels[places[0]]
        table.add_row(
            write.lines(
                (operators_text(kernel.operators) + times_text(len(places)), "bold"),
                (shorten(kernel.name, room), "dim"),
                (build_text(kernel), "dim" if kernel.build and not kernel.build.why else "yellow"),
                (_short_source(kernel, room), "cyan"),
            ),
            *cells,
        )
    write.console.print(table)
    left = sum(map(len, groups[KERNELS_SHOWN:]))
    if left:
        write.put(f"… and {left:,} more", "dim")


def _render_carried(kernels: Sequence[CarriedKernel], write: Writer) -> None:
    if not kernels:
        return
    write.heading("Kernels that the net brings", f"{len(kernels):,}, kept as they are")
    table = write.table(
        ("operator, source", "wide"), ("by", "right"), ("time", "right"), ("runs", "right")
    )
    room = max(20, write.console.width - 40)
    for kernel in kernels[:KERNELS_SHOWN]:
        table.add_row(
            write.lines(
                (kernel.name, "bold"),
                (operators_text(kernel.operators), ""),
                (shorten(scope_of(kernel.full_name), room), "dim"),
                (_short_source(kernel, room), "cyan"),
                (shorten(kernel_source_text(kernel), room), "cyan"),
            ),
            write.text(kernel.by),
            write.text(time_text(kernel.time_us)),
            write.text(ABSENT_TEXT if kernel.launches is None else f"{kernel.launches:,}×"),
        )
    write.console.print(table)
    if len(kernels) > KERNELS_SHOWN:
        write.put(f"… and {len(kernels) - KERNELS_SHOWN:,} more", "dim")


def _render_rejected(title: str, count: str, reasons: RejectionsByReason, write: Writer) -> None:
    write.heading(title, count)
    table = write.table(
        ("reason, operators, source", "wide"), ("found by", "left"), ("would save", "right")
    )
    rows = left_out = 0
    room = max(20, write.console.width - 40)
    for reason, groups in reasons:
        if rows >= KERNELS_SHOWN:
            left_out += sum(map(len, groups))
            continue
        table.add_row(write.text(reason, "dim"), "", "")
        for some in groups[:REJECTED_CANDIDATES_SHOWN]:
            one = some[0]
            table.add_row(
                write.lines(
                    (f"  {operators_text(one.operators)}{times_text(len(some))}", "bold"),
                    (f"  {shorten(str(one.source), room)}" if one.source else "", "cyan"),
                ),
                write.text(one.rule),
                write.text(time_text(one.saving_us)),
            )
        left = sum(map(len, groups[REJECTED_CANDIDATES_SHOWN:]))
        if left:
            table.add_row(write.text(f"  … and {left:,} more", "dim"), "", "")
        rows += len(groups[:REJECTED_CANDIDATES_SHOWN])
    write.console.print(table)
    if left_out:
        write.put(f"… and {left_out:,} more", "dim")


def _kernel_numbers(kernel: FusedKernel, write: Writer) -> tuple[Text, ...]:
    """Returns the table cells of one kernel.

    The cells show the times without and with fusion, the savings, the number of runs, the bytes
    saved, the number of operators, and the error.
    """
    saved, (error, remark, good) = bytes_saved(kernel), error_texts(kernel)
    return (
        _pair(write, time_text(kernel.unfused_time_us), time_text(kernel.time_us), "→ "),
        _savings(write, kernel),
        write.text(ABSENT_TEXT if kernel.launches is None else f"{kernel.launches:,}×"),
        write.text(bytes_text(saved), "red" if saved is not None and saved < 0 else "green"),
        write.text(pluralize(len(kernel.body), "op")),
        write.lines((error, ""), (remark, "dim" if good else "yellow")),
    )


def _width(columns: Sequence[Column], rows: Sequence[Sequence[Text]]) -> int:
    """Returns the total width of the columns, including the gaps, in character cells."""
    texts = [[column.header, *cells] for column, *cells in zip(columns, *rows, strict=True)]
    return sum(
        COLUMN_GAP + max(cell_len(line) for text in column for line in str(text).split("\n"))
        for column in texts
    )


def _pair(write: Writer, before: str, after: str, arrow: str) -> Text:
    if before == after == ABSENT_TEXT:
        return write.text(ABSENT_TEXT)
    return write.lines((before, "dim"), (f"{arrow}{after}", ""))


def _savings(write: Writer, kernel: FusedKernel) -> Text:
    predicted, measured = kernel.predicted_saving_us, kernel.measured_saving_us
    if predicted is None and measured is None:
        return write.text(ABSENT_TEXT)
    style = "red" if measured is not None and measured < 0 and is_clear_saving(kernel) else ""
    return write.lines(
        (f"model {time_text(predicted)}", "dim"),
        ("" if measured is None else f"real {time_text(measured)}", style),
        (saving_spread_text(kernel), "dim"),
    )


def _short_source(kernel: FusedKernel | CarriedKernel, room: int) -> str:
    if not kernel.sources:
        return ""
    more = f" +{len(kernel.sources) - 1}" if len(kernel.sources) > 1 else ""
    return shorten(str(kernel.sources[0]), room - len(more)) + more


def _render_unfused(edges: Sequence[UnfusedEdge], write: Writer) -> None:
    if not edges:
        write.heading("Edges not fused", "none")
        return
    ordered = edges_at_stake(edges)
    write.heading("Edges not fused", f"{len(edges):,}, most bytes at stake first")
    table = write.table(("edge", "wide"), ("at stake", "right"), ("why", "wide"))
    room = max(20, (write.console.width - 16) // 2)
    for edge in ordered[:UNFUSED_EDGES_SHOWN]:
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
    if ordered:
        write.console.print(table)
    if len(ordered) > UNFUSED_EDGES_SHOWN:
        write.put(f"… and {len(ordered) - UNFUSED_EDGES_SHOWN:,} more", "dim")
    if len(edges) > len(ordered):
        write.put(f"{len(edges) - len(ordered):,} with no bytes at stake are left out.", "dim")


def _render_suggestions(edges: Sequence[UnfusedEdge], write: Writer) -> None:
    rows = suggestions(edges)
    if not rows:
        return
    write.heading("Suggestions")
    for suggestion, count, stake in rows:
        aside = f" ({pluralize(count, 'edge')}, {bytes_text(stake)} at stake)"
        _print_hanging(write, f"{suggestion.kind}: ", suggestion.text + aside)
        if suggestion.flags:
            _print_hanging(write, "  add ", suggestion.flags, "cyan")


def _render_hot_spots(ledger: Ledger, write: Writer) -> None:
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
            write.lines(
                (time_text(spot.time_us), ""),
                ("" if spot.spread_us is None else f"±{time_text(spot.spread_us)}", "dim"),
            ),
            write.text(share_text(spot.share)),
            write.lines(
                (spot.detail, ""), (f"Remedy: {spot.remedy}" if spot.remedy else "", "green")
            ),
        )
    write.console.print(table)


def _print_hanging(write: Writer, mark: str, content: str, style: str = "") -> None:
    """Prints `mark` and, to the right of `mark`, `content` as a paragraph with a hanging indent."""
    table = Table.grid(padding=0)
    table.add_column(width=cell_len(mark), no_wrap=True)
    table.add_column(overflow="fold")
    room = max(20, write.console.width - cell_len(mark))
    table.add_row(write.text(mark, "bold"), write.text(_break_lines(content, room), style))
    write.console.print(table)


def _break_lines(content: str, room: int) -> str:
    """Breaks the text into lines of at most `room` character cells.

    A word that is longer than a line, such as a flag with a list of names, is broken at commas.
    """
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
