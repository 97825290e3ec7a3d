"""Kernels of all tests of the compiler are compiled as those of its back end."""

from __future__ import annotations

from tests.tbe_impl.backends.cpu.conftest import little_optimization

__all__ = ["little_optimization"]
