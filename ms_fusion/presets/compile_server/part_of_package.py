"""A module out of a large package, without what the package imports when it is imported itself."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import PathFinder
from types import ModuleType


def import_alone(name: str) -> ModuleType:
    """The module of this name, with empty packages above it; the whole package where the module cannot do without it.

    Args:
        name: such as ``package.part.module``.

    Raises:
        ImportError: there is no such module.
    """
    before = set(sys.modules)
    try:
        for above in _above(name):
            sys.modules.setdefault(above, _empty(above))
        return importlib.import_module(name)
    except Exception:  # noqa: BLE001 - in another version anything may be missing there
        for made in sys.modules.keys() - before:
            del sys.modules[made]
        return importlib.import_module(name)


def _above(name: str) -> list[str]:
    """The packages that a module lies in, the outermost first."""
    parts = name.split(".")[:-1]
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _empty(name: str) -> ModuleType:
    parent, _, _ = name.rpartition(".")
    spec = PathFinder.find_spec(name, sys.modules[parent].__path__ if parent else None)
    if spec is None:
        raise ImportError(f"there is no package {name}")
    module = ModuleType(name)
    # who looks for the package's files finds them: oneDNN lies beside MindSpore
    module.__spec__ = spec
    module.__path__ = list(spec.submodule_search_locations or ())
    return module
