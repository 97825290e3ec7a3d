"""A group and what may stand for it, each alone in ONNX Runtime on the same numbers: do they agree, and which is the quickest."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx_ir as ir

from ms_fusion.accuracy.worker import WorkerError
from ms_fusion.formats.onnx_graph import Projection
from ms_fusion.graph import Graph, Node
from ms_fusion.onnx_fusion.functions import Fused, graph_of
from ms_fusion.onnx_fusion.native import Native
from ms_fusion.onnx_fusion.ort.equivalents import Site
from ms_fusion.onnx_fusion.ort.placement import alone
from ms_fusion.onnx_fusion.verification import difference, group_inputs
from tbe_impl.errors import FusionError

BLOCK_S = 0.01
"""How long one measurement of a group takes at least, so that the clock does not matter."""
ROUNDS = 4
TIE = 1.1
"""What is slower by less than this factor is as quick."""
SIZES = (24, 40, 56, 72)
"""What sizes that are not known are taken for, one after the other, so that axes that are mixed up show."""


@dataclass(frozen=True)
class Tried:
    """What trying gave.

    Attributes:
        written: name of what stands for the group; None where it stays.
        us, before_us: of it, and of the group as ONNX Runtime runs it.
        reason: why it stays.
    """

    written: str | None
    us: float = 0.0
    before_us: float = 0.0
    reason: str = ""


def sizes_of(projection: Projection, assumed: Mapping[str, int]) -> dict[str, int]:
    """A size for each that is not known before the model runs."""
    found = {symbol: SIZES[number % len(SIZES)] for number, symbol in enumerate(projection.symbols)}
    return {**found, **assumed}


def tried(
    group: Node,
    written: Mapping[str, Site],
    model: ir.Model,
    projection: Projection,
    sizes: Mapping[str, int],
    native: Native,
) -> Tried:
    """Runs the group and everything that was written for it.

    Args:
        group: the operators as one.
        written: name → what was written, the preferred one first.
        model, projection: where the group stands.
        sizes: of what is not known before it runs.
        native: runs them.
    """
    assert group.body is not None
    paths = {name: native.place(".onnx") for name in ("", *written)}
    try:
        before = ir.Model(
            graph_of(model, Fused("group", group), projection.nodes, projection.values),
            ir_version=model.ir_version,
        )
        ir.save(before, paths[""])
        inputs = _inputs(
            group.body,
            set[str]().union(*(site.halved for site in written.values())),
            projection,
            sizes,
        )
        expected = list(native.run(paths[""], inputs).outputs.values())
        reasons = {}
        for name, site in written.items():
            ir.save(alone(site, group, model, projection.values), paths[name])
            reasons[name] = _why_not(paths[name], inputs, group.outputs, expected, native)
        right = {name: path for name, path in paths.items() if not reasons.get(name)}
        if len(right) == 1:
            return Tried(None, reason="; ".join(f"{name} {why}" for name, why in reasons.items()))
        return _chosen(_measured(right, inputs, native))
    except (WorkerError, FusionError) as error:
        return Tried(None, reason=f"not checked: {error}")
    finally:
        for path in paths.values():
            path.unlink(missing_ok=True)


def _inputs(
    body: Graph, halved: Container[str], projection: Projection, sizes: Mapping[str, int]
) -> dict[str, np.ndarray]:
    """What the group is tried with; of values that are `halved` one half stands twice."""
    found = {}
    for number, (name, array) in enumerate(
        zip(body.inputs, group_inputs(body, projection.values, sizes), strict=True)
    ):
        whole = (
            np.concatenate([np.split(array, 2, axis=-1)[0]] * 2, axis=-1)
            if name in halved
            else array
        )
        found[f"x{number}"] = np.ascontiguousarray(whole)
    return found


def _why_not(
    path: Path,
    inputs: Mapping[str, np.ndarray],
    names: Sequence[str],
    expected: Sequence[np.ndarray],
    native: Native,
) -> str:
    """What is wrong with a model that should give these numbers; empty when nothing is."""
    try:
        found = list(native.run(path, inputs).outputs.values())
    except WorkerError as error:
        return f"does not run: {error}"
    for one in map(difference, names, expected, found):
        if not one.agrees:
            return f"differs by {one.largest:.3g} in {one.name}, where {one.allowed:.3g} is allowed"
    return ""


def _measured(
    paths: Mapping[str, Path], inputs: Mapping[str, np.ndarray], native: Native
) -> dict[str, float]:
    """µs of each, the least of several rounds in turns: what disturbs only adds."""
    times = {name: native.run(path, inputs, repeats=2).seconds[-1] for name, path in paths.items()}
    repeats = {name: max(1, min(200, int(BLOCK_S / once))) for name, once in times.items()}
    for number in range(ROUNDS):
        for name in list(paths)[:: 1 if number % 2 else -1]:
            seconds = native.run(paths[name], inputs, repeats=repeats[name]).seconds
            times[name] = min(times[name], *seconds)
    return {name: found * 1e6 for name, found in times.items()}


def _chosen(times: Mapping[str, float]) -> Tried:
    """The first of what was written that is as quick as the quickest of it, unless the group as it was is quicker."""
    before = times[""]
    others: Sequence[str] = [name for name in times if name]
    least = min(times[name] for name in others)
    name = next(name for name in others if times[name] <= least * TIE)
    if times[name] > before * TIE:
        return Tried(
            None,
            reason=f"{name} takes {times[name]:.1f} µs, and ONNX Runtime {before:.1f} µs as it is",
        )
    return Tried(name, times[name], before)
