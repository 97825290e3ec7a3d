"""Makes the CANN toolkit's modules importable, and later removes them from ``sys.modules``."""

from __future__ import annotations

import collections
import collections.abc
import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import logging
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

from tbe_impl import TOOLKIT_PACKAGES
from tbe_impl.compat.modules import make_module
from tbe_impl.compat.placeholders import CompatModule
from tbe_impl.compat.session import Session, close_session, open_session
from tbe_impl.soc import Soc, find_soc

logger = logging.getLogger(__name__)

OPTIONAL_ROOTS = ("mindspore", "luojianet_ms", "sympy")
"""Packages that operator files import. A package is provided here only if it is not installed."""

HELPER_ROOTS = ("impl",)
"""Top-level packages of operator directories; the modules that a directory lacks are added."""


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module below the packages `roots`.

    A module that the project does not implement contains only placeholders; see `Placeholder`.
    """

    def __init__(self, roots: Sequence[str]):
        self.roots = frozenset(roots)

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in self.roots:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return make_module(spec.name, importlib.import_module)

    def exec_module(self, module: ModuleType) -> None:
        return None


_COLLECTIONS_ALIASES = {name: getattr(collections.abc, name) for name in collections.abc.__all__}
"""Names of `collections.abc` that old operators import from `collections` (until Python 3.9)."""

_lock = threading.RLock()
_depth = 0
_finder: _Finder | None = None
_helper_finder = _Finder(HELPER_ROOTS)
_hidden_modules: dict[str, ModuleType] = {}
_modules_before: dict[str, ModuleType] = {}
"""Contents of ``sys.modules`` before the modules of the toolkit were added."""


def _search_path_stamps() -> tuple[tuple[str, int], ...]:
    """Returns a pair for each entry of ``sys.path``: the entry, and its modification time in ns.

    The time is 0 if the entry cannot be read.
    """
    found = []
    for place in sys.path:
        try:
            found.append((place, os.stat(place or ".").st_mtime_ns))  # noqa: PTH116 - every build
        except OSError:
            found.append((place, 0))
    return tuple(found)


@functools.lru_cache(maxsize=64)
def _find_module_spec(
    name: str, inside: str, paths: tuple[tuple[str, int], ...]
) -> importlib.machinery.ModuleSpec | None:
    """Returns the spec of the module that Python would import by this name, or None.

    Args:
        name: name of the module.
        inside: the search path, with one directory per line; an empty string means ``sys.path``.
        paths: result of `_search_path_stamps`; the function uses it only as part of the cache key.
    """
    return importlib.machinery.PathFinder.find_spec(name, inside.splitlines() or None)


def real_toolkit() -> str:
    """Returns the path of an installed CANN toolkit, or an empty string if there is none."""
    return _real_toolkit(_search_path_stamps())


def _real_toolkit(paths: tuple[tuple[str, int], ...]) -> str:
    for root, inside in (("tbe", ("dsl", "common")), ("te", ("lang", "platform"))):
        loaded = sys.modules.get(root)
        if (
            loaded is not None
            and not isinstance(loaded, CompatModule)
            and getattr(loaded, "__file__", None)
        ):
            return str(loaded.__file__)
        with contextlib.suppress(ImportError, ValueError, AttributeError):
            spec = _find_module_spec(root, "", paths)
            places = list(spec.submodule_search_locations or ()) if spec else []
            if spec and any(_find_module_spec(name, "\n".join(places), paths) for name in inside):
                return str(spec.origin or places[0])
    return ""


def _is_missing(root: str, paths: tuple[tuple[str, int], ...]) -> bool:
    if root in sys.modules:
        return isinstance(sys.modules[root], CompatModule)
    try:
        return _find_module_spec(root, "", paths) is None
    except (ImportError, ValueError):
        return True


def _install_finder(roots: Sequence[str]) -> None:
    global _depth, _finder
    with _lock:
        _depth += 1
        if _depth > 1:
            return
        _finder = _Finder(roots)
        for name, value in _COLLECTIONS_ALIASES.items():
            vars(collections).setdefault(name, value)
        beginnings = tuple(_finder.roots)
        for name in list(sys.modules):
            if name.startswith(beginnings) and name.partition(".")[0] in _finder.roots:
                _hidden_modules[name] = sys.modules.pop(name)
        _modules_before.update(sys.modules)
        sys.meta_path.insert(0, _finder)
        sys.meta_path.append(_helper_finder)


def _remove_finder() -> None:
    global _depth, _finder
    with _lock:
        _depth -= 1
        if _depth or _finder is None:
            return
        for name in _COLLECTIONS_ALIASES:
            vars(collections).pop(name, None)
        for finder in (_finder, _helper_finder):
            if finder in sys.meta_path:
                sys.meta_path.remove(finder)
        for name, module in sys.modules.copy().items():
            if _modules_before.get(name) is module:
                continue
            if name.partition(".")[0] in _finder.roots or isinstance(module, CompatModule):
                del sys.modules[name]
        _modules_before.clear()
        sys.modules.update(_hidden_modules)
        _hidden_modules.clear()
        _finder = None


@contextlib.contextmanager
def installed(
    soc_name: str | Soc = "Ascend910A",
    *,
    replace_real: bool = False,
    soc: str | Soc | None = None,
    registrations: Sequence[Any] = (),
) -> Iterator[Session]:
    """Provides all modules that operators import; yields the session that records operators' calls.

    Contexts may be nested and may be open in several threads. The threads share the modules; each
    thread has its own session and chip.

    Args:
        soc_name, soc: the chip for which the operators are built. The chip ``cpu`` supports every
            dtype and has no on-chip limits. `soc` takes precedence.
        replace_real: whether to hide an installed CANN toolkit inside the block. By default, an
            installed toolkit stays active and nothing is provided.
        registrations: registrations of an earlier session. Operators can look up other operators
            there.

    >>> with installed(soc="Ascend310P3"):
    ...     from te import platform
    ...     platform.get_soc_spec("SHORT_SOC_VERSION")
    'Ascend310P'
    """
    record = Session(
        find_soc(soc if soc is not None else soc_name), registrations=list(registrations)
    )
    paths = _search_path_stamps()
    found = "" if _depth else _real_toolkit(paths)
    if found and not replace_real:
        record.real_toolkit = found
        logger.warning(
            "a real toolkit was found at %s and is left alone; nothing is recorded", found
        )
        yield record
        return
    _install_finder(
        (*TOOLKIT_PACKAGES, *(root for root in OPTIONAL_ROOTS if _is_missing(root, paths)))
    )
    token = open_session(record)
    try:
        yield record
    finally:
        close_session(token)
        _remove_finder()
