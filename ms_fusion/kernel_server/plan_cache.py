"""The plan cache: partitions computed by the compile server, reused by the user's process.

A plan is kept under the graph that it is for and the files that decide it. What is not there, or cannot be trusted, is made anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import msgspec

from tbe_impl.codegen import codegen_cache
from tbe_impl.errors import InputError
from tbe_impl.kernel import Kernel
from tbe_impl.runtime import compiler
from tbe_impl.runtime.cache import KernelCache

Places = tuple[int, ...]
"""`Options.stored`: numbers of the values that are stored."""

HERE = Path(__file__).resolve().parent
DECIDING = (
    HERE / "nest_partition.py",
    HERE / "plan_choice.py",
    HERE.parent / "devices.py",
    *sorted((HERE.parent / "cost").glob("*.py")),
)
"""Besides the generator of `tbe_impl`."""

_DECODER = msgspec.json.Decoder(
    Annotated[
        tuple[Annotated[int, msgspec.Meta(ge=0, lt=1 << 20)], ...], msgspec.Meta(max_length=4096)
    ]
)


def places(kernel: Kernel, make: Callable[[], Places]) -> Places:
    """The plan of a kernel, from the cache or made now and kept there.

    Args:
        kernel: under the options of the back end.
        make: makes the plan.
    """
    try:
        graph = kernel.graph
    except (InputError, RecursionError):
        return make()
    store = compiler.user_cache()
    key = KernelCache.key(planned=graph, options=repr(kernel.options), deciding=_deciding())
    known = _read(store.recall(key))
    if known is not None:
        return known
    made = make()
    store.remember(key, msgspec.json.encode(made))
    return made


def _read(note: bytes | None) -> Places | None:
    try:
        return None if note is None else _DECODER.decode(note)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


@lru_cache(maxsize=1)
def _deciding() -> str:
    whole = hashlib.sha256(codegen_cache.generator().encode())
    for file in DECIDING:
        whole.update(file.read_bytes())
    return whole.hexdigest()
