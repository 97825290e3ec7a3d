"""Measures every claim of the README: ``python -m benchmarks [--store | --add] [title …]``.

Each line compares ours, MindSpore unfused and with its own fusion, torch, torch.compile, ONNX
Runtime where it applies, and the ceiling. Each contestant has its own process, and the calls are
interleaved in one run. The results are compared, and MindSpore's profiler confirms that our kernels
ran. The output is ``build/bench``: ``bench.json``, ``bench.svg``, ``bench.md``.

``QUICK=1`` is a short form of a few lines in less than three minutes. ``WITHOUT=torch.compile``
excludes a contestant. ``MS_FUSION_ISA=avx2`` limits all contestants to AVX2 on a processor with
AVX-512. A title selects all lines that begin with it. ``--store`` replaces the published figures by
the measured ones. ``--add`` merges them with the stored figures of earlier runs on the same kind of
processor. `benchmarks.harness.lines` lists the targets and how each contestant is tuned.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.harness.drawing import draw_chart
from benchmarks.harness.lines import LINES, Line
from benchmarks.harness.running import measure_line, say
from benchmarks.harness.stored import compare_with_stored, store
from benchmarks.harness.table import table
from benchmarks.measuring import PLACE, describe_machine, is_quick, write

PEERS = ("mindspore", "torch", "onnxruntime")


def main(arguments: Sequence[str]) -> int:
    """Measures the selected lines, or all.

    Returns 1 when a result is wrong or one of our kernels did not run, 2 when the arguments are
    invalid.
    """
    parser = argparse.ArgumentParser(
        "python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    keep = parser.add_mutually_exclusive_group()
    keep.add_argument(
        "--store", action="store_true", help="make what is measured the figures of the pages"
    )
    keep.add_argument(
        "--add", action="store_true", help="the same, together with the runs that are stored"
    )
    parser.add_argument(
        "titles",
        nargs="*",
        metavar="title",
        help=f"how titles of lines begin, of: {'; '.join(line.title for line in LINES)}",
    )
    asked = parser.parse_args(arguments)
    if unknown := [title for title in asked.titles if not select_lines([title])]:
        parser.error(f"no line begins with {', '.join(map(repr, unknown))}")
    if (asked.store or asked.add) and is_quick():
        parser.error("the README's figures are those of whole runs: without QUICK")
    record: dict[str, Any] = {
        **describe_machine(),
        "peers": {name: _version(name) for name in PEERS},
        "lines": [],
    }
    print(
        f"{record['processor']}, {record['threads']} threads, load {record['load_before']}; "
        f"{record['peers']}"
    )
    for line in select_lines(asked.titles):
        found = measure_line(line)
        say(found)
        record["lines"].append(found)
    write("bench", record)
    (PLACE / "bench.md").write_text(table(record), "utf-8")
    (PLACE / "bench.svg").write_text(draw_chart(record), "utf-8")
    for one in compare_with_stored(record):
        print(f"otherwise than the stored figures: {one}")
    if asked.store or asked.add:
        store(record, add=asked.add)
    return 0 if all(line["right"] for line in record["lines"]) else 1


def select_lines(wanted: Sequence[str]) -> list[Line]:
    """Lines whose titles begin with one of the prefixes; by default all lines of the form."""
    if wanted:
        return [line for line in LINES if line.title.startswith(tuple(wanted))]
    return [line for line in LINES if line.is_quick or not is_quick()]


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
