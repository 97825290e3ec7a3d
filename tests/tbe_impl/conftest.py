"""Kernels of all tests of the compiler are compiled without much optimization, and kept in one cache."""

from __future__ import annotations

from tests.tbe_impl.kernel_fixtures import cache, little_optimization

__all__ = ["cache", "little_optimization"]
