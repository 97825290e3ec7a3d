"""Finds the C compiler, runs it under a time limit, and caches libraries in the store."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from tbe_impl import environment
from tbe_impl.errors import CompileError, CompileTimeoutError, InputError, MissingError
from tbe_impl.records import Record
from tbe_impl.runtime import machine
from tbe_impl.runtime.compiler_process import Compiler, run
from tbe_impl.runtime.shared_library_check import check_library
from tbe_impl.runtime.store import Store, make_key, text_digest, user_store
from tbe_impl.runtime.store_kinds import ALIASES, KERNELS

INCLUDE = Path(__file__).resolve().parent.parent / "codegen" / "include"
_compiled_keys: list[str] = []
_timeouts: dict[str, CompileTimeoutError] = {}
"""Maps the cache key of each text whose compilation timed out in this process to the error.

The process does not try to compile such a text again.
"""
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
"""Compiler flags. -ffast-math is not used, because NaN, inf and signed zeros must be preserved."""
NO_CLONES = "-fno-ipa-cp-clone"
"""Prevents gcc from cloning loop nests for constant arguments.

Clones add 50 % to the compile time, and do not make the kernel faster. clang ignores the flag.
ziglang does not get the flag, because ziglang rejects unknown flags.
"""


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
    """Returns the C compiler that the environment variable `MS_FUSION_CC` names.

    If the variable is not set, returns the first installed compiler of cc, gcc, clang and ziglang.

    Raises:
        MissingError: there is no such compiler, or `MS_FUSION_CC` contains options.
    """
    chosen = environment.COMPILER.read()
    path = os.environ.get("PATH")
    found = _find(chosen, path)
    first, _, options = chosen.partition(" ")
    if found is None and options and shutil.which(first, path=path):
        raise MissingError(
            "the setting of the compiler contains options",
            place=environment.COMPILER.name,
            expected="the name or path of a compiler",
            got=repr(chosen),
            remedy=f"Set {environment.COMPILER.name}={first}; the flags are set automatically",
        )
    if found is None:
        raise MissingError(
            f"the C compiler {chosen} is not there" if chosen else "there is no C compiler",
            remedy="Install gcc or clang, or run: pip install ziglang",
        )
    return found


# evaluated at import, so that the first kernel of a process does not wait
_find(environment.COMPILER.read(), os.environ.get("PATH"))


def march() -> str:
    """Returns the value of the compiler flag ``-march``, or "" for an unknown architecture.

    The value is ``native``, or the architecture to which the environment variable `MS_FUSION_ISA`
    limits kernels.
    """
    limit = machine.instruction_limit()
    if limit is not None:
        return limit.march
    return "native" if platform.machine() in ("x86_64", "aarch64") else ""


class Recipe(Record):
    """Compiler, flags and cache key of a generated text.

    Attributes:
        compiler: the C compiler to run.
        flags: the flags for the compiler.
        key: cache key over the text, the headers, the compiler, the flags and the machine.
    """

    compiler: Compiler
    flags: tuple[str, ...]
    key: str


def recipe(digest: str, *, options: Sequence[str] = ()) -> Recipe:
    """Returns the compiler, the flags and the cache key for a generated text.

    Args:
        digest: SHA-256 of the text. The text is C and may include the headers in `INCLUDE`.
        options: further compiler flags, such as ``-ffp-contract=fast`` or ``-march=x86-64-v3``.

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
    key = make_key(source=digest, headers=_headers(), compiler=compiler.identity, flags=flags)
    return Recipe(compiler, tuple(flags), key)


def build(
    source: str,
    *,
    options: Sequence[str] = (),
    symbols: Sequence[str] = (),
    cache: Store | None = None,
) -> Path:
    """Returns the path of a generated text's shared library.

    Compiles the text on a cache miss.

    Args:
        source: the generated C text.
        options: as for `recipe`.
        symbols: symbols that the library must contain.
        cache: the store that caches libraries; by default, the user's store.

    Raises:
        MissingError: there is no compiler.
        CompileError: the compiler failed, exceeded a limit of `compiler_process`, or created no
            valid library. Nothing is cached in these cases.
    """
    how = recipe(text_digest(source), options=options)
    store = cache or user_store()

    def make(target: Path) -> None:
        if how.key in _timeouts:
            raise _timeouts[how.key].with_traceback(None)
        try:
            _compile(how, source, target, store)
        except CompileTimeoutError as error:
            _timeouts[how.key] = error
            raise
        check_library(target, symbols, compiler=" ".join(how.compiler.command))
        _compiled_keys.append(how.key)

    return find(how.key, store) or store.get_or_build(KERNELS, how.key, make)


