"""Compiles and runs a net without and with fusion in this process, and writes dumps and times.

MindSpore's dumps are written to the subdirectories ``unfused/`` and ``fused/`` of the output
directory. The `Measurements` are written to the file ``capture.json`` in the output directory. The
user's weights, random state and context are restored, even after an error.
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

from ms_fusion.accuracy.ulp import ulp_difference
from ms_fusion.capture.median_spread import median_and_spread
from ms_fusion.capture.net_copy import fresh_function, preserve_state
from ms_fusion.capture.outputs import arrays_of
from ms_fusion.capture.profiler import profile_in_turns
from ms_fusion.compile_server import refusals
from ms_fusion.devices import measure_launch_us
from ms_fusion.mindspore import presets
from ms_fusion.mindspore.flags.graph_kernel_flags import GraphKernelFlags
from ms_fusion.mindspore.presets import net_choices
from ms_fusion.mindspore.state.mindspore_state import silence_mindspore
from ms_fusion.source_paths import is_mindspore_file
from tbe_impl.errors import CaptureError

UNFUSED_FLAGS = GraphKernelFlags(opt_level=0).render()
CALLS_TIMED = 7
MORE_CALLS, MORE_S = 31, 1.0
"""The timing of a fast net ends after `MORE_CALLS` calls or `MORE_S` seconds."""
CALLS_COMPARED = range(9, 2001)
"""Minimum and maximum number of turns of a comparison; each turn calls each variant once.

With fewer turns, the median of the time ratios has no confidence bounds.
"""
SETTLING_CALLS = 60
"""Number of warm-up turns; a turn calls each variant of the net once.

After these turns, MindSpore has chosen how it executes the net, and the net's memory is in large
pages.
"""


class CaptureOrder(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a capture.

    Attributes:
        title: title of the ledger.
        preset: name of the preset (a set of fusion flags) of the fused run.
        flags: explicit graph kernel flags, which are merged into the preset's flags.
        only_flags: explicit graph kernel flags, which replace the preset's flags.
        generator: generator of the kernels, ``ms_fusion`` or ``mindspore``. The default is the
            generator that `enable` would choose.
        measure: whether to time whole calls without and with fusion.
        profile: whether to time each operator with MindSpore's profiler; requires `measure`.
        accuracy: whether to dump the input tensors of each kernel. `accuracy` must be False if the
            capture runs in the user's process.
        against: graph kernel flags of the other run, which is compared with the fused run. The
            default turns fusion off.
        compare_s: duration of the timing after the warm-up, s. If `compare_s` is 0, a few turns are
            timed. Each turn calls the net once without and once with fusion.
    """

    title: str
    preset: str = "auto"
    flags: str | None = None
    only_flags: str | None = None
    generator: str | None = None
    measure: bool = True
    profile: bool = True
    accuracy: bool = True
    against: str = UNFUSED_FLAGS
    compare_s: float = 0.0


class Measurements(msgspec.Struct, frozen=True, kw_only=True):
    """Measurements of a capture, stored in a file beside the capture's dumps.

    Attributes:
        title: name of the net.
        device: MindSpore's device target.
        version: MindSpore's version.
        flags: the graph kernel flags of the fused run.
        preset: name of the preset (a set of fusion flags) from which `flags` were derived.
        kernel_directory: directory with the files of the fused kernels.
        compile_unfused_s, compile_fused_s: time of the first call, which compiles, s.
        step_unfused_us, step_fused_us: median time of a whole call without and with fusion, µs. The
            calls alternate. None if calls were not timed.
        step_unfused_spread_us, step_fused_spread_us: half the interquartile range of these times,
            µs. None if calls were not timed.
        step_pairs: for each turn, the pair (fused time, unfused time) of a whole call, µs.
        operators_unfused, operators_fused: times from MindSpore's profiler, as a dict from the full
            name of an operator or kernel to (runs in one call, median µs of a run, spread µs).
        refused: one sentence for each kernel that the generator did not build, with the reason.
        output_max_abs: largest absolute difference between an output with and without fusion.
        output_max_ulp: largest such difference in ULP of the output's dtype.
        output_max_rel: largest such difference, divided by the output's largest magnitude.
        kept_out: types of the operators that tuning excludes from clustering.
        notes: remarks for the reader of the ledger.
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
    """Compiles and runs `net` without and with fusion; writes dumps and times to `directory`.

    Returns the `Measurements`, which are also written to ``capture.json``.

    Args:
        net: a Cell, or a function that `ms.jit` can compile. The net may be a training step, since
            the weights are restored.
        inputs: arguments of the call.
        directory: an empty directory that the caller owns.
        order: options of the capture.

    Raises:
        InputError: the preset does not exist.
        UnsafeError: the flags are known to kill the process on this net.
        CaptureError: MindSpore could not compile or run the net. The error contains MindSpore's
            message.
    """
    import mindspore

    notes: list[str] = []
    callables: dict[str, Callable[..., Any]] = {}
    outputs: dict[str, list[np.ndarray]] = {}
    compile_s: dict[str, float] = {}
    flags = _resolve_flags(order, net, inputs, notes)
    # The fused run is first, since MindSpore dumps tensors only in the first run of a process.
    variants = {"fused": flags, "unfused": order.against}
    with (
        presets.compile_lock,
        preserve_state(net) as put_back,
        _graph_mode(),
        _silence(),
        silence_mindspore(),
        presets.redirect_failed_graphs(directory),
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
                    raise _explain_error(error, order.title) from error
            compile_s[kind] = time.perf_counter() - started
            outputs[kind] = arrays_of(result)
            put_back()
        pairs: tuple[tuple[float, float], ...] = ()
        profiles: dict[str, dict[str, tuple[float, float, float]]] = {kind: {} for kind in variants}
        if order.measure:
            pairs = _time_in_turns([*callables.values()], inputs, order.compare_s)
            if presets.device_target() == "CPU":
                with presets.environment_flags(UNFUSED_FLAGS):
                    measure_launch_us()
        if order.measure and order.profile:
            profiles = profile_in_turns(callables, inputs, directory, notes)
    fused_us, fused_spread_us = _summarise_times(fused for fused, _ in pairs)
    unfused_us, unfused_spread_us = _summarise_times(unfused for _, unfused in pairs)
    not_built = refusals.read_since(presets.kernel_directory(), first_refusal)
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
        output_max_abs=_worst_difference(outputs, "max_abs"),
        output_max_ulp=_worst_difference(outputs, "max_ulp"),
        output_max_rel=_worst_difference(outputs, "max_rel"),
        kept_out=_operators_kept_out(net, inputs, flags),
        notes=tuple(notes),
    )
    (directory / "capture.json").write_bytes(msgspec.json.encode(found))
    return found


def title_of(net: Any) -> str:
    """Returns a net's name for reports: the class name of a Cell, or the name of a function."""
    if hasattr(net, "construct"):
        return type(net).__name__
    return str(getattr(net, "__name__", type(net).__name__))


