"""ONNX's single-operator test models: fused or unchanged, never broken; at most one typed error.

This test runs a part; ``python -m tests.ms_fusion.onnx.fuse.test_corpus`` runs all.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx.backend.test.loader import load_model_tests

from ms_fusion.onnx.fuse import auto_fuse as module
from ms_fusion.onnx.native.child import NativeWorkers
from tbe_impl.errors import FusionError
from tests.cases import FULL

EVERY = 16
IR_VERSION = 11
"""Newest version that the tests' ONNX Runtime reads; the models may be newer."""


class Shared:
    """One pair of child processes for all models."""

    def __init__(self, native: NativeWorkers):
        self.native = native

    def __call__(self) -> Shared:
        return self

    def __enter__(self) -> NativeWorkers:
        return self.native

    def __exit__(self, *_: object) -> None:
        pass


def outcome(case: Any, place: Path) -> str:
    """``fused``, ``same``, or the typed error."""
    model = onnx.ModelProto.FromString(case.model.SerializeToString())
    model.ir_version = min(model.ir_version, IR_VERSION)
    source = place / "model.onnx"
    onnx.save(model, source)
    try:
        ledger = module.auto_fuse(source, place / "fused.onnx", verify=True)
    except FusionError as error:
        # the original cannot run, or has no inputs; a fused model that cannot run is a failure
        assert "fused.onnx" not in str(error), f"{case.name}: {error}"
        return f"refused: {error.what}"
    assert not [note for note in ledger.notes if "WRONG" in note], case.name
    return "fused" if ledger.kernels else "same"


def outcomes(cases: Sequence[Any], place: Path) -> Counter[str]:
    """Number of models by outcome."""
    return Counter(outcome(case, place) for case in cases)


@FULL
@pytest.mark.filterwarnings("ignore")
def test_single_operators_are_fused_or_left_alone(tmp_path: Path) -> None:
    found = outcomes(load_model_tests(kind="node")[::EVERY], tmp_path)
    assert found["fused"] > 10
    assert found["same"] > 30


if __name__ == "__main__":
    with NativeWorkers() as native, tempfile.TemporaryDirectory() as directory:
        module.NativeWorkers = Shared(native)  # type: ignore[assignment, misc]
        for line in sorted(outcomes(load_model_tests(kind="node"), Path(directory)).items()):
            sys.stdout.write(f"{line[1]:5d}  {line[0]}\n")
