"""Bytecode of the user's Python files, kept in the kernel cache and not beside them.

Trees of operators are large, often read-only, and not ours to write to: without ``__pycache__``
each process would compile every file anew.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import marshal
import os
import sys
import zlib
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType
from typing import Any

from tbe_impl.runtime import cache
from tbe_impl.runtime.compiler import user_cache


class CachedLoader(SourceFileLoader):
    """Loads a source file; its bytecode is taken from beside it, or from the kernel cache."""

    def source_to_code(self, data: Any, path: Any, **options: Any) -> CodeType:  # type: ignore[override]
        """The code of a text, compiled once for all processes that load it from the same path."""
        key = cache.make_key(
            compressed_bytecode=importlib.util.MAGIC_NUMBER,
            optimize=sys.flags.optimize,
            options=options,
            path=os.fsencode(path),
            source=bytes(data),
        )
        known = user_cache().recall(key)
        if known is not None:
            found: CodeType = marshal.loads(zlib.decompress(known))
            return found
        code: CodeType = super().source_to_code(data, path, **options)
        user_cache().remember(key, zlib.compress(marshal.dumps(code), 1))
        return code

    def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
        """Writes nothing: Python would put bytecode beside the source."""


class CachedFinder(importlib.abc.MetaPathFinder):
    """Finds what Python finds, and loads by `CachedLoader` what lies below some directories.

    Args:
        places: the directories.
    """

    def __init__(self, places: Sequence[str]):
        self.places = tuple(f"{place.rstrip(os.sep)}{os.sep}" for place in places)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The module, None when it lies elsewhere or is no source file."""
        found = PathFinder.find_spec(fullname, path)
        if found is None or type(found.loader) is not SourceFileLoader:
            return None
        if not str(found.origin).startswith(self.places):
            return None
        found.loader = CachedLoader(fullname, str(found.origin))
        return found


@contextlib.contextmanager
def cached_bytecode(*places: str) -> Iterator[None]:
    """While it lasts, modules below these directories are loaded by `CachedLoader`."""
    finder = CachedFinder(places)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
