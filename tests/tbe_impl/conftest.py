"""Compiles kernels of all compiler tests with little optimization, into one cache."""

from __future__ import annotations

from tests.tbe_impl.kernel_fixtures import cache, little_optimization

__all__ = ["cache", "little_optimization"]
