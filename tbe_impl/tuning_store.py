"""Stores tuning results on disk with atomic writes; later builds validate and apply them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import stat
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Generic, Literal, Protocol, TypeVar

import msgspec

from tbe_impl import environment
from tbe_impl.codegen.options import DEFAULT_OPTIONS, Options
from tbe_impl.errors import CacheError, InputError, MissingError
from tbe_impl.runtime import compiler, machine
from tbe_impl.runtime.cache_entry import check_owner

if TYPE_CHECKING:
    from tbe_impl.kernel import Kernel

SCHEMA = 1
BYTES_MAX = 1 << 16
UNREACHABLE_THRESHOLD = 1 << 62
"""A threshold above every size."""

_log = logging.getLogger("tbe_impl")
_FILE = re.compile(r"[0-9a-f]{64}\.json\Z")
_logged_messages: set[str] = set()

Threshold = Annotated[int, msgspec.Meta(ge=0, le=UNREACHABLE_THRESHOLD)]
Number = Annotated[int, msgspec.Meta(ge=1, le=16)]
Time = Annotated[float, msgspec.Meta(gt=0, lt=1e12)]
StageNumber = Annotated[int, msgspec.Meta(ge=0, lt=1 << 20)]
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The fields of `Options` that the tuner chooses; `threads` is 0 for the process default."""

    vector_bits: Literal[0, 128, 256, 512] = DEFAULT_OPTIONS.vector_bits  # type: ignore[assignment]
    accumulators: Number = DEFAULT_OPTIONS.accumulators
    unroll: Number = DEFAULT_OPTIONS.unroll
    together: Annotated[int, msgspec.Meta(ge=0, le=16)] = DEFAULT_OPTIONS.together
    keep_rows: bool = DEFAULT_OPTIONS.keep_rows
    prefetch: bool = DEFAULT_OPTIONS.prefetch
    stagger: bool = DEFAULT_OPTIONS.stagger
    stream_bytes: Threshold = DEFAULT_OPTIONS.stream_bytes
    portions: Annotated[int, msgspec.Meta(ge=0, le=256)] = DEFAULT_OPTIONS.portions
    parallel_elements: Threshold = DEFAULT_OPTIONS.parallel_elements
    threads: Annotated[int, msgspec.Meta(ge=0, le=256)] = 0
    stored: Annotated[tuple[StageNumber, ...], msgspec.Meta(max_length=256)] = ()

    def options(self, base: Options) -> Options:
        """Returns a copy of `base` that has the values of this choice.

        Its field `stored` contains the stages of `base` and those of this choice.
        """
        chosen = msgspec.structs.asdict(self)
        del chosen["threads"]  # a field of the kernel
        chosen["stored"] = tuple(dict.fromkeys((*base.stored, *self.stored)))
        return replace(base, **chosen)

    def text(self) -> str:
        """Formats the fields that differ from the default as a string."""
        default = Choice()
        found = [
            f"{k}={v}" for k, v in msgspec.structs.asdict(self).items() if v != getattr(default, k)
        ]
        return ", ".join(found) or "the default"


