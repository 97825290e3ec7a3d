"""Precompiled headers: built once, used for every kernel, and never an obstacle."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tbe_impl.codegen.options import Options
from tbe_impl.codegen.program import include_directives
from tbe_impl.errors import CompileError
from tbe_impl.runtime import compiler, precompiled_headers
from tbe_impl.runtime.compiler_process import Compiler
from tbe_impl.runtime.store import Store
from tests.cases import cases
from tests.stress.parts import libraries

pytestmark = pytest.mark.skipif(
    "gcc" not in str(Path(shutil.which("cc") or "").resolve()), reason="the compiler is not GCC"
)


FIND = precompiled_headers.find


@pytest.fixture(autouse=True)
def as_in_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the precompiled headers in the test's cache."""
    monkeypatch.setattr(precompiled_headers, "find", FIND)
    monkeypatch.setattr(precompiled_headers, "_requested_keys", set())
    monkeypatch.setattr(precompiled_headers, "_verified_paths", {})
    monkeypatch.setattr(precompiled_headers, "_rejected_keys", set())


@pytest.fixture
def cache(tmp_path: Path) -> Store:
    return Store(tmp_path / "kernels")


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The compiler's arguments, in order."""
    found: list[list[str]] = []
    whole = compiler.run

    def noted(one: Compiler, arguments: list[str], place: Path) -> None:
        found.append([*arguments])
        whole(one, arguments, place)

    monkeypatch.setattr(compiler, "run", noted)
    monkeypatch.setattr(precompiled_headers, "run", noted)
    return found


def text(number: int, *, bits: int = 0) -> str:
    return (
        f"{include_directives(Options(vector_bits=bits))}\n\nint k{number}(void) {{ return "
        f"{number}; }}\n"
    )


def built(number: int, cache: Store, **more: int) -> Path:
    return compiler.build(text(number, **more), symbols=[f"k{number}"], cache=cache)


def test_headers_are_precompiled_once_and_reused(
    cache: Store, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second kernel builds them; another process finds them for its first one."""
    for number in range(4):
        built(number, cache)
    assert ["c-header" in one for one in commands] == [False, True, False, False, False]
    assert ["-include" in one for one in commands] == [False, False, True, True, True]
    assert len(cache.entries()) == 5 and len(libraries(cache)) == 4
    # as in another process
    monkeypatch.setattr(precompiled_headers, "_requested_keys", set())
    monkeypatch.setattr(precompiled_headers, "_verified_paths", {})
    built(4, cache)
    assert "-include" in commands[-1]
    # a wrong text still gives an error, and the headers stay
    with pytest.raises(CompileError, match="nonsense"):
        compiler.build(text(5) + "int x = nonsense;", cache=cache)
    assert not precompiled_headers._rejected_keys
    # when deleted, they are built again
    assert len(cache.clear()) == 6
    built(6, cache)
    assert ["c-header" in one for one in commands[-2:]] == [True, False]


def test_each_vector_width_has_its_own_headers(cache: Store) -> None:
    for number, bits in enumerate((256, 256, 128, 128)):
        built(number, cache, bits=bits)
    assert len(cache.entries()) - len(libraries(cache)) == 2


def test_what_gcc_refuses_is_done_without(
    cache: Store, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulates systems that forbid mapping them at their original address."""
    monkeypatch.setattr(precompiled_headers, "use", lambda *_: ["-include", "is-not-there.h"])
    for number in range(3):
        built(number, cache)
    assert ["-include" in one for one in commands] == [False, False, True, False, False]
    assert len(libraries(cache)) == 3


def test_of_another_content_gcc_reads_the_headers_themselves(
    cache: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "other").write_bytes(b"gpch" + bytes(4096))
    monkeypatch.setattr(precompiled_headers, "find", lambda *_: tmp_path / "other")
    assert built(0, cache).exists()


def test_where_they_cannot_be_made_kernels_are_compiled(
    cache: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise CompileError("no")

    monkeypatch.setattr(precompiled_headers, "run", refused)
    assert all(built(number, cache).exists() for number in range(3))
    assert len(cache.entries()) == 3


@cases(
    "name, known",
    [
        ("/usr/bin/x86_64-linux-gnu-gcc-12 1 2", True),
        ("/usr/bin/gcc 1 2", True),
        ("/opt/gcc-13.2.0 1 2", True),
        ("/usr/bin/clang-14 1 2", False),
        ("/usr/bin/ccache 1 2", False),
        ("ziglang 0.13", False),
    ],
)
def test_only_gcc_gets_precompiled_headers(name: str, known: bool) -> None:
    assert bool(precompiled_headers.head_of(text(0), Compiler(("cc",), name))) == known


@cases(
    "other",
    [
        f"#define X 1\n{text(0)}",
        f"#include <math.h>\n{text(0)}",
        text(0).replace("\n\n", "\n#define X 1\n\n", 1),
    ],
)
def test_a_text_that_begins_otherwise_has_none(other: str) -> None:
    assert not precompiled_headers.head_of(other, compiler.find_compiler())
