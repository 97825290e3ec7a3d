"""A warm start generates no C and, for any cache content, never runs another graph's kernel."""

from __future__ import annotations

import itertools
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.codegen import codegen_cache
from tbe_impl.codegen.options import Options
from tbe_impl.cpu import prepared_kernel
from tbe_impl.runtime.store import Store
from tbe_impl.runtime.store_kinds import CODEGEN, KINDS
from tests.cases import FULL, cases
from tests.fork_server import run_program
from tests.stress.parts import libraries
from tests.tbe_impl.codegen.graphs import prepare
from tests.tbe_impl.runtime.store_cases import content_at

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = ROOT / "tests" / "programs" / "codegen"
X = np.linspace(-3, 3, 48, dtype=np.float32).reshape(6, 8)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the generated programs, in order."""
    found: list[str] = []
    write = prepared_kernel.write_program

    def noted(*args: Any, **keywords: Any) -> Any:
        found.append(keywords["name"])
        return write(*args, **keywords)

    monkeypatch.setattr(prepared_kernel, "write_program", noted)
    return found


@pytest.fixture(scope="module")
def libraries_alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with libraries of some kernels and their precompiled headers, but no plan."""
    place = tmp_path_factory.mktemp("plans") / "kernels"
    for factor in (2.0, 3.0):
        run(scaled(factor), Store(place))
    Store(place).clear(*(kind for kind in KINDS if not kind.is_file))
    return place


@pytest.fixture
def store(tmp_path: Path, libraries_alone: Path) -> Store:
    """Without plans."""
    shutil.copytree(libraries_alone, tmp_path / "kernels")
    return Store(tmp_path / "kernels")


@pytest.fixture
def filled(
    tmp_path: Path, store: Store, written: list[str]
) -> tuple[Callable[[], Store], np.ndarray]:
    """A function that copies a store with the kernel of `scaled(2.0)`, and that kernel's result for
    `X`.
    """
    wanted = run(scaled(2.0), store)
    assert written == ["kernel"]
    numbers = itertools.count()

    def copied() -> Store:
        written.clear()
        place = tmp_path / f"copy_{next(numbers)}"
        shutil.copytree(store.root, place)
        return Store(place)

    return copied, wanted


def scaled(factor: float) -> Callable[..., Any]:
    return lambda x: dsl.vadds(dsl.vmuls(x, factor), 1.0)


def run(build: Callable[..., Any], store: Store, **options: Any) -> np.ndarray:
    kernel, _, _ = prepare(build, X, cache=Store(store.root), **options)
    found: np.ndarray = kernel.run([X], {}, 1)[0]
    return found


def note(store: Store) -> Path:
    (found,) = store.entries(CODEGEN)
    return found.path


def shares(x: Any) -> Any:
    """Exponentials divided by their sums: a plan of several stages."""
    e = dsl.vexp(dsl.vsub(x, dsl.broadcast(dsl.reduce_max(x, -1, keepdims=True), x.shape)))
    return dsl.vdiv(e, dsl.broadcast(dsl.reduce_sum(e, -1, keepdims=True), x.shape))


@cases("make", [lambda: scaled(2.0), pytest.param(lambda: shares, marks=FULL)])
def test_c_is_written_once(make: Any, store: Store, written: list[str]) -> None:
    written.clear()
    first = run(make(), store)
    assert written == ["kernel"]
    for _ in range(2):
        np.testing.assert_array_equal(run(make(), store), first)
    assert written == ["kernel"]


def test_the_text_is_there_for_whom_asks(store: Store, written: list[str]) -> None:
    first, _, _ = prepare(scaled(2.0), X, cache=store)
    second, _, _ = prepare(scaled(2.0), X, cache=store)
    assert len(written) == 1
    assert second.source == first.source
    assert len(written) == 2


