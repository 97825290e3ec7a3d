"""Fixtures of the golden texts: comparison with a short diff, a fixed processor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.golden_code.comparing import Goldens
from tests.golden_code.pinned import processor


@pytest.fixture
def goldens(request: pytest.FixtureRequest, repository: Path) -> Goldens:
    """Compares texts with those of tests/golden, or writes them with ``--update-golden``."""
    test = request.node.path.relative_to(repository).as_posix()
    update = bool(request.config.getoption("--update-golden"))
    return Goldens(repository / "tests" / "golden", test, update)


@pytest.fixture(autouse=True)
def pinned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Hides this machine and the user's settings."""
    with processor("avx2", monkeypatch, tmp_path):
        yield
