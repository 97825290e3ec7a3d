"""What happens in the process that holds the net: compile and run it without and with fusion, and write down what is seen.

Everything goes into one directory: ``unfused/`` and ``fused/`` (MindSpore's dumps), ``capture.json``
(`Measurements`). The user's weights, random state and context are as before afterwards, whatever happens.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ms_fusion import presets
from ms_fusion.accuracy.ulp import ulp_difference
from ms_fusion.capture.median_spread import median_and_spread
from ms_fusion.capture.net_copy import fresh_function, state_kept
from ms_fusion.capture.outputs import arrays_of
from ms_fusion.capture.profiler import profile_in_turns
from ms_fusion.flags import GraphKernelFlags
from ms_fusion.presets import net_choices
from ms_fusion.presets.compile_server import refusals
from ms_fusion.presets.mindspore_state import quiet
from tbe_impl.errors import CaptureError

UNFUSED = GraphKernelFlags(opt_level=0).render()
CALLS_TIMED = 7
MORE_CALLS, MORE_S = 31, 1.0
"""Quick nets are called so often, or for so long."""
CALLS_COMPARED = range(9, 2001)
"""Turns where two ways are compared: with fewer the median of their ratios has no bounds."""
CALLS_SETTLED = 60
"""Turns after which MindSpore has tried how to run a net, and memory lies in large pages."""


class CaptureOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted of a capture.

    Attributes:
        title: name for the ledger.
        preset: name of the preset of the fused run.
        flags: explicit graph kernel flags, merged into the preset's.
        only_flags: explicit graph kernel flags instead of a preset's.
        generator: who builds the preset's kernels, ``ms_fusion`` or ``mindspore``; by default as `enable` chooses.
        measure: also time both runs.
        profile: also time each of their operators, with MindSpore's profiler; only what is measured can be profiled.
        accuracy: also keep what each kernel received (a child process only).
        against: flags of the run that it is compared with.
        compare_s: how long the two are compared, s, after turns to settle; 0 for a few turns.
    """

    title: str
    preset: str = "auto"
    flags: str | None = None
    only_flags: str | None = None
    generator: str | None = None
    measure: bool = True
    profile: bool = True
    accuracy: bool = True
    against: str = UNFUSED
    compare_s: float = 0.0


