"""Stores the results of tuning kernels; later builds apply them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from tbe_impl import environment
from tbe_impl.codegen.options import DEFAULT_OPTIONS, Options
from tbe_impl.errors import InputError, MissingError
from tbe_impl.runtime import compiler
from tbe_impl.runtime.store import make_key, user_store
from tbe_impl.runtime.store_kinds import TUNINGS

if TYPE_CHECKING:
    from tbe_impl.kernel import Kernel

UNREACHABLE_THRESHOLD = 1 << 62
"""A threshold for `Options` that is larger than every number of elements or bytes."""

Threshold = Annotated[int, msgspec.Meta(ge=0, le=UNREACHABLE_THRESHOLD)]
Number = Annotated[int, msgspec.Meta(ge=1, le=16)]
Time = Annotated[float, msgspec.Meta(gt=0, lt=1e12)]
StageNumber = Annotated[int, msgspec.Meta(ge=0, lt=1 << 20)]
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The fields of `Options` that the tuner chooses, and the number of threads.

    `threads` is 0 for the default of the process.
    """

    vector_bits: Literal[0, 128, 256, 512] = DEFAULT_OPTIONS.vector_bits  # type: ignore[assignment]
    accumulators: Number = DEFAULT_OPTIONS.accumulators
    unroll: Number = DEFAULT_OPTIONS.unroll
    jam_factor: Annotated[int, msgspec.Meta(ge=0, le=16)] = DEFAULT_OPTIONS.jam_factor
    keep_rows: bool = DEFAULT_OPTIONS.keep_rows
    prefetch: bool = DEFAULT_OPTIONS.prefetch
    software_pipelining: bool = DEFAULT_OPTIONS.software_pipelining
    stream_bytes: Threshold = DEFAULT_OPTIONS.stream_bytes
    portions: Annotated[int, msgspec.Meta(ge=0, le=256)] = DEFAULT_OPTIONS.portions
    parallel_elements: Threshold = DEFAULT_OPTIONS.parallel_elements
    threads: Annotated[int, msgspec.Meta(ge=0, le=256)] = 0
    stored: Annotated[tuple[StageNumber, ...], msgspec.Meta(max_length=256)] = ()

    def options(self, base: Options) -> Options:
        """Returns a copy of `base` that has the values of this choice.

        The field `stored` of the copy contains the stages in `base` and the stages in this choice.
        """
        chosen = msgspec.structs.asdict(self)
        del chosen["threads"]  # a field of the kernel
        chosen["stored"] = tuple(dict.fromkeys((*base.stored, *self.stored)))
        return replace(base, **chosen)

    def text(self) -> str:
        """Formats, as a string, the fields that differ from the default."""
        default = Choice()
        found = [
            f"{k}={v}" for k, v in msgspec.structs.asdict(self).items() if v != getattr(default, k)
        ]
        return ", ".join(found) or "the default"


class Tuning(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The result of tuning a kernel.

    Attributes:
        name: name of the kernel.
        choice: the chosen options.
        default_us, tuned_us: median time with the default options and with `choice` in the final
            comparison, in microseconds.
        ratio: median, over pairs of measurements, of tuned time / default time.
        bound: upper bound of `ratio` with 99 % confidence.
        steps: number of measurements.
        seconds: duration of the tuning.
    """

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


_DECODER = msgspec.json.Decoder(Tuning)


def save(key: str, record: Tuning) -> None:
    """Stores the tuning of a kernel under its key; see `key_of`."""
    user_store().write_record(TUNINGS, key, record)


def load(key: str) -> Tuning | None:
    """Returns the tuning that is stored under `key`, or None if there is no valid record."""
    return user_store().read_record(TUNINGS, key, _DECODER)


def records() -> Iterator[tuple[str, Tuning]]:
    """Yields the stored tunings with their keys."""
    return user_store().records(TUNINGS, _DECODER)


def apply_tuning(kernel: Kernel) -> Kernel:
    """Returns a copy of `kernel` with the options stored for its graph and this machine.

    Returns `kernel` itself if no tuning is stored, or if the user has chosen the options.
    """
    if not user_store().has_any(TUNINGS) or not has_free_options(kernel):
        return kernel
    try:
        key = key_of(kernel)
    except (MissingError, InputError):  # without a compiler or a key there is no record
        return kernel
    record = load(key)
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

    The key is a SHA-256 digest. It covers the graph with its shapes and dtypes, the processor, the
    C compiler, and the number of threads. It also covers the options that tuning does not choose.

    Raises:
        MissingError: there is no C compiler.
        InputError: a part of the graph cannot be serialised.
    """
    return make_key(
        tuned=kernel.graph,
        processor=processor(),
        compiler=compiler.find_compiler().identity,
        threads=environment.threads(),
        rounding=kernel.options.rounding,
        contract=kernel.options.contract,
        march=kernel.options.march,
        loops=repr(DEFAULT_OPTIONS.with_loops_of(kernel.options)),
    )


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
