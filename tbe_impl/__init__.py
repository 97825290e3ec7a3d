"""Operators as kernels, written once and run on any CPU or, by CANN, on Ascend; knows no framework.

Importing it loads nothing else: each public name is fetched from its module when it is first used.

In: operator files, DSL graphs, arrays. Out: kernels, reports, results. It imports neither of the other packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbe_impl.lazy_names import late_names

if TYPE_CHECKING:
    from tbe_impl import compat
    from tbe_impl.errors import FusionError
    from tbe_impl.kernel import Kernel
    from tbe_impl.loading.operator import Operator, load_operator
    from tbe_impl.loading.tune_operator import tune

__version__ = "0.1.0"
"""Of all that is installed together; cached kernels of another version are not used."""

__all__ = ["FusionError", "Kernel", "Operator", "compat", "load_operator", "tune"]

_HOMES = {
    "compat": "tbe_impl.compat",
    "FusionError": "tbe_impl.errors",
    "Kernel": "tbe_impl.kernel",
    "Operator": "tbe_impl.loading.operator",
    "load_operator": "tbe_impl.loading.operator",
    "tune": "tbe_impl.loading.tune_operator",
}


__getattr__ = late_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
