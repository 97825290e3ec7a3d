"""Times the original and the fused model in the installed ONNX Runtime, and judges the gain."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import onnx_ir as ir

from ms_fusion.accuracy.worker_process import WorkerError
from ms_fusion.onnx.fuse.ort.operator_trials import measure_times
from ms_fusion.onnx.fuse.verification import Comparison
from tbe_impl.errors import InputError

ORIGINAL, FUSED = "original", "fused"
RATIO_MAX = 0.98
"""Largest ratio of two times of the whole model that counts as a gain."""
CHEAP_RUN_US = 1e6
"""Maximum time of one run of a model, in µs, for which the whole model is timed."""


def time_models(
    compared: Comparison, fused: ir.Model, library: Path | None = None
) -> dict[str, float]:
    """Returns the times in µs of the models ``original`` and ``fused``.

    Returns an empty dict if a model does not run, or takes longer than `CHEAP_RUN_US`.
    """
    place = compared.native.place(".onnx")
    run = partial(compared.native.run, library=library)
    try:
        if not is_cheap(compared):
            return {}
        ir.save(ir.external_data.load_to_model(fused), place)
        return measure_times({ORIGINAL: compared.original, FUSED: place}, compared.inputs, run)
    except (WorkerError, InputError):
        return {}
    finally:
        place.unlink(missing_ok=True)


def is_cheap(compared: Comparison) -> bool:
    """Returns whether a run of the original model takes at most `CHEAP_RUN_US`.

    Raises:
        WorkerError: ONNX Runtime cannot run the model.
        InputError: no inputs can be generated.
    """
    once = compared.native.run(compared.original, compared.inputs, repeats=2).seconds[-1]
    return once * 1e6 <= CHEAP_RUN_US


def is_gain(times: Mapping[str, float], groups: int) -> bool:
    """Returns whether the fused model is a gain over the original model.

    At least one group must have been replaced. If there are times, the fused model must also be
    faster. If no group was replaced, a difference of the times is noise, because ONNX Runtime
    itself also cleans up the original model.
    """
    return groups > 0 and (not times or times[FUSED] <= times[ORIGINAL] * RATIO_MAX)
