"""Where MindSpore's built-in operator is the better choice: ``python -m benchmarks.choices``.

Arguments are names of operators. Measures every operator that has a MindSpore counterpart, in graph
mode, float32, with 4,096 to 8M elements, forward and with its gradients, as a speed-up over
MindSpore's. The record is ``benchmarks/results/choices.json``; the table of `docs/custom_ops.md` is
generated from it, and a test compares the two. Only the named operators are measured again; the
others keep their figures.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results") / "choices.json"
PAGE = Path(__file__).parents[1] / "docs" / "custom_ops.md"
BEGIN, END = "<!-- choices -->\n", "<!-- end of choices -->\n"
SIZES = (1 << 12, 1 << 16, 1 << 20, 1 << 23)
LEFT_OUT = ("ConvBN",)
"""MindSpore's convolution dominates the time of these operators."""
TIE = 1.0 / 1.15
"""Differences below 15 % count as ties."""


def measure_operators(wanted: tuple[str, ...]) -> dict[str, dict[str, list[float]]]:
    """Operator → forward, gradient or step → times the built-in operator, for each of `SIZES`."""
    import mindspore as ms
    import numpy as np

    from benchmarks.mindspore_cases import OPTIMIZERS, PARAMETERS, cases, optimizers
    from benchmarks.mindspore_operators import runs_of

    ms.set_context(mode=ms.GRAPH_MODE)
    found: dict[str, dict[str, list[float]]] = {}
    for elements in SIZES:
        for name, case in cases(elements).items():
            if case.built_in is None or not name.startswith(wanted) or name.startswith(LEFT_OUT):
                continue
            for what, runs in runs_of(case, ("native", "built in")).items():
                found.setdefault(name, {}).setdefault(what, []).append(_times(name, what, runs))
    for name in OPTIMIZERS:
        for what, (count, size) in PARAMETERS.items():
            if name.startswith(wanted):
                gradients = [np.full(size, 0.01 * (i + 1), np.float32) for i in range(count)]
                runs = optimizers(name, gradients)
                found.setdefault(name, {})[what] = [_times(name, what, runs)]
    return found


def _times(name: str, what: str, runs: Mapping[str, Any]) -> float:
    from benchmarks.measuring import in_turns
    from benchmarks.mindspore_operators import times

    for rounds in (15, 45, 135):  # lines that seem slower get more rounds
        samples = in_turns(runs, rounds=rounds, block_s=2e-3, pause_s=2e-3, slow_s=10.0)
        quotient = times(samples["built in"], samples["native"])
        if quotient >= TIE:
            break
    print(
        f"{name:<22} {what:<9} {samples['native'].median * 1e6:>11.1f} µs {quotient:>8.2f} ×",
        flush=True,
    )
    return round(quotient, 2)


def table(record: Mapping[str, Any]) -> str:
    """The table of the page."""
    sizes = " / ".join(f"{size:,}" for size in record["sizes"])
    lines = [
        f"| operator | against | forward ({sizes}) | gradients | taken |",
        "|---|---|---|---|---|",
    ]
    for name, entry in sorted(record["operators"].items()):
        cells = [
            " / ".join(f"{one:g}" for one in entry["times"].get(what, ()))
            for what in ("forward", "gradient")
        ]
        if not any(cells):
            cells[0] = ", ".join(f"{what}: {one[0]:g}" for what, one in entry["times"].items())
        lines.append(
            f"| {name} | {entry['against']} | {cells[0]} | {cells[1]} | {entry['taken']} |"
        )
    return "\n".join(lines) + "\n"


def with_table(page: str, record: Mapping[str, Any]) -> str:
    """The page with its table replaced."""
    head, rest = page.split(BEGIN)
    return head + BEGIN + table(record) + END + rest.split(END)[1]


def main(wanted: Sequence[str]) -> int:
    """Measures, then writes the record and the table."""
    from benchmarks.measuring import describe_machine

    record = (
        json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() and wanted else {"operators": {}}
    )
    record |= {"machine": describe_machine(), "sizes": list(SIZES)}
    for name, times in measure_operators(tuple(wanted) or ("",)).items():
        slow = [one for many in times.values() for one in many if one < TIE]
        record["operators"][name] = {
            "against": _against(name),
            "times": times,
            "taken": "built in" if slow else "native",
        }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    PAGE.write_text(with_table(PAGE.read_text("utf-8"), record), "utf-8")
    return 0


def _against(name: str) -> str:
    from benchmarks.mindspore_cases import BUILT_IN

    return BUILT_IN.get(name, f"nn.{name}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