def test_another_process_writes_nothing(tmp_path: Path, full: bool) -> None:
    names = ["softmax", "layer_norm", "chain", "swish", "layer_norm_grad"] if full else ["softmax"]
    told = []
    for _ in range(2):
        done = run_program(
            PROGRAMS / "results_and_written_programs.py",
            *names,
            cwd=ROOT,
            environment={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "MS_FUSION_CACHE_DIR": str(tmp_path),
            },
            timeout_s=120,
        )
        assert done.returncode == 0, done.output
        lines = [line for line in done.output.splitlines() if line.startswith("written ")]
        told.append([line.split()[1:] for line in lines])
        assert len(told[-1]) == len(names)
    assert all(int(line[0]) > 0 for line in told[0])
    assert [int(line[0]) for line in told[1]] == [0] * len(names)
    assert [line[1:] for line in told[0]] == [line[1:] for line in told[1]]


OTHERS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "constant": (scaled(2.0000002), {}),
    "sign of zero": (lambda x: dsl.vadds(dsl.vmuls(x, 2.0), -1.0), {}),
    "word": (lambda x: dsl.vsub(dsl.vmuls(x, 2.0), dsl.vabs(x)), {}),
    "dtype": (lambda x: dsl.cast_to(dsl.vadds(dsl.vmuls(x, 2.0), 1.0), "float16"), {}),
    "attribute": (lambda x: dsl.reduce_sum(x, 0), {}),
    "another attribute": (lambda x: dsl.reduce_sum(x, 1), {}),
    "order": (lambda x: dsl.vmuls(dsl.vadds(x, 1.0), 2.0), {}),
    "shape": (lambda x: dsl.ext.reshape(dsl.vadds(dsl.vmuls(x, 2.0), 1.0), (48,)), {}),
    "begin": (lambda x: dsl.ext.strided_slice(x, (1, 0), (5, 8), (1, 1)), {}),
    "another begin": (lambda x: dsl.ext.strided_slice(x, (0, 0), (4, 8), (1, 1)), {}),
    "rounding": (
        lambda x: dsl.cast_to(dsl.vadds(dsl.cast_to(dsl.vmuls(x, 2.1), "float16"), 1.0), "float32"),
        {},
    ),
    "rounding of the device": (
        lambda x: dsl.cast_to(dsl.vadds(dsl.cast_to(dsl.vmuls(x, 2.1), "float16"), 1.0), "float32"),
        {"rounding": "device"},
    ),
    "in place": (scaled(2.0), {"inplace": True}),
    "threads": (scaled(2.0), {"threads": 1}),
    "vectors": (scaled(2.0), {"vector_bits": 128}),
}


LIKE_OTHERS = {"word", "order", "shape"}
"""Entries of `OTHERS` that `make test` skips: other operations, similar to constants and
attributes.
"""


def test_graphs_that_differ_in_one_thing_have_plans_of_their_own(
    store: Store, written: list[str], full: bool
) -> None:
    others = {name: one for name, one in OTHERS.items() if full or name not in LIKE_OTHERS}
    alone = {}
    for name, (build, options) in {"plain": (scaled(2.0), {}), **others}.items():
        kernel, _, _ = prepare(build, X, cache=store, name="same", **options)
        alone[name] = kernel.run([X.copy()], {}, 1)[0]
    assert len(written) == len(others) + 1
    for name, (build, options) in others.items():
        kernel, _, _ = prepare(build, X, cache=Store(store.root), name="same", **options)
        np.testing.assert_array_equal(kernel.run([X.copy()], {}, 1)[0], alone[name])
    assert len(written) == len(others) + 1
    np.testing.assert_array_equal(alone["attribute"], X.sum(0))
    np.testing.assert_array_equal(alone["another begin"], X[:4])


def test_names_of_stages_are_no_part_of_a_plan(store: Store, written: list[str]) -> None:
    for name in ("one", "two"):
        x = dsl.placeholder((8,), "float32", name)
        y = dsl.compute((8,), lambda i, x=x: x(i) * 2, name)
        prepared_kernel.prepare([y], [x], cache=store)
    assert len(written) == 1


