"""Putting the toolkit's module names into ``sys.modules`` and taking them out again."""

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

from tbe_impl.compat.modules import make
from tbe_impl.compat.placeholders import CompatModule
from tbe_impl.compat.session import Session, close_session, open_session
from tbe_impl.soc import Soc, soc
from tbe_impl.toolkit_finder import ROOTS

logger = logging.getLogger(__name__)

OPTIONAL_ROOTS = ("mindspore", "luojianet_ms", "sympy")
"""Packages that operator files import and that are only stood in for where they are missing."""

HELPER_ROOTS = ("impl",)
"""Packages that come with operators; what such a tree lacks is stood in for."""


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module below the provided packages; those that nobody wrote hold placeholders."""

    def __init__(self, roots: Sequence[str]):
        self.roots = frozenset(roots)

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in self.roots:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return make(spec.name, importlib.import_module)

    def exec_module(self, module: ModuleType) -> None:
        return None


_MOVED = {name: getattr(collections.abc, name) for name in collections.abc.__all__}
"""What `collections` itself had until Python 3.10, and operators from before still take from there."""

_lock = threading.RLock()
_depth = 0
_finder: _Finder | None = None
_helper_finder = _Finder(HELPER_ROOTS)
_hidden: dict[str, ModuleType] = {}
_before: dict[str, ModuleType] = {}
"""What was imported when the names were put in."""


def _paths() -> tuple[tuple[str, int], ...]:
    """Where packages lie, and when each of these directories was last changed."""
    found = []
    for place in sys.path:
        try:
            found.append((place, os.stat(place or ".").st_mtime_ns))  # noqa: PTH116 - with every build
        except OSError:
            found.append((place, 0))
    return tuple(found)


@functools.lru_cache(maxsize=64)
def _found(
    name: str, inside: str, paths: tuple[tuple[str, int], ...]
) -> importlib.machinery.ModuleSpec | None:
    """What Python would import under a name; `inside` are the places of its package, one a line, empty for none."""
    return importlib.machinery.PathFinder.find_spec(name, inside.splitlines() or None)


def real_toolkit() -> str:
    """Where a real toolkit's packages are, empty when there are none."""
    return _real_toolkit(_paths())


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
            spec = _found(root, "", paths)
            places = list(spec.submodule_search_locations or ()) if spec else []
            if spec and any(_found(name, "\n".join(places), paths) for name in inside):
                return str(spec.origin or places[0])
    return ""


def _missing(root: str, paths: tuple[tuple[str, int], ...]) -> bool:
    if root in sys.modules:
        return isinstance(sys.modules[root], CompatModule)
    try:
        return _found(root, "", paths) is None
    except (ImportError, ValueError):
        return True


def _put_in(roots: Sequence[str]) -> None:
    global _depth, _finder
    with _lock:
        _depth += 1
        if _depth > 1:
            return
        _finder = _Finder(roots)
        for name, value in _MOVED.items():
            vars(collections).setdefault(name, value)
        beginnings = tuple(_finder.roots)
        for name in list(sys.modules):
            if name.startswith(beginnings) and name.partition(".")[0] in _finder.roots:
                _hidden[name] = sys.modules.pop(name)
        _before.update(sys.modules)
        sys.meta_path.insert(0, _finder)
        sys.meta_path.append(_helper_finder)


def _take_out() -> None:
    global _depth, _finder
    with _lock:
        _depth -= 1
        if _depth or _finder is None:
            return
        for name in _MOVED:
            vars(collections).pop(name, None)
        for finder in (_finder, _helper_finder):
            if finder in sys.meta_path:
                sys.meta_path.remove(finder)
        for name, module in sys.modules.copy().items():
            if _before.get(name) is module:
                continue
            if name.partition(".")[0] in _finder.roots or isinstance(module, CompatModule):
                del sys.modules[name]
        _before.clear()
        sys.modules.update(_hidden)
        _hidden.clear()
        _finder = None


@contextlib.contextmanager
def installed(
    soc_name: str | Soc = "Ascend910A",
    *,
    replace_real: bool = False,
    soc: str | Soc | None = None,
    registrations: Sequence[Any] = (),
) -> Iterator[Session]:
    """Provides every module that operators import; yields the record of what they do.

    Contexts may be nested, and threads may each have one: modules are shared, records and chips are each thread's own.

    Args:
        soc_name, soc: the chip that platform questions are answered for; ``cpu`` takes everything.
        replace_real: hides a real toolkit for the time; by default it is left alone and nothing is provided.
        registrations: of an earlier session, for operators that look each other up.

    >>> with installed(soc="Ascend310P3"):
    ...     from te import platform
    ...     platform.get_soc_spec("SHORT_SOC_VERSION")
    'Ascend310P'
    """
    record = Session(_chip(soc if soc is not None else soc_name), registrations=list(registrations))
    paths = _paths()
    found = "" if _depth else _real_toolkit(paths)
    if found and not replace_real:
        record.real_toolkit = found
        logger.warning(
            "a real toolkit was found at %s and is left alone; nothing is recorded", found
        )
        yield record
        return
    _put_in((*ROOTS, *(root for root in OPTIONAL_ROOTS if _missing(root, paths))))
    token = open_session(record)
    try:
        yield record
    finally:
        close_session(token)
        _take_out()


def _chip(name: str | Soc) -> Soc:
    return soc(name)
