"""Caches plans on disk, so that the user's process reuses the plans of the compile server.

A plan determines which values a kernel stores in memory, and thus its partition into loop nests.
The cache key consists of the graph, the kernel's options and a digest of the planner's sources. If
an entry is missing or invalid, the plan is computed again.
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
from tbe_impl.runtime.store import make_key, user_store
from tbe_impl.runtime.store_kinds import PLANS

StoredValues = tuple[int, ...]
"""Type of `Options.stored`: the back end's indices of the values that a kernel stores."""

FOLDER = Path(__file__).resolve().parent
PLAN_SOURCES = (
    FOLDER / "nest_partition.py",
    FOLDER / "plan_choice.py",
    FOLDER.parent / "devices.py",
    *sorted((FOLDER.parent / "cost").glob("*.py")),
    *sorted((FOLDER.parent / "ops").glob("*.py")),
)
"""Source files that compute plans, except the generator in `tbe_impl`."""

_DECODER = msgspec.json.Decoder(
    Annotated[
        tuple[Annotated[int, msgspec.Meta(ge=0, lt=1 << 20)], ...], msgspec.Meta(max_length=4096)
    ]
)


def load_or_make_plan(kernel: Kernel, make: Callable[[], StoredValues]) -> StoredValues:
    """Returns the cached plan of a kernel; on a cache miss, computes and caches the plan.

    Args:
        kernel: the kernel with the default options of the back end.
        make: function that computes the plan.
    """
    try:
        graph = kernel.graph
    except (InputError, RecursionError):
        return make()
    key = make_key(planned=graph, options=repr(kernel.options), deciding=_plan_source_digest())
    known = user_store().read_record(PLANS, key, _DECODER)
    if known is not None:
        return known
    made = make()
    user_store().write_record(PLANS, key, made)
    return made


@lru_cache(maxsize=1)
def _plan_source_digest() -> str:
    whole = hashlib.sha256(codegen_cache.generator_fingerprint().encode())
    for file in PLAN_SOURCES:
        whole.update(file.read_bytes())
    return whole.hexdigest()