def damaged_texts(whole: bytes, *, full: bool) -> dict[str, bytes]:
    chance = random.Random(11)
    found = {f"cut-{cut}": whole[:cut] for cut in range(0, len(whole), 7 if full else 19)}
    for _ in range(60 if full else 20):
        place, bit = chance.randrange(len(whole)), chance.randrange(8)
        flipped = bytearray(whole)
        flipped[place] ^= 1 << bit
        found[f"flip-{place}-{bit}"] = bytes(flipped)
    found |= {
        f"garbage-{n}": chance.randbytes(chance.randrange(300)) for n in range(30 if full else 5)
    }
    return found | {"empty": b"", "long": whole * 200, "more": whole + b" "}


def test_a_damaged_plan_is_not_used_and_heals(full: bool, store: Store, written: list[str]) -> None:
    wanted = run(scaled(2.0), store)
    path = note(store)
    whole = path.read_bytes()
    for name, text in damaged_texts(whole, full=full).items():
        path.write_bytes(text)
        before = len(written)
        np.testing.assert_array_equal(run(scaled(2.0), store), wanted, err_msg=name)
        assert len(written) == before + 1, name
        assert path.read_bytes() == whole, name


def make_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def make_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


HOSTILE = {
    "link": make_link,
    "dangling": lambda path: (path.unlink(), path.symlink_to("nowhere")),
    "pipe": make_pipe,
    "directory": make_directory,
    "group-writable": lambda path: path.chmod(0o660),
    "world-writable": lambda path: path.chmod(0o602),
    "world-writable directory": lambda path: path.parent.chmod(0o777),
}


