"""Runs a group and its replacements in ONNX Runtime: checks agreement and picks the fastest."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import onnx_ir as ir

from ms_fusion.accuracy.worker_process import WorkerError
from ms_fusion.graph import Graph, Node
from ms_fusion.onnx.fuse.assumed_sizes import assume_sizes
from ms_fusion.onnx.fuse.functions import FusedGroup, graph_of
from ms_fusion.onnx.fuse.ort.equivalents import Site
from ms_fusion.onnx.fuse.ort.placement import hold_weights, standalone_model
from ms_fusion.onnx.fuse.verification import difference, group_inputs
from ms_fusion.onnx.native.child import ModelRun, NativeWorkers
from ms_fusion.readers.onnx_graph import OnnxProjection
from tbe_impl.errors import FusionError

BLOCK_S = 0.01
"""Minimum duration of one measurement in seconds, much longer than the clock's resolution."""
ROUNDS_MIN, ROUNDS_MAX = 4, 12
ROUNDS_S = 0.15
"""Time in seconds for the rounds of one model, within the bounds of their number."""
TIE = 1.1
"""Two times count as equal if their ratio is at most this factor."""
SIZES = (24, 40, 56, 72)
"""Values that are assigned to dynamic sizes in turn.

The values differ, so that a wrong order of axes is detected.
"""


Run = Callable[..., ModelRun]
"""`NativeWorkers.run`, with a library of custom operators."""


@dataclass(frozen=True)
class TrialResult:
    """The result of a trial, which runs a group and its replacements in ONNX Runtime.

    Attributes:
        written: name of the chosen replacement; None if the group is not replaced.
        us: time of the replacement in µs.
        before_us: time of the original group in µs.
        reason: why the group is not replaced.
    """

    written: str | None
    us: float = 0.0
    before_us: float = 0.0
    reason: str = ""


def sizes_of(projection: OnnxProjection, assumed: Mapping[str, int]) -> dict[str, int]:
    """Returns a value for each dynamic size: the assumed value, or else one of `SIZES`."""
    found = {symbol: SIZES[number % len(SIZES)] for number, symbol in enumerate(projection.symbols)}
    return {**found, **assumed}


def trial_sizes(
    model: ir.Model, projection: OnnxProjection, assumed: Mapping[str, int], native: NativeWorkers
) -> dict[str, int]:
    """Returns `sizes_of`, with the values that follow from the sizes of the inputs."""
    found = sizes_of(projection, assumed)
    shapes = (projection.graph.values[name].shape for name in projection.graph.inputs)
    of_inputs = {size: found[size] for shape in shapes for size in shape if size in found}
    _, known = assume_sizes(model, projection, {**of_inputs, **assumed}, native)
    return {**found, **known}


def run_trial(
    group: Node,
    written: Mapping[str, Site],
    model: ir.Model,
    projection: OnnxProjection,
    sizes: Mapping[str, int],
    native: NativeWorkers,
    *,
    library: Path | None = None,
    ratio_max: float = TIE,
) -> TrialResult:
    """Runs the group and each of its replacements, and chooses one replacement or none.

    Args:
        group: the group as a fused operator.
        written: replacements by name, the preferred one first.
        model, projection: the model that contains the group, and the graph of this model.
        sizes: values of dynamic sizes.
        native: child processes that run the models.
        library: library of the custom operators that replacements call.
        ratio_max: maximum ratio of the time of a replacement to the time of the group. If every
            replacement exceeds this ratio, none is chosen.
    """
    assert group.body is not None
    run = partial(native.run, library=library)
    paths = {name: native.place(".onnx") for name in ("", *written)}
    try:
        before = ir.Model(
            graph_of(model, FusedGroup("group", group), projection.nodes, projection.values),
            ir_version=model.ir_version,
        )
        hold_weights(before, group.body, projection.values)
        ir.save(before, paths[""])
        inputs = _inputs(
            group.body,
            set[str]().union(*(site.halved for site in written.values())),
            projection,
            sizes,
        )
        expected = list(run(paths[""], inputs).outputs.values())
        reasons = {}
        for name, site in written.items():
            alone = standalone_model(site, group, model, projection.values)
            hold_weights(alone, group.body, projection.values)
            ir.save(alone, paths[name])
            reasons[name] = _mismatch_reason(paths[name], inputs, group.outputs, expected, run)
        right = {name: path for name, path in paths.items() if not reasons.get(name)}
        if len(right) == 1:
            return TrialResult(
                None, reason="; ".join(f"{name} {why}" for name, why in reasons.items())
            )
        return _choose_fastest(measure_times(right, inputs, run), ratio_max)
    except (WorkerError, FusionError) as error:
        return TrialResult(None, reason=f"not checked: {error}")
    finally:
        for path in paths.values():
            path.unlink(missing_ok=True)


