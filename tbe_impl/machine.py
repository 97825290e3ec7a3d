"""What of this machine a compiled kernel depends on: processor features, C library, system, our own version."""

from __future__ import annotations

import os
import platform
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def cpu_features() -> tuple[str, ...]:
    """Instruction-set features as Linux names them (``avx2``, ``avx512f``, ``asimd`` …), sorted; empty elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return ()
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return tuple(sorted(set(value.split())))
    return ()


@lru_cache(maxsize=1)
def package_version() -> str:
    """Version of the installed distribution; ``source`` when it runs from a checkout that was never installed."""
    from importlib import metadata

    try:
        return metadata.version("ms_fusion")
    except metadata.PackageNotFoundError:
        return "source"


@lru_cache(maxsize=1)
def identity() -> dict[str, object]:
    """Everything outside source, compiler and flags that decides whether a compiled kernel may be used again."""
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "libc": list(platform.libc_ver()),
        "cpu_features": list(cpu_features()),
        "package": package_version(),
    }


def process_start(pid: int | str = "self") -> str | None:
    """When a process started, in the kernel's clock ticks, or None when there is no such process.

    With the process id it names one process for good: ids are used again, pairs are not.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace")
    except OSError:
        return None
    # The command's name, in parentheses, may hold spaces and parentheses itself.
    fields = text.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else None


def is_noexec(directory: Path) -> bool:
    """Whether the file system of a directory forbids mapping code from it."""
    flag = getattr(os, "ST_NOEXEC", 0)
    return bool(os.statvfs(directory).f_flag & flag)
