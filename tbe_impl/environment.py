"""Every environment variable of the project, read and checked in one place (listed in docs/environment.md)."""

from __future__ import annotations

import logging
import os
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tbe_impl.errors import InputError


@dataclass(frozen=True)
class Variable:
    """One environment variable: its name, the values it takes (empty: free text), its default, what it does, what free text says."""

    name: str
    choices: tuple[str, ...]
    default: str
    doc: str
    takes: str = ""

    def read(self) -> str:
        """The value in force; raises `InputError` that lists the good values."""
        value = os.environ.get(self.name, "") or self.default
        if self.choices and value not in self.choices:
            raise InputError(
                "unknown value of an environment variable",
                place=self.name,
                expected=" or ".join(self.choices),
                got=repr(value),
            )
        return value


FUSION = Variable(
    "MS_FUSION",
    ("on", "off"),
    "on",
    "`off` makes `enable()` and every patch do nothing (said once); `te`, `tbe` and `topi` cannot be imported.",
)
CACHE_DIR = Variable(
    "MS_FUSION_CACHE_DIR",
    (),
    "",
    "Directory of compiled kernels; by default the user's cache directory. A relative one, or one with `~`, counts from where the process first asks.",
    "a directory",
)

COMPILER = Variable(
    "MS_FUSION_CC",
    (),
    "",
    "C compiler for kernels; by default `cc`, `gcc`, `clang`, or that of the package `ziglang`.",
    "a command without options",
)
THREADS = Variable(
    "MS_FUSION_THREADS",
    (),
    "",
    "Threads of a kernel; by default the cores that this process may use.",
    "1 to 256",
)
ISA = Variable(
    "MS_FUSION_ISA",
    ("native", "avx2"),
    "native",
    "Instructions of kernels: all that the processor has, or, where it has AVX-512, none beyond AVX2, as on a processor without. A process looks once. For oneDNN set `ONEDNN_MAX_CPU_ISA=AVX2` as well.",
)

VARIABLES = (FUSION, CACHE_DIR, COMPILER, THREADS, ISA)


def is_off() -> bool:
    """Whether `MS_FUSION=off` disables everything that changes a program."""
    return FUSION.read() == "off"


_log = logging.getLogger("ms_fusion")
_said_off = False


def is_off_and_said() -> bool:
    """`is_off` for whoever was about to change something.

    The first time in a process it is said in the log.
    """
    global _said_off
    if not is_off():
        return False
    if not _said_off:
        _said_off = True
        _log.warning("MS_FUSION=off: ms_fusion changes nothing in this process")
    return True


def threads() -> int:
    """How many threads a kernel uses unless it is told otherwise."""
    chosen = THREADS.read()
    if not chosen:
        usable = getattr(os, "sched_getaffinity", None)
        return len(usable(0)) if usable else os.cpu_count() or 1
    if not chosen.isdigit() or not 1 <= int(chosen) <= 256:
        raise InputError(
            "unknown value of an environment variable",
            place=THREADS.name,
            expected="a number from 1 to 256",
            got=repr(chosen),
        )
    return int(chosen)


def cache_dir() -> Path:
    """Directory for compiled kernels and for MindSpore's own kernel files: absolute; it need not exist yet.

    A relative name, or one with ``~``, counts from where it is first asked for. It is replaced in the environment then: what
    comes later has other working directories, children too.

    Raises:
        InputError: it cannot be made absolute.
    """
    chosen = CACHE_DIR.read()
    place = (
        Path(chosen)
        if chosen
        else _user_cache(os.environ.get("HOME"), os.environ.get("XDG_CACHE_HOME"))
    )
    if not place.is_absolute():
        place = _absolute(place, CACHE_DIR.name if chosen else "XDG_CACHE_HOME or HOME")
        os.environ[CACHE_DIR.name] = str(place)
    return place


def is_text(place: Path) -> bool:
    """Whether a path is the same text to MindSpore, which takes it for UTF-8, as it is to the file system.

    It is not where its bytes are no UTF-8 (the home of a user with a GBK name), or where this process encodes names otherwise
    (``LC_ALL=C`` without Python's UTF-8 mode): MindSpore's JSON then dies of it.
    """
    try:
        return os.fsencode(place) == str(place).encode("utf-8")
    except UnicodeEncodeError:
        return False


def shown(place: Path) -> str:
    """A path for messages: bytes that are no UTF-8 as escapes."""
    return os.fsencode(place).decode("utf-8", "backslashreplace")


def temporary_directory() -> Path:
    """The system's temporary directory, or another where its name `is_text` not.

    Raises OSError when there is none.
    """
    chosen = Path(tempfile.gettempdir())
    others = ("/dev/shm", "/tmp", "/var/tmp")
    if is_text(chosen):
        return chosen
    for other in map(Path, others):
        if other.is_dir() and os.access(other, os.W_OK | os.X_OK):
            return other
    return chosen


def _absolute(place: Path, variable: str) -> Path:
    """Raises `InputError` for the home of nobody, and where there is no working directory."""
    try:
        return place.expanduser().absolute()
    except RuntimeError as error:
        expected, got = "~ or ~USER with a home directory", place.parts[0]
        failure: Exception = error
    except OSError as error:
        expected, got = "an absolute path, since there is no working directory", str(place)
        failure = error
    raise InputError(
        "the directory cannot be found",
        place=variable,
        expected=expected,
        got=repr(got),
        remedy=f"Set {CACHE_DIR.name} to an absolute path",
    ) from failure


@lru_cache(maxsize=4)
def _user_cache(*_: str | None) -> Path:
    """The user's cache directory, which those variables decide."""
    from platformdirs import user_cache_path

    return user_cache_path("ms_fusion")
