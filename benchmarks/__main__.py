"""Measures every claim of the README: ``python -m benchmarks [--store | --add] [title …]``.

Each line has ours, MindSpore unfused and with its own fusion, torch, torch.compile, ONNX Runtime where it applies, and the ceiling,
each in a process of its own, called in turns in one run; their results are compared, and MindSpore's profiler says that our kernels
ran. Written to ``build/bench``: ``bench.json``, ``bench.svg``, ``bench.md``. ``QUICK=1`` is a short form of a few lines in less than
three minutes; ``WITHOUT=torch.compile`` leaves somebody out; ``MS_FUSION_ISA=avx2`` keeps everybody to AVX2 on a processor with AVX-512; titles choose lines by how they begin. ``--store`` makes what was
measured the figures of the pages, ``--add`` puts it together with what is stored of earlier runs on such a processor. What each claim asks for, and how everybody was tuned, is in `benchmarks.harness.lines`.
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
    """Measures those lines, or all; 1 when a result is wrong or one of our kernels did not run, 2 when it cannot be done as asked."""
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
        f"{record['processor']}, {record['threads']} threads, load {record['load_before']}; {record['peers']}"
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
    """Lines by how their titles begin; without any, all, or in the short form those that belong to it."""
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
