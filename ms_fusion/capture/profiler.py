"""Times of single operators, from MindSpore's own profiler."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ms_fusion.capture.outputs import arrays_of

CALLS_PROFILED = 5


def profile_operators(
    function: Callable[..., Any], inputs: Sequence[Any], directory: Path, notes: list[str]
) -> dict[str, tuple[float, float]]:
    """Full name → (runs in one call, µs of one run), from MindSpore's own profiler."""
    from mindspore.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler

    try:
        with profile(
            activities=[ProfilerActivity.CPU],
            schedule=schedule(wait=0, warmup=1, active=CALLS_PROFILED, repeat=1),
            on_trace_ready=tensorboard_trace_handler(str(directory)),
        ) as profiler:
            for _ in range(1 + CALLS_PROFILED):
                # MindSpore's profiler reads its tables without a lock: no kernel may still write to them
                arrays_of(function(*inputs))
                profiler.step()
        table = next(directory.rglob("cpu_op_execute_timestamp_*.txt"), None)
        return read_profile(table) if table else {}
    except Exception as error:  # noqa: BLE001 the ledger is worth having without times
        notes.append(f"MindSpore's profiler failed, so nothing is timed by operator: {error}")
        return {}
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def read_profile(table: Path) -> dict[str, tuple[float, float]]:
    """Reads MindSpore's ``cpu_op_execute_timestamp``: full name → (runs in one call, µs of one run).

    A line is ``NAME;KIND;START,MILLISECONDS,THREAD START,MILLISECONDS,THREAD …``. The median is taken: one run that the
    system interrupted for a few milliseconds says nothing about an operator of microseconds.
    """
    found: dict[str, tuple[float, float]] = {}
    for line in table.read_text("utf-8").splitlines():
        name, _, launches = line.rsplit(";", 2)
        times_us = [float(launch.split(",")[1]) * 1e3 for launch in launches.split()]
        if times_us:
            found[name] = len(times_us) / CALLS_PROFILED, statistics.median(times_us)
    return found
