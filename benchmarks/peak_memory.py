"""Peak memory of operators in MindSpore: ``python -m benchmarks.peak_memory``.

The peak of a process above its level before the call, for ours and for basic operators, each in its
own process (Linux, which counts pages). LayerNormLinear's gradient is five kernels whose
intermediates share memory.

Targets: attention at 4,096 tokens at most 1/8 of the unfused, the cross entropy of a linear layer
at most 1/4.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from benchmarks.measuring import describe_machine, write
from tests.peak_memory import peak_bytes


@dataclass(frozen=True)
class Case:
    """A measured case.

    Attributes:
        before: Python code that builds the Cell of a ``{route}``, not measured.
        measured: Python code whose peak counts.
        share: ours is at most the unfused divided by this.
    """

    before: str
    measured: str
    share: int


_TRAINED = """
import numpy as np, mindspore as ms
from custom_ops import {name}

def once(rows):
    value, (slope, _) = derive(ms.Tensor(np.ones((rows, {width}), np.float32)){labels})
    value.asnumpy(), slope.asnumpy()

cell = {name}({arguments}, route="{{route}}")
derive = ms.value_and_grad(cell, 0, cell.trainable_params())
once(64)
"""
_ATTENTION = """
import numpy as np, mindspore as ms
from custom_ops import ScaledDotProductAttention

def once(tokens):
    made = [ms.Tensor(np.ones((1, 1, tokens, 64), np.float32)) for _ in range(3)]
    for one in ms.grad(cell, (0, 1, 2))(*made):
        one.asnumpy()

cell = ScaledDotProductAttention(route="{route}")
once(64)
"""
CASES = {
    "attention": Case(_ATTENTION, "once(4096)", 8),
    "linear cross entropy": Case(
        _TRAINED.format(
            name="LinearCrossEntropy",
            width=64,
            arguments="64, 4000",
            labels=", ms.Tensor(np.zeros(rows, np.int32))",
        ),
        "once(2048)",
        4,
    ),
    "layer norm, linear": Case(
        _TRAINED.format(name="LayerNormLinear", width=1024, arguments="1024, 256", labels=""),
        "once(8192)",
        1,
    ),
}


def peaks(case: Case) -> tuple[int, int]:
    """Bytes of ours and of the unfused."""
    ours, unfused = (
        peak_bytes(case.before.format(route=route), case.measured)
        for route in ("native", "composite")
    )
    return ours, unfused


def main() -> int:
    """Prints and records a line for each case; returns 1 when one exceeds its share."""
    lines = []
    for name, case in CASES.items():
        ours, unfused = peaks(case)
        far = "" if ours * case.share <= unfused else "  over"
        print(
            f"{name:<22} {ours / 2**20:>8.1f} MiB, unfused {unfused / 2**20:>8.1f} MiB: "
            f"1/{unfused / ours:.1f} of at most 1/{case.share}{far}",
            flush=True,
        )
        lines.append({"name": name, "bytes": ours, "unfused_bytes": unfused, "share": case.share})
    write("peak_memory", {**describe_machine(), "lines": lines})
    return 0 if all(one["bytes"] * one["share"] <= one["unfused_bytes"] for one in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
