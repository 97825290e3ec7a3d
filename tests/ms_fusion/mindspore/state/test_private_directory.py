"""Private directories: exclusive, removed at exit, left-overs of dead processes deleted."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ms_fusion.mindspore.state import private_directory
from tbe_impl.runtime.store_directory import warn_not_cached

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(private_directory, "_own_directories", {})
    return tmp_path / "cache"


def test_a_private_directory_is_new_and_below_the_cache(cache: Path) -> None:
    one, other = private_directory.make(), private_directory.make()
    assert one != other and one.parent == (cache / "mindspore").resolve()
    assert stat.S_IMODE(one.stat().st_mode) == 0o700
    private_directory.remove_all()
    assert not one.exists() and not other.exists()


def test_what_a_dead_process_left_is_swept_and_a_living_one_kept(cache: Path) -> None:
    living = private_directory.make()
    code = (
        "import os; from ms_fusion.mindspore.state import private_directory as p; print(p.make(), "
        "flush=True); os._exit(9)"
    )
    dead = Path(
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env=os.environ.copy(),
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()
    )
    assert dead.is_dir()
    private_directory.make()
    assert not dead.exists() and living.is_dir()
    private_directory.remove_all()


def test_a_directory_of_another_process_is_recognised(cache: Path) -> None:
    mine = private_directory.make()
    assert not private_directory.is_of_another_process(mine)
    assert private_directory.is_of_another_process(mine.with_name("process-1-abc"))
    assert not private_directory.is_of_another_process(Path("/somewhere/process-1-abc"))
    private_directory.remove_all()


def test_a_directory_below_another_cache_is_recognised(cache: Path, tmp_path: Path) -> None:
    parents = tmp_path / "ms_fusion-mindspore-abc"
    parents.mkdir()
    assert not private_directory.is_of_another_process(parents)
    (parents / private_directory.LOCK).touch()
    assert private_directory.is_of_another_process(parents)


@pytest.mark.parametrize("kind", ["file", "open", "dangling"])
def test_a_cache_that_cannot_be_trusted_is_not_used(
    cache: Path,
    kind: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    if kind == "file":
        cache.write_text("no directory")
    elif kind == "open":
        (cache / "mindspore").mkdir(parents=True)
        (cache / "mindspore").chmod(0o777)
    else:
        cache.symlink_to(tmp_path / "nowhere" / "at all")
    monkeypatch.setattr("tbe_impl.runtime.store_directory._warned_directories", set())
    place = private_directory.make()
    # the store uses the same directory: one message reports its problem
    warn_not_cached(cache / "store", "the same")
    assert place.parent == tmp_path.resolve() and stat.S_IMODE(place.stat().st_mode) == 0o700
    assert (
        len([record for record in caplog.records if "kernels are not kept" in record.message]) == 1
    )
    private_directory.remove_all()
    assert not place.exists()
