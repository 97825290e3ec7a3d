"""Kernel directories: private per process or the user's own; no left-overs, no planted kernels."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cases import FULL
from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS, run

pytestmark = pytest.mark.mindspore
NET = PROGRAMS / "kernel_directory.py"


def _plant(directory: Path, kernel: str, source: Path) -> None:
    """A kernel with the right name and hash that computes something else."""
    import hashlib
    import json
    import shutil

    meta = directory / "akg_kernel_meta"
    meta.mkdir(parents=True)
    shutil.copytree(source, meta, dirs_exist_ok=True)
    wrong = next(path for path in meta.glob("Fused_*.so") if path.stem != kernel)
    # both names have the same length, so the symbol can be renamed in place; MindSpore then runs
    # it, or fails to
    binary = wrong.read_bytes().replace(wrong.stem.encode(), kernel.encode())
    (meta / f"{kernel}.so").write_bytes(binary)
    record = json.loads((meta / f"{kernel}.json").read_text())
    record["sha256"] = record["objSha256"] = hashlib.sha256(binary).hexdigest()
    (meta / f"{kernel}.json").write_text(json.dumps(record))


def test_kernels_lie_in_a_private_directory_that_goes_at_exit(tmp_path: Path) -> None:
    found = run(NET, tmp_path / "work", "enabled").result
    assert found["value"] == 3.0 and found["kernels"] and found["mode"] == "0o700"
    assert Path(found["place"]).is_relative_to(os.environ["MS_FUSION_TEST_CACHE"])
    assert not Path(found["place"]).exists()
    assert list((tmp_path / "work").iterdir()) == []


@FULL
def test_nothing_is_left_and_a_planted_kernel_is_never_used(tmp_path: Path) -> None:
    made = run(PROGRAMS / "kernels_for_planting.py", tmp_path / "made")
    kernel, others = made.result["kernel"], made.result["others"]
    same = [name for name in others if len(name) == len(kernel)]
    assert same, others
    source = tmp_path / "made" / "akg_kernel_meta"
    for name in [*(other for other in others if other != same[0])]:
        for path in source.glob(f"{name}.*"):
            path.unlink()
    for place in ("control", "ours"):
        (tmp_path / place).mkdir()
        _plant(tmp_path / place, kernel, source)

    control = run(NET, tmp_path / "control", "plain").result
    assert control["value"] != 3.0, (
        "the plant must work where we do nothing, else this proves nothing"
    )

    before = sorted(path.relative_to(tmp_path / "ours") for path in (tmp_path / "ours").rglob("*"))
    ours = run(NET, tmp_path / "ours", "enabled", own_cache=True).result
    assert ours["value"] == 3.0 and kernel in ours["kernels"]
    after = sorted(path.relative_to(tmp_path / "ours") for path in (tmp_path / "ours").rglob("*"))
    assert after == before, "files were left in the working directory"
    assert ours["mode"] == "0o700"
    assert not Path(ours["place"]).exists(), "the private directory goes at exit"
    assert str(tmp_path / "ours.cache") in ours["place"]


def test_the_users_own_kernel_directory_is_used_and_kept(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    child = run(
        NET,
        tmp_path / "work",
        "enabled",
        environment={"MS_COMPILER_CACHE_PATH": str(own)},
    )
    assert child.result["place"] == str(own) and child.result["kernels"] and own.is_dir()
    assert list((tmp_path / "work").iterdir()) == []


def test_a_kernel_directory_is_refused_or_comes_too_late(tmp_path: Path) -> None:
    """A missing directory is reported; with one set after `enable`, MindSpore would look in the
    wrong place.
    """
    found = run(NET, tmp_path / "work", "moved").result
    assert "MS_COMPILER_CACHE_PATH" in found["error"]
    assert str(tmp_path / "work" / "gone") in found["error"]
    assert (found["value"], found["kernels"], found["built"]) == (3.0, [], 1)
    assert found["first"] == [True, True]
