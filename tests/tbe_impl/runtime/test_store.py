"""The store survives concurrency, kill -9, damage, attacks, bad directories and its limit.

The rules hold for every kind of entries.
"""

from __future__ import annotations

import hashlib
import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

from tbe_impl.errors import CacheError, CompileError, InputError
from tbe_impl.runtime import machine, store_directory, store_size
from tbe_impl.runtime import store as store_module
from tbe_impl.runtime.store import Store, make_key
from tbe_impl.runtime.store_kinds import (
    BYTECODE,
    CHOICES,
    HEADERS,
    KERNELS,
    KINDS,
    PLANS,
    TUNINGS,
    Kind,
)
from tests.cases import FULL, cases
from tests.tbe_impl.runtime.store_cases import (
    CONTENT,
    HOSTILE,
    HOSTILE_DIRECTORIES,
    KEY,
    OTHER,
    builder,
    content_at,
    content_for,
    damages,
    forge,
    get,
    in_memory,
    make_too_large,
    open_the_directory,
    put,
    unused,
)

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = ROOT / "tests" / "programs" / "tbe_impl"
QUICK_KINDS = (KERNELS, PLANS, TUNINGS)
"""A kind of files, of records and of measured results; ``make test-all`` takes all kinds."""
every_kind = cases(
    "kind",
    [pytest.param(kind, id=kind.name, marks=[] if kind in QUICK_KINDS else FULL) for kind in KINDS],
)


def new_store(place: Path) -> Store:
    """An empty store; warnings that were shown once are shown again."""
    store_directory._warned_directories.clear()
    store_module._logged_messages.clear()
    return Store(place / "store")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return new_store(tmp_path)


@pytest.fixture(autouse=True)
def warn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_directory, "_warned_directories", set())
    monkeypatch.setattr(store_module, "_logged_messages", set())


@every_kind
def test_an_entry_is_one_file_and_found_again(kind: Kind, tmp_path: Path) -> None:
    store = new_store(tmp_path)
    content = content_for(kind)
    path = put(store, kind, KEY)
    assert get(Store(store.root), kind, KEY) == content
    digest = hashlib.sha256(content + f"\n2 {kind.name} {KEY}".encode()).hexdigest()
    assert path.read_bytes() == content + f"\n{digest}\n".encode()
    assert store.digest(kind, KEY) == digest
    assert path.stat().st_mode & 0o777 == 0o600
    for place in (store.root, path.parent, store.root / "work"):
        assert place.stat().st_mode & 0o777 == 0o700
    (entry,) = store.entries()
    assert (entry.kind, entry.key, entry.path) == (kind, KEY, path)
    assert store.verify() == ()
    assert [get(store, other, KEY) for other in KINDS if other != kind] == [None] * (len(KINDS) - 1)


def test_a_kernel_is_built_once(store: Store) -> None:
    build = builder()
    path = store.get_or_build(KERNELS, KEY, build)
    assert content_at(path) == CONTENT
    assert store.get_or_build(KERNELS, KEY, build) == path
    assert Store(store.root).find(KERNELS, KEY) == path
    assert build.calls == 1
    assert [item.name for item in (store.root / "work").iterdir() if item.suffix != ".lock"] == []


def test_a_kernel_of_another_digest_is_not_found(store: Store) -> None:
    path = put(store, KERNELS, KEY)
    digest = store.digest(KERNELS, KEY)
    assert store.find(KERNELS, KEY, sha256=digest) == path
    forge(path, KERNELS, b"another")
    assert store.find(KERNELS, KEY) == path
    assert store.find(KERNELS, KEY, sha256=digest) is None


@every_kind
def test_a_later_content_replaces_an_earlier_one(kind: Kind, tmp_path: Path) -> None:
    store = new_store(tmp_path)
    put(store, kind, KEY, b"first")
    put(store, kind, KEY, b"second")
    assert get(store, kind, KEY) == (b"first" if kind.is_file else b"second")