@cases("make", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_plan_is_refused(filled, written: list[str], make) -> None:
    copied, wanted = filled
    store = copied()
    np.testing.assert_array_equal(run(scaled(2.0), store), wanted)
    assert not written
    make(note(store))
    np.testing.assert_array_equal(run(scaled(2.0), store), wanted)
    assert len(written) == 1


def test_another_owners_plan_is_refused(store: Store, monkeypatch) -> None:
    run(scaled(2.0), store)
    key = note(store).name
    assert store.read(CODEGEN, key) is not None
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert store.read(CODEGEN, key) is None


def test_a_plan_in_another_plans_place_is_refused(store: Store, written: list[str]) -> None:
    wanted = run(scaled(2.0), store)
    first = note(store)
    run(scaled(3.0), store)
    (other,) = {entry.path for entry in store.entries(CODEGEN)} - {first}
    first.write_bytes(other.read_bytes())
    np.testing.assert_array_equal(run(scaled(2.0), store), wanted)
    assert len(written) == 3


def test_a_whole_plan_to_another_graphs_kernel_leads_nowhere(
    store: Store, written: list[str]
) -> None:
    wanted = run(scaled(2.0), store)
    path = note(store)
    run(scaled(3.0), store)
    (other,) = {entry.path for entry in store.entries(CODEGEN)} - {path}
    # sealed for this place: only the library itself shows that it belongs to another
    store.write(CODEGEN, path.name, content_at(other))
    np.testing.assert_array_equal(run(scaled(2.0), store), wanted)
    assert len(written) == 3


@cases(
    "content",
    [
        b"{}",
        b"[]",
        b'{"text":"' + b"0" * 64 + b'","symbol":"k_kernel","overwritten":-1}',
        b'{"text":"zz","symbol":"k_kernel","overwritten":-1}',
        b'{"text":"' + b"0" * 64 + b'","symbol":"k_kernel","overwritten":7}',
        b'{"text":"' + b"0" * 64 + b'","symbol":"k_kernel","overwritten":-1,"more":1}',
        b"\xff",
    ],
)
def test_a_whole_note_that_is_no_plan_is_not_used(
    filled, written: list[str], content: bytes
) -> None:
    copied, wanted = filled
    store = copied()
    path = note(store)
    store.write(CODEGEN, path.name, content)
    np.testing.assert_array_equal(run(scaled(2.0), store), wanted)
    assert len(written) == 1


def test_a_plan_without_its_library_is_written_again(tmp_path: Path, written: list[str]) -> None:
    store = Store(tmp_path / "own")
    wanted = run(scaled(2.0), store)
    for entry in libraries(store):
        entry.path.unlink()
        entry.path.write_bytes(b"gone")
    np.testing.assert_array_equal(run(scaled(2.0), store), wanted)
    assert len(written) == 2
    assert store.verify() == ()


def test_another_generator_writes_again(store: Store, written: list[str], monkeypatch) -> None:
    run(scaled(2.0), store)
    monkeypatch.setattr(codegen_cache, "_LOADED_GENERATOR_FINGERPRINT", "another")
    run(scaled(2.0), store)
    assert len(written) == 2


def test_a_generator_that_changed_meanwhile_is_not_remembered(store: Store, monkeypatch) -> None:
    monkeypatch.setattr(codegen_cache, "generator_fingerprint", lambda: "changed on disk")
    run(scaled(2.0), store)
    assert store.entries(CODEGEN) == ()


def test_the_generator_is_known_by_each_of_its_files(tmp_path: Path, monkeypatch) -> None:
    place = tmp_path / "cpu"
    place.mkdir()
    (place / "a.py").write_text("a = 1")
    monkeypatch.setattr(codegen_cache, "GENERATOR_DIRECTORIES", (place,))
    before = codegen_cache.generator_fingerprint()
    (place / "a.pyc").write_text("no part of it")
    assert codegen_cache.generator_fingerprint() == before
    os.utime(place / "a.py", (1, 1))
    changed = codegen_cache.generator_fingerprint()
    (place / "b.h").write_text("")
    assert len({before, changed, codegen_cache.generator_fingerprint()}) == 3


def test_sizes_of_call_time_are_found_again(store: Store, written: list[str]) -> None:
    for _ in range(2):
        n, m = dsl.var("n"), dsl.var("m")
        x = dsl.placeholder((n, m), "float32")
        total = dsl.reduce_sum(dsl.vmuls(x, 2.0), 1)
        kernel = prepared_kernel.prepare([total], [x], cache=Store(store.root))
        for rows, columns in ((3, 5), (7, 2)):
            given = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
            found = kernel.run([given], {id(n): rows, id(m): columns}, 1)[0]
            np.testing.assert_array_equal(found, 2 * given.sum(1))
    assert len(written) == 1


def test_sizes_computed_at_call_time_are_found_again(store: Store, written: list[str]) -> None:
    def prepared() -> tuple[Any, Any]:
        n = dsl.var("n")
        x = dsl.placeholder((n, 4), "float32")
        half = dsl.compute((n // 2, n % 3, 4), lambda i, j, k: x[i + j, k] + x[n // 2, k])
        return n, prepared_kernel.prepare([half], [x], cache=Store(store.root))

    for _ in range(2):
        n, kernel = prepared()
        for rows in (5, 8, 11):
            given = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)
            found = kernel.run([given], {id(n): rows}, 1)[0]
            i, j = np.ogrid[: rows // 2, : rows % 3]
            np.testing.assert_array_equal(found, given[i + j] + given[rows // 2])
    assert len(written) == 1


def test_clearing_the_cache_takes_plans_away(store: Store) -> None:
    run(scaled(2.0), store)
    store.clear()
    assert store.entries(CODEGEN) == ()


def test_every_option_counts() -> None:
    changed = {"rounding": "device", "march": "x86-64", "stored": (1,)}
    found = {codegen_cache.plan_key("m", "n", Options())}
    for name, value in vars(Options()).items():
        other = changed.get(name, value + 1 if type(value) is int else not value)
        found.add(codegen_cache.plan_key("m", "n", Options(**{name: other})))
    assert len(found) == len(vars(Options())) + 1
