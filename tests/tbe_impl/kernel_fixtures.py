"""Fixtures for test folders that compile kernels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tbe_impl.runtime import compiler, precompiled_headers
from tbe_impl.runtime.store import Store


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Initially empty."""
    return Store(tmp_path_factory.mktemp("kernels"))


@pytest.fixture(scope="package", autouse=True)
def little_optimization(full: bool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """`make test` compiles kernels with ``-O1``: GCC takes three quarters of the time.

    Caches of single tests share the precompiled headers: compiling them takes longer than a small
    kernel.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not full:
            flags = tuple("-O1" if flag == "-O3" else flag for flag in compiler.FLAGS)
            patch.setattr(compiler, "FLAGS", flags)
            find, headers = (
                precompiled_headers.find,
                Store(tmp_path_factory.mktemp("headers")),
            )
            patch.setattr(precompiled_headers, "find", lambda *given: find(*given[:-1], headers))
        yield
