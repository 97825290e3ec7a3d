"""Session fixtures: one pair of child processes for all models, and models fused once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ms_fusion.ledger import Ledger
from ms_fusion.onnx.cell import model_graph
from ms_fusion.onnx.fuse import auto_fuse as fusing
from ms_fusion.onnx.native.child import NativeWorkers
from tests.ms_fusion.onnx.fuse.models import convolutional_net, transformer_layer
from tests.ms_fusion.onnx.fuse.test_corpus import Shared


@pytest.fixture(scope="session")
def native() -> Iterator[NativeWorkers]:
    with NativeWorkers() as found:
        yield found


@pytest.fixture(scope="module", autouse=True)
def shared_native(native: NativeWorkers) -> Iterator[None]:
    """`auto_fuse` and `from_onnx` use this pair instead of a new one."""
    with pytest.MonkeyPatch.context() as patch:
        for room in (fusing, model_graph):
            patch.setattr(room, "NativeWorkers", Shared(native))
        yield


@dataclass(frozen=True)
class FusedModel:
    """A model, its fused model, and the report."""

    source: Path
    fused: Path
    ledger: Ledger


FusedOnce = Callable[[str], FusedModel]
MODELS = {"layer": transformer_layer, "images": convolutional_net}


@pytest.fixture(scope="session")
def fused_once(tmp_path_factory: pytest.TempPathFactory) -> FusedOnce:
    """`layer` or `images`, fused on first use."""

    @functools.cache
    def made(name: str) -> FusedModel:
        place = tmp_path_factory.mktemp(name)
        source, fused = MODELS[name](place / "model.onnx"), place / "fused.onnx"
        return FusedModel(source, fused, fusing.auto_fuse(source, fused, assume={"n": 4, "t": 64}))

    return made