def _resolve_flags(order: CaptureOrder, net: Any, inputs: Sequence[Any], notes: list[str]) -> str:
    """Returns the flags of the fused run; adds remarks about these flags to `notes`.

    Raises:
        UnsafeError: the flags are known to end the process.
    """
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
    return tuned.apply_to(flags)


def _operators_kept_out(net: Any, inputs: Sequence[Any], flags: str) -> tuple[str, ...]:
    """Returns the operator types that both tuning and `flags` exclude from clustering."""
    tuned = net_choices.recall(net, inputs)
    out = GraphKernelFlags.parse(flags).disable_cluster_ops or ()
    return tuple(name for name in tuned.kept_out if name in out) if tuned else ()


def _restart_random() -> None:
    """Resets MindSpore's seed, so that all flag variants of a net draw the same random numbers."""
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
    """Returns a context manager that redirects standard output to the null device.

    Standard output may be a pipe of the user. MindSpore's compile server and profiler would print
    to it.
    """
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


def _explain_error(error: Exception, title: str) -> CaptureError:
    """Returns a `CaptureError` for an error of MindSpore.

    The `CaptureError` contains the first line of MindSpore's message, the innermost line of the
    user's code, and a remedy.
    """
    text = str(error).strip()
    first = next(filter(None, map(_remark, text.splitlines())), type(error).__name__)
    users = [
        match
        for match in re.findall(r"(# \d+ )?In file (.+?):(\d+)[,~]", text)
        if not is_mindspore_file(match[1])
    ]
    # MindSpore lists numbered frames from the outermost on, and frames without a number from the
    # innermost on.
    nearest = (users[-1] if users[-1][0] else users[0])[1:] if users else None
    generator_died = "Response is empty" in first or "Get response before Open" in first
    return CaptureError(
        f"MindSpore could not compile or run {title}: {first}",
        place=":".join(nearest) if nearest else None,
        remedy=(
            "Its kernel generator died: `ms-fusion doctor` checks it, and "
            "`mf.check(net, *inputs)` names operators that it cannot build."
            if generator_died
            else "Check the inputs; "
            "calling the net without ms_fusion shows MindSpore's whole message."
        ),
    )


def _remark(line: str) -> str:
    """Returns a shortened line of MindSpore's message; "" for a heading or a row of dashes."""
    line = line.strip(" .")
    return "" if set(line) <= {"-"} or line.startswith("- ") else textwrap.shorten(line, 300)


def _worst_difference(outputs: Mapping[str, Sequence[np.ndarray]], measure: str) -> float | None:
    """Returns the largest difference between the outputs of two runs; None if there are no outputs.

    `measure` is the attribute of `UlpDifference` to compare: ``max_abs``, ``max_ulp`` or
    ``max_rel``.
    """
    differences = [
        getattr(ulp_difference(fused, unfused.astype(np.float64), str(fused.dtype)), measure)
        for fused, unfused in zip(outputs["fused"], outputs["unfused"], strict=True)
    ]
    return max(differences, default=None)


def _summarise_times(times_us: Iterable[float]) -> tuple[float | None, float | None]:
    """Returns the median and the spread of times, or (None, None) if there are no times."""
    found = tuple(times_us)
    return median_and_spread(found) if found else (None, None)


def _time_in_turns(
    functions: Sequence[Callable[..., Any]], inputs: Sequence[Any], seconds: float
) -> tuple[tuple[float, float], ...]:
    """Times whole calls of two functions in alternating turns.

    Returns (µs of the first function, µs of the second function) for each turn. Each turn calls
    both functions, so that the load of the machine affects both alike. Successive turns call the
    functions in opposite order.
    """

    def turn(number: int) -> tuple[float, float]:
        took = [0.0, 0.0]
        for which in (number % 2, 1 - number % 2):
            started = time.perf_counter()
            arrays_of(functions[which](*inputs))
            took[which] = (time.perf_counter() - started) * 1e6
        return took[0], took[1]

    settled = time.perf_counter() + seconds
    for number in range(SETTLING_CALLS):
        if time.perf_counter() >= settled:
            break
        turn(number)
    turns = CALLS_COMPARED if seconds else range(CALLS_TIMED, MORE_CALLS)
    ends, found = time.perf_counter() + (seconds or MORE_S), list[tuple[float, float]]()
    while len(found) < turns.start or (time.perf_counter() < ends and len(found) in turns):
        found.append(turn(len(found)))
    return tuple(found)
