"""One pair of child processes for all models of a file."""

from __future__ import annotations

from collections.abc import Iterator

import mindspore as ms
import pytest

from ms_fusion.onnx_cell import reading
from ms_fusion.onnx_fusion import auto_fuse as fusing
from ms_fusion.onnx_fusion.native import Native
from tests.ms_fusion.onnx_fusion.test_corpus import Shared


@pytest.fixture(scope="module", autouse=True)
def native() -> Iterator[Native]:
    with Native() as found, pytest.MonkeyPatch.context() as patch:
        for room in (fusing, reading):
            patch.setattr(room, "Native", Shared(found))
        yield found


@pytest.fixture(params=["graph", "pynative"])
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    before = ms.get_context("mode")
    ms.set_context(mode=ms.GRAPH_MODE if request.param == "graph" else ms.PYNATIVE_MODE)
    yield request.param
    ms.set_context(mode=before)
