"""In ``make test`` PyNative runs each operator before the next: MindSpore's waiting threads take most of the CPU time otherwise."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _synchronous(request: pytest.FixtureRequest) -> Iterator[None]:
    """With ``--full`` operators are queued, as MindSpore has it by default."""
    mindspore = None if request.config.getoption("--full") else sys.modules.get("mindspore")
    if mindspore is not None:
        mindspore.set_context(pynative_synchronize=True)
    yield
    if mindspore is not None:
        mindspore.set_context(pynative_synchronize=False)
