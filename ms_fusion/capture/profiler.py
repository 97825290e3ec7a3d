"""Measures times of single operators with MindSpore's own profiler."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ms_fusion.capture.median_spread import median_and_spread
from ms_fusion.capture.outputs import arrays_of

CALLS_PROFILED = 5
SESSIONS = 3
"""Number of profiling sessions for each variant of a net."""


def profile_in_turns(
    callables: Mapping[str, Callable[..., Any]],
    inputs: Sequence[Any],
    directory: Path,
    notes: list[str],
) -> dict[str, dict[str, tuple[float, float, float]]]:
    """Profiles the variants of a net in turns, so that load on the machine slows all equally.

    Returns:
        A dict from the name of a variant to a dict of its operators. The inner dict maps the full
        name of an operator to (runs in one call, median µs of a run, spread µs). If the profiler
        fails, all inner dicts are empty, and the reason is added to `notes`.
    """
    found: dict[str, list[dict[str, list[float]]]] = {kind: [] for kind in callables}
    for _ in range(SESSIONS):
        for kind, function in callables.items():
            launches = profile_operators(function, inputs, directory / f"{kind}.profile", notes)
            if not launches:
                return {kind: {} for kind in callables}
            found[kind].append(launches)
    return {kind: times_of(sessions) for kind, sessions in found.items()}


def profile_operators(
    function: Callable[..., Any], inputs: Sequence[Any], directory: Path, notes: list[str]
) -> dict[str, list[float]]:
    """Returns a dict from the full name of an operator to the times of its runs, µs.

    The list of times has one entry for each run of the operator in `CALLS_PROFILED` calls of
    `function`. If the profiler fails, the result is an empty dict, and the reason is added to
    `notes`.
    """
    from mindspore.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler

    try:
        with profile(
            activities=[ProfilerActivity.CPU],
            schedule=schedule(wait=0, warmup=1, active=CALLS_PROFILED, repeat=1),
            on_trace_ready=tensorboard_trace_handler(str(directory)),
        ) as profiler:
            for _ in range(1 + CALLS_PROFILED):
                # All kernels must have finished, since MindSpore's profiler reads its tables
                # without a lock.
                arrays_of(function(*inputs))
                profiler.step()
        table = next(directory.rglob("cpu_op_execute_timestamp_*.txt"), None)
        return read_profile(table) if table else {}
    except Exception as error:  # noqa: BLE001 the ledger is useful without times
        notes.append(f"MindSpore's profiler failed, so nothing is timed by operator: {error}")
        return {}
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def read_profile(table: Path) -> dict[str, list[float]]:
    """Reads a file ``cpu_op_execute_timestamp_*.txt`` that MindSpore's profiler wrote.

    Each line of the file is ``NAME;KIND;START,MILLISECONDS,THREAD START,MILLISECONDS,THREAD …``.
    Returns a dict from the full name of an operator to the times of its runs, µs.
    """
    found: dict[str, list[float]] = {}
    for line in table.read_text("utf-8").splitlines():
        name, _, launches = line.rsplit(";", 2)
        times_us = [float(launch.split(",")[1]) * 1e3 for launch in launches.split()]
        if times_us:
            found[name] = times_us
    return found


def times_of(
    sessions: Sequence[Mapping[str, Sequence[float]]],
) -> dict[str, tuple[float, float, float]]:
    """Summarises the times of each operator over all profiling sessions.

    Returns a dict from the full name of an operator to (runs in one call, median µs of a run,
    spread µs). The median is used because the system may interrupt single runs for milliseconds.

    Args:
        sessions: one dict for each session, from the full name of an operator to the times of its
            runs, µs.
    """
    runs: dict[str, list[float]] = defaultdict(list)
    for session in sessions:
        for name, times_us in session.items():
            runs[name] += times_us
    calls = CALLS_PROFILED * len(sessions)
    return {name: (len(some) / calls, *median_and_spread(some)) for name, some in runs.items()}