class Point(msgspec.Struct, forbid_unknown_fields=True):
    """A record of the tests."""

    x: int


@cases("content", [b"{}", b"[]", b'{"x":"1"}', b'{"x":1,"y":2}', b"\xff", b"[" * 5000, b""])
def test_a_record_of_another_type_is_none(content: bytes, store: Store) -> None:
    decoder = msgspec.json.Decoder(Point)
    store.write_record(PLANS, KEY, Point(1))
    store.write(PLANS, OTHER, content)
    assert store.read_record(PLANS, KEY, decoder) == Point(1)
    assert store.read_record(PLANS, OTHER, decoder) is None
    assert list(store.records(PLANS, decoder)) == [(KEY, Point(1))]


def test_a_failed_build_leaves_nothing(store: Store) -> None:
    def build(path: Path) -> None:
        path.write_bytes(b"half")
        raise CompileError("the compiler says no")

    with pytest.raises(CompileError, match="says no"):
        store.get_or_build(KERNELS, KEY, build)
    assert store.entries() == ()
    assert [item.name for item in (store.root / "work").iterdir() if item.suffix != ".lock"] == []
    with pytest.raises(CompileError, match="left no kernel"):
        store.get_or_build(KERNELS, KEY, lambda path: None)
    with pytest.raises(CompileError, match="not a regular file"):
        store.get_or_build(KERNELS, KEY, lambda path: path.symlink_to("/etc/passwd"))
    with pytest.raises(FileNotFoundError):
        store.get_or_build(KERNELS, KEY, lambda path: subprocess.run(["no-such-compiler"]) and None)


@cases("key", ["", "ab", "../" + "0" * 61, KEY.upper(), KEY + "\n", "g" * 64])
def test_only_keys_name_entries(store: Store, key: str) -> None:
    for use in (store.find, store.read, store.digest):
        with pytest.raises(InputError, match="not a cache key"):
            use(KERNELS, key)
    with pytest.raises(InputError, match="not a cache key"):
        store.write(PLANS, key, b"")
    with pytest.raises(InputError, match="not a cache key"):
        store.remove(PLANS, [key])


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
    store = Store(tmp_path / f"store-{turns}")
    for turn in range(turns):
        key = make_key(turn=turn)
        log = tmp_path / f"log-{turns}-{turn}"
        running = [child("build_one_kernel.py", store.root, key, log) for _ in range(8)]
        errors = [process.communicate(timeout=60)[1] for process in running]
        assert errors == [""] * 8
        assert log.read_text() == "built\n"
    assert len(store.entries()) == turns
    assert store.verify() == ()


def test_who_waits_too_long_takes_what_another_stored(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(store_module.Store.lock.__wrapped__, "__kwdefaults__", {"timeout_s": 0.0})
    other = Store(store.root)

    def build(path: Path) -> None:
        path.write_bytes(b"slow")
        assert content_at(other.get_or_build(KERNELS, KEY, builder(b"fast"))) == b"fast"

    assert content_at(store.get_or_build(KERNELS, KEY, build)) == b"fast"
    assert "for another process to build a kernel" in caplog.text


@every_kind
def test_threads_share_one_store(kind: Kind, tmp_path: Path) -> None:
    store = new_store(tmp_path)
    failures = []

    def work() -> None:
        for number in range(20):
            key = make_key(number=number % 4)
            put(store, kind, key)
            if get(store, kind, key) != content_for(kind):
                failures.append(key)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(store.entries(kind)) == 4


@every_kind
def test_a_reader_sees_a_whole_entry_or_none(kind: Kind, tmp_path: Path) -> None:
    """While another thread stores, replaces and removes it."""
    store = new_store(tmp_path)
    contents = [bytes([number]) * kind.bytes_max for number in (1, 2)]
    contents = [content[:300_000] for content in contents] + [None]
    stop, seen = threading.Event(), set()

    def work() -> None:
        for number in range(60):
            if number % 3 == 2:
                store.clear(kind)
            else:
                store.write(kind, KEY, contents[number % 3])
        stop.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not stop.is_set():
        seen.add(Store(store.root).read(kind, KEY))
    thread.join()
    assert seen <= set(contents)
    assert store.verify() == ()


@cases("turns", [2, pytest.param(12, marks=FULL)])
def test_kill_at_any_moment_leaves_no_bad_entry(turns: int, tmp_path: Path) -> None:
    store = Store(tmp_path / f"store-{turns}")
    chance = random.Random(1)
    for turn in range(turns):
        process = child("build_until_killed.py", store.root, turn)
        assert process.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0.0, 0.05))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert store.verify() == ()
    assert {entry.kind for entry in store.entries()} == set(KINDS)
    for entry in store.entries():
        assert get(store, entry.kind, entry.key) in (b"x" * 4096 * 50, b"x" * 64)
    store.clear(*KINDS)
    assert [path for path in store.root.rglob("*") if path.is_file()] == []


