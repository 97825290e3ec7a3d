"""Kernels of this folder use the same compiler flags as the back end's tests."""

from __future__ import annotations

from tests.tbe_impl.kernel_fixtures import little_optimization

__all__ = ["little_optimization"]
