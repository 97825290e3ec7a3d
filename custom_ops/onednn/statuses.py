"""Translates oneDNN's status codes to strings."""

from __future__ import annotations

NO_MEMORY = 101
"""Status code with which our C runtime reports that it cannot allocate scratch memory."""
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
    """Returns the description of a status code of oneDNN or of our C runtime.

    >>> describe(3)
    'unimplemented'
    """
    if status == NO_MEMORY:
        return "memory ran out"
    return STATUSES[status] if 0 <= status < len(STATUSES) else f"status {status}"