class Measurements(msgspec.Struct, frozen=True, kw_only=True):
    """What a capture measured, beside its dumps.

    Attributes:
        title: what the user calls the net.
        device, version: where it ran.
        flags: the graph kernel flags of the fused run.
        preset: the preset that they came from.
        kernel_directory: where the fused kernels' files are.
        compile_unfused_s, compile_fused_s: first call, s.
        step_unfused_us, step_fused_us: median of whole calls, taken in turns, µs; None when not measured.
        step_unfused_spread_us, step_fused_spread_us: half the distance between their quartiles.
        step_pairs: those calls, fused and unfused in each turn, µs.
        operators_unfused, operators_fused: full name → (runs in one call, median µs of a run, spread µs), from MindSpore's
            profiler.
        refused: what the fused run's generator could not or must not build, a sentence each.
        output_max_abs, output_max_ulp, output_max_rel: largest difference between an output with and without fusion; ULP of
            its dtype; relative to its largest magnitude.
        kept_out: operators that tuning measured to be better kept out of the clusters.
        notes: what a reader of the ledger should know.
    """

    title: str
    device: str = "CPU"
    version: str = ""
    flags: str = ""
    preset: str = ""
    kernel_directory: str = ""
    compile_unfused_s: float = 0.0
    compile_fused_s: float = 0.0
    step_unfused_us: float | None = None
    step_fused_us: float | None = None
    step_unfused_spread_us: float | None = None
    step_fused_spread_us: float | None = None
    step_pairs: tuple[tuple[float, float], ...] = ()
    operators_unfused: dict[str, tuple[float, float, float]] = {}
    operators_fused: dict[str, tuple[float, float, float]] = {}
    refused: tuple[str, ...] = ()
    output_max_abs: float | None = None
    output_max_ulp: float | None = None
    output_max_rel: float | None = None
    kept_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def run_capture(
    net: Callable[..., Any], inputs: Sequence[Any], directory: Path, order: CaptureOrder
) -> Measurements:
    """Compiles and runs `net` on `inputs` without and with fusion, and writes dumps and measurements to `directory`.

    Args:
        net: a Cell, or a function that `ms.jit` can compile; one that trains is allowed, its weights are put back.
        inputs: what it is called with.
        directory: an empty directory of ours.
        order: what is wanted.

    Raises:
        InputError: no such preset.
        UnsafeError: the flags are known to kill the process on this net.
        CaptureError: MindSpore could not compile or run the net; with its own words.
    """
    import mindspore

    notes: list[str] = []
    callables: dict[str, Callable[..., Any]] = {}
    outputs: dict[str, list[np.ndarray]] = {}
    compile_s: dict[str, float] = {}
    flags = _wanted_flags(order, net, inputs, notes)
    # fused first: a tensor dump is of a process's first run
    variants = {"fused": flags, "unfused": order.against}
    with (
        presets.compile_lock,
        state_kept(net) as put_back,
        _graph_mode(),
        _silence(),
        quiet(),
        presets.failed_graphs_in(directory),
    ):
        first_refusal = refusals.length(presets.kernel_directory())
        for kind, kind_flags in variants.items():
            _restart_random()
            callables[kind] = fresh_function(net)
            dumps = directory / kind
            dumps.mkdir()
            started = time.perf_counter()
            with (
                presets.environment_flags(kind_flags),
                presets.save_graphs(dumps),
            ):
                try:
                    result = callables[kind](*inputs)
                except Exception as error:
                    raise _explained(error, order.title) from error
            compile_s[kind] = time.perf_counter() - started
            outputs[kind] = arrays_of(result)
            put_back()
        pairs: tuple[tuple[float, float], ...] = ()
        profiles: dict[str, dict[str, tuple[float, float, float]]] = {kind: {} for kind in variants}
        if order.measure:
            pairs = _timed_in_turns([*callables.values()], inputs, order.compare_s)
        if order.measure and order.profile:
            profiles = profile_in_turns(callables, inputs, directory, notes)
    fused_us, fused_spread_us = _typical(fused for fused, _ in pairs)
    unfused_us, unfused_spread_us = _typical(unfused for _, unfused in pairs)
    not_built = refusals.since(presets.kernel_directory(), first_refusal)
    notes += [f"Left to MindSpore's own operators: {one.reason}" for one in not_built if one.left]
    found = Measurements(
        title=order.title,
        device=presets.device_target(),
        version=mindspore.__version__,
        flags=flags,
        preset=order.preset,
        kernel_directory=str(presets.kernel_directory()),
        compile_unfused_s=compile_s["unfused"],
        compile_fused_s=compile_s["fused"],
        step_unfused_us=unfused_us,
        step_fused_us=fused_us,
        step_unfused_spread_us=unfused_spread_us,
        step_fused_spread_us=fused_spread_us,
        step_pairs=pairs,
        operators_unfused=profiles["unfused"],
        operators_fused=profiles["fused"],
        refused=tuple(one.reason for one in not_built if not one.left),
        output_max_abs=_worst(outputs, "max_abs"),
        output_max_ulp=_worst(outputs, "max_ulp"),
        output_max_rel=_worst(outputs, "max_rel"),
        kept_out=_kept_out(net, inputs, flags),
        notes=tuple(notes),
    )
    (directory / "capture.json").write_bytes(msgspec.json.encode(found))
    return found


def title_of(net: Any) -> str:
    """What a net is called in reports: the class of a Cell, the name of a function."""
    if hasattr(net, "construct"):
        return type(net).__name__
    return str(getattr(net, "__name__", type(net).__name__))


def _wanted_flags(order: CaptureOrder, net: Any, inputs: Sequence[Any], notes: list[str]) -> str:
    """The flags of the fused run, refused here if they are known to kill the process; what is to be said goes to `notes`."""
    presets.prepare()
    if order.only_flags is not None:
        presets.refuse(GraphKernelFlags.parse(order.only_flags), presets.device_target())
        return order.only_flags
    flags, found = presets.flags_of(order.preset, flags=order.flags, generator=order.generator)
    notes += map(str, found)
    tuned = net_choices.recall(net, inputs)
    if tuned is None:
        return flags
    notes += tuned.notes(flags)
    return tuned.over(flags)


