"""Makes the imports of an operator package lazy if its ``__init__`` only re-exports names.

Importing all modules that a package re-exports takes seconds, and one failing or circular import
breaks the whole package.
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

REEXPORT_THRESHOLD = 8
"""Least number of re-exported names for which the imports of a package become lazy."""


class LazyPackageFinder(CachedFinder, importlib.abc.Loader):
    """Finds modules below `places`, without running an ``__init__`` that only re-exports names.

    Args:
        places: directories of operator trees (directories with operator files and their packages).
        roots: top-level packages that this finder ignores, because other finders provide them.
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
        if not read_reexports(str(found.origin), fullname):
            return found
        lazy = importlib.machinery.ModuleSpec(fullname, self, origin=found.origin, is_package=True)
        lazy.submodule_search_locations = list(found.submodule_search_locations)
        lazy.has_location = True
        return lazy

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        add_lazy_attributes(module, read_reexports(str(module.__file__), module.__name__))


class _LazyModule(ModuleType):
    """A module whose names are imported on first access."""

    def __getattr__(self, name: str) -> Any:
        homes = self.__dict__.get("_homes", {})
        if name not in homes:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        home, own = homes[name]
        found = getattr(importlib.import_module(home), own)
        self.__dict__[name] = found
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        # An operator and its module have the same name; the import system would replace the
        # operator by the module.
        if not (isinstance(value, ModuleType) and name in self.__dict__.get("_homes", {})):
            super().__setattr__(name, value)


def add_lazy_attributes(module: ModuleType, homes: Mapping[str, tuple[str, str]]) -> None:
    """Adds lazily imported names to a module.

    `homes` maps each name to a pair: the module that defines the name, and the name in this module.
    """
    vars(module)["_homes"] = homes
    module.__class__ = _LazyModule


@lru_cache(maxsize=64)
def read_reexports(file: str, package: str) -> Mapping[str, tuple[str, str]]:
    """Returns a dict: name that an ``__init__`` re-exports → (module, name in this module).

    The result is empty if the file contains other statements or fewer than `REEXPORT_THRESHOLD`
    re-exports.
    """
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
        elif not _is_inert_statement(node):
            return {}
    return found if len(found) >= REEXPORT_THRESHOLD else {}


def _is_inert_statement(node: ast.stmt) -> bool:
    """Whether a statement is a docstring, a plain import or an assignment to a dunder name."""
    if isinstance(node, ast.Assign):
        return all(isinstance(item, ast.Name) and item.id.startswith("__") for item in node.targets)
    return isinstance(node, ast.Import) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )
