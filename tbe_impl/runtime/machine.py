"""What of this machine a compiled kernel depends on: processor features, C library, system, our own version."""

from __future__ import annotations

import os
import platform
import re
from functools import lru_cache
from pathlib import Path

from tbe_impl import __version__, environment

BEYOND_AVX2 = ("avx512", "avx_", "avx10", "amx")
"""How the names of features begin that came with AVX-512 and after it."""


@lru_cache(maxsize=1)
def cpu_features() -> tuple[str, ...]:
    """Instruction-set features as Linux names them (``avx2``, ``avx512f``, ``asimd`` …), sorted; empty elsewhere.

    Without those that `MS_FUSION_ISA` leaves out.
    """
    features = _all_features()
    return tuple(one for one in features if not (is_kept_to_avx2() and one.startswith(BEYOND_AVX2)))


@lru_cache(maxsize=1)
def is_kept_to_avx2() -> bool:
    """Whether this processor has AVX-512, and kernels are not to use it."""
    return environment.ISA.read() == "avx2" and "avx512f" in _all_features()


@lru_cache(maxsize=1)
def _all_features() -> tuple[str, ...]:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            # the first processor's; where there are hundreds the whole takes milliseconds
            for line in lines:
                name, _, value = line.partition(":")
                if name.strip() in ("flags", "Features"):
                    return tuple(sorted(set(value.split())))
    except OSError:
        pass
    return ()


def libc() -> str:
    """The C library with its version, as far as the system tells."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, OSError, ValueError):
        return " ".join(platform.libc_ver())


@lru_cache(maxsize=1)
def identity() -> dict[str, object]:
    """Everything outside source, compiler and flags that decides whether a compiled kernel may be used again."""
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "libc": libc(),
        "cpu_features": " ".join(cpu_features()),
        "package": __version__,
    }


def mapped(name: re.Pattern[bytes]) -> set[str]:
    """What a pattern finds among the files that this user's processes have in memory; nothing where there is no ``/proc``.

    A process that ends, however it ends, has none any more.
    """
    found: set[str] = set()
    for place in Path("/proc").glob("[0-9]*/maps"):
        try:
            found.update(item.decode() for item in name.findall(place.read_bytes()))
        except OSError:  # another user's, or gone
            continue
    return found


def is_noexec(directory: Path) -> bool:
    """Whether the file system of a directory forbids mapping code from it."""
    flag = getattr(os, "ST_NOEXEC", 0)
    return bool(os.statvfs(directory).f_flag & flag)
