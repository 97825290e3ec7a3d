"""A detector in its own process: the convolution repair must precede the import of MindSpore.

- ours: `mf.enable(generator="ms_fusion")`, decoding and suppression by our operators.
- repaired: MindSpore without fusion and its own operators, its convolution repaired by
  ``ONEDNN_MAX_CPU_ISA=AVX2``.
- as it comes: the same without the repair.
- ours, told: ours, with oneDNN's verbose log of each primitive.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from case_studies.detector import memory
from case_studies.detector.design import Design
from case_studies.detector.matching import Found

OURS, REPAIRED, AS_IT_COMES, TOLD = "ours", "repaired", "as it comes", "ours, told"
ENVIRONMENT: Mapping[str, Mapping[str, str]] = {
    REPAIRED: {"ONEDNN_MAX_CPU_ISA": "AVX2"},
    TOLD: {"ONEDNN_VERBOSE": "profile_exec"},
}
MODULE = "case_studies.detector.contestant"
ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Task:
    """The task of a contestant.

    Attributes:
        design: design of the detector.
        batch: images per call, as `data.draw_images` draws them.
        score_threshold: lower limit of the scores.
        weights: a file of `save_checkpoint`; empty for the initial weights of `detector`.
        seed: seed of the images.
    """

    design: Design
    batch: int = 1
    score_threshold: float = 0.3
    weights: str = ""
    seed: int = 0


@dataclass(frozen=True)
class Beginning:
    """Results of a contestant's first call.

    Attributes:
        found: detections of each image.
        compile_s, first_s: compile time, and the first call after it.
        peak_bytes: peak memory until then, above the level with the weights loaded.
        call_bytes: peak memory of the call, above the level after compilation.
    """

    found: tuple[Found, ...]
    compile_s: float
    first_s: float
    peak_bytes: int
    call_bytes: int


class Contestant:
    """A process that makes a call on request.

    Args:
        who: one of the contestants above.
        task: its task.

    Attributes:
        beginning: results of its first call.
        said: output lines of its last call besides the answer.
    """

    def __init__(self, who: str, task: Task):
        variables = {**os.environ, **ENVIRONMENT.get(who, {}), "GLOG_v": "4"}
        told = json.dumps([who, asdict(task)])
        self._process = subprocess.Popen(
            [sys.executable, "-m", MODULE, told],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=variables,
            cwd=ROOT,
        )
        self._who = who
        answer = self._answer()
        seen = (Found(*map(np.array, one)) for one in answer.pop("found"))
        self.beginning = Beginning(tuple(seen), **answer)

    def __enter__(self) -> Contestant:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def seconds(self) -> float:
        """Duration of a call."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        self.said: list[str] = []
        for line in self._process.stdout:
            if line.startswith("ANSWER "):
                return json.loads(line[7:])
            self.said.append(line)
        raise RuntimeError(f"{self._who} ended; what it said stands above")


def child(who: str, told: dict[str, Any]) -> None:
    """Prepares, reports the first call, then makes a call for each request line."""
    import mindspore as ms

    from case_studies.detector.darknet import detector
    from case_studies.detector.data import draw_images
    from case_studies.detector.detection import Detection, collect_detections

    task = Task(**{**told, "design": Design(**told["design"])})
    ms.set_context(mode=ms.GRAPH_MODE)
    fused = who in (OURS, TOLD)
    if fused:
        import ms_fusion as mf

        mf.enable(generator="ms_fusion")
    net = detector(task.design)
    if task.weights:
        ms.load_checkpoint(task.weights, net)
    whole = Detection(net, task.design, fused=fused, score_threshold=task.score_threshold)
    x = ms.Tensor(draw_images(task.batch, task.design.size, seed=task.seed).pixels)
    loaded = memory.held_bytes()
    memory.begin_again()
    begin = time.perf_counter()
    whole.compile(x)
    compiled, highest, held = time.perf_counter(), memory.highest_bytes(), memory.held_bytes()
    memory.begin_again()
    seen = collect_detections(whole(x))
    first_s = time.perf_counter() - compiled
    in_call = memory.highest_bytes()
    _tell(
        {
            "found": [[part.tolist() for part in one] for one in seen],
            "compile_s": compiled - begin,
            "first_s": first_s,
            "peak_bytes": max(highest, in_call) - loaded,
            "call_bytes": in_call - held,
        }
    )
    for _ in sys.stdin:
        begin = time.perf_counter()
        for part in whole(x):
            part.asnumpy()
        _tell(time.perf_counter() - begin)


def _tell(answer: Any) -> None:
    sys.stdout.write(f"ANSWER {json.dumps(answer)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    child(*json.loads(sys.argv[1]))
