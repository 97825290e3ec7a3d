"""The codegen cache: which C a graph became, kept beside its library; a warm start emits no C.

The key of a plan covers the whole graph, the options and this package's own generator. A plan names the text only; which
library was compiled from it, by which compiler, for which machine, is found as if the text had been written again. And the
library itself names its graph: a symbol bears its mark, so that a plan that leads to another kernel leads nowhere.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from tbe_impl.codegen.axis_merging import derived_sizes
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.program import Program, look_at_sizes, result_shapes, sizes_and_scalars
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.errors import InputError
from tbe_impl.runtime.cache import KernelCache

HERE = Path(__file__).resolve().parent
GENERATOR = (HERE, HERE / "include", HERE.parent / "dsl", HERE.parent / "scheduling")
"""Directories of the files that decide what is written."""


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text that was written before.

    Attributes:
        text: SHA-256 of it.
        symbol: its function.
        overwritten: number of the input that the first output is written over, −1 for none.
        derived: how many sizes are computed from others at call time.
    """

    text: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    symbol: Annotated[str, msgspec.Meta(max_length=200)]
    overwritten: Annotated[int, msgspec.Meta(ge=-1, lt=1 << 20)]
    derived: Annotated[int, msgspec.Meta(ge=0, lt=1 << 20)]

    def program(
        self,
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor],
        mark: str,
        text: Callable[[], str],
    ) -> Program | None:
        """The program of a graph whose plan this is; None where it does not fit."""
        if self.overwritten >= len(inputs):
            return None
        sizes, scalars = sizes_and_scalars(outputs)
        with derived_sizes() as derived:
            if self.derived:
                look_at_sizes(outputs)
            shapes = result_shapes(outputs)
        if len(derived) != self.derived:
            return None
        return Program(
            text,
            self.symbol,
            tuple(inputs),
            tuple(outputs),
            (*sizes, *derived.values()),
            scalars,
            shapes,
            inputs[self.overwritten] if self.overwritten >= 0 else None,
            mark,
        )


_DECODER = msgspec.json.Decoder(Plan)


def mark_of(graph: Callable[[], str], options: Options) -> str:
    """What names a graph, given as text, in its library; empty when something in it has no text.

    Options that decide what is computed count, those that decide how do not: so texts that are equal stay so.
    """
    try:
        whole = f"{options.rounding} {options.inplace} {options.contract}\n{graph()}"
    except (InputError, RecursionError):
        return ""
    return hashlib.sha256(whole.encode()).hexdigest()[:40]


def key_of(store: KernelCache, mark: str, name: str, options: Options) -> str:
    """Where a plan is kept."""
    return store.key(graph=mark, name=name, options=repr(options), generator=_GENERATOR)


def recall(store: KernelCache, key: str) -> Plan | None:
    """The plan of a key, None when there is none that can be trusted."""
    found = store.recall(key)
    try:
        return None if found is None else _DECODER.decode(found)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def remember(store: KernelCache, key: str, program: Program) -> None:
    """Keeps what was written."""
    # a file that was changed since this process began wrote nothing of this
    if generator() != _GENERATOR:
        return
    derived = len(program.sizes) - len(sizes_and_scalars(program.outputs)[0])
    place = next((n for n, item in enumerate(program.inputs) if item is program.overwritten), -1)
    plan = Plan(text_digest(program.source), program.symbol, place, derived)
    store.remember(key, msgspec.json.encode(plan))


def text_digest(text: str) -> str:
    """The SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def generator() -> str:
    """What changes with every change to the files that write C."""
    found = []
    for place in GENERATOR:
        with os.scandir(place) as files:
            for item in files:
                if item.name.endswith((".py", ".h")):
                    status = item.stat()
                    found.append(f"{place.name}/{item.name} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()


_GENERATOR = generator()
"""Of the files as they were when this process read them."""
