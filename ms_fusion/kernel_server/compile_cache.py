"""The compile cache: finds the compiled libraries of a kernel without importing our generator.

The cache maps a kernel description (composite JSON from MindSpore) to libraries in the store, a
directory on disk. The cache key consists of the description and of everything else that influences
the compiled code (`key_inputs`). An entry of the compile cache contains the keys and digests of
libraries. Before a library is used, it is compared with its digest. If a library is damaged, moved,
outdated or missing, the kernel is built again.

This module does not import the generator, so that a cache hit takes little time.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import sys
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import msgspec

from custom_ops.onednn import onednn_path
from ms_fusion.kernel_server.publishing import is_c_identifier, publish
from ms_fusion.ledger import Build, BuildStep
from ms_fusion.lowering.onednn.onednn_call import OnednnCall
from tbe_impl import environment, tuning_store
from tbe_impl.errors import CacheError, MissingError
from tbe_impl.runtime import compiler
from tbe_impl.runtime.sequence import KernelSequence
from tbe_impl.runtime.store import Store, make_key, user_store
from tbe_impl.runtime.store_kinds import GROUPS, KERNELS, TUNINGS

COUNTER_FIELDS = ("composite_graph", "node_name")
"""Fields of a kernel description that contain process-wide counters of MindSpore.

These fields are not part of the cache key, because the compiled kernel does not depend on them.
"""
STEP_COUNTER_FIELD = "ptr_address"
"""Field of an operator in a kernel description that contains a counter of MindSpore."""
ROOT = Path(__file__).resolve().parents[2]
PACKAGES = tuple(ROOT / name for name in ("tbe_impl", "custom_ops", "ms_fusion"))
SUFFIXES = (".py", ".c", ".h")
ONEDNN_PREFIXES = ("ONEDNN_", "DNNL_")
"""Prefixes of oneDNN's environment variables.

These variables are part of the cache key, because oneDNN's settings decide whether images are
lowered to NHWC.
"""

log = logging.getLogger("ms_fusion")

Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class Library(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A library in the store.

    Attributes:
        key: the library's key in the store.
        sha256: digest of the library's content in the store.
    """

    key: Digest
    sha256: Digest

    @classmethod
    def from_path(cls, path: Path) -> Library:
        """Returns the `Library` for a library file in the store.

        Raises:
            CacheError: the file is not a valid entry of the store.
        """
        return cls(path.stem, Store(path.parents[1]).digest(KERNELS, path.stem))

    def find(self) -> Path | None:
        """Returns the path of the library, or None if the library is missing or has changed."""
        return user_store().find(KERNELS, self.key, sha256=self.sha256)


class OwnKernel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="own"):
    """A kernel of our generator that is one member of a kernel sequence.

    Attributes:
        built: library with the C function of the kernel.
        symbol: name of the C function.
        order: for each buffer argument of the C function, the index of the array that is passed.
            The arrays that the kernel reads come first, followed by the arrays that it writes.
    """

    built: Library
    symbol: str
    order: tuple[int, ...]


StoredSequence = KernelSequence[OwnKernel | OnednnCall]
"""A sequence of kernels that together compute a group of fused operators, as plain values.

A stub, a small library that MindSpore loads as the kernel of the group, calls these kernels.
"""


