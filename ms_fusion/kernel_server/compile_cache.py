"""The compile cache: kernel description → compiled libraries; needs no generator.

The cache key is the description and everything else that decides the compiled code (`key_inputs`).
An entry names libraries of the kernel cache by key and content; each is verified completely before
use. A damaged, moved, outdated or missing library is a cache miss: the kernel is built again.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Annotated, Any

import msgspec

from ms_fusion.kernel_server.cache_key_inputs import has_unchanged_sources, key_inputs
from ms_fusion.kernel_server.publishing import is_c_identifier, publish
from ms_fusion.ledger import Build, BuildStep
from ms_fusion.lowering.onednn.onednn_call import OnednnCall
from tbe_impl.errors import CacheError, MissingError
from tbe_impl.runtime import compiler
from tbe_impl.runtime.cache import make_key
from tbe_impl.runtime.cache_entry import read_entry

COUNTER_FIELDS = ("composite_graph", "node_name")
"""Fields of a description that contain process-wide counters of MindSpore; the kernel does not
depend on them.
"""
STEP_COUNTER_FIELD = "ptr_address"
"""The corresponding field of an operator."""

log = logging.getLogger("ms_fusion")

Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class Library(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A library in the kernel cache.

    Attributes:
        key: cache key.
        sha256: of its content.
    """

    key: Digest
    sha256: Digest

    @classmethod
    def from_path(cls, path: Path) -> Library:
        """The library at a path within a cache entry.

        Raises:
            CacheError: the path is in no cache entry.
        """
        return cls(path.parent.name, read_entry(path.parent, path.parent.name).sha256)

    def find(self) -> Path | None:
        """Its file; None if it is missing or has changed."""
        return compiler.user_cache().load(self.key, sha256=self.sha256)


class OwnKernel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="own"):
    """A generated kernel that a stub calls.

    Attributes:
        built, symbol: its library and function.
        order: for each of its buffers, the index of the array.
    """

    built: Library
    symbol: str
    order: tuple[int, ...]


class SequenceMember(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kernel of a sequence; see `custom_ops.core.kernel_sequence.SequenceStep`."""

    kernel: OwnKernel | OnednnCall
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    written_bytes: tuple[int, ...]


class SequenceRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The kernel sequence that a stub calls.

    Attributes:
        names: of the inputs, then of the outputs.
        places: the kernels in execution order.
    """

    names: tuple[str, ...]
    places: tuple[SequenceMember, ...]


class CachedKernel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The cached result of compiling a description.

    Attributes:
        built: the library with the kernel.
        steps: for the ledger.
        row: the kernel sequence, if the library is a stub.
    """

    built: Library
    steps: tuple[BuildStep, ...]
    row: SequenceRecord | None = None

    def own_libraries(self) -> list[Library]:
        """Libraries of generated kernels that the stub calls."""
        places = self.row.places if self.row else ()
        return [one.kernel.built for one in places if isinstance(one.kernel, OwnKernel)]


_DECODER = msgspec.json.Decoder(CachedKernel)


def key_of(text: str) -> str | None:
    """The cache key of a description; None if it is malformed or there is no compiler."""
    try:
        read = msgspec.json.decode(text)
        if not is_c_identifier(read["op"]):
            return None
        decides = {name: value for name, value in read.items() if name not in COUNTER_FIELDS}
        decides["op_desc"] = [_drop_counter(step) for step in read["op_desc"]]
        whole = msgspec.json.encode(decides, order="deterministic")
        return make_key(description=whole, circumstances=key_inputs())
    except (
        msgspec.MsgspecError,
        MissingError,
        LookupError,
        AttributeError,
        TypeError,
        UnicodeError,
        RecursionError,
    ):
        return None


def _drop_counter(step: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in step.items() if name != STEP_COUNTER_FIELD}


def recall(text: str) -> CachedKernel | None:
    """The cache entry of a description; None on a miss or an invalid entry."""
    key = key_of(text)
    note = compiler.user_cache().load_note(key) if key else None
    try:
        return None if note is None else _DECODER.decode(note)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def remember(
    text: str,
    key: str | None,
    built: Path,
    steps: tuple[BuildStep, ...],
    row: SequenceRecord | None,
) -> None:
    """Caches the result of compiling a description.

    Args:
        key: `key_of` the text before the build; nothing is cached if it has changed since.
        built: its library in the kernel cache.
        steps: for the ledger.
        row: the kernel sequence, if the library is a stub.
    """
    if key is None or not has_unchanged_sources() or key != key_of(text):
        return
    try:
        answer = CachedKernel(Library.from_path(built), steps, row)
    except CacheError as error:
        log.info("a compiled kernel is not cached: %s", error)
        return
    compiler.user_cache().store_note(key, msgspec.json.encode(answer))


def publish_cached(text: str, directory: Path) -> bool:
    """Publishes the cached kernel of a description for MindSpore; returns whether there was one.

    Raises:
        OSError: `directory` is not writable.
    """
    started = time.perf_counter()
    answer = recall(text)
    if answer is None:
        return False
    library = answer.built.find()
    if library is None or not all(one.find() for one in answer.own_libraries()):
        return False
    name = msgspec.json.decode(text)["op"]
    seconds = round(time.perf_counter() - started, 3)
    publish(library, name, directory, Build(answer.steps, seconds, cached=True))
    return True