@every_kind
def test_a_damaged_entry_is_never_used_and_heals(
    kind: Kind, tmp_path: Path, subtests: pytest.Subtests, full: bool
) -> None:
    """A part of the damages in `make test`."""
    store = new_store(tmp_path)
    counts = (60, 100, 20) if full else (9, 12, 3)
    path = put(store, kind, KEY)
    whole = path.read_bytes()
    named = dict(zip(("cuts", "flips", "garbage"), counts, strict=True))
    for name, damaged in damages(whole, random.Random(3), **named):
        with subtests.test(name):
            path.write_bytes(damaged)
            assert get(store, kind, KEY) is None
            assert [entry.key for entry, _ in store.verify()] == [KEY]
            put(store, kind, KEY)
            assert path.read_bytes() == whole
    assert store.verify() == ()


@every_kind
@cases("make", HOSTILE)
def test_a_hostile_entry_is_refused_and_replaced(tmp_path: Path, make, kind: Kind) -> None:
    store = new_store(tmp_path)
    entry = put(store, kind, KEY)
    other = put(store, kind, OTHER, b"other code")
    make(entry, other)
    assert get(store, kind, KEY) is None
    put(store, kind, KEY)
    assert get(store, kind, KEY) == content_for(kind)
    assert not entry.is_symlink() and entry.is_file()


