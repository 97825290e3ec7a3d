"""One pair of child processes for all models; starting one costs as much as a small model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ms_fusion.onnx.cell import model_graph
from ms_fusion.onnx.fuse import auto_fuse as fusing
from ms_fusion.onnx.fuse import kernel_functions
from ms_fusion.onnx.native.child import NativeWorkers
from tests.ms_fusion.onnx.fuse.test_corpus import Shared


@pytest.fixture(scope="session")
def native() -> Iterator[NativeWorkers]:
    with NativeWorkers() as found:
        yield found


@pytest.fixture(autouse=True)
def shared_native(native: NativeWorkers, monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto_fuse` and `from_onnx` use this pair instead of a new one."""
    for room in (fusing, model_graph):
        monkeypatch.setattr(room, "NativeWorkers", Shared(native))


@pytest.fixture
def timed() -> None:
    """For tests of times: `verify` also measures them in `make test`."""


@pytest.fixture(autouse=True)
def untimed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In `make test`, `verify` does not time kernels, because that compiles each operator
    separately. It does not time models either.
    """
    if "timed" not in request.fixturenames and not request.config.getoption("--full"):
        monkeypatch.setattr(kernel_functions, "_time_kernels", lambda *_: {})
        monkeypatch.setattr(kernel_functions, "time_models", lambda *_: {})
