"""Lets programs import the toolkit's packages (``te``, ``tbe``, ``topi``) where it is not installed."""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

ROOTS = ("te", "tbe", "topi")
"""Top-level packages of the toolkit."""
PROBERS = ("mindspore", "akg")
"""Packages that import these names to learn whether the toolkit is installed."""


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last of ``sys.meta_path``: finds what no installed toolkit has, for everybody but `PROBERS`."""

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        root = fullname.partition(".")[0]
        if root not in ROOTS or _importer().partition(".")[0] in PROBERS:
            return None
        from tbe_impl.compat import real_toolkit

        is_ours = real_toolkit() == "" if fullname == root else _is_provided(sys.modules.get(root))
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if is_ours else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        from tbe_impl.compat.modules import make

        return make(spec.name, importlib.import_module)

    def exec_module(self, module: ModuleType) -> None:
        return None


_finder = Finder()


def provide() -> None:
    """From now on the names can be imported; nothing is loaded before one of them is."""
    if _finder not in sys.meta_path:
        sys.meta_path.append(_finder)


@contextlib.contextmanager
def hidden() -> Iterator[None]:
    """Inside, what was imported by these names is not there."""
    found = {
        name: module
        for name, module in sys.modules.items()
        if name.partition(".")[0] in ROOTS and _is_provided(module)
    }
    for name in found:
        del sys.modules[name]
    try:
        yield
    finally:
        for name, module in found.items():
            sys.modules.setdefault(name, module)


def _is_provided(module: Any) -> bool:
    """Whether it is a module of `tbe_impl.compat`, which is not loaded for the answer."""
    return getattr(type(module), "__module__", "") == "tbe_impl.compat.placeholders"


def _importer() -> str:
    """The module whose code runs the import."""
    frame = sys._getframe(1)
    own = ("importlib", "_frozen_importlib", __name__)
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith(own):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__"))