def _kept_out(net: Any, inputs: Sequence[Any], flags: str) -> tuple[str, ...]:
    """The operators that these flags keep out because tuning said so."""
    tuned = net_choices.recall(net, inputs)
    out = GraphKernelFlags.parse(flags).disable_cluster_ops or ()
    return tuple(name for name in tuned.kept_out if name in out) if tuned else ()


def _restart_random() -> None:
    """Both runs draw the same random numbers."""
    import mindspore

    mindspore.manual_seed(0)


@contextlib.contextmanager
def _graph_mode() -> Iterator[None]:
    import mindspore

    mode = mindspore.get_context("mode")
    presets.set_mode(mindspore.GRAPH_MODE)
    try:
        yield
    finally:
        presets.set_mode(mode)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """MindSpore's compile server and profiler print to standard output; a ledger that is piped must not carry that."""
    sys.stdout.flush()
    saved = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)
        os.close(nowhere)


def _explained(error: Exception, title: str) -> CaptureError:
    """MindSpore's own first sentence, at the user's line, with what to do."""
    text = str(error).strip()
    first = next(filter(None, map(_remark, text.splitlines())), type(error).__name__)
    users = [
        match
        for match in re.findall(r"(# \d+ )?In file (.+?):(\d+)[,~]", text)
        if "/mindspore/" not in match[1]
    ]
    # numbered from the outside in; without numbers from the inside out
    nearest = (users[-1] if users[-1][0] else users[0])[1:] if users else None
    generator_died = "Response is empty" in first or "Get response before Open" in first
    return CaptureError(
        f"MindSpore could not compile or run {title}: {first}",
        place=":".join(nearest) if nearest else None,
        remedy=(
            "Its kernel generator died: `ms-fusion doctor` checks it, and `mf.check(net, *inputs)` names operators that it "
            "cannot build."
            if generator_died
            else "Check the inputs; calling the net without ms_fusion shows MindSpore's whole message."
        ),
    )


def _remark(line: str) -> str:
    """A line of MindSpore's message without its frame; empty for rulers and headings, cut where it goes on for long."""
    line = line.strip(" .")
    return "" if set(line) <= {"-"} or line.startswith("- ") else textwrap.shorten(line, 300)


def _worst(outputs: Mapping[str, Sequence[np.ndarray]], measure: str) -> float | None:
    """The largest difference between the outputs of the two runs."""
    differences = [
        getattr(ulp_difference(fused, unfused.astype(np.float64), str(fused.dtype)), measure)
        for fused, unfused in zip(outputs["fused"], outputs["unfused"], strict=True)
    ]
    return max(differences, default=None)


def _typical(times_us: Iterable[float]) -> tuple[float | None, float | None]:
    """Median and spread; None where nothing was measured."""
    found = tuple(times_us)
    return median_and_spread(found) if found else (None, None)


def _timed_in_turns(
    functions: Sequence[Callable[..., Any]], inputs: Sequence[Any], seconds: float
) -> tuple[tuple[float, float], ...]:
    """µs of a whole call of each of two, turn by turn: a busy machine is shared fairly so.

    They take turns in being the first, too.
    """

    def turn(number: int) -> tuple[float, float]:
        took = [0.0, 0.0]
        for which in (number % 2, 1 - number % 2):
            started = time.perf_counter()
            arrays_of(functions[which](*inputs))
            took[which] = (time.perf_counter() - started) * 1e6
        return took[0], took[1]

    settled = time.perf_counter() + seconds
    for number in range(CALLS_SETTLED):
        if time.perf_counter() >= settled:
            break
        turn(number)
    turns = CALLS_COMPARED if seconds else range(CALLS_TIMED, MORE_CALLS)
    ends, found = time.perf_counter() + (seconds or MORE_S), list[tuple[float, float]]()
    while len(found) < turns.start or (time.perf_counter() < ends and len(found) in turns):
        found.append(turn(len(found)))
    return tuple(found)
