"""Translates oneDNN's status codes into text."""

from __future__ import annotations

NO_MEMORY = 101
"""Status with which our runtime reports that scratch memory ran out."""
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
    """Returns the text of a status of oneDNN or of our runtime.

    >>> describe(3)
    'unimplemented'
    """
    if status == NO_MEMORY:
        return "memory ran out"
    return STATUSES[status] if 0 <= status < len(STATUSES) else f"status {status}"
