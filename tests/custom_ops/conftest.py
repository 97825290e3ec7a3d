"""MindSpore's mode in a test: one after the other where a test asks for it, and put back after each."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.tbe_impl.backends.cpu.conftest import little_optimization as little_optimization


@pytest.fixture(autouse=True)
def _mode_is_put_back() -> Iterator[None]:
    mindspore = sys.modules.get("mindspore")
    before = mindspore.get_context("mode") if mindspore is not None else None
    yield
    if mindspore is not None:
        mindspore.set_context(mode=before)


@pytest.fixture(params=["graph", "pynative"])
def mode(request: pytest.FixtureRequest) -> None:
    """The test runs in both."""
    import mindspore

    graph = request.param == "graph"
    mindspore.set_context(mode=mindspore.GRAPH_MODE if graph else mindspore.PYNATIVE_MODE)


@pytest.fixture
def pynative() -> None:
    """The test begins in PyNative mode."""
    import mindspore

    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
