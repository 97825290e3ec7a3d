"""Reads and checks every environment variable of ms_fusion (see docs/environment.md)."""

from __future__ import annotations

import logging
import os
import tempfile
from functools import lru_cache
from pathlib import Path

from tbe_impl.errors import InputError
from tbe_impl.records import Record


class EnvironmentVariable(Record):
    """One environment variable.

    Attributes:
        name: name of the variable.
        choices: the permitted values; empty if the permitted values cannot be listed, as for a
            path.
        default: the value that is used if the variable is not set.
        doc: effect of the variable.
        takes: description of the permitted values, for a variable without `choices`.
    """

    name: str
    choices: tuple[str, ...]
    default: str
    doc: str
    takes: str = ""

    def read(self) -> str:
        """Returns the current value of the variable.

        Raises:
            InputError: the value is not permitted.
        """
        value = os.environ.get(self.name, "") or self.default
        if self.choices and value not in self.choices:
            raise InputError(
                "unknown value of an environment variable",
                place=self.name,
                expected=" or ".join(self.choices),
                got=repr(value),
            )
        return value


FUSION = EnvironmentVariable(
    "MS_FUSION",
    ("on", "off"),
    "on",
    "`off` makes `enable()` and every patch do nothing (with one message); `te`, `tbe` and `topi` "
    "cannot be imported.",
)
CACHE_DIR = EnvironmentVariable(
    "MS_FUSION_CACHE_DIR",
    (),
    "",
    "Directory of compiled kernels; by default the user's cache directory. A relative path, or "
    "one with `~`, is resolved when the process first reads it.",
    "a directory",
)

COMPILER = EnvironmentVariable(
    "MS_FUSION_CC",
    (),
    "",
    "C compiler for kernels; by default `cc`, `gcc`, `clang`, or that of the package `ziglang`.",
    "a command without options",
)
THREADS = EnvironmentVariable(
    "MS_FUSION_THREADS",
    (),
    "",
    "Threads of a kernel; by default the cores that this process may use.",
    "1 to 256",
)
ISA = EnvironmentVariable(
    "MS_FUSION_ISA",
    ("native", "avx2", "sse4.2"),
    "native",
    "Instructions of kernels. `native`: all that the processor has. `avx2`: none beyond AVX2, as "
    "on a processor without AVX-512. `sse4.2`: none beyond SSE4.2, so that vectors have 128 bits. "
    "It is read once per process. For oneDNN set `ONEDNN_MAX_CPU_ISA` as well.",
)

DISABLE_PASS = EnvironmentVariable(
    "MS_FUSION_DISABLE_PASS",
    (),
    "",
    "Passes of the C generator to leave out, to find a fault or to measure what a pass is worth; "
    "`ms-fusion tbe show --passes` lists the names.",
    "names of passes, separated by commas",
)

VARIABLES = (FUSION, CACHE_DIR, COMPILER, THREADS, ISA, DISABLE_PASS)


def is_off() -> bool:
    """Whether ``MS_FUSION=off`` is set.

    In this case, ms_fusion does not change the user's program.
    """
    return FUSION.read() == "off"


_log = logging.getLogger("ms_fusion")
_is_off_logged = False


def is_off_with_warning() -> bool:
    """Returns the result of `is_off`, and logs a warning if the result is True.

    Functions that would change the user's program call this function. The warning is logged only
    once per process.
    """
    global _is_off_logged
    if not is_off():
        return False
    if not _is_off_logged:
        _is_off_logged = True
        _log.warning("MS_FUSION=off: ms_fusion changes nothing in this process")
    return True


def threads() -> int:
    """Returns the default number of threads of a kernel."""
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
    """Returns the absolute path of the directory for compiled kernels and MindSpore's kernel files.

    The directory need not exist. If the configured path is relative or starts with ``~``, the first
    call sets the environment variable `CACHE_DIR` to the absolute path. Later calls and child
    processes thus get the same directory, although their working directory may differ.

    Raises:
        InputError: the directory cannot be made absolute.
    """
    chosen = CACHE_DIR.read()
    place = (
        Path(chosen)
        if chosen
        else _user_cache(os.environ.get("HOME"), os.environ.get("XDG_CACHE_HOME"))
    )
    if not place.is_absolute():
        place = _make_absolute(place, CACHE_DIR.name if chosen else "XDG_CACHE_HOME or HOME")
        os.environ[CACHE_DIR.name] = str(place)
    return place


def is_utf8_path(place: Path) -> bool:
    """Whether MindSpore, which decodes paths as UTF-8, can use this path.

    In two cases, MindSpore decodes the bytes of the path to a different path, and its JSON code
    fails:

    - the bytes of the path are not UTF-8, as for a home directory with a GBK name;
    - this process does not encode file names as UTF-8, as with ``LC_ALL=C`` without Python's UTF-8
      mode.
    """
    try:
        return os.fsencode(place) == str(place).encode("utf-8")
    except UnicodeEncodeError:
        return False


def printable_path(place: Path) -> str:
    """Formats a path for messages; bytes that are not UTF-8 are shown as escape sequences."""
    return os.fsencode(place).decode("utf-8", "backslashreplace")


def temporary_directory() -> Path:
    """Returns the system's temporary directory.

    If the name of this directory is not UTF-8, the function returns the first writable directory of
    ``/dev/shm``, ``/tmp`` and ``/var/tmp``. If none of these is writable, it returns the system's
    directory.

    Raises:
        OSError: the system has no temporary directory.
    """
    chosen = Path(tempfile.gettempdir())
    others = ("/dev/shm", "/tmp", "/var/tmp")
    if is_utf8_path(chosen):
        return chosen
    for other in map(Path, others):
        if other.is_dir() and os.access(other, os.W_OK | os.X_OK):
            return other
    return chosen


def _make_absolute(place: Path, variable: str) -> Path:
    """Makes a path absolute; raises `InputError` if no home or working directory exists."""
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
    """Returns the user's cache directory.

    The arguments are the values of HOME and XDG_CACHE_HOME. The function uses these arguments only
    as the key of `lru_cache`.
    """
    from platformdirs import user_cache_path

    return user_cache_path("ms_fusion")