class CachedKernel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The cached result of compiling a kernel description.

    Attributes:
        built: the library that exports the kernel.
        steps: descriptions of the compiled parts of the kernel, for the report of `explain`.
        row: if the library is a stub (`ms_fusion.kernel_server.stubs`), the sequence of kernels
            that the stub calls; else None.
    """

    built: Library
    steps: tuple[BuildStep, ...]
    row: StoredSequence | None = None

    def own_libraries(self) -> list[Library]:
        """Returns the libraries of our kernels in the sequence `row`."""
        steps = self.row.steps if self.row else ()
        return [one.kernel.built for one in steps if isinstance(one.kernel, OwnKernel)]


_DECODER = msgspec.json.Decoder(CachedKernel)


def key_of(text: str) -> str | None:
    """Returns the cache key of a kernel description.

    Returns None if the description is malformed, or if no C compiler is installed.
    """
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


def source_fingerprint() -> str:
    """Returns a digest of the paths, sizes and modification times of our source files."""
    found = sorted(stamp for package in PACKAGES for stamp in _stamps(package))
    return hashlib.sha256("\n".join(found).encode()).hexdigest()


def _stamp(file: Path | os.DirEntry[str]) -> str:
    try:
        status = file.stat()
    except OSError:
        return os.fspath(file)
    return f"{os.fspath(file)} {status.st_size} {status.st_mtime_ns}"


def _stamps(directory: Path | str) -> Iterator[str]:
    with os.scandir(directory) as items:
        for item in items:
            if item.name.endswith(SUFFIXES):
                yield _stamp(item)
            elif item.is_dir() and item.name != "__pycache__":
                yield from _stamps(item.path)


_SOURCES_AT_START = source_fingerprint()


def has_unchanged_sources() -> bool:
    """Returns whether our source files are unchanged since this process started.

    A process whose sources have changed must not write cache entries.
    """
    return source_fingerprint() == _SOURCES_AT_START


def key_inputs() -> dict[str, object]:
    """Returns a dict with all inputs of the cache key except the kernel description.

    The values can be encoded as JSON.

    Raises:
        MissingError: there is no C compiler.
    """
    return {
        "sources": _SOURCES_AT_START,
        "tuned": _tuning_record_stamps(),
        "threads": environment.threads(),
        "disabled_passes": environment.DISABLE_PASS.read(),
        "compiler": compiler.find_compiler().identity,
        "processor": tuning_store.processor(),
        "onednn": [
            _onednn_stamp(),
            *sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith(ONEDNN_PREFIXES)),
        ],
        "python": [sys.version, _numpy_stamp()],
    }


def _tuning_record_stamps() -> list[str]:
    """Returns (path, size, modification time) of each tuning record of the user.

    All records are included because each record may influence how the kernel is compiled.
    """
    try:
        place = user_store().root / TUNINGS.name
        return sorted(
            _stamp(one) for one in os.scandir(place) if one.is_file(follow_symlinks=False)
        )
    except OSError:
        return []


@lru_cache(maxsize=1)
def _onednn_stamp() -> str:
    try:
        return _stamp(onednn_path.find_library())
    except MissingError:
        return ""


@lru_cache(maxsize=1)
def _numpy_stamp() -> str:
    """Returns path, size and modification time of the installed NumPy, joined in one string.

    The string is part of the cache key because the formulas of the operators call NumPy.
    """
    found = importlib.util.find_spec("numpy")
    return _stamp(Path(found.origin)) if found and found.origin else ""


def recall(text: str) -> CachedKernel | None:
    """Returns the cache entry of a kernel description, or None if no valid entry exists."""
    key = key_of(text)
    return user_store().read_record(GROUPS, key, _DECODER) if key else None


def remember(
    text: str,
    key: str | None,
    built: Path,
    steps: tuple[BuildStep, ...],
    row: StoredSequence | None,
) -> None:
    """Caches the result of compiling a kernel description.

    Args:
        text: the kernel description.
        key: result of `key_of` before the build. If the key has changed since then, nothing is
            cached.
        built: the kernel's library in the store.
        steps: descriptions of the compiled parts of the kernel, for the report of `explain`.
        row: if the library is a stub (`ms_fusion.kernel_server.stubs`), the sequence of kernels
            that the stub calls; else None.
    """
    if key is None or not has_unchanged_sources() or key != key_of(text):
        return
    try:
        answer = CachedKernel(Library.from_path(built), steps, row)
    except CacheError as error:
        log.info("a compiled kernel is not cached: %s", error)
        return
    user_store().write_record(GROUPS, key, answer)


def publish_cached(text: str, directory: Path) -> bool:
    """Copies the cached kernel of a kernel description to `directory`, for MindSpore.

    Returns False if the kernel or one of its libraries is missing from the cache.

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
