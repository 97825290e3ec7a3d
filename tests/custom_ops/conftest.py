"""MindSpore's mode in a test, put back after each.

Tests that compile kernels in `make test-all` alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest

from custom_ops import Swish
from tbe_impl.backends.cpu import compiler
from tbe_impl.errors import MissingError
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


def _missing(*_: Any, **__: Any) -> NoReturn:
    raise MissingError("this test compiles nothing")


@pytest.fixture
def compiled_in_full(request: pytest.FixtureRequest) -> Iterator[None]:
    """`make test` computes by the NumPy back end here, as on a machine without a C compiler.

    MindSpore calls no kernel then.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not request.config.getoption("--full"):
            Swish()  # what a process compiles once, for all operators
            patch.setattr(compiler, "build", _missing)
            patch.setattr("custom_ops.in_row._run", _missing)
        yield
