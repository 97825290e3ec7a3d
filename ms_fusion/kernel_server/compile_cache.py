"""The compile cache: descriptions that were built before, with their libraries; needs no generator.

An answer is a note of the cache, kept under the description and under everything else that decides what is built
(`circumstances`). It names libraries of the cache by key and content, and each of them is checked whole before it is used; what is
damaged, moved, out of date or gone is no answer, and the kernel is built as if there had never been one.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Annotated, Any

import msgspec

from ms_fusion.kernel_server.cache_key_inputs import circumstances, unchanged
from ms_fusion.kernel_server.onednn_call import OnednnCall
from ms_fusion.kernel_server.publishing import is_name, publish
from ms_fusion.ledger import Build, BuildStep
from tbe_impl.errors import CacheError, MissingError
from tbe_impl.runtime import compiler
from tbe_impl.runtime.cache import make_key
from tbe_impl.runtime.cache_entry import read_entry

COUNTED = ("composite_graph", "node_name")
"""Of a description: they hold numbers that MindSpore counts up in a process, and a kernel is the same without them."""
COUNTED_IN_STEP = "ptr_address"
"""The same of one of its operators."""

log = logging.getLogger("ms_fusion")

Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class Library(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A library of the cache.

    Attributes:
        key: in the cache.
        sha256: of its content.
    """

    key: Digest
    sha256: Digest

    @classmethod
    def of(cls, path: Path) -> Library:
        """The library of an entry of the cache.

        Raises:
            CacheError: it lies in none.
        """
        return cls(path.parent.name, read_entry(path.parent, path.parent.name).sha256)

    def find(self) -> Path | None:
        """Its file; None where it is gone, or another."""
        return compiler.user_cache().load(self.key, sha256=self.sha256)


class OwnKernel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="own"):
    """A kernel of ours that a stub calls.

    Attributes:
        built, symbol: where it is.
        order: the array that each of its buffers is.
    """

    built: Library
    symbol: str
    order: tuple[int, ...]


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kernel in a row; see `custom_ops.core.kernel_sequence.InRow`."""

    kernel: OwnKernel | OnednnCall
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    written_bytes: tuple[int, ...]


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a stub calls.

    Attributes:
        names: of the inputs, then of the outputs.
        places: in order.
    """

    names: tuple[str, ...]
    places: tuple[Place, ...]


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a description became.

    Attributes:
        built: the kernel.
        steps: for the ledger.
        row: what it calls, where it is a stub.
    """

    built: Library
    steps: tuple[BuildStep, ...]
    row: Row | None = None

    def called(self) -> list[Library]:
        """Libraries of ours that a stub calls."""
        places = self.row.places if self.row else ()
        return [one.kernel.built for one in places if isinstance(one.kernel, OwnKernel)]


_DECODER = msgspec.json.Decoder(Answer)


def key_of(text: str) -> str | None:
    """Where the answer of a description is kept; None where it is none, or nothing could be built here."""
    try:
        read = msgspec.json.decode(text)
        if not is_name(read["op"]):
            return None
        decides = {name: value for name, value in read.items() if name not in COUNTED}
        decides["op_desc"] = [_without_count(step) for step in read["op_desc"]]
        whole = msgspec.json.encode(decides, order="deterministic")
        return make_key(description=whole, circumstances=circumstances())
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


def _without_count(step: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in step.items() if name != COUNTED_IN_STEP}


def recall(text: str) -> Answer | None:
    """The answer of a description, None when there is none that can be trusted."""
    key = key_of(text)
    note = compiler.user_cache().recall(key) if key else None
    try:
        return None if note is None else _DECODER.decode(note)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def remember(
    text: str, key: str | None, built: Path, steps: tuple[BuildStep, ...], row: Row | None
) -> None:
    """Keeps what a description became.

    Args:
        key: `key_of` the text before it was built; where it is another by now, nothing is kept.
        built: its library in the cache.
        steps: for the ledger.
        row: what it calls, where it is a stub.
    """
    if key is None or not unchanged() or key != key_of(text):
        return
    try:
        answer = Answer(Library.of(built), steps, row)
    except CacheError as error:
        log.info("what a kernel became is not kept: %s", error)
        return
    compiler.user_cache().remember(key, msgspec.json.encode(answer))


def published(text: str, directory: Path) -> bool:
    """Puts the kernel of a description where MindSpore looks for it, if it was built before; whether it did.

    Raises:
        OSError: it cannot be written there.
    """
    started = time.perf_counter()
    answer = recall(text)
    if answer is None:
        return False
    library = answer.built.find()
    if library is None or not all(one.find() for one in answer.called()):
        return False
    name = msgspec.json.decode(text)["op"]
    seconds = round(time.perf_counter() - started, 3)
    publish(library, name, directory, Build(answer.steps, seconds, cached=True))
    return True
