"""Kernels of this folder are compiled as those of the back end's tests."""

from __future__ import annotations

from tests.tbe_impl.kernel_fixtures import little_optimization

__all__ = ["little_optimization"]
