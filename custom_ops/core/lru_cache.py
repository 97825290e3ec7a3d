"""Implements a thread-safe LRU cache."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class LruCache(Generic[Key, Value]):
    """Thread-safe least-recently-used cache of bounded size.

    >>> table = LruCache(2)
    >>> table["a"], table["b"] = 1, 2
    >>> table.get("a")
    1
    >>> table["c"] = 3
    >>> table.get("b"), len(table)
    (None, 2)
    """

    def __init__(self, size: int):
        self.size = size
        self._entries: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        """Returns the entry and marks it as most recently used, or returns None on a miss."""
        with self._lock:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
            return found

    def __setitem__(self, key: Key, value: Value) -> None:
        with self._lock:
            self._entries[key] = value
            while len(self._entries) > self.size:
                self._entries.popitem(last=False)

    def __len__(self) -> int:
        return len(self._entries)
