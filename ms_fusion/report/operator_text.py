"""Renders the results of `ms-fusion tbe` as terminal text (rich) and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console

from ms_fusion.report.text import Writer
from ms_fusion.report.units import bytes_text, share_text, time_text, ulp_text
from tbe_impl.errors import pluralize

if TYPE_CHECKING:
    from tbe_impl.cli.commands import RunResult
    from tbe_impl.cli.timing import BenchResult
    from tbe_impl.comparing import Difference

PLAIN_WIDTH = 1000
"""Width of the output to a file or pipe, in columns.

The width is so large that no sentence is wrapped.
"""


def render_run(found: RunResult, console: Console) -> None:
    """Prints the result of a kernel run.

    The text has the input and output arrays, the times, the findings of the checks, and the
    differences between the outputs and their references.
    """
    write = Writer(console)
    write.put(
        f"{found.operator}: kernel {found.kernel}, built for {found.soc}, run by {found.backend}",
        "bold",
    )
    write.put(found.file, "dim")
    if found.problem:
        write.put(f"not by cpu: {found.problem}", "yellow")
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
    for item in found.arrays:
        first = " ".join(map(number_text, item.first)) + (
            " …" if math.prod(item.shape) > len(item.first) else ""
        )
        table.add_row(
            *(
                write.text(cell)
                for cell in (
                    item.role,
                    item.name,
                    _shape_text(item.shape),
                    item.dtype,
                    number_text(item.minimum),
                    number_text(item.maximum),
                    number_text(item.mean),
                    str(item.nan),
                    first,
                )
            )
        )
    console.print(table)
    console.print()
    write.put(
        f"loaded and built in {time_text(found.build_us)}, first call {time_text(found.first_us)}, "
        f"warm call {time_text(found.warm_us)}"
    )
    for finding in found.findings:
        write.put(str(finding), "red" if finding.severity == "error" else "yellow")
    for one in found.differences:
        write.put(
            difference_text(found.operator, one), "green" if one.is_within_tolerance else "bold red"
        )
    for note in found.notes:
        write.put(note, "dim")


def difference_text(operator: str, found: Difference) -> str:
    """Returns a sentence about the difference between an output array and its reference."""
    which = {"definition": "its definition in float64", "formula": "its formula"}[found.against]
    if found.problem:
        return f"{operator}: {found.name} differs from {which}: {found.problem}"
    size = f"at most {number_text(found.max_absolute)} ({ulp_text(found.max_ulp)} ULP)"
    limit = f"tolerance {found.tolerance:g} relative" if found.tolerance else "tolerance 0"
    steps = (
        f"; {found.at_steps} of them left out, where one rounding decides" if found.at_steps else ""
    )
    if found.is_within_tolerance:
        return f"{operator}: {found.name} agrees with {which}: {size}, {limit}{steps}"
    place = f"[{', '.join(map(str, found.where))}]" if found.where else ""
    return (
        f"{operator}: differs from {which} by {size}, {limit}: {found.wrong} of "
        f"{pluralize(found.elements, 'element')} of {found.name}, "
        f"such as {found.name}{place} = {number_text(found.got)}, expected "
        f"{number_text(found.expected)}{steps}"
    )


def render_bench(found: BenchResult, console: Console) -> None:
    """Prints the measured times of a kernel."""
    write = Writer(console)
    write.put(f"{found.operator}: kernel {found.kernel}, built for {found.soc}", "bold")
    write.put(found.file, "dim")
    write.put(
        f"{bytes_text(found.bytes_moved)} moved a call, "
        f"at most {pluralize(found.threads, 'thread')}"
    )
    console.print()
    table = write.table(
        ("", "left"),
        ("calls", "right"),
        ("median", "right"),
        ("min", "right"),
        ("GB/s", "right"),
        ("of a copy", "right"),
    )
    for item in found.timings:
        table.add_row(
            *(
                write.text(cell)
                for cell in (
                    item.what,
                    f"{item.calls:,}",
                    time_text(item.median_us),
                    time_text(item.least_us),
                    f"{item.gigabytes_per_s:.3g}",
                    share_text(item.share),
                )
            )
        )
    console.print(table)
    console.print()
    write.put(
        "copy: as many bytes, by a kernel of the same back end; calls of all kinds in turn", "dim"
    )


def to_json_text(found: Any, **more: Any) -> str:
    """Returns the text of a JSON object with the fields of `found` and the items of `more`.

    Non-finite floats become ``"nan"``, ``"inf"`` or ``"-inf"``.
    """
    record = {**asdict(found), **more}
    for item, shown in zip(
        getattr(found, "differences", ()), record.get("differences", ()), strict=True
    ):
        shown["within"] = item.is_within_tolerance
    return json.dumps(_json_value(record), indent=2, ensure_ascii=False, allow_nan=False)


def _json_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_json_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def number_text(value: float | None) -> str:
    """Returns the text of a number with five significant digits, or ``–`` for None."""
    return "–" if value is None else f"{value:.5g}".replace("-", "−")


def _shape_text(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape)) or "scalar"
