"""Kernels of case studies are compiled as those of the compiler's own tests."""

from tests.tbe_impl.kernel_fixtures import little_optimization as little_optimization
