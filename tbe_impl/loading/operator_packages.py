"""Imports modules of operator packages lazily, whose ``__init__`` imports every operator.

Imported whole, such a package costs seconds, and one file that fails or that imports another in a circle breaks them all.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from tbe_impl.loading.bytecode import CachedFinder

MANY = 8
"""From how many imports on a package counts as one that only hands names on."""


class LazyPackages(CachedFinder, importlib.abc.Loader):
    """Finds modules below some directories; an ``__init__`` that only imports is not run.

    Args:
        places: the directories.
        roots: packages that others provide.
    """

    def __init__(self, places: Sequence[str], roots: Sequence[str] = ()):
        super().__init__(places)
        self.roots = frozenset(roots)

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] in self.roots:
            return None
        found = super().find_spec(fullname, path, target)
        if found is None or not found.submodule_search_locations:
            return found
        if not homes_of(str(found.origin), fullname):
            return found
        lazy = importlib.machinery.ModuleSpec(fullname, self, origin=found.origin, is_package=True)
        lazy.submodule_search_locations = list(found.submodule_search_locations)
        lazy.has_location = True
        return lazy

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        hand_on(module, homes_of(str(module.__file__), module.__name__))


class _HandsOn(ModuleType):
    """A module with names that are imported when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        homes = self.__dict__.get("_homes", {})
        if name not in homes:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        home, own = homes[name]
        found = getattr(importlib.import_module(home), own)
        self.__dict__[name] = found
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        # an operator and its file have one name; Python would put the file in the operator's place
        if not (isinstance(value, ModuleType) and name in self.__dict__.get("_homes", {})):
            super().__setattr__(name, value)


def hand_on(module: ModuleType, homes: Mapping[str, tuple[str, str]]) -> None:
    """Lets a module have names that are imported when they are asked for: name → module, name there."""
    vars(module)["_homes"] = homes
    module.__class__ = _HandsOn


@lru_cache(maxsize=64)
def homes_of(file: str, package: str) -> Mapping[str, tuple[str, str]]:
    """What a package's ``__init__`` imports; nothing when it does anything else, or imports little."""
    try:
        tree = ast.parse(Path(file).read_text("utf-8"))
    except (OSError, SyntaxError, ValueError):
        return {}
    found: dict[str, tuple[str, str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            if node.module == "__future__":
                continue
            parts = package.split(".")
            base = parts[: len(parts) - node.level + 1] if node.level else []
            home = ".".join([*base, *([node.module] if node.module else [])])
            found.update(
                {
                    item.asname or item.name: (home, item.name)
                    for item in node.names
                    if item.name != "*"
                }
            )
        elif not _says_nothing(node):
            return {}
    return found if len(found) >= MANY else {}


def _says_nothing(node: ast.stmt) -> bool:
    """A text, a plain import, or an assignment to a name of Python's own such as ``__all__``."""
    if isinstance(node, ast.Assign):
        return all(isinstance(item, ast.Name) and item.id.startswith("__") for item in node.targets)
    return isinstance(node, ast.Import) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )
