"""A stage in its own process, because MindSpore caches kernels by name; steps run on request."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from case_studies.language_model.sizes import SIZES, Size
from case_studies.language_model.stages import STAGES, arrays

MODULE = "case_studies.language_model.training"
ROOT = Path(__file__).resolve().parents[2]
CLEARED = Path("/proc/self/clear_refs")
"""Linux file that resets the peak memory of a process."""


@dataclass(frozen=True)
class Trained:
    """Results of a training.

    Attributes:
        stage: a name in `STAGES`.
        compile_s: seconds until the first step could begin.
        losses: loss of each step.
        seconds: duration of each step.
        peak_bytes: peak memory above the level before the first step; None if the
            system does not report it.
    """

    stage: str
    compile_s: float
    losses: tuple[float, ...]
    seconds: tuple[float, ...]
    peak_bytes: int | None

    def step_s(self, *, first: int) -> float:
        """Median seconds of a step, from the `first` on."""
        return statistics.median(self.seconds[first:])


class Training:
    """A process that compiles a stage's training step and makes steps on request; `end` ends it."""

    def __init__(self, stage: str, what: str, size_name: str):
        self.stage = stage
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
        self._process = subprocess.Popen(
            [sys.executable, "-m", MODULE, stage, what, size_name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"GLOG_v": "4", **os.environ, "PYTHONPATH": path},
        )
        self._compile_s: float | None = None
        self._peak_bytes: int | None = None
        self._losses: list[float] = []
        self._seconds: list[float] = []

    def wait(self) -> None:
        """Waits until the step is compiled."""
        if self._compile_s is None:
            self._compile_s = self._answer()["compile_s"]

    def make(self, steps: int) -> None:
        """Makes this number of further steps."""
        self.wait()
        assert self._process.stdin is not None
        print(steps, file=self._process.stdin, flush=True)
        answer = self._answer()
        self._losses += answer["losses"]
        self._seconds += answer["seconds"]
        self._peak_bytes = answer["peak_bytes"]

    def end(self) -> Trained:
        """Ends the process and returns its results."""
        self._process.kill()
        self._process.communicate()
        return Trained(
            self.stage,
            self._compile_s or 0.0,
            tuple(self._losses),
            tuple(self._seconds),
            self._peak_bytes,
        )

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("ANSWER "):
                return json.loads(line[7:])
        raise RuntimeError(f"the process of {self.stage} ended; what it said stands above")


def in_turns(
    stages: Sequence[str], what: str, size_name: str, *, steps: int, at_once: int
) -> dict[str, Trained]:
    """Trains in each stage; the stages alternate, so that a disturbance affects all."""
    running = [Training(stage, what, size_name) for stage in stages]
    try:
        for one in running:
            one.wait()
        for number in range(0, steps, at_once):
            for place in range(len(running)):
                running[(place + number // at_once) % len(running)].make(
                    min(at_once, steps - number)
                )
    finally:
        done = {one.stage: one.end() for one in running}
    return done


def main(stage_name: str, what: str, size: Size) -> None:
    """Compiles, reports it, and makes the requested number of steps for each line."""
    import mindspore as ms

    stage = STAGES[stage_name]
    stage.enable()
    begin = time.perf_counter()
    step = stage.training_step(what, size)
    step.compile(*map(ms.Tensor, arrays(what, size, step=0)))
    at_rest = _forget_highest()
    _tell(compile_s=time.perf_counter() - begin)
    number = 0
    for line in sys.stdin:
        losses, seconds = [], []
        for _ in range(int(line)):
            inputs = tuple(map(ms.Tensor, arrays(what, size, step=number)))
            begin = time.perf_counter()
            losses.append(float(step(*inputs).asnumpy()))
            seconds.append(time.perf_counter() - begin)
            number += 1
        highest = _status("VmHWM") if at_rest is not None else None
        _tell(
            losses=losses,
            seconds=seconds,
            peak_bytes=None if highest is None else highest - (at_rest or 0),
        )


def _forget_highest() -> int | None:
    """Current bytes of the process; resets the peak."""
    if not CLEARED.exists():
        return None
    CLEARED.write_text("5")
    return _status("VmRSS")


def _status(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024


def _tell(**answer: Any) -> None:
    print("ANSWER", json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], SIZES[sys.argv[3]])
