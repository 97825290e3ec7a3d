"""The compile cache serves a description without the generator, and never after a key change."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from custom_ops.onednn import onednn_path as place
from custom_ops.onednn import why_missing
from ms_fusion.kernel_server import build_records, compile_cache, driver
from ms_fusion.kernel_server.compile_cache import publish_cached, recall
from ms_fusion.ledger import BuildStep
from ms_fusion.lowering import plan_choice
from tbe_impl import tuning_store
from tbe_impl.errors import CompileError, MissingError
from tbe_impl.runtime import compiler, machine
from tbe_impl.runtime.store import user_store
from tbe_impl.runtime.store_kinds import GROUPS, KERNELS, TUNINGS
from tests.cases import cases
from tests.ms_fusion.kernel_server.composites import Text
from tests.tbe_impl.runtime.store_cases import content_at, forge

ROOT = Path(__file__).resolve().parents[3]
needs_onednn = pytest.mark.skipif(bool(why_missing()), reason="oneDNN is not there")


@cache
def softmax(name: str = "Fused_answered") -> str:
    text, shape = Text(name), (6, 40)
    x = text.input(shape, "float32")
    total = text.step(
        "ReduceSum", [x, text.constant([1], "int64")], (6, 1), "float32", keep_dims=True
    )
    return text.text(text.step("RealDiv", [x, total], shape, "float32"))


@cache
def layer() -> str:
    text = Text("Fused_answered_layer")
    x, weight = (text.input(shape, "float32") for shape in ((4, 8), (8, 16)))
    wide = text.step("Exp", [x], (4, 8), "float32")
    product = text.step("MatMul", [wide, weight], (4, 16), "float32")
    return text.text(text.step("Sin", [product], (4, 16), "float32"))


@pytest.fixture(name="cache")
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache."""
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a cache and ``first``, which holds the built kernels of `texts`."""
    place = tmp_path_factory.mktemp("answers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MS_FUSION_CACHE_DIR", str(place / "cache"))
        (place / "first").mkdir()
        for text in texts():
            driver.build(text, place / "first")
    return place


@pytest.fixture
def filled(built_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A private copy of that cache."""
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path / "cache"))
    return shutil.copytree(built_once / "cache", tmp_path / "cache")


def refilled(cache: Path, built_once: Path) -> None:
    """Restores the cache."""
    shutil.rmtree(cache)
    shutil.copytree(built_once / "cache", cache)


def texts() -> list[str]:
    """A kernel of ours, and one that calls the library if it is available."""
    return [softmax()] if why_missing() else [softmax(), layer()]


def built(text: str, tmp_path: Path) -> Path:
    """The directory of a built kernel."""
    directory = tmp_path / "first"
    directory.mkdir()
    driver.build(text, directory)
    return directory


def again(text: str, tmp_path: Path) -> Path | None:
    """The directory of a cached result; None if there is none."""
    directory = tmp_path / "again"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    return directory if publish_cached(text, directory) else None


@cases("text", texts(), ids=["own", "library"])
def test_an_answer_is_the_kernel_that_was_built(
    text: str, tmp_path: Path, built_once: Path, filled: Path
) -> None:
    first, name = built_once / "first", json.loads(text)["op"]
    second = again(text, tmp_path)
    assert second is not None
    assert sorted(file.name for file in first.glob(f"{name}.*")) == sorted(os.listdir(second))
    for ending in ("so", "json"):
        assert (first / f"{name}.{ending}").read_bytes() == (
            second / f"{name}.{ending}"
        ).read_bytes()
    was, now = (build_records.read_one(place, name) for place in (first, second))
    assert was is not None and now is not None
    assert now.steps == was.steps and now.cached and not now.why


def test_who_answers_has_not_loaded_the_generator(tmp_path: Path, filled: Path) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from ms_fusion.compile_server import serve\n"
        "answered = serve._OurGenerator(Path(sys.argv[1])).reuse_cached(sys.argv[2])\n"
        "print(answered, [name for name in sys.argv[3:] if name in sys.modules])\n"
    )
    heavy = (
        "numpy",
        "tbe_impl.dsl",
        "tbe_impl.compat",
        "ms_fusion.kernel_server.driver",
        "ms_fusion.mindspore.presets.scopes",
    )
    (tmp_path / "other").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "other"), softmax(), *heavy],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.split("\n")[0] == "True []", done.stderr
    assert (tmp_path / "other" / "Fused_answered.so").is_file()


