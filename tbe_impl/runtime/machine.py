"""Describes the machine for cache keys: CPU features, C library and operating system."""

from __future__ import annotations

import os
import platform
import re
from functools import lru_cache
from pathlib import Path

from tbe_impl import __version__, environment
from tbe_impl.records import Record


class InstructionSet(Record):
    """An instruction set to which `MS_FUSION_ISA` limits kernels.

    Attributes:
        march: value of the compiler flag ``-march``.
        beyond: a CPU feature that only processors with a larger instruction set have.
        excluded: prefixes of the names of CPU features that kernels do not use.
    """

    march: str
    beyond: str
    excluded: tuple[str, ...]


INSTRUCTION_SETS = {
    "avx2": InstructionSet("haswell", "avx512f", ("avx512", "avx_", "avx10", "amx")),
    "sse4.2": InstructionSet(
        "nehalem",
        "avx",
        ("avx", "amx", "fma", "f16c", "bmi", "vaes", "vpclmulqdq", "abm", "movbe", "xsave"),
    ),
}


@lru_cache(maxsize=1)
def cpu_features() -> tuple[str, ...]:
    """Returns the sorted names of the CPU features, as Linux names them (``avx2``, ``asimd`` …).

    Features that `MS_FUSION_ISA` disables are left out. On other operating systems the list is
    empty.
    """
    limit = instruction_limit()
    return tuple(
        one for one in _all_features() if limit is None or not one.startswith(limit.excluded)
    )


@lru_cache(maxsize=1)
def instruction_limit() -> InstructionSet | None:
    """Returns the instruction set to which kernels are limited, or None if there is no limit."""
    limit = INSTRUCTION_SETS.get(environment.ISA.read())
    return limit if limit is not None and limit.beyond in _all_features() else None


def is_kept_to_avx2() -> bool:
    """Returns whether this processor has AVX-512 and kernels are limited to AVX2."""
    return instruction_limit() == INSTRUCTION_SETS["avx2"]


@lru_cache(maxsize=1)
def _all_features() -> tuple[str, ...]:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            # Reads only the first processor: hundreds of processors would take milliseconds.
            for line in lines:
                name, _, value = line.partition(":")
                if name.strip() in ("flags", "Features"):
                    return tuple(sorted(set(value.split())))
    except OSError:
        pass
    return ()


def libc() -> str:
    """Returns the name and the version of the C library, as the operating system reports them."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, OSError, ValueError):
        return " ".join(platform.libc_ver())


@lru_cache(maxsize=1)
def identity() -> dict[str, object]:
    """Returns the inputs that all cache keys share: package version and machine properties."""
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "libc": libc(),
        "cpu_features": " ".join(cpu_features()),
        "package": __version__,
    }


def find_mapped_files(name: re.Pattern[bytes]) -> set[str]:
    """Searches for a pattern in the paths of the files that this user's processes have mapped.

    Returns the set of all matches. The set is empty on a system without ``/proc``.
    """
    found: set[str] = set()
    for place in Path("/proc").glob("[0-9]*/maps"):
        try:
            found.update(item.decode() for item in name.findall(place.read_bytes()))
        except OSError:  # a process of another user, or terminated
            continue
    return found


def is_noexec(directory: Path) -> bool:
    """Returns whether a directory is mounted noexec, so that no library can be loaded from it."""
    flag = getattr(os, "ST_NOEXEC", 0)
    return bool(os.statvfs(directory).f_flag & flag)
