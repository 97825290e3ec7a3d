"""Implements lazy imports of a package's public names (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_attributes(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Returns a ``__getattr__`` function for a package that imports public names on first access.

    Args:
        package: name of the package.
        homes: a dict from each public name to the name of the module that defines it. If the public
            name is a submodule of the package, the value is the name of the submodule. A module
            name with a leading dot is relative to the package.
    """

    def fetch(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(home, package)
        value = module if module.__name__ == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return fetch
