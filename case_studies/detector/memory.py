"""Current and peak memory of this process, from Linux."""

from __future__ import annotations

from pathlib import Path

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def can_be_counted() -> bool:
    """Whether this system counts memory."""
    return CLEAR.exists()


def held_bytes() -> int:
    """Current bytes; 0 if the system does not count."""
    return _read_status("VmRSS")


def highest_bytes() -> int:
    """Peak bytes since `begin_again` or the process start; 0 if the system does not count."""
    return _read_status("VmHWM")


def begin_again() -> None:
    """Resets the peak of `highest_bytes`."""
    if can_be_counted():
        CLEAR.write_text("5", "ascii")


def _read_status(key: str) -> int:
    if not STATUS.exists():
        return 0
    lines = STATUS.read_text("ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))
