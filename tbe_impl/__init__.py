"""Builds kernels from TBE operators and DSL graphs; runs them on CPUs or, with CANN, on Ascend.

The import of the package loads no other module. Each public name is imported on first access.

In: operator files, DSL graphs, arrays.
Out: kernels, reports, results.
Must not: import the other packages or a framework.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbe_impl.lazy_attributes import lazy_attributes

if TYPE_CHECKING:
    from tbe_impl import compat
    from tbe_impl.ascendc.kernel import load_ascendc
    from tbe_impl.errors import FusionError
    from tbe_impl.kernel import Kernel
    from tbe_impl.loading.operator import Operator, load_operator
    from tbe_impl.loading.tune_operator import tune

__version__ = "0.1.0"
"""Version of the whole distribution; it is part of the cache key of every kernel."""

TOOLKIT_PACKAGES = ("te", "tbe", "topi")
"""Top-level packages of the CANN toolkit; `tbe_impl.compat` provides their modules."""

__all__ = ["FusionError", "Kernel", "Operator", "compat", "load_ascendc", "load_operator", "tune"]

_HOMES = {
    "compat": "tbe_impl.compat",
    "FusionError": "tbe_impl.errors",
    "Kernel": "tbe_impl.kernel",
    "Operator": "tbe_impl.loading.operator",
    "load_ascendc": "tbe_impl.ascendc.kernel",
    "load_operator": "tbe_impl.loading.operator",
    "tune": "tbe_impl.loading.tune_operator",
}


__getattr__ = lazy_attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
