"""The language model trained by two workers, each on its half of every batch.

MindSpore's ``msrun`` starts this file once for each worker. Each trains in every stage, alternating
one step of each. The workers add up their gradients, so the mean of their losses equals the loss of
one process with whole batches.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WORKERS = 2
ROOT = Path(__file__).resolve().parents[2]
ENOUGH_S = 900
ALL_AT_ONCE = {"allreduce": {"mode": "auto", "config": None}}
"""Sends all gradients together; separate all-reduces each wait for the other worker and take longer
than the step.
"""


@dataclass(frozen=True)
class Together:
    """Results of the workers in one stage.

    Attributes:
        losses: loss of each step, the mean over the workers.
        step_s: median seconds of a step of the slower worker, without the first half of the steps.
    """

    losses: tuple[float, ...]
    step_s: float


def train(stages: list[str], size_name: str, *, steps: int) -> dict[str, Together]:
    """Runs both workers on this machine; returns their results in each stage.

    Args:
        stages: names in `STAGES`; all run in the same two processes, so they contain at most one
            generator.
        size_name: a name in `SIZES`.
        steps: number of steps.

    Raises:
        RuntimeError: a worker failed; with the end of its output.
        FileNotFoundError: MindSpore's ``msrun`` is not beside this Python.
    """
    msrun = Path(sys.executable).with_name("msrun")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        command = [
            str(msrun),
            f"--worker_num={WORKERS}",
            f"--local_worker_num={WORKERS}",
            "--master_addr=127.0.0.1",
            f"--master_port={_free_port()}",
            "--join=True",
            f"--log_dir={place / 'log'}",
            str(Path(__file__).resolve()),
            str(place),
            size_name,
            str(steps),
            *stages,
        ]
        variables = {
            "GLOG_v": "4",
            **os.environ,
            "PATH": os.pathsep.join((str(msrun.parent), os.environ["PATH"])),
            "PYTHONPATH": os.pathsep.join(
                filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")])
            ),
        }
        done = subprocess.run(
            command,
            cwd=place,
            env=variables,
            capture_output=True,
            text=True,
            timeout=ENOUGH_S,
            check=False,
        )
        results = [_result_file(place, rank) for rank in range(WORKERS)]
        if not all(result.is_file() for result in results):
            logs = [
                file.read_text("utf-8", "replace")[-2000:]
                for file in (place / "log").glob("worker_*.log")
            ]
            raise RuntimeError("\n".join(["a worker failed:", *logs, done.stderr[-2000:]]))
        told = [json.loads(result.read_text("utf-8")) for result in results]
    return {
        stage: Together(
            tuple(
                statistics.fmean(each)
                for each in zip(*(one[stage]["losses"] for one in told), strict=True)
            ),
            max(statistics.median(one[stage]["seconds"][steps // 2 :]) for one in told),
        )
        for stage in stages
    }


def _result_file(place: Path, rank: int) -> Path:
    """The file that a worker writes after training.

    The file is more reliable than the exit code of ``msrun``: MindSpore's network threads
    occasionally crash with a segmentation fault when a worker exits, fused or not, and ``msrun``
    then reports a failure.
    """
    return place / f"{rank}.json"


def _free_port() -> int:
    """A free port."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def share_processors(rank: int) -> None:
    """Pins each worker to its own equal share of the cores, if there are enough."""
    if hasattr(os, "sched_setaffinity"):
        mine = sorted(os.sched_getaffinity(0))[rank::WORKERS]
        if mine:
            os.sched_setaffinity(0, mine)


def work(place: Path, size_name: str, steps: int, stages: list[str]) -> None:
    """One worker: trains, and writes its losses and seconds into the directory."""
    share_processors(int(os.environ["RANK_ID"]))
    import mindspore as ms
    from mindspore.communication import get_rank, init

    import ms_fusion as mf
    from case_studies.language_model.sizes import SIZES
    from case_studies.language_model.stages import MODEL, STAGES, arrays

    ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU")
    init()
    rank, size = get_rank(), SIZES[size_name]
    ms.set_auto_parallel_context(
        parallel_mode=ms.ParallelMode.DATA_PARALLEL,
        gradients_mean=True,
        comm_fusion=ALL_AT_ONCE,
    )

    def worker_share(step: int) -> tuple[Any, ...]:
        return tuple(ms.Tensor(each[rank::WORKERS]) for each in arrays(MODEL, size, step=step))

    made = {}
    for name in stages:
        stage = STAGES[name]
        with mf.fusion("auto" if stage.generator else "off", generator=stage.generator or None):
            made[name] = stage.training_step(MODEL, size)
            made[name].compile(*worker_share(0))
    found: dict[str, Any] = {name: {"losses": [], "seconds": []} for name in stages}
    for step in range(steps):
        inputs = worker_share(step)
        for name in stages:
            begin = time.perf_counter()
            found[name]["losses"].append(float(made[name](*inputs).asnumpy()))
            found[name]["seconds"].append(time.perf_counter() - begin)
    unfinished = place / f"{rank}.unfinished"
    unfinished.write_text(json.dumps(found), "utf-8")
    unfinished.replace(_result_file(place, rank))


if __name__ == "__main__":
    work(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4:])
