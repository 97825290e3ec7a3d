"""Processes of a case study share the kernel cache of the session."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def shared_kernels() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MS_FUSION_CACHE_DIR", os.environ["MS_FUSION_TEST_CACHE"])
        yield