def _inputs(
    body: Graph, halved: Container[str], projection: OnnxProjection, sizes: Mapping[str, int]
) -> dict[str, np.ndarray]:
    """Generates the inputs of the trial. Weights are no inputs, because the models hold them.

    An input whose name is in `halved` has two equal halves along the last axis.
    """
    found = {}
    for number, (name, array) in enumerate(
        zip(body.inputs, group_inputs(body, projection.values, sizes), strict=True)
    ):
        whole = (
            np.concatenate([np.split(array, 2, axis=-1)[0]] * 2, axis=-1)
            if name in halved
            else array
        )
        if projection.values[name].const_value is not None:
            continue
        found[f"x{number}"] = np.ascontiguousarray(whole)
    return found


def _mismatch_reason(
    path: Path,
    inputs: Mapping[str, np.ndarray],
    names: Sequence[str],
    expected: Sequence[np.ndarray],
    run: Run,
) -> str:
    """Returns the reason why a model's results are wrong, or an empty string if they are right."""
    try:
        found = list(run(path, inputs).outputs.values())
    except WorkerError as error:
        return f"does not run: {error}"
    for one in map(difference, names, expected, found):
        if not one.agrees:
            return f"differs by {one.largest:.3g} in {one.name}, where {one.allowed:.3g} is allowed"
    return ""


def measure_times(
    paths: Mapping[str, Path], inputs: Mapping[str, np.ndarray], run: Run
) -> dict[str, float]:
    """Returns the time of each model in µs: the minimum of several interleaved rounds."""
    times = {name: run(path, inputs, repeats=2).seconds[-1] for name, path in paths.items()}
    repeats = {name: max(1, min(200, int(BLOCK_S / once))) for name, once in times.items()}
    block = max(once * repeats[name] for name, once in times.items())
    for number in range(max(ROUNDS_MIN, min(ROUNDS_MAX, int(ROUNDS_S / block)))):
        for name in list(paths)[:: 1 if number % 2 else -1]:
            seconds = run(paths[name], inputs, repeats=repeats[name]).seconds
            times[name] = min(times[name], *seconds)
    return {name: found * 1e6 for name, found in times.items()}


def _choose_fastest(times: Mapping[str, float], ratio_max: float = TIE) -> TrialResult:
    """Chooses the first replacement that is about as fast as the fastest replacement.

    A replacement is about as fast if it takes at most max(1, `ratio_max`) times as long as the
    fastest replacement. If the chosen replacement takes more than `ratio_max` times as long as the
    original group, no replacement is chosen. The key of the original group in `times` is the empty
    string.
    """
    before = times[""]
    others: Sequence[str] = [name for name in times if name]
    least = min(times[name] for name in others)
    name = next(name for name in others if times[name] <= least * max(1.0, ratio_max))
    if times[name] > before * ratio_max:
        return TrialResult(
            None,
            reason=f"{name} takes {times[name]:.1f} µs, and ONNX Runtime {before:.1f} µs as it is",
        )
    return TrialResult(name, times[name], before)
