"""Convolutional networks built by us, beside torch and both of MindSpore's: ``python -m benchmarks.convolutional_networks [names]``.

Inference and a training step with Adam, graph mode, each competitor in a process of its own, all called in turns:

- ours: `mf.enable(generator="ms_fusion")`.
- repaired: MindSpore without fusion, its convolution repaired by ``ONEDNN_MAX_CPU_ISA=AVX2``, which also slows its products.
- torch, torch.compile: eager, and compiled as a whole; the same weights.
- as it comes: MindSpore without fusion, whose convolutions take seconds. It is called once, on one image, and compared with
  ours on one image.

``QUICK=1`` leaves that out, and takes fewer rounds; ``WITHOUT=torch.compile,repaired`` leaves those out. Targets: at most 1.3 times torch's time, at least 1.3 times as fast as repaired
(the small ones: as fast), at least 50 times as fast as it comes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.competitors import Competitor, compared, taking_part
from benchmarks.measuring import described, is_quick, write

NETWORKS = ("ResNet", "U-Net", "ResNet-18", "YOLO-like")
REPAIRED = {"ResNet-18": 1.3, "YOLO-like": 1.3}
"""How many times as fast as MindSpore with the repaired convolution; others at least as fast."""
TIMES_TORCH = 1.3
ALONE, AS_IT_COMES = "as it comes", 50.0
TIE = 0.87


def main(wanted: Sequence[str]) -> int:
    """Measures those networks, or all; 1 when a result is wrong."""
    record: dict[str, Any] = {**described(), "lines": []}
    print(f"{record['processor']}, {record['threads']} threads, load {record['load_before']}")
    for name in NETWORKS:
        for train in (False, True):
            if not wanted or name in wanted:
                record["lines"].append(_line(name, train=train))
    write("convolutional_networks", record)
    return 0 if all(line["right"] for line in record["lines"]) else 1


def _line(name: str, *, train: bool) -> dict[str, Any]:
    line, shown = compared(
        name,
        taking_part("repaired", "torch", "torch.compile"),
        train=train,
        rounds=15 if is_quick() else 45,
    )
    short = [] if line.get("times_repaired", 1e9) >= REPAIRED.get(name, TIE) else ["repaired"]
    short += ["torch"] if line.get("times_torch", 1.0) < 1 / TIMES_TORCH else []
    if not is_quick() and taking_part(ALONE):
        line |= _as_it_comes(name, train=train)
        shown += f"   as it comes, one image {line['as_it_comes_s']:7.3f} s {line['times_as_it_comes']:6.0f} ×"
        short += [] if line["times_as_it_comes"] >= AS_IT_COMES else ["as it comes"]
    told = f"  (short of: {', '.join(short)})" if short else ""
    print(shown + told + ("" if line["right"] else "  WRONG"), flush=True)
    return line


def _as_it_comes(name: str, *, train: bool) -> dict[str, Any]:
    with Competitor("ours", name, train=train, batch=1) as ours:
        own = min(ours() for _ in range(5))
    with Competitor(ALONE, name, train=train, batch=1) as other:
        # its first call was the one to be timed: the second may take a minute too
        once = float(other.first)
    return {"as_it_comes_s": round(once, 4), "ours_one_image_s": round(own, 5), "times_as_it_comes": round(once / own, 1)}  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
