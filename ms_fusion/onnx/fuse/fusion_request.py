"""Defines the request and the result of a fusion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import onnx_ir as ir

from ms_fusion.devices import Device
from ms_fusion.ledger import Ledger
from ms_fusion.onnx.canonicalization.cleanup import CleanupResult
from ms_fusion.onnx.fuse.reproducers import Reproducer
from ms_fusion.onnx.fuse.verification import Difference
from ms_fusion.onnx.kernels.group_kernel import GroupKernel
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.onnx.ort_library.operator_text import OperatorText

Progress = Callable[[str], None]


@dataclass(frozen=True)
class FusionRequest:
    """Request to fuse a model that is already cleaned up.

    Attributes:
        source: path of the original model.
        model: the model after clean-up.
        cleaned: the result of the clean-up.
        kinds: the kinds of fusion to try.
        device: the target device.
        sizes: assumed values of dynamic sizes, by name.
        defaults: default values that were removed from the optional inputs of the model, by name.
        native: child processes that run models.
        say: callback that receives progress messages.
        operators: custom operators that the bodies of the model's operators already call.
    """

    source: Path
    model: ir.Model
    cleaned: CleanupResult
    kinds: tuple[str, ...]
    device: Device
    sizes: Mapping[str, int]
    defaults: Mapping[str, ir.TensorProtocol]
    native: NativeWorkers
    say: Progress
    operators: tuple[OperatorText, ...] = ()


@dataclass(frozen=True)
class FusionResult:
    """The result of a fusion.

    Attributes:
        model: the fused and marked model.
        ledger: the record of the fusions and of the rejected candidates.
        kernels: the kernels of the groups; None for a model without generated kernels.
        found: the difference of each output from the output of the original model; empty without
            verification.
        shown: for each wrong fusion, a reproducer (files that show the error).
        operators: our kernels as custom operators of ONNX Runtime.
        times: a dict with the keys ``original`` and ``fused``. The value is the time of this model
            in the installed ONNX Runtime, µs. The dict is empty if the models were not timed.
    """

    model: ir.Model
    ledger: Ledger
    kernels: Sequence[GroupKernel] | None = None
    found: tuple[Difference, ...] = ()
    shown: Sequence[Reproducer] = ()
    operators: Sequence[OperatorText] = ()
    times: Mapping[str, float] = field(default_factory=dict)
