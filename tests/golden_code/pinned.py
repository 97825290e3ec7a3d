"""Pins processor, thread count and settings, equal on every machine."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tbe_impl import environment
from tbe_impl.dsl import tensor
from tbe_impl.runtime import machine

AVX2 = ("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "sse4_1", "sse4_2")
FEATURES = {
    "avx2": AVX2,
    "sse4.2": ("sse4_1", "sse4_2"),
    "avx512": tuple(sorted((*AVX2, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"))),
}
"""Instruction sets by name: features as Linux names them."""

THREADS = 4


@contextlib.contextmanager
def processor(isa: str, monkeypatch: pytest.MonkeyPatch, cache: Path) -> Iterator[None]:
    """A context with this processor, `THREADS` threads and an empty kernel cache.

    Args:
        isa: a name of `FEATURES`.
        monkeypatch: pytest's.
        cache: an empty directory.
    """
    features = FEATURES[isa]
    identity = {
        "system": "Linux",
        "architecture": "x86_64",
        "libc": "glibc 2.0",
        "cpu_features": " ".join(features),
        "package": machine.identity()["package"],
    }
    with monkeypatch.context() as patch:
        for variable in environment.VARIABLES:
            patch.delenv(variable.name, raising=False)
        patch.setenv(environment.THREADS.name, str(THREADS))
        patch.setenv(environment.CACHE_DIR.name, str(cache))
        patch.setattr(machine, "cpu_features", lambda: features)
        patch.setattr(machine, "instruction_limit", lambda: None)
        patch.setattr(machine, "libc", lambda: identity["libc"])
        patch.setattr(machine, "identity", lambda: identity)
        yield


@contextlib.contextmanager
def numbered_from_zero(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A context in which unnamed stages are numbered from 0."""
    with monkeypatch.context() as patch:
        patch.setattr(tensor, "_name_counter", itertools.count())
        yield
