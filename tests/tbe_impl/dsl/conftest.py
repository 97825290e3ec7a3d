"""One cache of kernels for all tests of this folder."""

from __future__ import annotations

import pytest

from tbe_impl.cache import KernelCache
from tests.tbe_impl.backends.cpu.conftest import little_optimization

__all__ = ["little_optimization"]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> KernelCache:
    """Empty at the start."""
    return KernelCache(tmp_path_factory.mktemp("kernels"))
