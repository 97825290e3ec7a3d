"""Several kernels per compiler call: each has its own entry, and a bad one fails alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.cpu import prepared_kernel
from tbe_impl.dsl.tensor import Operation
from tbe_impl.errors import CompileError
from tbe_impl.runtime import compiler
from tbe_impl.runtime.sequence import Step
from tbe_impl.runtime.store import Store
from tbe_impl.runtime.store_kinds import ALIASES
from tests.cases import cases
from tests.stress.parts import libraries

X = np.linspace(-3, 3, 48, dtype=np.float32).reshape(6, 8)


def planned(store: Store, count: int = 3, same: str = "") -> list[prepared_kernel.PlannedKernel]:
    """Kernels that add 0, 1, 2 …"""
    found = []
    for number in range(count):
        x = dsl.placeholder((6, 8), "float32")
        made = dsl.vexp(dsl.vadds(x, float(number)))
        found.append(prepared_kernel.plan([made], [x], name=same or f"plus_{number}", cache=store))
    return found


def check(kernels: list[prepared_kernel.PlannedKernel]) -> None:
    for number, one in enumerate(kernels):
        (found,) = one.compile().run([X], {}, 1)
        np.testing.assert_allclose(found, np.exp(X.astype(np.float64) + number), rtol=3e-7)


@pytest.fixture
def cache(tmp_path: Path) -> Store:
    return Store(tmp_path / "kernels")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The source texts of the compiler calls, in order."""
    found: list[str] = []
    whole = compiler._compile

    def noted(*arguments: object) -> None:
        found.append(str(arguments[1]))
        whole(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(compiler, "_compile", noted)
    return found


def test_one_call_compiles_them_all_and_each_is_found(cache: Store, calls: list[str]) -> None:
    """Duplicates are compiled once; without their library, each is compiled again."""
    prepared_kernel.build_together([*planned(cache), *planned(cache)])
    check(planned(cache))
    assert len(calls) == 1
    (entry,) = libraries(cache)
    again = planned(Store(cache.root))
    assert [one.uncompiled_programs() for one in again] == [[], [], []]
    prepared_kernel.build_together(again)
    check(again)
    assert len(calls) == 1
    entry.path.unlink()
    check(planned(Store(cache.root)))
    assert len(calls) == 4
    assert len(libraries(cache)) == 3


def test_only_what_is_lacking_is_compiled(cache: Store, calls: list[str]) -> None:
    check(planned(cache, 1))
    prepared_kernel.build_together(planned(cache))
    check(planned(cache))
    assert len(calls) == 2
    assert "plus_0" not in calls[1]


def spoilt(kernel: prepared_kernel.PlannedKernel) -> prepared_kernel.PlannedKernel:
    """With a text that no compiler accepts."""

    def write(
        step: Step[prepared_kernel.PlannedProgram | Operation],
    ) -> prepared_kernel.PlannedProgram:
        part = step.kernel
        assert isinstance(part, prepared_kernel.PlannedProgram)
        program = part.write()
        bad = replace(
            program, text=lambda: program.source + "\nint nonsense(void) { return absent; }\n"
        )
        return replace(part, write=lambda: bad)

    return replace(kernel, sequence=kernel.sequence.convert(write))


def test_a_bad_kernel_fails_alone(cache: Store, calls: list[str]) -> None:
    first, second, third = planned(cache)
    prepared_kernel.build_together([first, spoilt(second), third])
    assert len(libraries(cache)) == 0
    check([first])
    with pytest.raises(CompileError, match="absent"):
        spoilt(second).compile()
    check(planned(cache))
    assert len(calls) == 5


def test_kernels_of_one_name_are_compiled_in_separate_calls(cache: Store, calls: list[str]) -> None:
    kernels = [*planned(cache, 2, same="twin"), *planned(cache, 2, same="other")]
    prepared_kernel.build_together(kernels)
    assert [sorted(re.findall("int k_([a-z]+)", text)) for text in calls] == [["other", "twin"]] * 2
    check(planned(cache, 2, same="other"))
    assert len(calls) == 2


def texts(*bodies: str, head: str = "#include <math.h>") -> list[tuple[str, list[str]]]:
    return [(f"{head}\n\n{body}", [f"k{number}"]) for number, body in enumerate(bodies)]


def texts_and_answers() -> Iterator[tuple[list[tuple[str, list[str]]], bool]]:
    yield texts("int k0;", "#pragma omp simd\nint k1;"), True
    yield texts("int k0;", "# define START 1\nint k1;"), False
    yield texts("int k0;", '#include "scans.h"\nint k1;'), False
    yield texts("int k0;") + texts("int k1;", head="#define LANES 8"), False
    yield texts("int k0;") + texts("int k0;"), False


@cases("given, wanted", list(texts_and_answers()))
def test_what_may_stand_in_one_text(given: list[tuple[str, list[str]]], wanted: bool) -> None:
    assert compiler.can_be_together(given) == wanted


@cases("key, content", [("a" * 64, b"no key"), ("b" * 64, b"\xff" * 64), ("c" * 64, b"0" * 64)])
def test_a_note_that_names_no_library_is_none(key: str, content: bytes, cache: Store) -> None:
    cache.write(ALIASES, key, content)
    assert compiler.find(key, cache) is None
