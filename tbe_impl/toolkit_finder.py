"""Makes the packages ``te``, ``tbe``, ``topi`` importable without an installed toolkit."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from tbe_impl import TOOLKIT_PACKAGES

PROBERS = ("mindspore", "akg")
"""Packages that import the toolkit only to detect whether it is installed."""


class Finder:
    """Finds the toolkit's modules if no other finder in ``sys.meta_path`` finds them.

    The finder ignores imports by the packages in `PROBERS`. These packages import a module only to
    test whether the toolkit is installed. The finder does nothing if ``MS_FUSION=off`` is set.
    """

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        root = fullname.partition(".")[0]
        if root not in TOOLKIT_PACKAGES or _importer().partition(".")[0] in PROBERS:
            return None
        from tbe_impl import environment
        from tbe_impl.compat import real_toolkit

        if environment.is_off():
            return None
        is_ours = real_toolkit() == "" if fullname == root else _is_provided(sys.modules.get(root))
        loader: Any = self
        return ModuleSpec(fullname, loader, is_package=True) if is_ours else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Creates the module with all its attributes."""
        from tbe_impl.compat.modules import make_module

        return make_module(spec.name, importlib.import_module)

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing, because `create_module` returns a complete module."""


_finder = Finder()


def provide() -> None:
    """Makes the toolkit's packages importable; a package is loaded when it is first imported."""
    if _finder not in sys.meta_path:
        sys.meta_path.append(_finder)


@contextlib.contextmanager
def hide_provided_modules() -> Iterator[None]:
    """Context manager that removes the provided modules from ``sys.modules`` in its ``with`` block.

    After the block, the modules are restored. A module stays removed if its top-level package was
    imported inside the block.
    """
    found = {
        name: module
        for name, module in sys.modules.items()
        if name.partition(".")[0] in TOOLKIT_PACKAGES and _is_provided(module)
    }
    for name in found:
        del sys.modules[name]
    try:
        yield
    finally:
        taken = {root for root in TOOLKIT_PACKAGES if root in sys.modules}
        for name, module in found.items():
            if name.partition(".")[0] not in taken:
                sys.modules[name] = module


def _is_provided(module: Any) -> bool:
    """Whether a module is provided by `tbe_impl.compat`; this function does not import it."""
    return str(getattr(type(module), "__module__", "")).startswith("tbe_impl.compat.")


def _importer() -> str:
    """Returns the name of the module that executes the import statement."""
    frame = sys._getframe(1)
    own = ("importlib", "_frozen_importlib", __name__)
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith(own):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__"))
