"""Damages of kernel cache entries, for cache tests and the stress run."""

from __future__ import annotations

import mmap
import os
import random
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tbe_impl.runtime.cache import KernelCache

CONTENT = random.Random(7).randbytes(16_000)
KEY = "ab" + "0" * 62
OTHER = "ab" + "1" * 62


def builder(content: bytes = CONTENT, **told: object):
    """A build function that writes these bytes and counts its calls."""

    def build(path: Path) -> Mapping[str, object]:
        build.calls += 1
        path.write_bytes(content)
        (path.parent / "kernel.c").write_text("left over")
        return told

    build.calls = 0
    return build


def unused(cache: KernelCache, key: str, age_s: float) -> None:
    """Sets the last use of an entry to `age_s` seconds ago."""
    past = time.time() - age_s
    os.utime(cache.root / key[:2] / key / "meta.json", (past, past))


def in_memory(path: Path) -> mmap.mmap:
    """A kernel in the memory of this process, as loaded by dlopen."""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def damages(
    kernel: bytes, chance: random.Random, *, cuts: int, flips: int, garbage: int
) -> Iterator[tuple[str, str, bytes]]:
    """For each damage: its name, a file of the entry, and the damaged content.

    Args:
        kernel: the library.
        chance: random generator of bit positions and garbage.
        cuts, flips, garbage: number of truncated libraries, flipped bits and random metadata texts.
    """
    for cut in range(0, len(kernel), -(-len(kernel) // cuts)):
        yield f"cut-{cut}", "kernel.so", kernel[:cut]
    for _ in range(flips):
        place, bit = chance.randrange(len(kernel)), chance.randrange(8)
        flipped = bytearray(kernel)
        flipped[place] ^= 1 << bit
        yield f"flip-{place}-{bit}", "kernel.so", bytes(flipped)
    texts = [b"", b"{", b"[]", b"null", b"[" * 100_000, b"\xff\xfe", b"{}" * 9, b"0" * (2 << 20)]
    texts += [b'{"schema":1,"key":"' + b"0" * 64 + b'","size":1,"sha256":"x"}']
    texts += [chance.randbytes(chance.randrange(200)) for _ in range(garbage)]
    for number, text in enumerate(texts):
        yield f"meta-{number}", "meta.json", text


def make_world_writable(entry: Path, other: Path) -> None:
    entry.chmod(0o777)


def make_kernel_group_writable(entry: Path, other: Path) -> None:
    (entry / "kernel.so").chmod(0o660)


def make_prefix_world_writable(entry: Path, other: Path) -> None:
    entry.parent.chmod(0o777)


def make_kernel_a_link(entry: Path, other: Path) -> None:
    (entry / "kernel.so").unlink()
    (entry / "kernel.so").symlink_to(other / "kernel.so")


def make_entry_a_link(entry: Path, other: Path) -> None:
    entry.rename(entry.with_name("elsewhere"))
    entry.symlink_to(entry.with_name("elsewhere"))


def make_dangling(entry: Path, other: Path) -> None:
    make_entry_a_link(entry, other)
    entry.unlink()
    entry.symlink_to("nowhere")


def make_swapped_pair(entry: Path, other: Path) -> None:
    (other / "kernel.so").replace(entry / "kernel.so")


def make_swapped_entry(entry: Path, other: Path) -> None:
    entry.rename(entry.with_name("elsewhere"))
    other.rename(entry)


def make_a_pipe(entry: Path, other: Path) -> None:
    (entry / "kernel.so").unlink()
    os.mkfifo(entry / "kernel.so")


def make_a_file(entry: Path, other: Path) -> None:
    entry.rename(entry.with_name("elsewhere"))
    entry.write_bytes(b"")


HOSTILE = [
    make_world_writable,
    make_kernel_group_writable,
    make_kernel_a_link,
    make_entry_a_link,
    make_dangling,
    make_swapped_pair,
    make_swapped_entry,
    make_a_pipe,
    make_a_file,
]
