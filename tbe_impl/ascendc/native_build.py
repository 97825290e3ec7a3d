"""Compiles a kernel's translation unit to a shared library in the store."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from tbe_impl import environment
from tbe_impl.ascendc.included_files import find_include_directories, included_files
from tbe_impl.ascendc.translation_unit import DEFAULT_TILING, TranslationUnit
from tbe_impl.errors import CompileError, CompileTimeoutError, InputError, MissingError
from tbe_impl.runtime.compiler import march
from tbe_impl.runtime.compiler_process import Compiler, run
from tbe_impl.runtime.shared_library_check import check_library
from tbe_impl.runtime.store import Store, make_key, user_store
from tbe_impl.runtime.store_kinds import HEADERS, KERNELS

HOST_MODEL = Path(__file__).resolve().parent / "host_model"
FLAGS = (
    "-std=c++17",
    "-fPIC",
    "-pthread",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fvisibility=hidden",
    "-w",
)
GCC_FLAGS = ("-O1", "-ftree-vectorize", "-fmax-errors=20")
"""Flags for GCC. With vectorisation, -O1 compiles faster than -O2, and kernels run as fast."""
CLANG_FLAGS = ("-O2", "-ferror-limit=20")
TIME_LIMIT_S = 300
"""Maximum processor time of each process of a compilation.

