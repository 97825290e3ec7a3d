"""Entries of every kind and their damages, for tests of the store and the stress run."""

from __future__ import annotations

import mmap
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

from tbe_impl.runtime.store import Store
from tbe_impl.runtime.store_entry import TRAILER_BYTES, make_trailer
from tbe_impl.runtime.store_kinds import KINDS, Kind

CONTENT = random.Random(7).randbytes(16_000)
KEY = "ab" + "0" * 62
OTHER = "ab" + "1" * 62


def builder(content: bytes = CONTENT):
    """A build function that writes these bytes and counts its calls."""

    def build(path: Path) -> None:
        build.calls += 1
        path.write_bytes(content)
        (path.parent / "kernel.c").write_text("left over")

    build.calls = 0
    return build


def content_for(kind: Kind) -> bytes:
    """Bytes that fit into an entry of this kind."""
    return CONTENT[: kind.bytes_max]


def content_at(path: Path) -> bytes:
    """The content of an entry, without a check."""
    return path.read_bytes()[:-TRAILER_BYTES]


def put(store: Store, kind: Kind, key: str, content: bytes | None = None) -> Path:
    """Stores an entry of any kind; returns its path in the root."""
    content = content_for(kind) if content is None else content
    if kind.is_file:
        store.get_or_build(kind, key, builder(content))
    else:
        store.write(kind, key, content)
    return store.root / kind.name / kind.file_name(key)


def get(store: Store, kind: Kind, key: str) -> bytes | None:
    """The content of an entry of any kind; None if there is no valid entry."""
    if not kind.is_file:
        return store.read(kind, key)
    found = store.find(kind, key)
    return None if found is None else content_at(found)


def forge(entry: Path, kind: Kind, content: bytes) -> None:
    """Replaces an entry by one with other content and a matching SHA-256."""
    entry.write_bytes(content + make_trailer(content, kind, entry.stem))


def unused(entry: Path, age_s: float) -> None:
    """Sets the last use of an entry to `age_s` seconds ago."""
    past = time.time() - age_s
    os.utime(entry, (past, past))


def in_memory(path: Path) -> mmap.mmap:
    """A kernel in the memory of this process, as loaded by dlopen."""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def damages(
    whole: bytes, chance: random.Random, *, cuts: int, flips: int, garbage: int
) -> Iterator[tuple[str, bytes]]:
    """For each damage: its name, and the damaged entry.

    Args:
        whole: the entry with its trailer.
        chance: random generator of bit positions and garbage.
        cuts, flips, garbage: number of truncated entries, flipped bits (every second one in the
            trailer) and random texts.
    """
    for cut in range(0, len(whole), -(-len(whole) // cuts)):
        yield f"cut-{cut}", whole[:cut]
    for number in range(flips):
        first = len(whole) - TRAILER_BYTES if number % 2 else 0
        place, bit = chance.randrange(first, len(whole)), chance.randrange(8)
        flipped = bytearray(whole)
        flipped[place] ^= 1 << bit
        yield f"flip-{place}-{bit}", bytes(flipped)
    texts = [b"{", b"[]", b"[" * 100_000, b"\xff\xfe", whole[-TRAILER_BYTES:], whole + whole]
    texts += [whole + b" ", b" " + whole, whole.upper()]
    texts += [chance.randbytes(chance.randrange(200)) for _ in range(garbage)]
    for number, text in enumerate(texts):
        yield f"garbage-{number}", text


def make_world_writable(entry: Path, other: Path) -> None:
    entry.chmod(0o602)


def make_group_writable(entry: Path, other: Path) -> None:
    entry.chmod(0o660)


def make_link(entry: Path, other: Path) -> None:
    entry.rename(entry.with_name("elsewhere"))
    entry.symlink_to(entry.with_name("elsewhere"))


def make_link_to_another(entry: Path, other: Path) -> None:
    entry.unlink()
    entry.symlink_to(other)


def make_dangling(entry: Path, other: Path) -> None:
    entry.unlink()
    entry.symlink_to("nowhere")


def make_swapped(entry: Path, other: Path) -> None:
    other.replace(entry)


def make_another_kinds(entry: Path, other: Path) -> None:
    """The same content under the same key, sealed for another kind."""
    kinds = [kind for kind in KINDS if kind.name != entry.parent.name]
    content = content_at(entry)
    entry.write_bytes(content + make_trailer(content, kinds[0], entry.stem))


def make_pipe(entry: Path, other: Path) -> None:
    entry.unlink()
    os.mkfifo(entry)


def make_directory(entry: Path, other: Path) -> None:
    entry.rename(entry.with_name("elsewhere"))
    entry.mkdir()
    (entry / "kernel.so").write_bytes(b"")


def make_link_to_a_directory(entry: Path, other: Path) -> None:
    entry.unlink()
    entry.symlink_to(entry.parent)


def make_empty(entry: Path, other: Path) -> None:
    entry.write_bytes(b"")


def make_too_large(entry: Path, other: Path) -> None:
    """A file of twice the size limit, without blocks on disk."""
    (kind,) = [kind for kind in KINDS if kind.name == entry.parent.name]
    with entry.open("r+b") as file:
        file.truncate(2 * kind.bytes_max)


HOSTILE = [
    make_world_writable,
    make_group_writable,
    make_link,
    make_link_to_another,
    make_dangling,
    make_swapped,
    make_another_kinds,
    make_pipe,
    make_directory,
    make_link_to_a_directory,
    make_empty,
    make_too_large,
]


def open_the_directory(entry: Path) -> None:
    """Lets other users write to the directory of the kind."""
    entry.parent.chmod(0o777)


def link_the_directory(entry: Path) -> None:
    entry.parent.rename(entry.parents[1] / "elsewhere")
    entry.parent.symlink_to(entry.parents[1] / "elsewhere")


HOSTILE_DIRECTORIES = [open_the_directory, link_the_directory]
