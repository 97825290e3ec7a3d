"""Imports a module of a large package without running the ``__init__`` of the package."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import PathFinder
from types import ModuleType


def import_alone(name: str) -> ModuleType:
    """Imports a module while empty modules replace its parent packages.

    So the ``__init__`` of the parent packages does not run. If the module cannot be imported in
    this way, the function imports the module in the normal way.

    Args:
        name: name of the module, such as ``package.part.module``.

    Raises:
        ImportError: the module does not exist.
    """
    before = set(sys.modules)
    try:
        for above in _parent_packages(name):
            sys.modules.setdefault(above, _make_empty_package(above))
        return importlib.import_module(name)
    except Exception:  # noqa: BLE001 - another version may lack anything there
        for made in sys.modules.keys() - before:
            del sys.modules[made]
        return importlib.import_module(name)


def _parent_packages(name: str) -> list[str]:
    """Returns the names of the parent packages of a module, outermost first."""
    parts = name.split(".")[:-1]
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _make_empty_package(name: str) -> ModuleType:
    parent, _, _ = name.rpartition(".")
    spec = PathFinder.find_spec(name, sys.modules[parent].__path__ if parent else None)
    if spec is None:
        raise ImportError(f"there is no package {name}")
    module = ModuleType(name)
    # Other code finds files of the package by these attributes, for example MindSpore's oneDNN.
    module.__spec__ = spec
    module.__path__ = list(spec.submodule_search_locations or ())
    return module
