"""Renders the results of `ms-fusion ascendc` as terminal text."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ms_fusion.report.operator_text import PLAIN_WIDTH, difference_text, number_text
from ms_fusion.report.printable import printable_text
from ms_fusion.report.text import Writer, plain_text
from ms_fusion.report.units import bytes_text, time_text
from tbe_impl.errors import pluralize

if TYPE_CHECKING:
    from rich.console import Console

    from tbe_impl.ascendc.api_names import ApiFile
    from tbe_impl.cli.ascendc_commands import AscendcRun


def print_run(found: AscendcRun) -> None:
    """Prints the result of a run: coloured on a terminal, as plain text into a file or pipe."""
    from rich.console import Console

    console = Console()
    if console.is_terminal:
        render_run(found, console)
    else:
        click.echo(plain_text(render_run, found, width=PLAIN_WIDTH))


def render_run(found: AscendcRun, console: Console) -> None:
    """Prints the findings first, then the arrays, buffers, times and differences."""
    write = Writer(console)
    write.put(
        f"{found.kernel}: {pluralize(found.blocks, 'core')} of {found.soc}, run on this processor",
        "bold",
    )
    write.put(found.file, "dim")
    for finding in found.findings:
        write.put(str(finding), "bold red" if finding.severity == "error" else "yellow")
    console.print()
    table = write.table(
        ("", "left"),
        ("array", "left"),
        ("shape", "left"),
        ("dtype", "left"),
        ("min", "right"),
        ("max", "right"),
        ("mean", "right"),
        ("NaN", "right"),
        ("first values", "left"),
    )
    for array in found.arrays:
        more = " …" if math.prod(array.shape) > len(array.first) else ""
        cells = (
            array.role,
            array.name,
            "×".join(map(str, array.shape)) or "scalar",
            array.dtype,
            number_text(array.minimum),
            number_text(array.maximum),
            number_text(array.mean),
            str(array.nan),
            " ".join(map(number_text, array.first)) + more,
        )
        table.add_row(*map(write.text, cells))
    console.print(table)
    if found.buffers:
        console.print()
        table = write.table(
            ("memory", "left"), ("buffer", "left"), ("bytes", "right"), ("", "left")
        )
        for one in found.buffers:
            times = f"{one.buffers} × {one.bytes:,}" if one.buffers > 1 else ""
            table.add_row(
                *map(write.text, (one.memory, one.name, f"{one.bytes * one.buffers:,}", times))
            )
        console.print(table)
    console.print()
    moved = f"{bytes_text(found.bytes_read)} read, {bytes_text(found.bytes_written)} written"
    write.put(f"built in {time_text(found.build_us)}, run in {time_text(found.run_us)}; {moved}")
    for item in found.differences:
        write.put(
            difference_text(found.kernel, item), "green" if item.is_within_tolerance else "bold red"
        )
    for note in found.notes:
        write.put(note, "dim")
    if found.printed:
        write.put("the kernel printed:", "dim")
        write.put(printable_text(found.printed.rstrip("\n")))
    if not found.findings:
        write.put("no errors, no warnings", "green")


def print_apis(found: Sequence[ApiFile]) -> None:
    """Prints the API names that the host model defines, with one paragraph per header file."""
    for one in found:
        click.echo(one.title)
        click.echo(
            textwrap.fill(", ".join(one.names), 100, initial_indent="  ", subsequent_indent="  ")
        )
    click.echo(f"{len({name for one in found for name in one.names})} names")
