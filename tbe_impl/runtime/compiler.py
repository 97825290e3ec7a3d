"""Finds and calls the C compiler, with a time limit; libraries go to the kernel cache."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tbe_impl import environment
from tbe_impl.errors import CompileError, InputError, MissingError
from tbe_impl.runtime import compiler_process, machine, precompiled_headers
from tbe_impl.runtime.cache import KernelCache
from tbe_impl.runtime.compiler_process import Compiler, run
from tbe_impl.runtime.shared_library_check import check_library

INCLUDE = Path(__file__).resolve().parent.parent / "codegen" / "include"
_made: list[str] = []
_too_slow: set[str] = set()
"""Keys of kernels that took too long in this process: nobody waits for one twice."""
FLAGS = (
    "-std=gnu11",
    "-O3",
    "-g1",
    "-fPIC",
    "-shared",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-Wno-psabi",
    "-Werror=implicit-function-declaration",
)
"""No -ffast-math: NaN, inf and signed zeros have to survive."""
NO_CLONES = "-fno-ipa-cp-clone"
"""A nest that is called with other constants by one thread than by several would be compiled twice, which takes half as long again
and makes nothing quicker. Only gcc does that; clang does not mind being told, but ziglang refuses what it does not know."""


@lru_cache(maxsize=8)
def _find(chosen: str, path: str | None) -> Compiler | None:
    for name in [chosen] if chosen else ["cc", "gcc", "clang"]:
        found = shutil.which(name, path=path)
        if found:
            real = Path(found).resolve()
            status = real.stat()
            return Compiler((found,), f"{real} {status.st_size} {status.st_mtime_ns}")
    if not chosen and importlib.util.find_spec("ziglang") is not None:
        from importlib import metadata

        return Compiler(
            (sys.executable, "-m", "ziglang", "cc"), f"ziglang {metadata.version('ziglang')}"
        )
    return None


def find_compiler() -> Compiler:
    """The C compiler: the one that the environment names, else cc, gcc, clang, or the one of the package ziglang.

    Raises:
        MissingError: there is none.
    """
    chosen = environment.COMPILER.read()
    path = os.environ.get("PATH")
    found = _find(chosen, path)
    first, _, options = chosen.partition(" ")
    if found is None and options and shutil.which(first, path=path):
        raise MissingError(
            "a compiler is named together with options",
            place=environment.COMPILER.name,
            expected="the name or path of a compiler",
            got=repr(chosen),
            remedy=f"Set {environment.COMPILER.name}={first}; how it is called is ours",
        )
    if found is None:
        raise MissingError(
            f"the C compiler {chosen} is not there" if chosen else "there is no C compiler",
            remedy="Install gcc or clang, or run: pip install ziglang",
        )
    return found


# the first kernel of a process does not wait for it
_find(environment.COMPILER.read(), os.environ.get("PATH"))


def march() -> str:
    """The processor that code is made for: this one, or the first with AVX2 where `MS_FUSION_ISA` asks for no more."""
    if machine.is_kept_to_avx2():
        return "haswell"
    return "native" if platform.machine() in ("x86_64", "aarch64") else ""


@dataclass(frozen=True)
class Recipe:
    """How a text becomes a library, and the name of that library in the cache.

    Attributes:
        compiler: what compiles it.
        flags: all that it is told.
        key: over text, headers, compiler, flags and machine.
    """

    compiler: Compiler
    flags: tuple[str, ...]
    key: str


def recipe(digest: str, *, options: Sequence[str] = ()) -> Recipe:
    """How the text of this SHA-256 is compiled now.

    Args:
        digest: of C that may include the headers beside this file.
        options: more arguments for the compiler, such as ``-ffp-contract=fast`` or ``-march=x86-64-v3``.

    Raises:
        MissingError: there is no compiler.
    """
    compiler = find_compiler()
    flags = [*FLAGS, *([] if "ziglang" in compiler.command else [NO_CLONES])]
    if not any(option.startswith("-march") for option in options) and march():
        flags.append(f"-march={march()}")
    if not any(option.startswith("-ffp-contract") for option in options):
        flags.append("-ffp-contract=off")
    if sys.platform == "darwin":
        flags.append("-Wl,-undefined,dynamic_lookup")
    flags += options
    key = KernelCache.key(
        source=digest, headers=_headers(), compiler=compiler.identity, flags=flags
    )
    return Recipe(compiler, tuple(flags), key)


def build(
    source: str,
    *,
    options: Sequence[str] = (),
    symbols: Sequence[str] = (),
    cache: KernelCache | None = None,
) -> Path:
    """The shared library of a generated text, from the cache or made now.

    Args:
        source, options: as for `recipe`, which takes the text's SHA-256.
        symbols: what has to be in the library.
        cache: where libraries are kept; by default the user's.

    Raises:
        MissingError: there is no compiler.
        CompileError: it failed, took longer than `compiler_process.TIME_LIMIT_S`, needed more than `MEMORY_LIMIT_BYTES`, or left something
            else; that is not kept.
    """
    how = recipe(_digest(source), options=options)
    store = cache or user_cache()

    def make(target: Path) -> Mapping[str, str]:
        if how.key in _too_slow:
            raise _took_too_long(how.compiler)
        try:
            _compile(how, source, target, store)
        except subprocess.TimeoutExpired:
            _too_slow.add(how.key)
            raise _took_too_long(how.compiler) from None
        check_library(target, symbols, compiler=" ".join(how.compiler.command))
        _made.append(how.key)
        return {"flags": " ".join(how.flags)}

    return find(how.key, store) or store.get_or_build(how.key, make)


def find(key: str, store: KernelCache) -> Path | None:
    """The library of a recipe, its own or one that it shares with others; None where the cache has none."""
    found = store.load(key)
    note = None if found else store.recall(key)
    with contextlib.suppress(InputError, UnicodeDecodeError):
        found = found or (store.load(note.decode("ascii")) if note else None)
    return found


def build_together(
    texts: Sequence[tuple[str, Sequence[str]]],
    *,
    options: Sequence[str] = (),
    cache: KernelCache | None = None,
) -> None:
    """Compiles several texts at once into one library, which is that of each of them from then on.

    Starting a compiler and reading the headers takes as long as compiling a small kernel.

    Args:
        texts: generated texts, each with its symbols; `can_be_together`.
        options: as for `recipe`.
        cache: as for `build`.

    Raises:
        As `build`; nothing is kept then.
    """
    store = cache or user_cache()
    head = _parts(texts[0][0])[0]
    whole = "\n".join([head, "", *(_parts(source)[1] for source, _ in texts)])
    build(whole, options=options, symbols=[one for _, own in texts for one in own], cache=store)
    note = recipe(_digest(whole), options=options).key.encode("ascii")
    for source, _ in texts:
        store.remember(recipe(_digest(source), options=options).key, note)


def can_be_together(texts: Sequence[tuple[str, Sequence[str]]]) -> bool:
    """Whether no two have a symbol in common, all begin with the same headers, and none defines anything behind them."""
    symbols = [one for _, own in texts for one in own]
    heads, bodies = zip(*(_parts(source) for source, _ in texts), strict=True)
    return (
        len(set(symbols)) == len(symbols)
        and len(set(heads)) == 1
        and not any(map(_DEFINES.search, bodies))
    )


_DEFINES = re.compile(r"^#\s*(?!pragma)", re.MULTILINE)


def _parts(source: str) -> tuple[str, str]:
    """What a generated text includes, and the rest."""
    head, _, body = source.partition("\n\n")
    return head, body


def _digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()


def count_made() -> int:
    """How many libraries this process compiled; those that the cache had are not among them."""
    return len(_made)


@lru_cache(maxsize=4)
def _cache_at(root: str) -> KernelCache:
    return KernelCache(root)


def user_cache() -> KernelCache:
    """Where libraries are kept unless another place is named."""
    return _cache_at(str(environment.cache_dir() / "kernels"))


@lru_cache(maxsize=1)
def _headers() -> str:
    """The SHA-256 over the headers beside this file."""
    whole = hashlib.sha256()
    for name in sorted(item for item in os.listdir(INCLUDE) if item.endswith(".h")):
        content = (INCLUDE / name).read_bytes()
        whole.update(f"{name} {len(content)}\n".encode() + content)
    return whole.hexdigest()


_headers()  # found out here, so that the first kernel of a process does not wait for it


def _compile(how: Recipe, source: str, target: Path, store: KernelCache) -> None:
    with tempfile.TemporaryDirectory(prefix="tbe_impl-", dir=target.parent) as directory:
        place = Path(directory)
        text = place / "kernel.c"
        text.write_text(source, "utf-8")
        flags = [*how.flags, f"-I{INCLUDE}"]
        command = [*flags, "-o", str(target), str(text), "-lm", "-lpthread"]
        head = precompiled_headers.head_of(source, how.compiler)
        key = KernelCache.key(
            head=head, headers=_headers(), compiler=how.compiler.identity, flags=how.flags
        )
        read = precompiled_headers.find(key, head, how.compiler, flags, store) if head else None
        try:
            run(
                how.compiler,
                [*(precompiled_headers.use(read, head, place) if read else ()), *command],
                place,
            )
        except CompileError as error:
            if read is None:
                raise
            run(how.compiler, command, place)
            precompiled_headers.give_up(key, error)
        if target.is_symlink() or not target.is_file():
            raise CompileError(
                "the C compiler left no library", place=" ".join(how.compiler.command)
            )


def _took_too_long(compiler: Compiler) -> CompileError:
    return CompileError(
        f"the C compiler took longer than {compiler_process.TIME_LIMIT_S:g} s",
        place=" ".join(compiler.command),
    )
