"""One cache of kernels for all tests of this folder."""

from __future__ import annotations

import pytest

from tbe_impl.cache import KernelCache


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> KernelCache:
    """Empty at the start."""
    return KernelCache(tmp_path_factory.mktemp("kernels"))


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether everything is asked for, or what `make test` runs."""
    return bool(request.config.getoption("--full"))
