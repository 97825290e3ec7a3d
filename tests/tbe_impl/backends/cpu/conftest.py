"""One cache of kernels for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tbe_impl.backends.cpu import compiler
from tbe_impl.cache import KernelCache


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> KernelCache:
    """Empty at the start."""
    return KernelCache(tmp_path_factory.mktemp("kernels"))


@pytest.fixture(scope="package", autouse=True)
def little_optimization(request: pytest.FixtureRequest) -> Iterator[None]:
    """`make test` compiles kernels with ``-O1``: GCC takes three quarters of the time."""
    with pytest.MonkeyPatch.context() as patch:
        if not request.config.getoption("--full"):
            flags = tuple("-O1" if flag == "-O3" else flag for flag in compiler.FLAGS)
            patch.setattr(compiler, "FLAGS", flags)
        yield


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether everything is asked for, or what `make test` runs."""
    return bool(request.config.getoption("--full"))