def find(key: str, store: Store) -> Path | None:
    """Returns the cached library for the key of a `Recipe`, or None on a cache miss.

    The library was compiled from the recipe's text alone, or by `build_together` from several
    texts.
    """
    found = store.find(KERNELS, key)
    alias = None if found else store.read(ALIASES, key)
    with contextlib.suppress(InputError, UnicodeDecodeError):
        found = found or (store.find(KERNELS, alias.decode("ascii")) if alias else None)
    return found


def build_together(
    texts: Sequence[tuple[str, Sequence[str]]],
    *,
    options: Sequence[str] = (),
    cache: Store | None = None,
) -> None:
    """Compiles several texts into one library, and caches it under the key of each text.

    One compilation for several texts saves time: the start of a compiler and the parsing of the
    headers take as long as the compilation of a small kernel.

    Args:
        texts: generated texts, each with the symbols that it defines. `can_be_together` must hold
            for the texts.
        options: as for `recipe`.
        cache: as for `build`.

    Raises:
        The errors of `build`. If one of them is raised, nothing is cached.
    """
    store = cache or user_store()
    head = _parts(texts[0][0])[0]
    whole = "\n".join([head, "", *(_parts(source)[1] for source, _ in texts)])
    build(whole, options=options, symbols=[one for _, own in texts for one in own], cache=store)
    alias = recipe(text_digest(whole), options=options).key.encode("ascii")
    for source, _ in texts:
        store.write(ALIASES, recipe(text_digest(source), options=options).key, alias)


def can_be_together(texts: Sequence[tuple[str, Sequence[str]]]) -> bool:
    """Returns whether `build_together` can compile the texts into one library.

    The texts must have disjoint symbols and equal include lines. After the include lines, the texts
    may contain no preprocessor directive except ``#pragma``.
    """
    symbols = [one for _, own in texts for one in own]
    heads, bodies = zip(*(_parts(source) for source, _ in texts), strict=True)
    return (
        len(set(symbols)) == len(symbols)
        and len(set(heads)) == 1
        and not any(map(_DIRECTIVE_PATTERN.search, bodies))
    )


_DIRECTIVE_PATTERN = re.compile(r"^#\s*(?!pragma)", re.MULTILINE)


def _parts(source: str) -> tuple[str, str]:
    """Splits a generated text at its first empty line into include lines and the rest."""
    head, _, body = source.partition("\n\n")
    return head, body


def count_compiled_libraries() -> int:
    """Returns the number of libraries that this process compiled; cache hits are not counted."""
    return len(_compiled_keys)


@lru_cache(maxsize=1)
def _headers() -> str:
    """Returns the SHA-256 of the headers in `INCLUDE`."""
    whole = hashlib.sha256()
    for name in sorted(item for item in os.listdir(INCLUDE) if item.endswith(".h")):
        content = (INCLUDE / name).read_bytes()
        whole.update(f"{name} {len(content)}\n".encode() + content)
    return whole.hexdigest()


_headers()  # evaluated at import, so that the first kernel of a process does not wait


def _compile(how: Recipe, source: str, target: Path, store: Store) -> None:
    from tbe_impl.runtime import precompiled_headers

    with tempfile.TemporaryDirectory(prefix="tbe_impl-", dir=target.parent) as directory:
        place = Path(directory)
        text = place / "kernel.c"
        text.write_text(source, "utf-8")
        flags = [*how.flags, f"-I{INCLUDE}"]
        command = [*flags, "-o", str(target), str(text), "-lm", "-lpthread"]
        head = precompiled_headers.head_of(source, how.compiler)
        key = make_key(
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
            if read is None or isinstance(error, CompileTimeoutError):
                raise
            run(how.compiler, command, place)
            precompiled_headers.give_up(key, error)
        if target.is_symlink() or not target.is_file():
            raise CompileError(
                "the C compiler produced no library", place=" ".join(how.compiler.command)
            )
