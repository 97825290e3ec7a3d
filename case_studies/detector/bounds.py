"""Splits the time of our calls into oneDNN's primitives, from its verbose log, and the rest."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from case_studies.detector.contestant import TOLD, Contestant, Task

_SIZES = ("mb", "ic", "oc", "oh", "ow", "kh", "kw")


@dataclass(frozen=True)
class Bounds:
    """Times of one call, in seconds.

    Attributes:
        convolutions_s: convolutions with their epilogues.
        layouts_s: layout changes, mostly of weights.
        rest_s: our kernels, MindSpore's operators and gaps.
        flops: operations of the convolutions.
    """

    convolutions_s: float
    layouts_s: float
    rest_s: float
    flops: int

    @property
    def gflop_per_s(self) -> float:
        """Rate of the convolutions while they run."""
        return self.flops / self.convolutions_s / 1e9


def measure_bounds(task: Task) -> Bounds:
    """The bounds of a second call of ours."""
    with Contestant(TOLD, task) as one:
        one.seconds()
        return bounds(one.seconds(), one.said)


def bounds(seconds: float, said: Iterable[str]) -> Bounds:
    """The bounds of a call from its duration and oneDNN's log."""
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
    """Operations of ``mb1_ic512oc1024_ih26oh13kh3sh2dh0ph1_iw26ow13kw3sw2dw0pw1``."""
    sizes = dict(re.findall(r"([a-z]+)(\d+)", problem))
    return 2 * math.prod(int(sizes[name]) for name in _SIZES)
