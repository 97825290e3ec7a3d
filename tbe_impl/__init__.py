"""Operators as kernels, written once and run on any CPU or, by CANN, on Ascend; knows no framework.

Importing it loads nothing else: each public name is fetched from its module when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tbe_impl import compat
    from tbe_impl.errors import FusionError
    from tbe_impl.kernel import Kernel
    from tbe_impl.operator import Operator, load_operator
    from tbe_impl.tuning import tune

__version__ = "0.1.0"
"""Of all that is installed together; cached kernels of another version are not used."""

__all__ = ["FusionError", "Kernel", "Operator", "compat", "load_operator", "tune"]

_HOMES = {
    "FusionError": "tbe_impl.errors",
    "Kernel": "tbe_impl.kernel",
    "Operator": "tbe_impl.operator",
    "load_operator": "tbe_impl.operator",
    "tune": "tbe_impl.tuning",
}


def __getattr__(name: str) -> Any:
    """Fetch a public name from its home (PEP 562) and keep it."""
    if name == "compat":
        return import_module("tbe_impl.compat")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
