"""Builds the ledger (the fusion record) of a capture from the capture's dumps and measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from ms_fusion import cost
from ms_fusion.accuracy import certificate
from ms_fusion.accuracy.tensor_dump import read_tensor_dump
from ms_fusion.capture.assemble import add_accuracy, assemble, match_by_scope
from ms_fusion.capture.capture_child import RECEIVED_FOLDER
from ms_fusion.capture.capture_run import Measurements
from ms_fusion.capture.operator_join import OperatorJoin, join
from ms_fusion.kernel_server import build_records
from ms_fusion.ledger import Ledger
from ms_fusion.mindspore import presets
from ms_fusion.mindspore.flags.generator_limits import generator_of
from ms_fusion.mindspore.flags.graph_kernel_flags import effective_flags
from ms_fusion.mindspore.state.mindspore_state import KERNELS
from ms_fusion.mindspore.state.preset_record import NO_LEVEL, NO_LEVEL_REMEDY
from ms_fusion.ops import selections
from ms_fusion.readers.dumps import Dumps, read_dumps

OWN_GENERATOR_WORKER = "ms_fusion.kernel_server.kernel_worker"
"""The module of the worker process that runs the kernels of ms_fusion's generator."""

Progress = Callable[[str], None]


def build_ledger(
    directory: Path, *, accuracy: bool = True, progress: Progress | None = None
) -> Ledger:
    """Builds the ledger (the fusion record) from the files of `run_capture` in a directory."""
    seen = msgspec.json.decode((directory / "capture.json").read_bytes(), type=Measurements)
    fused, unfused = _dumps_of(directory / "fused"), _dumps_of(directory / "unfused")
    joined = join(fused)
    random = any(node.op in selections.RANDOM_OPS for node in joined.before)
    generator = generator_of(seen.flags)
    device = cost.device(seen.device)
    ledger = assemble(
        joined,
        title=seen.title,
        device=device,
        device_target=seen.device,
        flags=seen.flags,
        preset=seen.preset,
        generator=generator,
        kept_out=seen.kept_out,
        builds=build_records.read(Path(seen.kernel_directory) / KERNELS),
        times_before=_times_by_original(joined, unfused, seen.operators_unfused),
        times_after=seen.operators_fused,
        step_before_us=seen.step_unfused_us,
        step_after_us=seen.step_fused_us,
        step_before_spread_us=seen.step_unfused_spread_us,
        step_after_spread_us=seen.step_fused_spread_us,
        environment={
            "device": seen.device,
            "mindspore": seen.version,
            "compile_unfused_s": round(seen.compile_unfused_s, 3),
            "compile_fused_s": round(seen.compile_fused_s, 3),
            **device.roofs,
        },
        output_max_abs=None if random else seen.output_max_abs,
        output_max_ulp=None if random else seen.output_max_ulp,
        output_max_rel=None if random else seen.output_max_rel,
        notes=(
            *seen.notes,
            *(f"The generator was asked for a kernel in vain: {reason}" for reason in seen.refused),
            *_notes_of(joined),
            *map(str, presets.findings_of_graph(joined.before, seen.flags, seen.device)),
        ),
    )
    if not effective_flags(seen.flags).get("opt_level"):
        ledger = replace(ledger, warnings=(f"{NO_LEVEL} {NO_LEVEL_REMEDY}",))
    if not accuracy or not ledger.kernels:
        return ledger
    if progress:
        progress("comparing each fused kernel with float64")
    found = certificate.certify(
        ledger.kernels,
        kernel_directory=Path(seen.kernel_directory),
        flags=seen.flags,
        captured=_ReceivedTensors(directory / RECEIVED_FOLDER)
        if (directory / RECEIVED_FOLDER).is_dir()
        else None,
        timeout_s=120.0,
        compiled_worker=OWN_GENERATOR_WORKER if generator == "ms_fusion" else certificate.WORKER,
    )
    return add_accuracy(ledger, found)


def _dumps_of(directory: Path) -> Dumps:
    """Returns the dumps of one run.

    If MindSpore's simplification removed all operators, the result has no built graph.
    """
    built = next(directory.rglob("graph_build_*.ir"), None)
    return Dumps(directory) if built is None else read_dumps(directory)


def _notes_of(joined: OperatorJoin) -> Iterator[str]:
    random = sorted({node.op for node in joined.before} & selections.RANDOM_OPS)
    if random:
        yield (
            f"{', '.join(random)}: other random numbers in each run, "
            "so outputs with and without fusion are not compared."
        )
    if not len(joined.before):
        yield "MindSpore simplified the net to no operator at all: nothing to run, nothing to fuse."


def _times_by_original(
    joined: OperatorJoin, unfused: Dumps, measured: dict[str, tuple[float, float, float]]
) -> dict[str, tuple[float, float, float]]:
    places = match_by_scope(joined.before, join(unfused).after)
    return {name: measured[other] for name, other in places.items() if other in measured}


class _ReceivedTensors(Mapping[str, Sequence[Any]]):
    """Maps the full name of a kernel to its dumped input tensors.

    The tensors of a kernel are read from the dumps when they are accessed.
    """

    def __init__(self, directory: Path):
        self.tensors = read_tensor_dump(directory)

    def __getitem__(self, name: str) -> Sequence[Any]:
        return self.tensors[name].inputs

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)