@every_kind
def test_another_owner_is_refused(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_store(tmp_path)
    put(store, kind, KEY)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert get(store, kind, KEY) is None
    assert "another user" in store.verify()[0][1]


@every_kind
@cases("make", HOSTILE_DIRECTORIES)
def test_a_hostile_directory_is_not_used(
    tmp_path: Path, kind: Kind, make, caplog: pytest.LogCaptureFixture
) -> None:
    """Files go to a private directory; other kinds are not stored."""
    store = new_store(tmp_path)
    entry = put(store, kind, KEY)
    make(entry)
    assert get(store, kind, KEY) is None
    if kind.is_file:
        assert content_at(store.get_or_build(kind, KEY, builder())) == CONTENT
    else:
        store.write(kind, KEY, b"new")
        assert get(store, kind, KEY) is None
    assert content_at(entry) == content_for(kind)
    warned = "can be written by other users" in caplog.text or "cannot be opened" in caplog.text
    assert warned == (kind.is_file or kind.is_measured)
    # a link is not followed to delete what lies behind it
    assert Store(store.root).clear(*KINDS) == () or make is open_the_directory


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
    patch.setattr(store_directory, "_can_write", lambda path: path != root)


def place_is_noexec(root: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(machine, "is_noexec", lambda path: path == root)


def place_is_full(root: Path, patch: pytest.MonkeyPatch) -> None:
    whole = store_directory.shutil.disk_usage

    def usage(path: Path):
        return whole(path)._replace(free=1000) if path == root else whole(path)

    patch.setattr(store_directory.shutil, "disk_usage", usage)


PLACES = [
    place_is_a_file,
    place_is_a_dangling_link,
    place_has_a_file_above,
    place_is_world_writable,
    place_is_read_only,
    place_is_noexec,
    place_is_full,
]


@every_kind
@cases("spoil", PLACES)
def test_an_unusable_place_costs_one_warning(
    tmp_path: Path, kind: Kind, spoil, caplog: pytest.LogCaptureFixture
) -> None:
    """Without files that go elsewhere, only what was measured is worth a warning."""
    root = tmp_path / "place" / "store"
    root.parent.mkdir()
    with pytest.MonkeyPatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(store_directory, "_warned_directories", set())
        spoil(root, patch)
        first = Store(root)
        put(first, kind, KEY)
        put(first, kind, KEY)
        found = get(first, kind, KEY)
        put(Store(root), kind, OTHER)
    assert found == (content_for(kind) if kind.is_file else None)
    assert len(caplog.records) == (kind.is_file or kind.is_measured)
    assert not kind.is_file or "MS_FUSION_CACHE_DIR" in caplog.text
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.stem == KEY] == []


@every_kind
def test_what_belongs_to_a_kernel_elsewhere_goes_there_too(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "store").write_text("")
    store = Store(tmp_path / "store")
    kernel = store.get_or_build(KERNELS, OTHER, builder())
    put(store, kind, KEY)
    assert get(store, kind, KEY) == (None if kind.is_measured else content_for(kind))
    assert kernel.is_file() and tmp_path not in kernel.parents


def test_a_full_disk_in_the_middle_of_a_build(store, caplog: pytest.LogCaptureFixture) -> None:
    def build(path: Path) -> None:
        if store.root in path.parents:
            raise OSError(28, "No space left on device")
        path.write_bytes(CONTENT)

    assert content_at(store.get_or_build(KERNELS, KEY, build)) == CONTENT
    assert "No space left on device" in caplog.text
    assert store.entries() == ()


@every_kind
def test_a_full_disk_while_an_entry_is_stored(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = new_store(tmp_path)
    put(store, kind, KEY)
    replace = Path.replace

    def full(path: Path, target: Path) -> Path:
        if target.is_relative_to(store.root) and target.stem == OTHER:
            raise OSError(28, "No space left on device")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", full)
    put(store, kind, OTHER)
    assert get(store, kind, OTHER) == (content_for(kind) if kind.is_file else None)
    assert get(store, kind, KEY) == content_for(kind)
    assert ("No space left" in caplog.text) == (kind.is_file or kind.is_measured)
    assert [item.name for item in (store.root / "work").iterdir() if item.suffix != ".lock"] == []


@every_kind
def test_what_is_too_large_is_neither_stored_nor_read(kind: Kind, tmp_path: Path) -> None:
    """A file without blocks on disk stands for a large kernel, which no test can build."""
    store = new_store(tmp_path)
    if kind.is_file:
        make_too_large(put(store, kind, KEY), store.root)
    else:
        put(store, kind, KEY, b"x" * kind.bytes_max)
        assert get(store, kind, KEY) is not None
        path = put(store, kind, OTHER, b"x" * (kind.bytes_max + 1))
        assert not path.exists()
        forge(store.root / kind.name / KEY, kind, b"x" * (kind.bytes_max + 1))
    assert get(store, kind, KEY) is None
    with pytest.raises(CacheError, match="is too large"):
        store.digest(kind, KEY)


def test_a_private_place_goes_with_its_process(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("")
    out, _ = child("build_and_print_place.py", tmp_path / "store").communicate(timeout=60)
    path = Path(out.strip())
    assert path.name == f"{'0' * 64}.so"
    assert not path.parents[1].exists()


def test_the_least_recently_used_goes_first_and_never_one_in_use(tmp_path: Path) -> None:
    # three are left when the first eviction occurs
    store = Store(tmp_path / "store", limit_bytes=int((3 * len(CONTENT) + 3000) / 0.9))
    keys = [make_key(number=number) for number in range(5)]
    for age, key in zip((400, 300, 200), keys, strict=False):
        unused(put(store, KERNELS, key), age)
    # The oldest is in use by this process: it stays although it was used least recently.
    found = store.find(KERNELS, keys[0])
    assert found is not None
    with in_memory(found):
        unused(found, 1000)
        last = put(store, KERNELS, keys[3])
        assert {entry.key for entry in store.entries()} == {keys[0], keys[2], keys[3]}
    unused(last, 100)
    put(store, KERNELS, keys[4])
    assert {entry.key for entry in store.entries()} == {keys[2], keys[3], keys[4]}


@every_kind
def test_entries_of_any_kind_give_way_and_measured_ones_stay(kind: Kind, tmp_path: Path) -> None:
    """Also when the entry that is stored last is no kernel."""
    content = content_for(kind)
    store = Store(tmp_path / "store", limit_bytes=8 * (len(content) + 66))
    for number in range(12):
        unused(put(store, kind, make_key(number=number)), 1000 - number)
    left = {entry.key for entry in store.entries()}
    numbers = range(12) if kind.is_measured else range(12 - len(left), 12)
    assert left == {make_key(number=number) for number in numbers}
    assert kind.is_measured or 6 <= len(left) <= 8


@every_kind
def test_a_use_is_noted_except_of_what_was_measured(kind: Kind, tmp_path: Path) -> None:
    """The age of measured results is part of the key of compiled groups."""
    store = new_store(tmp_path)
    path = put(store, kind, KEY)
    unused(path, 1000)
    before = path.stat().st_mtime
    assert get(store, kind, KEY) is not None
    assert (path.stat().st_mtime > before + 900) != kind.is_measured


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
    monkeypatch.setattr(store_module, "SCHEMA", store_module.SCHEMA + 1)
    keys.add(make_key(**parts))
    assert len(keys) == 12


IDENTITY = machine.identity()


def test_a_key_takes_plain_values_only() -> None:
    with pytest.raises(InputError, match="not a plain value"):
        make_key(source=object())


@every_kind
def test_clear_keeps_foreign_files_and_measured_results(kind: Kind, tmp_path: Path) -> None:
    store = new_store(tmp_path)
    path = put(store, kind, KEY)
    mine = [store.root / "mine.txt", path.with_name("mine.txt")]
    for file in mine:
        file.write_text("keep me")
    (store.root / "zz").mkdir()
    assert len(store.clear()) == (not kind.is_measured)
    assert get(store, kind, KEY) == (content_for(kind) if kind.is_measured else None)
    assert len(store.clear(TUNINGS, CHOICES)) == kind.is_measured
    left = {path.relative_to(store.root).as_posix() for path in store.root.rglob("*")}
    assert left == {"mine.txt", kind.name, f"{kind.name}/mine.txt", "zz", "work"}


@every_kind
def test_entries_are_removed_by_key(kind: Kind, tmp_path: Path) -> None:
    store = new_store(tmp_path)
    for key in (KEY, OTHER):
        put(store, kind, key)
    assert store.remove(kind, [KEY, make_key(number=1)]) == 1
    assert [entry.key for entry in store.entries(kind)] == [OTHER]


def test_info_counts_and_makes_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    assert store.info().entries[KERNELS.name] == 0
    assert not store.root.exists()
    put(store, KERNELS, KEY)
    put(store, BYTECODE, KEY, b"short")
    info = store.info()
    assert (info.entries, info.limit_bytes) == ({"kernels": 1, "bytecode": 1}, 1 << 30)
    assert info.problem == ""
    assert len(CONTENT) < info.bytes < len(CONTENT) + 1000


def test_kinds_have_names_of_their_own() -> None:
    names = [kind.name for kind in KINDS]
    assert len({*names, store_module.WORK, store_size.NAME}) == len(names) + 2
    assert {kind for kind in KINDS if kind.is_file} == {KERNELS, HEADERS}
    assert {kind for kind in KINDS if kind.is_measured} == {TUNINGS, CHOICES}
    assert not any(kind.is_file and kind.is_measured for kind in KINDS)