Changed = Callable[[pytest.MonkeyPatch, Path], object]


def _tuned(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    user_store().write(TUNINGS, "0" * 64, b"{}")


def _other_compiler(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    script = place / "cc"
    script.write_text(f'#!/bin/sh\nexec {compiler.find_compiler().command[0]} "$@"\n')
    script.chmod(0o700)
    monkeypatch.setenv("MS_FUSION_CC", str(script))


def _other_numpy(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    monkeypatch.setattr(compile_cache.importlib.util, "find_spec", lambda name: None)


def _other_onednn(monkeypatch: pytest.MonkeyPatch, where: Path) -> None:
    (where / "libdnnl.so").touch()
    monkeypatch.setattr(place, "find_library", lambda: where / "libdnnl.so")


def _without_onednn(monkeypatch: pytest.MonkeyPatch, where: Path) -> None:
    def missing() -> Path:
        raise MissingError("there is none")

    monkeypatch.setattr(place, "find_library", missing)


CHANGES: dict[str, Changed] = {
    "our files": lambda patch, _: patch.setattr(compile_cache, "_SOURCES_AT_START", "others"),
    "what was tuned": _tuned,
    "threads": lambda patch, _: patch.setenv("MS_FUSION_THREADS", "7"),
    "compiler": _other_compiler,
    "processor's features": lambda patch, _: patch.setattr(
        machine, "identity", lambda: {"cpu_features": "other"}
    ),
    "processor": lambda patch, _: patch.setattr(tuning_store, "processor", lambda: "another"),
    "setting of oneDNN": lambda patch, _: patch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2"),
    "older setting of oneDNN": lambda patch, _: patch.setenv("DNNL_MAX_CPU_ISA", "AVX2"),
    "oneDNN": _other_onednn,
    "no oneDNN": _without_onednn,
    "Python": lambda patch, _: patch.setattr(compile_cache.sys, "version", "4.0"),
    "NumPy": _other_numpy,
}


@cases("change", list(CHANGES.values()), ids=list(CHANGES))
def test_what_was_built_otherwise_is_no_answer(
    change: Changed, tmp_path: Path, built_once: Path, filled: Path
) -> None:
    refilled(filled, built_once)
    _forget()
    assert recall(softmax()) is not None
    with pytest.MonkeyPatch.context() as patch:
        change(patch, tmp_path)
        _forget()
        assert recall(softmax()) is None
    _forget()


def _forget() -> None:
    """Values that a process reads once."""
    compile_cache._onednn_stamp.cache_clear()
    compile_cache._numpy_stamp.cache_clear()


@cases("suffix", compile_cache.SUFFIXES)
def test_a_file_of_ours_that_changes_is_seen(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / suffix.removeprefix(".")
    inner = package / "inner"
    inner.mkdir(parents=True)
    (inner / f"file{suffix}").write_text("1")
    monkeypatch.setattr(compile_cache, "PACKAGES", (package,))
    before = compile_cache.source_fingerprint()
    assert compile_cache.source_fingerprint() == before
    (inner / f"file{suffix}").write_text("22")
    assert compile_cache.source_fingerprint() != before


def test_the_files_of_all_packages_count() -> None:
    assert {place.name for place in compile_cache.PACKAGES} == {
        "tbe_impl",
        "custom_ops",
        "ms_fusion",
    }
    assert all((place / "__init__.py").is_file() for place in compile_cache.PACKAGES)


def test_a_process_with_old_files_keeps_nothing(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_cache, "source_fingerprint", lambda: "newer")
    built(softmax(), tmp_path)
    assert recall(softmax()) is None


def test_what_was_tuned_meanwhile_keeps_nothing(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    was = plan_choice.choose_options

    def chosen(*arguments: Any) -> Any:
        _tuned(monkeypatch, tmp_path)
        return was(*arguments)

    monkeypatch.setattr(plan_choice, "choose_options", chosen)
    built(softmax(), tmp_path)
    assert recall(softmax()) is None


def test_what_the_compiler_did_not_take_is_tried_again(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failed(*_: object) -> None:
        raise CompileError("the C compiler took longer than 60 s")

    monkeypatch.setattr(plan_choice, "choose_options", failed)
    directory = built(softmax(), tmp_path)
    assert (directory / "Fused_answered.so").is_file()
    assert recall(softmax()) is None


def changed(text: str, **others: Any) -> str:
    return json.dumps({**json.loads(text), **others})


def test_what_mindspore_counts_up_makes_no_difference(filled: Path) -> None:
    text = json.loads(softmax())
    for number, step in enumerate(text["op_desc"]):
        step["ptr_address"] = f"Default/Op_{number}"
    text |= {"composite_graph": "_anonymous__590", "node_name": "GraphKernel_7"}
    assert recall(json.dumps(text)) == recall(softmax()) is not None


@cases(
    "others",
    [
        {"op": "Fused_other"},
        {"process": "cuda"},
        {"target_info": {"arch": "aarch64"}},
        {"op_desc": []},
    ],
    ids=str,
)
def test_another_description_has_another_answer(others: dict[str, Any], filled: Path) -> None:
    assert recall(softmax()) is not None
    assert recall(changed(softmax(), **others)) is None


@cases("where", [("shape", [6, 41]), ("data_type", "float16"), ("value", [0])])
def test_a_tensor_that_is_another_has_another_answer(where: tuple[str, Any], filled: Path) -> None:
    text = json.loads(softmax())
    text["op_desc"][0]["input_desc"][1][0][where[0]] = where[1]
    assert recall(json.dumps(text)) is None


@cases(
    "text",
    [
        "",
        "{}",
        "[]",
        "7",
        '{"op": 7, "op_desc": []}',
        '{"op": "Fused_x"}',
        '{"op": "a b", "op_desc": []}',
        '{"op": "Fused_x", "op_desc": [[]]}',
        "[" * 100000,
        "\ud800",
    ],
)
def test_what_is_no_description_has_no_answer(text: str, tmp_path: Path, cache: Path) -> None:
    assert compile_cache.key_of(text) is None
    assert not publish_cached(text, tmp_path)


def note_of(text: str, cache: Path) -> Path:
    key = compile_cache.key_of(text)
    assert key is not None
    return cache / "store" / GROUPS.name / key


def entry_of(library: compile_cache.Library, cache: Path) -> Path:
    return cache / "store" / KERNELS.name / f"{library.key}.so"


def test_a_note_that_is_damaged_or_anothers_is_no_answer(tmp_path: Path, filled: Path) -> None:
    driver.build(softmax("Fused_other"), tmp_path)
    note, other = note_of(softmax(), filled), note_of(softmax("Fused_other"), filled)
    whole = note.read_bytes()
    for content in (whole[:-9], whole.replace(b'"nests":1', b'"nests":2'), other.read_bytes()):
        note.write_bytes(content)
        assert recall(softmax()) is None
    note.write_bytes(whole)
    assert recall(softmax()) is not None


@cases("content", [b"{}", b"[]", b"\xff", b'{"library":{"key":"../x","sha256":"0"},"steps":[]}'])
def test_a_sealed_note_of_something_else_is_no_answer(
    content: bytes, tmp_path: Path, filled: Path
) -> None:
    key = compile_cache.key_of(softmax())
    assert key is not None
    user_store().write(GROUPS, key, content)
    assert again(softmax(), tmp_path) is None


def _damaged(entry: Path) -> None:
    content = bytearray(entry.read_bytes())
    content[len(content) // 2] ^= 1
    entry.write_bytes(content)


def _another(entry: Path) -> None:
    """A complete entry with another kernel in it."""
    forge(entry, KERNELS, content_at(entry) + b"more")
    assert user_store().find(KERNELS, entry.stem) is not None


@cases("spoil", [_damaged, _another, Path.unlink])
@cases("which", ["kernel"] if why_missing() else ["kernel", "called"])
def test_a_library_that_is_spoilt_or_gone_is_no_answer(
    which: str, spoil: Callable[[Path], object], tmp_path: Path, built_once: Path, filled: Path
) -> None:
    """It is damaged, replaced by another, or removed."""
    refilled(filled, built_once)
    text = softmax() if which == "kernel" else layer()
    answer = recall(text)
    assert answer is not None
    spoil(entry_of(answer.built if which == "kernel" else answer.own_libraries()[0], filled))
    assert again(text, tmp_path) is None
    assert list((tmp_path / "again").iterdir()) == []


@needs_onednn
def test_calls_of_the_library_are_told_and_looked_for(filled: Path) -> None:
    answer = recall(layer())
    assert answer is not None
    assert len(answer.own_libraries()) == 2
    assert answer.steps == (
        BuildStep("c", ("Exp",), 1),
        BuildStep("onednn", ("MatMul",)),
        BuildStep("c", ("Sin",), 1),
    )
