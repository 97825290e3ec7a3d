"""The request and the result of a fusion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx_ir as ir

from ms_fusion.devices import Device
from ms_fusion.ledger import Ledger
from ms_fusion.onnx_fusion.cleanup import Cleaned
from ms_fusion.onnx_fusion.kernels import GroupKernel
from ms_fusion.onnx_fusion.native import Native
from ms_fusion.onnx_fusion.reproducers import Reproducer
from ms_fusion.onnx_fusion.verification import Difference

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Task:
    """A clean model that is to be fused.

    Attributes:
        source: the file it came from.
        model: after clean-up.
        cleaned: what clean-up did.
        kinds: of fusions that are tried.
        device: for which machine.
        sizes: of what is not known before it runs.
        defaults: of inputs that need not be fed; the model is without them.
        native: child processes that run models.
        say: told what is being done.
    """

    source: Path
    model: ir.Model
    cleaned: Cleaned
    kinds: tuple[str, ...]
    device: Device
    sizes: Mapping[str, int]
    defaults: Mapping[str, ir.TensorProtocol]
    native: Native
    say: Progress


@dataclass(frozen=True)
class Done:
    """What became of it.

    Attributes:
        model: fused, and marked.
        ledger: what was fused, and what was not.
        kernels: of the groups; None where they have none of ours.
        found: how far each output is from the original's, where that was asked for.
        shown: fusions that are wrong, each alone.
    """

    model: ir.Model
    ledger: Ledger
    kernels: Sequence[GroupKernel] | None = None
    found: tuple[Difference, ...] = ()
    shown: Sequence[Reproducer] = ()