class Tuning(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The result of tuning a kernel.

    Attributes:
        schema: version of the record format.
        key: the key under which the record is stored; see `key_of`.
        name: name of the kernel.
        choice: the chosen options.
        default_us, tuned_us: median times in the final comparison, in microseconds.
        ratio: median of the ratio of tuned time to default time, over pairs of measurements.
        bound: upper bound of `ratio` with 99 % confidence.
        steps: number of measurements.
        seconds: duration of the tuning.
    """

    schema: Literal[1]
    key: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    name: Annotated[str, msgspec.Meta(max_length=200)]
    choice: Choice
    default_us: Time
    tuned_us: Time
    ratio: Time
    bound: Time
    steps: Count
    seconds: Annotated[float, msgspec.Meta(ge=0, lt=1e9)]

    def line(self) -> str:
        """Formats the record as one line."""
        return f"{self.name}: {self.choice.text()}, {self.ratio:.2f} × the time of the default."


class KeyedRecord(Protocol):
    """A record that `RecordStore` can store by its key."""

    @property
    def key(self) -> str:
        """The key, 64 hexadecimal digits."""


Record = TypeVar("Record", bound=KeyedRecord)


@dataclass(frozen=True)
class RecordStore(Generic[Record]):
    """A directory of records, one file per key.

    Attributes:
        root: the directory; it need not exist.
        kind: the record type.
    """

    root: Path
    kind: type[Record]

    def load(self, key: str) -> Record | None:
        """Returns the record of a key; None if there is no valid record."""
        path = self.root / f"{key}.json"
        try:
            record = msgspec.json.decode(_bytes_of(path), type=self.kind)
        except FileNotFoundError:
            return None
        except (
            OSError,
            CacheError,
            msgspec.MsgspecError,
            RecursionError,
            UnicodeDecodeError,
        ) as error:
            _say(f"{path} is not used: {error}")
            return None
        if record.key != key:
            _say(f"{path} is not used: it belongs to another key")
            return None
        return record

    def save(self, record: Record) -> None:
        """Writes a record; logs a warning if the record cannot be written."""
        try:
            for place in (self.root.parent, self.root):
                place.mkdir(mode=0o700, parents=True, exist_ok=True)
            check_owner(self.root.lstat(), self.root)
            handle, made = tempfile.mkstemp(prefix=".tuned-", dir=self.root)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(msgspec.json.format(msgspec.json.encode(record), indent=1))
                    file.flush()
                    os.fsync(file.fileno())
                Path(made).replace(self.root / f"{record.key}.json")
            except BaseException:
                Path(made).unlink(missing_ok=True)
                raise
        except (OSError, CacheError) as error:
            _say(f"what tuning found is not kept: {error}")

    def records(self) -> tuple[Record, ...]:
        """Returns the valid records, sorted by key."""
        found = (self.load(key) for key in self._keys())
        return tuple(record for record in found if record is not None)

    def remove(self, keys: Iterable[str] | None = None) -> int:
        """Removes the records of `keys`; all records if `keys` is None.

        Invalid records are removed as well. Returns the number of removed records.
        """
        removed = 0
        for key in self._keys() if keys is None else keys:
            with contextlib.suppress(OSError):
                (self.root / f"{key}.json").unlink()
                removed += 1
        return removed

    def is_empty(self) -> bool:
        """Whether the directory of the store does not exist."""
        return not self.root.is_dir()

    def _keys(self) -> list[str]:
        try:
            return sorted(one[: -len(".json")] for one in os.listdir(self.root) if _FILE.match(one))
        except OSError:
            return []


def user_store() -> RecordStore[Tuning]:
    """Returns the user's store of kernel tunings."""
    return RecordStore(environment.cache_dir() / "tuned", Tuning)


def apply_tuning(kernel: Kernel) -> Kernel:
    """Returns a copy of `kernel` with the options stored for its graph and this machine.

    Returns `kernel` itself if no tuning is stored or the user has chosen its options.
    """
    place = user_store()
    if place.is_empty() or not has_free_options(kernel):
        return kernel
    try:
        key = key_of(kernel)
    except (MissingError, InputError):  # without a compiler or a key there is no record
        return kernel
    record = place.load(key)
    return kernel if record is None else apply_record(kernel, record)


def has_free_options(kernel: Kernel) -> bool:
    """Whether a kernel has the default options and threads, so that tuning may set them."""
    return not kernel.threads and kernel.options == DEFAULT_OPTIONS.with_loops_of(kernel.options)


def apply_record(kernel: Kernel, record: Tuning) -> Kernel:
    """Returns a copy of `kernel` with the options that `record` contains."""
    choice = record.choice
    threads = min(choice.threads, environment.threads()) if choice.threads else kernel.threads
    return replace(kernel, options=choice.options(kernel.options), threads=threads, tuning=record)


def key_of(kernel: Kernel) -> str:
    """Returns the key of a kernel's tuning record.

    The key is the SHA-256 of the graph with its shapes and dtypes, the processor, the C compiler,
    the number of threads and the options that tuning does not choose.

    Raises:
        MissingError: there is no C compiler.
        InputError: a part of the graph cannot be serialised.
    """
    parts = {
        "schema": SCHEMA,
        "graph": kernel.graph,
        "machine": machine.identity(),
        "processor": processor(),
        "compiler": compiler.find_compiler().identity,
        "threads": environment.threads(),
        "rounding": kernel.options.rounding,
        "contract": kernel.options.contract,
        "march": kernel.options.march,
    }
    asked = DEFAULT_OPTIONS.with_loops_of(kernel.options)
    if asked != DEFAULT_OPTIONS:
        parts["loops"] = repr(asked)
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@lru_cache(maxsize=1)
def processor() -> str:
    """Returns the processor's name as reported by the system."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            named = (line.partition(":") for line in lines)
            return next(
                (value.strip() for name, _, value in named if name.strip() == "model name"), ""
            )
    except OSError:
        return ""


def _bytes_of(path: Path) -> bytes:
    """Reads a regular file of this user with at most `BYTES_MAX` bytes; does not follow links.

    Raises:
        CacheError: the file belongs to another user, is no regular file or is too large.
        OSError: the file cannot be opened.
    """
    check_owner(path.parent.lstat(), path.parent)
    if not stat.S_ISDIR(path.parent.lstat().st_mode):
        raise CacheError("is not a directory", place=str(path.parent))
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"):
        flags |= getattr(os, name, 0)
    handle = os.open(path, flags)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise CacheError("is not a regular file", place=str(path))
        check_owner(status, path)
        found = os.read(handle, BYTES_MAX + 1)
    finally:
        os.close(handle)
    if len(found) > BYTES_MAX:
        raise CacheError("is too large", place=str(path), expected=f"{BYTES_MAX} bytes at most")
    return found


def _say(text: str) -> None:
    if text not in _logged_messages:
        _logged_messages.add(text)
        _log.warning("%s", text)
