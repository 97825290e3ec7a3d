"""Networks without convolutions built by us, beside MindSpore unfused and torch: ``python -m benchmarks.dense_networks [names]``.

Inference and a training step with Adam, graph mode, each competitor in a process of its own, all called in turns; see
`benchmarks.competitors`. Torch attends by its fused operator. ``WITHOUT=torch.compile`` leaves that out. Target: a training
step of the transformer in at most 0.85 of the time of torch.compile; those against unfused are in `benchmarks.networks`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.competitors import compared, taking_part
from benchmarks.measuring import described, is_quick, write

NETWORKS = ("MLP", "transformer", "small MLP", "LSTM", "GRU")
RECURRENT = ("LSTM", "GRU")
"""torch.compile makes no whole of them."""
TARGETS = {("transformer", True): 0.85}
"""Network and whether it is trained → the share of torch.compile's time."""


def main(wanted: Sequence[str]) -> int:
    """Measures those networks, or all; 1 when a result is wrong."""
    record: dict[str, Any] = {**described(), "lines": []}
    print(f"{record['processor']}, {record['threads']} threads, load {record['load_before']}")
    known = taking_part("unfused", "torch", "torch.compile")
    for name in NETWORKS:
        rivals = [who for who in known if name not in RECURRENT or who != "torch.compile"]
        for train in (False, True):
            if not wanted or name in wanted:
                record["lines"].append(_line(name, rivals, train=train))
    write("dense_networks", record)
    return 0 if all(line["right"] for line in record["lines"]) else 1


def _line(name: str, rivals: Sequence[str], *, train: bool) -> dict[str, Any]:
    line, shown = compared(name, rivals, train=train, rounds=15 if is_quick() else 45)
    target, compiled = TARGETS.get((name, train)), line.get("times_torch.compile")
    short = target is not None and compiled is not None and compiled < 1 / target
    print(shown + ("  (short)" if short else "") + ("" if line["right"] else "  WRONG"), flush=True)
    return line


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
