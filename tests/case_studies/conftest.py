"""Kernels of case studies are compiled as those of the compiler's own tests."""

from tests.tbe_impl.backends.cpu.conftest import little_optimization as little_optimization