The first compilation by ziglang also compiles the C++ standard library.
"""
SYMBOLS = ("host_model_run", "host_model_signature")
PRELUDE = "host_model_prelude.h"
EMPTY_HEADERS, EMPTY_HEADERS_LIMIT = "empty", 40
_GCC = re.compile(r"(.*-)?g\+\+(-\d+)?(\.\d+)*\Z")
_ERROR = re.compile(
    r"^(?P<place>[^\s:][^:\n]*:\d+)(?::\d+)?: (?:fatal )?error: (?P<text>.*)$", re.MULTILINE
)
_ABSENT_HEADER = re.compile(
    r"fatal error: (?:([^\s:'‘][^:\n]*): No such file|['‘]([^'’\n]+)['’] file not found)"
)
_MISSING_NAME = re.compile(
    r"['‘](\w+)['’](?: was not declared| does not name a type"
    r"| is not a member| has not been declared)"
    r"|no member named ['‘](\w+)['’]|use of undeclared identifier ['‘](\w+)['’]"
    r"|unknown type name ['‘](\w+)['’]|has no member named ['‘](\w+)['’]"
    r"|no matching function for call to ['‘](?:\w+::)*(\w+)"
)


_MISSING_FIELD = re.compile(
    r"['‘](?:struct |class )?(\w+)['’] has no member named ['‘](\w+)['’]"
    r"(?:; did you mean ['‘]\w+::(\w+)['’]|; did you mean ['‘](\w+)['’])?"
)


_UNSET_FIELD = re.compile(r"no member named ['‘](\w+)['’]")


def find_cpp_compiler() -> Compiler:
    """Returns the C++ compiler.

    If the environment variable `MS_FUSION_CC` names a C compiler, the C++ compiler in the directory
    of that C compiler is returned. Otherwise, the first installed compiler of c++, g++, clang++ and
    ziglang is returned.

    Raises:
        MissingError: there is no C++ compiler.
    """
    chosen = environment.COMPILER.read()
    found = _find(chosen, os.environ.get("PATH"))
    if found is None:
        raise MissingError(
            "there is no C++ compiler",
            remedy="Install g++ or clang++ (apt install g++), or run: pip install ziglang",
        )
    return found


@lru_cache(maxsize=8)
def _find(chosen: str, path: str | None) -> Compiler | None:
    names = ["c++", "g++", "clang++"]
    if chosen:
        place = Path(chosen)
        pattern, cpp = (r"clang", "clang++") if "clang" in place.name else (r"g?cc", "g++")
        names.insert(0, str(place.with_name(re.sub(pattern, cpp, place.name, count=1))))
    for name in names:
        found = shutil.which(name, path=path)
        if found:
            real = Path(found).resolve()
            status = real.stat()
            return Compiler((found,), f"{real} {status.st_size} {status.st_mtime_ns}")
    if importlib.util.find_spec("ziglang") is not None:
        from importlib import metadata

        return Compiler(
            (sys.executable, "-m", "ziglang", "c++"), f"ziglang {metadata.version('ziglang')}"
        )
    return None


def build_library(
    unit: TranslationUnit,
    source: Path,
    *,
    include: Sequence[Path] = (),
    symbols: Sequence[str] = SYMBOLS,
) -> Path:
    """Returns the path of a translation unit's shared library.

    Compiles the library on a cache miss.

    Args:
        unit: the translation unit.
        source: the kernel file. The files that it includes are searched in the same directory or
            near it.
        include: further directories of included files.
        symbols: symbols that the library must contain. The default is the symbols of a kernel.

    Raises:
        MissingError: there is no C++ compiler.
        InputError: the kernel does not compile. The message contains the compiler's first error.
        CompileError: the compiler ran out of time or memory.
    """
    compiler = find_cpp_compiler()
    directories = find_include_directories(source, include, HOST_MODEL / "include")
    tuned = GCC_FLAGS if _is_gcc(compiler) else CLANG_FLAGS
    flags = [*FLAGS, *tuned, *([f"-march={march()}"] if march() else [])]
    own = [f"-D{one}" for one in unit.definitions]
    store = user_store()
    head = make_key(
        kind="ascendc headers", headers=_headers(), compiler=compiler.identity, flags=flags
    )
    key = make_key(
        kind="ascendc kernel",
        head=head,
        source=hashlib.sha256(unit.text.encode("utf-8", "surrogateescape")).hexdigest(),
        included=[f"{one} {_digest(one)}" for one in included_files(source, directories)],
        definitions=own,
    )

    def make(target: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="tbe_impl-", dir=target.parent) as directory:
            place = Path(directory)
            text = place / "kernel.cpp"
            text.write_bytes(unit.text.encode("utf-8", "surrogateescape"))
            command = [
                *flags,
                *own,
                f"-I{HOST_MODEL / 'include'}",
                *(f"-I{one}" for one in directories),
                *(_prelude(compiler, flags, head, store, place) if symbols == SYMBOLS else ()),
                "-shared",
                "-o",
                str(target),
                str(text),
            ]
            try:
                _run_with_empty_headers(compiler, command, place)
            except CompileTimeoutError:
                raise
            except CompileError as error:
                raise _compile_error(error, source, place) from error
            check_library(target, symbols, compiler=" ".join(compiler.command), is_cpp=True)

    found = store.find(KERNELS, key)
    return found or store.get_or_build(KERNELS, key, make)


def preprocess(text: str, source: Path, include: Sequence[Path], definitions: Sequence[str]) -> str:
    """Returns the preprocessed text of a file, including its headers, but without comments.

    Raises:
        MissingError: there is no C++ compiler.
        InputError: an included file is missing, or a directive is wrong.
    """
    compiler = find_cpp_compiler()
    directories = find_include_directories(source, include, HOST_MODEL / "include")
    with tempfile.TemporaryDirectory(prefix="tbe_impl-") as directory:
        place = Path(directory)
        (place / "text.cpp").write_bytes(text.encode("utf-8", "surrogateescape"))
        arguments = [
            "-E",
            "-P",
            "-std=c++17",
            *(f"-D{one}" for one in definitions),
            f"-I{HOST_MODEL / 'include'}",
            *(f"-I{one}" for one in directories),
            "-o",
            str(place / "out"),
            str(place / "text.cpp"),
        ]
        try:
            _run_with_empty_headers(compiler, arguments, place)
        except CompileTimeoutError:
            raise
        except CompileError as error:
            raise _compile_error(error, source, place) from error
        return (place / "out").read_bytes().decode("utf-8", "surrogateescape")


def _run_with_empty_headers(compiler: Compiler, arguments: Sequence[str], place: Path) -> None:
    """Runs the compiler; an empty file replaces each included file that does not exist.

    Host files include many headers of CANN that they do not use. The error of a failed compilation
    names one missing file. This file is created in `place`/``empty``, and the compilation is
    repeated.
    """
    root = place / EMPTY_HEADERS
    deepest = root / "1" / "2" / "3"  # so that "../name.h" stays below root
    for _ in range(EMPTY_HEADERS_LIMIT):
        try:
            return run(
                compiler, [*arguments, "-idirafter", str(deepest)], place, limit_s=TIME_LIMIT_S
            )
        except CompileError:
            output = (place / "output").read_bytes()[: 1 << 20].decode("utf-8", "replace")
            found = _ABSENT_HEADER.search(output)
            target = (deepest / (found[1] or found[2])).resolve() if found else place
            if target.exists() or not target.is_relative_to(root.resolve()):
                raise
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
    run(compiler, arguments, place, limit_s=TIME_LIMIT_S)


def _is_gcc(compiler: Compiler) -> bool:
    return bool(_GCC.match(Path(compiler.identity.split(" ")[0]).name))


def _prelude(
    compiler: Compiler, flags: Sequence[str], key: str, store: Store, place: Path
) -> list[str]:
    """Returns the flags that use the precompiled header.

    Returns no flags if the compiler cannot precompile headers.
    """
    if sys.platform != "linux" or not _is_gcc(compiler):
        return []

    def make(target: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="tbe_impl-", dir=target.parent) as directory:
            text = Path(directory) / PRELUDE
            text.write_text('#include "kernel_operator.h"\n', "utf-8")
            run(
                compiler,
                [
                    *flags,
                    f"-I{HOST_MODEL / 'include'}",
                    "-x",
                    "c++-header",
                    "-o",
                    str(target),
                    str(text),
                ],
                text.parent,
                limit_s=TIME_LIMIT_S,
            )

    try:
        header = store.find(HEADERS, key) or store.get_or_build(HEADERS, key, make)
    except CompileError:
        return []
    (place / PRELUDE).write_text('#include "kernel_operator.h"\n', "utf-8")
    (place / f"{PRELUDE}.gch").symlink_to(header)
    return ["-include", PRELUDE]


def _compile_error(error: CompileError, source: Path, place: Path) -> InputError:
    """Converts the compiler's first error to an `InputError`.

    If the host model does not define a name of Ascend C, the message contains this name.
    """
    try:
        text = (place / "output").read_bytes()[: 1 << 20].decode("utf-8", "replace")
    except OSError:
        text = ""
    empty = ", ".join(
        sorted(one.name for one in (place / EMPTY_HEADERS).rglob("*") if one.is_file())
    )
    found = _ERROR.search(text)
    if not found:
        return InputError("the kernel does not compile", place=str(source), got=error.got or "")
    unset = _UNSET_FIELD.search(found["text"]) if DEFAULT_TILING in found["text"] else None
    if unset:
        return InputError(
            f"the kernel reads the tiling field {unset[1]}",
            place=found["place"],
            expected="its value",
            remedy=f"Give all fields: --tiling {unset[1]}=VALUE,…, or the operator's host file: "
            "--host HOST.cpp",
        )
    field = _MISSING_FIELD.search(found["text"])
    if field and found["place"].startswith("entry:"):
        return InputError(
            f"the tiling structure {field[1]} has no field {field[2]}",
            place="--tiling",
            remedy=f"Did you mean {field[3] or field[4]}?" if field[3] or field[4] else None,
        )
    if found["place"].startswith("entry:"):
        return InputError(
            "the kernel function cannot be called with these template arguments",
            place=str(source),
            got=found["text"],
            remedy="Compare --function with the parameters of the template",
        )
    names = _MISSING_NAME.search(found["text"])
    name = next((one for one in names.groups() if one), "") if names else ""
    return InputError(
        f"the kernel does not compile: {name} is missing or is called with wrong arguments"
        if name
        else "the kernel does not compile",
        place=found["place"],
        got=found["text"],
        remedy="See what the host model has: ms-fusion ascendc apis"
        + (
            f". Headers that were not found: {empty}; give their directory with --include"
            if empty
            else ""
        )
        if name or empty
        else None,
    )


@lru_cache(maxsize=1)
def _headers() -> str:
    """Returns the SHA-256 of all headers of the host model."""
    whole = hashlib.sha256()
    for path in sorted(HOST_MODEL.rglob("*.h")):
        content = path.read_bytes()
        whole.update(f"{path.relative_to(HOST_MODEL)} {len(content)}\n".encode() + content)
    return whole.hexdigest()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
