"""The doctor: each check detects its problem, names a remedy, and sets the exit code."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ms_fusion.cli import doctor
from ms_fusion.cli.doctor import Check, diagnose
from ms_fusion.mindspore.presets import generator_proof
from tests.cases import cases

GOOD = {
    "numpy": "1.26.4",
    "ml_dtypes": "0.5.4",
    "decorator": "5.3.1",
    "mindspore": "2.10.0",
    "onnx": "1.21.0",
    "protobuf": "6.31.0",
}


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clean working directory, a separate cache, and none of the checked variables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("OMP_NUM_THREADS", "MS_COMPILER_CACHE_PATH", "ONEDNN_MAX_CPU_ISA"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def installed(monkeypatch: pytest.MonkeyPatch, **versions: str | None) -> None:
    monkeypatch.setattr(doctor, "version_of", {**GOOD, **versions}.get)


@cases(
    "check, versions, status, says",
    [
        (doctor.check_numpy, {}, "ok", "1.26.4"),
        (doctor.check_numpy, {"numpy": "2.0.0"}, "broken", "NumPy 2"),
        (doctor.check_numpy, {"numpy": "1.26.3"}, "warning", "old"),
        (doctor.check_numpy, {"numpy": None}, "broken", "not installed"),
        (doctor.check_ml_dtypes, {}, "ok", "0.5.4"),
        (doctor.check_ml_dtypes, {"ml_dtypes": "0.6.1"}, "warning", "wants NumPy 2"),
        (doctor.check_ml_dtypes, {"ml_dtypes": None}, "broken", "not installed"),
        (doctor.check_decorator, {}, "ok", "5.3.1"),
        (doctor.check_decorator, {"decorator": None}, "broken", "Response is empty"),
        (doctor.check_mindspore, {}, "ok", "2.10.0"),
        (doctor.check_mindspore, {"mindspore": "2.7.1"}, "ok", "2.7.1"),
        (doctor.check_mindspore, {"mindspore": "2.6.0"}, "warning", "not in the table"),
        (doctor.check_mindspore, {"mindspore": "2.1"}, "warning", "not in the table"),
        (doctor.check_mindspore, {"mindspore": None}, "broken", "not installed"),
        (doctor.check_onnx, {}, "ok", "1.21.0"),
        (doctor.check_onnx, {"onnx": None}, "ok", "not installed"),
        (doctor.check_onnx, {"onnx": "1.16.0"}, "warning", "too old"),
        (doctor.check_onnx, {"mindspore": "2.9.0"}, "warning", "protobuf 3.20"),
        (doctor.check_onnx, {"mindspore": "2.9.0", "onnx": None}, "warning", "protobuf 3.20"),
        (
            doctor.check_onnx,
            {"mindspore": "2.9.0", "onnx": None, "protobuf": "3.20.3"},
            "ok",
            "3.20.3",
        ),
    ],
)
def test_version_checks_give_status_and_remedy(
    check: Callable[[], Check],
    versions: dict[str, str | None],
    status: str,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed(monkeypatch, **versions)
    monkeypatch.setattr(doctor, "can_fuse_here", lambda: True)
    found = check()
    assert (found.status, says in found.what) == (status, True), found
    assert bool(found.remedy) == (status in ("warning", "broken")), found


@cases(
    "name, value, check, status",
    [
        ("OMP_NUM_THREADS", None, doctor.check_threads, "ok"),
        ("OMP_NUM_THREADS", "1", doctor.check_threads, "ok"),
        ("OMP_NUM_THREADS", "100000", doctor.check_threads, "warning"),
        ("OMP_NUM_THREADS", "many", doctor.check_threads, "warning"),
        ("MS_FUSION", None, doctor.check_switches, "ok"),
        ("MS_FUSION", "off", doctor.check_switches, "warning"),
        ("MS_FUSION", "perhaps", doctor.check_switches, "broken"),
        ("MS_DEV_GRAPH_KERNEL_FLAGS", None, doctor.check_flags, "ok"),
        ("MS_DEV_GRAPH_KERNEL_FLAGS", "--opt_level=2", doctor.check_flags, "hint"),
        ("MS_DEV_GRAPH_KERNEL_FLAGS", "--opt_levle=2", doctor.check_flags, "warning"),
        ("MS_COMPILER_CACHE_PATH", None, doctor.check_kernel_directory, "ok"),
        ("MS_COMPILER_CACHE_PATH", ".", doctor.check_kernel_directory, "ok"),
        ("MS_COMPILER_CACHE_PATH", "absent", doctor.check_kernel_directory, "warning"),
        ("ONEDNN_MAX_CPU_ISA", "AVX2", doctor.check_convolution, "hint"),
    ],
)
def test_environment_variable_checks_give_their_status(
    name: str,
    value: str | None,
    check: Callable[[], Check],
    status: str,
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(name, raising=False)
        if value is not None:
            patch.setenv(name, value)
        assert check().status == status, check()


@cases("value", [None, "AVX2"])
def test_convolutions_are_mended_by_enabling_first(
    value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    if value:
        monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", value)
    monkeypatch.setattr(doctor.machine, "cpu_features", lambda: ("avx512f",))
    found = doctor.check_convolution()
    assert found.status == "hint" and "`mf.enable()`" in found.remedy
    assert found.remedy.startswith("Unset" if value else "Call")


def test_kernels_in_the_working_directory_are_seen(own_place: Path) -> None:
    assert doctor.check_working_directory().status == "ok"
    (own_place / "akg_kernel_meta").symlink_to("nowhere")
    found = doctor.check_working_directory()
    assert (found.status, "akg_kernel_meta" in found.what) == ("warning", True)


def test_another_system_reads_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.platform, "system", lambda: "Darwin")
    installed(monkeypatch, mindspore=None)
    assert doctor.check_system().status == "warning"
    assert "only `ms-fusion read`" in doctor.check_system().what
    assert doctor.check_mindspore().status == "hint"


def test_the_cache_directory_is_tried(own_place: Path) -> None:
    assert doctor.check_cache().status == "ok"
    (own_place / "cache" / "store").chmod(0o777)
    assert doctor.check_cache().status == "warning"
    (own_place / "cache" / "store").rmdir()
    (own_place / "cache" / "store").symlink_to(own_place)
    assert "is a link" in doctor.check_cache().what


def compiler_that(directory: Path, script: str) -> str:
    path = Path(tempfile.mkdtemp(dir=directory)) / "own-cc"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@cases(
    "script, says",
    [
        ("echo 'no space left' >&2; exit 1", "no space left"),
        ("exit 0", "no message"),
        ("exec sleep 60", "timed out"),
    ],
)
def test_a_compiler_that_does_not_work(
    own_place: Path, script: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MS_FUSION_CC", compiler_that(own_place, script))
    monkeypatch.setattr(doctor, "COMPILER_TIMEOUT_S", 1.0)
    found = doctor.check_compiler()
    assert (found.status, says in found.what) == ("warning", True), found


@cases(
    "before, why, status, says",
    [
        (None, "", "ok", "ours, proved now on this machine with MindSpore 2.10.0"),
        ("", "", "ok", "ours, proved before"),
        ("it is another", "it is another", "warning", "ours cannot be used: it is another"),
    ],
)
def test_the_generator_is_tried(
    before: str | None, why: str, status: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch)
    monkeypatch.setattr(doctor, "can_fuse_here", lambda: True)
    monkeypatch.setattr(generator_proof, "known_reason", lambda version: before)
    monkeypatch.setattr(generator_proof, "why_unusable", lambda version: why)
    found = doctor.check_generator()
    assert (found.status, says in found.what) == (status, True), found


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MS_FUSION_CC", "no-such-compiler")
    found = doctor.check_compiler()
    assert (found.status, "ms_fusion[compiler]" in found.remedy) == ("warning", True)
    assert "no-such-compiler is not there" in found.what


@cases(
    "seen, status",
    [
        ({"bodies": [["Mul", "Add"]], "max_abs_error": 1e-6, "device": "CPU"}, "ok"),
        ({"bodies": [["Mul"], ["Add"]], "max_abs_error": 1e-6, "device": "CPU"}, "broken"),
        ({"bodies": [], "max_abs_error": 1e-6, "device": "CPU"}, "broken"),
        ({"bodies": [["Mul", "Add"]], "max_abs_error": 0.1, "device": "CPU"}, "broken"),
        ({"bodies": [["Mul", "Add"]], "max_abs_error": float("nan"), "device": "CPU"}, "broken"),
    ],
)
def test_the_trial_is_judged(seen: dict[str, object], status: str) -> None:
    assert doctor.judge_trial(seen).status == status


def test_a_trial_that_hangs_is_ended(own_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A program that never ends, with a child, in place of Python.
    script = "sleep 300 & echo $! > grandchild; sleep 300"
    monkeypatch.setattr(sys, "executable", compiler_that(own_place, script))
    assert "not done within 0.5 s" in doctor.run_trial(own_place, 0.5)
    grandchild = int((own_place / "grandchild").read_text())
    deadline = time.monotonic() + 10
    while _runs(grandchild) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(grandchild)


def _runs(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@cases(
    "script, says",
    [
        ("echo boom >&2; exit 3", "boom (exit code 3)"),
        ("kill -SEGV $$", "signal 11"),
        ("exit 0", "no result was written"),
    ],
)
def test_a_trial_that_dies_is_told(
    own_place: Path, script: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", compiler_that(own_place, script))
    assert says in doctor.run_trial(own_place, 30.0)


@pytest.mark.mindspore
def test_the_trial_really_fuses(own_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The content of a hostile directory and the user's own flags must not matter.
    monkeypatch.setenv("MS_DEV_GRAPH_KERNEL_FLAGS", "--opt_level=0")
    before = sorted(own_place.iterdir())
    found = doctor.check_fusion()
    assert found.status == "ok", found
    assert "Mul + Mul + Add + Add + Mul in one kernel" in found.what
    assert sorted(own_place.iterdir()) == before


def fine() -> Check:
    return Check("one", "ok", "good")


def hinting() -> Check:
    return Check("two", "hint", "worth knowing")


def warning() -> Check:
    return Check("three", "warning", "bad", "mend it")


def failing() -> Check:
    raise RuntimeError("oh")


@cases(
    "checks, code",
    [([], 0), ([fine, hinting], 0), ([fine, warning], 1), ([failing, warning], 2)],
)
def test_the_exit_code_is_that_of_the_worst(checks: list[Callable[[], Check]], code: int) -> None:
    found = diagnose(checks)
    assert found.exit_code == code
    told = json.loads(found.to_json())
    assert told["exit_code"] == code
    assert len(told["checks"]) == len(checks)


def test_every_check_of_the_list_is_named_once() -> None:
    names = [check.__name__ for check in doctor.CHECKS]
    defined = [name for name in vars(doctor) if name.startswith("check_") and name != "check_place"]
    assert sorted(names) == sorted(defined)
