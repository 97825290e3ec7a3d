"""What bounds ours: what oneDNN says that each of its primitives takes, and what is left of a call."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from case_studies.detector.contestant import TOLD, Contestant, Task

_SIZES = ("mb", "ic", "oc", "oh", "ow", "kh", "kw")


@dataclass(frozen=True)
class Bounds:
    """Of one call, in seconds.

    Attributes:
        convolutions_s: in convolutions, with what oneDNN computes behind them.
        layouts_s: in changes of layout, of weights above all.
        rest_s: in our kernels, MindSpore's operators and between them.
        flops: of the convolutions.
    """

    convolutions_s: float
    layouts_s: float
    rest_s: float
    flops: int

    @property
    def gflop_per_s(self) -> float:
        """Of the convolutions, while they run."""
        return self.flops / self.convolutions_s / 1e9


def measure_bounds(task: Task) -> Bounds:
    """Those of a second call of ours."""
    with Contestant(TOLD, task) as one:
        one.seconds()
        return bounds(one.seconds(), one.said)


def bounds(seconds: float, said: Iterable[str]) -> Bounds:
    """Those of a call, from what it took and what oneDNN said meanwhile."""
    taken = {"convolution": 0.0, "reorder": 0.0}
    flops = 0
    for line in said:
        parts = line.strip().split(",")
        if parts[:1] == ["onednn_verbose"] and "exec" in parts and parts[5] in taken:
            taken[parts[5]] += float(parts[-1]) / 1e3
            flops += _flops(parts[-2]) if parts[5] == "convolution" else 0
    whole = taken["convolution"] + taken["reorder"]
    return Bounds(taken["convolution"], taken["reorder"], max(seconds - whole, 0.0), flops)


def _flops(problem: str) -> int:
    """Of ``mb1_ic512oc1024_ih26oh13kh3sh2dh0ph1_iw26ow13kw3sw2dw0pw1``."""
    sizes = dict(re.findall(r"([a-z]+)(\d+)", problem))
    return 2 * math.prod(int(sizes[name]) for name in _SIZES)
