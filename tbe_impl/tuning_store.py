"""What tuning found, kept on disk: read by later builds as hostile input, written whole or not at all."""

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
from tbe_impl.codegen.options import DEFAULT, Options
from tbe_impl.errors import CacheError, InputError, MissingError
from tbe_impl.runtime import compiler, machine
from tbe_impl.runtime.cache_entry import check_owner

if TYPE_CHECKING:
    from tbe_impl.kernel import Kernel

SCHEMA = 1
BYTES_MAX = 1 << 16
NEVER = 1 << 62
"""A threshold that no size reaches."""

_log = logging.getLogger("tbe_impl")
_FILE = re.compile(r"[0-9a-f]{64}\.json\Z")
_said: set[str] = set()

Threshold = Annotated[int, msgspec.Meta(ge=0, le=NEVER)]
Number = Annotated[int, msgspec.Meta(ge=1, le=16)]
Time = Annotated[float, msgspec.Meta(gt=0, lt=1e12)]
Stage = Annotated[int, msgspec.Meta(ge=0, lt=1 << 20)]
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The fields of `Options` that a tuner may choose, and the number of threads; 0 for all of them."""

    vector_bits: Literal[0, 128, 256, 512] = DEFAULT.vector_bits  # type: ignore[assignment]
    accumulators: Number = DEFAULT.accumulators
    unroll: Number = DEFAULT.unroll
    together: Annotated[int, msgspec.Meta(ge=0, le=16)] = DEFAULT.together
    keep_rows: bool = DEFAULT.keep_rows
    prefetch: bool = DEFAULT.prefetch
    stagger: bool = DEFAULT.stagger
    stream_bytes: Threshold = DEFAULT.stream_bytes
    portions: Annotated[int, msgspec.Meta(ge=0, le=256)] = DEFAULT.portions
    parallel_elements: Threshold = DEFAULT.parallel_elements
    threads: Annotated[int, msgspec.Meta(ge=0, le=256)] = 0
    stored: Annotated[tuple[Stage, ...], msgspec.Meta(max_length=256)] = ()

    def options(self, base: Options) -> Options:
        """`base` with what was chosen."""
        chosen = msgspec.structs.asdict(self)
        del chosen["threads"]  # a field of the kernel
        chosen["stored"] = tuple(dict.fromkeys((*base.stored, *self.stored)))
        return replace(base, **chosen)

    def text(self) -> str:
        """What differs from the default."""
        default = Choice()
        found = [
            f"{k}={v}" for k, v in msgspec.structs.asdict(self).items() if v != getattr(default, k)
        ]
        return ", ".join(found) or "the default"


class Tuning(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a tuner measured.

    Attributes:
        schema, key: of the record.
        name: of the kernel.
        choice: what was chosen.
        default_us, tuned_us: medians of the last comparison, in microseconds.
        ratio: median of tuned ÷ default, measured in pairs.
        bound: what that median stays below, with 99 % confidence.
        steps: measurements taken.
        seconds: time taken.
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
        """What it does, for a list of records."""
        return f"{self.name}: {self.choice.text()}, {self.ratio:.2f} × the time of the default."


class Keyed(Protocol):
    """A record that says whose it is."""

    @property
    def key(self) -> str:
        """64 hexadecimal digits."""


Record = TypeVar("Record", bound=Keyed)


@dataclass(frozen=True)
class Store(Generic[Record]):
    """A directory of records, one file for each key.

    Attributes:
        root: the directory; it need not exist.
        kind: what a record is.
    """

    root: Path
    kind: type[Record]

    def load(self, key: str) -> Record | None:
        """The record of a key, None when there is none that can be trusted."""
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
        """Writes a record; a place that cannot be written is told in one warning."""
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
        """Those that can be trusted, by key."""
        found = (self.load(key) for key in self._keys())
        return tuple(record for record in found if record is not None)

    def remove(self, keys: Iterable[str] | None = None) -> int:
        """Removes the records of these keys, or all, those that cannot be read too.

        Their number.
        """
        removed = 0
        for key in self._keys() if keys is None else keys:
            with contextlib.suppress(OSError):
                (self.root / f"{key}.json").unlink()
                removed += 1
        return removed

    def is_empty(self) -> bool:
        """Whether there is nothing to look for."""
        return not self.root.is_dir()

    def _keys(self) -> list[str]:
        try:
            return sorted(one[: -len(".json")] for one in os.listdir(self.root) if _FILE.match(one))
        except OSError:
            return []


def store() -> Store[Tuning]:
    """The user's, of kernels."""
    return Store(environment.cache_dir() / "tuned", Tuning)


def applied(kernel: Kernel) -> Kernel:
    """`kernel` with what tuning found for its graph on this machine; itself when nothing was, or options were chosen."""
    place = store()
    if place.is_empty() or not has_free_options(kernel):
        return kernel
    try:
        key = key_of(kernel)
    except (MissingError, InputError):  # without a compiler, or a key, there is nothing to choose
        return kernel
    record = place.load(key)
    return kernel if record is None else with_tuning(kernel, record)


def has_free_options(kernel: Kernel) -> bool:
    """Whether nobody chose options or threads of this kernel, so that tuning may."""
    return not kernel.threads and kernel.options == DEFAULT.with_loops_of(kernel.options)


def with_tuning(kernel: Kernel, record: Tuning) -> Kernel:
    """`kernel` made as a record says."""
    choice = record.choice
    threads = min(choice.threads, environment.threads()) if choice.threads else kernel.threads
    return replace(kernel, options=choice.options(kernel.options), threads=threads, tuning=record)


def key_of(kernel: Kernel) -> str:
    """The SHA-256 over graph, shapes, dtypes, processor, compiler and number of threads.

    Raises:
        MissingError: there is no C compiler.
        InputError: something in the graph has no text that is the same in every process.
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
    asked = DEFAULT.with_loops_of(kernel.options)
    if asked != DEFAULT:
        parts["loops"] = repr(asked)
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@lru_cache(maxsize=1)
def processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            named = (line.partition(":") for line in lines)
            return next(
                (value.strip() for name, _, value in named if name.strip() == "model name"), ""
            )
    except OSError:
        return ""


def _bytes_of(path: Path) -> bytes:
    """A regular file of ours, opened without following a link, not larger than a record can be.

    Raises:
        CacheError: it is another's, or no such file.
        OSError: it cannot be opened.
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
    if text not in _said:
        _said.add(text)
        _log.warning("%s", text)
