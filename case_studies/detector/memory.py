"""How much memory this process holds, and held at its highest point: Linux counts it."""

from __future__ import annotations

from pathlib import Path

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def can_be_counted() -> bool:
    """Whether this system does."""
    return CLEAR.exists()


def held_bytes() -> int:
    """Now; 0 where nobody counts."""
    return _read_status("VmRSS")


def highest_bytes() -> int:
    """The most since `begin_again`, or since the process began; 0 where nobody counts."""
    return _read_status("VmHWM")


def begin_again() -> None:
    """From now on `highest_bytes` counts anew."""
    if can_be_counted():
        CLEAR.write_text("5", "ascii")


def _read_status(key: str) -> int:
    if not STATUS.exists():
        return 0
    lines = STATUS.read_text("ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))
