"""Kernels of the case studies use the same compiler flags as the compiler tests."""

from tests.tbe_impl.kernel_fixtures import little_optimization as little_optimization
