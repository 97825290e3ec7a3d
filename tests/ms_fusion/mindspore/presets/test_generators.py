"""Generator choice: ours by default on CPU, MindSpore's own on request or as the fallback."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from ms_fusion.kernel_server import build_records
from ms_fusion.kernel_server.publishing import OWN_SUFFIX
from ms_fusion.mindspore.flags.generator_limits import GENERATOR
from ms_fusion.mindspore.presets import generator_choice, generator_proof
from ms_fusion.mindspore.state import mindspore_state, user_kernel_directory
from tests.cases import FULL, cases
from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS, run


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(
        PROGRAMS / "choices_of_generator.py", tmp_path_factory.mktemp("choices") / "work"
    ).result


@pytest.mark.mindspore
@cases(
    "case, generator",
    [
        ("default", "ms_fusion"),
        ("unfused", "ms_fusion"),
        ("named", "mindspore"),
        ("by flags", "mindspore"),
        ("precise", "mindspore"),
        ("off", ""),
    ],
)
def test_ours_builds_on_cpu_unless_another_is_named(
    seen: dict[str, Any], case: str, generator: str
) -> None:
    assert seen[case] == [generator, []]


@pytest.mark.mindspore
def test_a_block_keeps_the_generator_that_was_named_around_it(seen: dict[str, Any]) -> None:
    assert seen["block"] == "mindspore"


@pytest.mark.mindspore
def test_precise_kernels_of_ours_are_refused_with_the_reason(
    seen: dict[str, Any],
) -> None:
    assert seen["precise, ours"] == ["mindspore", [f"warning: {generator_choice.PRECISE_NOTE}"]]
    assert seen["precise, ours by flags"] == seen["precise, ours"]
    assert "AKG_V2" not in seen["flags of it"]
    assert generator_choice.choose("off", "CPU", wanted="ms_fusion") == ("mindspore", ())


@pytest.mark.mindspore
def test_without_a_compiler_mindspores_own_stays_and_it_is_said(
    seen: dict[str, Any],
) -> None:
    generator, (text,) = seen["no compiler"]
    assert generator == "mindspore"
    assert "since ours cannot be used: the C compiler /no/such/compiler is not there" in text


@pytest.mark.mindspore
def test_generators_take_turns_and_each_builds_its_own(seen: dict[str, Any]) -> None:
    """Also the same net with equal groups: MindSpore caches kernels by name."""
    assert seen["within precise"] == [1.0, []]
    assert seen["turns"] == [["mindspore", 3.75, []], ["ms_fusion", 3.75, []]] * 2
    assert seen["lines"] == 1


@FULL
@pytest.mark.mindspore
def test_kernels_of_the_users_own_flags_are_noticed(tmp_path: Path) -> None:
    found = run(PROGRAMS / "after_the_users_own.py", tmp_path / "work").result
    assert found["own"] == found["then"] == [2.0, []]
    generator, (text,) = found["enabled"]
    assert generator == "mindspore" and mindspore_state.EARLIER_KERNELS in text


@FULL
@pytest.mark.mindspore
def test_of_the_users_directory_is_taken_what_can_be_called(tmp_path: Path) -> None:
    """A process without ms_fusion leaves kernels there that do not have our calling convention."""
    kept = tmp_path / "kept"
    kept.mkdir()

    def found_by(way: str) -> dict[str, Any]:
        there = {"MS_COMPILER_CACHE_PATH": str(kept)}
        return run(PROGRAMS / "kept_directory.py", tmp_path / way, way, environment=there).result

    assert found_by("plain") == {"value": [3.75, []]}
    (left,) = (kept / mindspore_state.KERNELS).glob("*.json")
    assert not left.with_suffix(OWN_SUFFIX).exists()
    for _ in range(2):
        assert found_by("enabled") == {"generator": ["ms_fusion", []], "value": [3.75, []]}
    (now,) = (kept / mindspore_state.KERNELS).glob("*.json")
    assert now.name == left.name and build_records.read_one(now.parent, now.stem).steps[0].by == "c"
    (kept / user_kernel_directory.BUILD_NOTE).write_text("another machine")
    found_by("cleared")
    assert not list((kept / mindspore_state.KERNELS).glob("*.json"))


def test_kernels_that_cannot_be_called_as_ours_are_removed(tmp_path: Path) -> None:
    """Kernels without our note, and all of another machine; `make test-all` uses MindSpore."""
    kernels = tmp_path / mindspore_state.KERNELS
    kernels.mkdir()
    user_kernel_directory.remove_foreign_kernels(kernels)
    for name, endings in {
        "Fused_ours": (".json", ".so", OWN_SUFFIX),
        "Fused_plain": (".json", ".so"),
        "Other": (".json",),
    }.items():
        for ending in endings:
            (kernels / f"{name}{ending}").touch()
    user_kernel_directory.remove_foreign_kernels(kernels)
    assert {file.stem for file in kernels.iterdir()} == {"Fused_ours", "Other"}
    (tmp_path / user_kernel_directory.BUILD_NOTE).write_text("another machine")
    user_kernel_directory.remove_foreign_kernels(kernels)
    assert [file.name for file in kernels.iterdir()] == ["Other.json"]
    assert (tmp_path / user_kernel_directory.BUILD_NOTE).read_text() != "another machine"


def test_ranks_that_share_a_directory_find_a_whole_note(tmp_path: Path) -> None:
    kernels = tmp_path / mindspore_state.KERNELS
    kernels.mkdir()
    seen = []
    for _ in range(2):
        user_kernel_directory.remove_foreign_kernels(kernels)
        (note,) = (file for file in tmp_path.iterdir() if file != kernels)
        seen.append((note.stat().st_ino, note.stat().st_mtime_ns))
    assert seen[0] == seen[1], "it is not written again"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_trial_is_said_on_a_terminal_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(
        generator_proof, "_run_proof", lambda: generator_proof.GeneratorProof("it is another")
    )
    monkeypatch.setattr("sys.stderr", _Terminal())
    assert generator_proof.known_reason("2.10.0") is None
    assert (
        generator_proof.why_unusable("2.10.0")
        == generator_proof.why_unusable("2.10.0")
        == "it is another"
    )
    assert (
        sys.stderr.getvalue()  # type: ignore[attr-defined]
        == f"{generator_proof.TRIAL_MESSAGE} done\n"
    )
    assert generator_proof.known_reason("2.10.0") == "it is another"


@cases("device, preset", [("GPU", "auto"), ("Ascend", "auto"), ("CPU", "precise")])
def test_elsewhere_nothing_is_tried(
    device: str, preset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generator_proof, "_run_proof", lambda: pytest.fail("it was tried"))
    assert generator_choice.choose(preset, device) == ("mindspore", ())


def test_flags_that_name_ours_ask_for_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generator_proof, "why_unusable", lambda version: "of the test")
    monkeypatch.setattr(mindspore_state, "has_earlier_kernels", lambda: False)
    monkeypatch.setattr(mindspore_state, "version", lambda: "2.10.0")
    chosen, (said,) = generator_choice.choose(
        "auto", "CPU", flags=f"--kernel_generator={GENERATOR}"
    )
    assert chosen == "mindspore" and "since ours cannot be used: of the test" in said.message
