"""Stores the bytecode of operator files in the store of this package instead of ``__pycache__``.

Operator trees are large, often read-only, and belong to the user. Without cached bytecode, each
process would compile every file.
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

from tbe_impl.runtime.store import make_key, user_store
from tbe_impl.runtime.store_kinds import BYTECODE


class CachedLoader(SourceFileLoader):
    """Loads a source file, with bytecode from ``__pycache__`` or from the store."""

    def source_to_code(  # type: ignore[override]
        self, data: Any, path: Any, **options: Any
    ) -> CodeType:
        """Returns the code object of the source `data`, from the cache if possible."""
        key = make_key(
            compressed_bytecode=importlib.util.MAGIC_NUMBER,
            optimize=sys.flags.optimize,
            options=options,
            path=os.fsencode(path),
            source=bytes(data),
        )
        known = user_store().read(BYTECODE, key)
        if known is not None:
            return marshal.loads(zlib.decompress(known))
        code: CodeType = super().source_to_code(data, path, **options)
        user_store().write(BYTECODE, key, zlib.compress(marshal.dumps(code), 1))
        return code

    def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
        """Does nothing, because the base class would write bytecode beside the source file."""


class CachedFinder(importlib.abc.MetaPathFinder):
    """Finds source modules below some directories and loads them with `CachedLoader`.

    Args:
        places: directories whose modules are loaded with `CachedLoader`.
    """

    def __init__(self, places: Sequence[str]):
        self.places = tuple(f"{place.rstrip(os.sep)}{os.sep}" for place in places)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Returns the spec of a module that is a source file below `places`, otherwise None."""
        found = PathFinder.find_spec(fullname, path)
        if found is None or type(found.loader) is not SourceFileLoader:
            return None
        if not str(found.origin).startswith(self.places):
            return None
        found.loader = CachedLoader(fullname, str(found.origin))
        return found


@contextlib.contextmanager
def bytecode_cache(*places: str) -> Iterator[None]:
    """Context manager: its ``with`` body loads modules below `places` with `CachedLoader`."""
    finder = CachedFinder(places)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
