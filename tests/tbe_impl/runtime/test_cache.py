"""The kernel cache survives concurrency, kill -9, damage, attacks, bad directories, its limit."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tbe_impl.errors import CompileError, InputError
from tbe_impl.runtime import cache as cache_module
from tbe_impl.runtime import machine
from tbe_impl.runtime.cache import KernelCache, make_key
from tests.cases import FULL, cases
from tests.tbe_impl.runtime.cache_cases import (
    CONTENT,
    HOSTILE,
    KEY,
    OTHER,
    builder,
    damages,
    in_memory,
    make_prefix_world_writable,
    unused,
)

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = ROOT / "tests" / "programs" / "tbe_impl"


@pytest.fixture
def cache(tmp_path: Path) -> KernelCache:
    return KernelCache(tmp_path / "cache")


@pytest.fixture(autouse=True)
def warn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_warned_directories", set())


def test_a_kernel_is_built_once_and_found_again(cache: KernelCache) -> None:
    build = builder(seconds=0.5)
    path = cache.get_or_build(KEY, build)
    assert path.read_bytes() == CONTENT
    assert cache.get_or_build(KEY, build) == path
    assert KernelCache(cache.root).load(KEY) == path
    assert build.calls == 1
    names = {item.name for item in path.parent.iterdir()}
    assert names == {"kernel.so", "meta.json"}
    meta = json.loads((path.parent / "meta.json").read_text())
    assert meta["sha256"] == hashlib.sha256(CONTENT).hexdigest()
    assert meta["build"] == {"seconds": 0.5}
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_failed_build_leaves_nothing(cache: KernelCache) -> None:
    def build(path: Path) -> None:
        path.write_bytes(b"half")
        raise CompileError("the compiler says no")

    with pytest.raises(CompileError, match="says no"):
        cache.get_or_build(KEY, build)
    assert cache.entries() == ()
    assert [path.name for path in (cache.root / "ab").iterdir() if "stage" in path.name] == []
    with pytest.raises(CompileError, match="left no kernel"):
        cache.get_or_build(KEY, lambda path: None)
    with pytest.raises(FileNotFoundError):
        cache.get_or_build(KEY, lambda path: subprocess.run(["no-such-compiler"]) and None)


@cases("key", ["", "ab", "../" + "0" * 61, KEY.upper(), KEY + "\n", "g" * 64])
def test_only_keys_name_entries(cache: KernelCache, key: str) -> None:
    with pytest.raises(InputError, match="not a cache key"):
        cache.load(key)


def child(program: str, *args: object, **options: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, PROGRAMS / program, *map(str, args)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@cases("turns", [1, pytest.param(3, marks=FULL)])
def test_eight_processes_build_one_kernel_once(turns: int, tmp_path: Path) -> None:
    cache = KernelCache(tmp_path / f"cache-{turns}")
    for turn in range(turns):
        key = make_key(turn=turn)
        log = tmp_path / f"log-{turns}-{turn}"
        running = [child("build_one_kernel.py", cache.root, key, log) for _ in range(8)]
        errors = [process.communicate(timeout=60)[1] for process in running]
        assert errors == [""] * 8
        assert log.read_text() == "built\n"
    assert len(cache.entries()) == turns
    assert cache.verify() == ()


def test_threads_share_one_cache(cache: KernelCache) -> None:
    build, failures = builder(), []

    def work() -> None:
        for number in range(20):
            key = make_key(number=number % 4)
            if cache.get_or_build(key, build).read_bytes() != CONTENT:
                failures.append(key)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert build.calls == 4


@cases("turns", [2, pytest.param(12, marks=FULL)])
def test_kill_at_any_moment_leaves_no_bad_entry(turns: int, tmp_path: Path) -> None:
    cache = KernelCache(tmp_path / f"cache-{turns}")
    chance = random.Random(1)
    for turn in range(turns):
        process = child("build_until_killed.py", cache.root, turn)
        assert process.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0.0, 0.05))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert cache.verify() == ()
    assert cache.entries() != ()
    for entry in cache.entries():
        assert cache.get_or_build(entry.key, builder()).read_bytes() == b"x" * 4096 * 50
    cache.clear()
    assert [path for path in cache.root.rglob("*") if path.is_file()] == []


def test_a_damaged_entry_is_never_used_and_heals(
    cache: KernelCache, subtests: pytest.Subtests, full: bool
) -> None:
    """A third of the damages in `make test`."""
    counts = (60, 100, 20) if full else (20, 33, 7)
    good = cache.get_or_build(KEY, builder())
    named = dict(zip(("cuts", "flips", "garbage"), counts, strict=True))
    for name, file, content in damages(CONTENT, random.Random(3), **named):
        with subtests.test(name):
            (good.parent / file).write_bytes(content)
            assert cache.load(KEY) is None
            assert [entry.key for entry, _ in cache.verify()] == [KEY]
            build = builder()
            assert cache.get_or_build(KEY, build).read_bytes() == CONTENT
            assert build.calls == 1
    assert cache.verify() == ()


@cases("make", HOSTILE)
def test_a_hostile_entry_is_refused_and_replaced(tmp_path: Path, make) -> None:
    cache = KernelCache(tmp_path / make.__name__)
    entry = cache.get_or_build(KEY, builder()).parent
    other = cache.get_or_build(OTHER, builder(b"other code")).parent
    make(entry, other)
    assert cache.load(KEY) is None
    assert cache.get_or_build(KEY, builder()).read_bytes() == CONTENT
    assert not entry.is_symlink()


def test_another_owner_is_refused(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.get_or_build(KEY, builder())
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert cache.load(KEY) is None
    assert "another user" in cache.verify()[0][1]


def test_a_prefix_open_to_others_is_not_used(cache, caplog: pytest.LogCaptureFixture) -> None:
    entry = cache.get_or_build(KEY, builder()).parent
    make_prefix_world_writable(entry, entry)
    assert cache.load(KEY) is None
    assert cache.get_or_build(KEY, builder()).read_bytes() == CONTENT
    assert "can be written by other users" in caplog.text


def place_is_a_file(root: Path, patch: pytest.MonkeyPatch) -> None:
    root.write_text("")


def place_is_a_dangling_link(root: Path, patch: pytest.MonkeyPatch) -> None:
    root.symlink_to("nowhere")


def place_has_a_file_above(root: Path, patch: pytest.MonkeyPatch) -> None:
    root.parent.rmdir()
    root.parent.write_text("")


def place_is_world_writable(root: Path, patch: pytest.MonkeyPatch) -> None:
    root.mkdir()
    root.chmod(0o777)


def place_is_read_only(root: Path, patch: pytest.MonkeyPatch) -> None:
    # The superuser, under whom tests often run, may write anywhere: the result is fixed here.
    patch.setattr(cache_module, "_can_write", lambda path: path != root)


def place_is_noexec(root: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(machine, "is_noexec", lambda path: path == root)


def place_is_full(root: Path, patch: pytest.MonkeyPatch) -> None:
    whole = cache_module.shutil.disk_usage

    def usage(path: Path):
        return whole(path)._replace(free=1000) if path == root else whole(path)

    patch.setattr(cache_module.shutil, "disk_usage", usage)


PLACES = [
    place_is_a_file,
    place_is_a_dangling_link,
    place_has_a_file_above,
    place_is_world_writable,
    place_is_read_only,
    place_is_noexec,
    place_is_full,
]


@cases("spoil", PLACES)
def test_an_unusable_place_costs_one_warning(
    tmp_path: Path, spoil, caplog: pytest.LogCaptureFixture
) -> None:
    root = tmp_path / spoil.__name__ / "cache"
    root.parent.mkdir()
    build = builder()
    caplog.clear()
    with pytest.MonkeyPatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(cache_module, "_warned_directories", set())
        spoil(root, patch)
        first = KernelCache(root)
        path = first.get_or_build(KEY, build)
        assert first.get_or_build(KEY, build) == path
        assert first.load(KEY) == path
        assert KernelCache(root).get_or_build(OTHER, builder()).read_bytes() == CONTENT
    assert path.read_bytes() == CONTENT
    assert root not in path.parents
    assert build.calls == 1
    assert len(caplog.records) == 1
    assert "MS_FUSION_CACHE_DIR" in caplog.text


def test_a_full_disk_in_the_middle_of_a_build(cache, caplog: pytest.LogCaptureFixture) -> None:
    def build(path: Path) -> None:
        if cache.root in path.parents:
            raise OSError(28, "No space left on device")
        path.write_bytes(CONTENT)

    assert cache.get_or_build(KEY, build).read_bytes() == CONTENT
    assert "No space left on device" in caplog.text
    assert cache.entries() == ()


def test_a_private_place_goes_with_its_process(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    out, _ = child("build_and_print_place.py", tmp_path / "cache").communicate(timeout=60)
    path = Path(out.strip())
    assert path.name == "kernel.so"
    assert not path.parents[2].exists()


def test_the_least_recently_used_goes_first_and_never_one_in_use(tmp_path: Path) -> None:
    # three are left when the first eviction occurs
    cache = KernelCache(tmp_path / "cache", limit_bytes=int((3 * len(CONTENT) + 3000) / 0.9))
    keys = [make_key(number=number) for number in range(5)]
    for age, key in zip((400, 300, 200), keys, strict=False):
        cache.get_or_build(key, builder())
        unused(cache, key, age)
    # The oldest is in use by this process: it stays although it was used least recently.
    found = cache.load(keys[0])
    assert found is not None
    with in_memory(found):
        unused(cache, keys[0], 1000)
        cache.get_or_build(keys[3], builder())
        assert {entry.key for entry in cache.entries()} == {keys[0], keys[2], keys[3]}
    unused(cache, keys[3], 100)
    cache.get_or_build(keys[4], builder())
    assert {entry.key for entry in cache.entries()} == {keys[2], keys[3], keys[4]}


def test_a_change_of_any_key_part_is_a_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {"source": b"int f;", "compiler": "cc 13.2", "flags": ["-O2", "-fopenmp"], "line": 1}
    keys = {make_key(**parts)}
    for change in (
        {"source": b"int g;"},
        {"compiler": "cc 13.3"},
        {"flags": ["-O3", "-fopenmp"]},
        {"flags": ["-O2 -fopenmp"]},
        {"line": "1"},
    ):
        keys.add(make_key(**{**parts, **change}))
    for name in ("cpu_features", "libc", "package", "architecture", "system"):
        with monkeypatch.context() as patch:
            patch.setattr(machine, "identity", lambda name=name: {**IDENTITY, name: "other"})
            keys.add(make_key(**parts))
    monkeypatch.setattr(cache_module, "SCHEMA", 2)
    keys.add(make_key(**parts))
    assert len(keys) == 12


IDENTITY = machine.identity()


def test_a_key_takes_plain_values_only() -> None:
    with pytest.raises(InputError, match="no plain value"):
        make_key(source=object())


def test_clear_leaves_foreign_files_alone(cache: KernelCache) -> None:
    cache.get_or_build(KEY, builder())
    for path in (cache.root / "mine.txt", cache.root / "ab" / "mine.txt"):
        path.write_text("keep me")
    (cache.root / "zz").mkdir()
    assert cache.clear() == 1
    left = {path.relative_to(cache.root).as_posix() for path in cache.root.rglob("*")}
    assert left == {"mine.txt", "ab", "ab/mine.txt", "zz"}


def test_info_counts_and_makes_nothing(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path / "cache")
    assert cache.info().entries == 0
    assert not cache.root.exists()
    cache.get_or_build(KEY, builder())
    info = cache.info()
    assert (info.entries, info.limit_bytes, info.problem) == (1, 1 << 30, "")
    assert len(CONTENT) < info.bytes < len(CONTENT) + 1000
