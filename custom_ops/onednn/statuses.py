"""What a call of oneDNN hands back, in words."""

from __future__ import annotations

NO_MEMORY = 101
"""Of our runtime: its scratch memory cannot be had."""
STATUSES = (
    "success",
    "out of memory",
    "invalid arguments",
    "unimplemented",
    "last implementation reached",
    "runtime error",
    "not required",
    "invalid graph",
    "invalid operation of a graph",
    "invalid shape",
    "invalid data type",
)


def describe(status: int) -> str:
    """A status of oneDNN, or of our runtime, in words.

    >>> describe(3)
    'unimplemented'
    """
    if status == NO_MEMORY:
        return "memory ran out"
    return STATUSES[status] if 0 <= status < len(STATUSES) else f"status {status}"
