"""A cache or temporary directory with a non-UTF-8 name is replaced with one warning.

MindSpore would crash on it.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ms_fusion.cli import main
from ms_fusion.mindspore.state import private_directory
from tbe_impl import environment
from tbe_impl.errors import CacheError
from tbe_impl.runtime import store_directory
from tbe_impl.runtime.store import Store, make_key
from tbe_impl.runtime.store_directory import check_place
from tbe_impl.runtime.store_kinds import KERNELS
from tests.cases import FULL, cases
from tests.fork_server import run_program

ROOT = Path(__file__).resolve().parents[2]
NET = ROOT / "tests" / "programs" / "trials" / "one_fused_net.py"
GBK = os.fsdecode(b"\xd3\xc3")
"""A character in GBK, which is not valid UTF-8."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache directory with such a name, without an earlier warning."""
    monkeypatch.setenv(environment.CACHE_DIR.name, str(tmp_path / GBK))
    monkeypatch.setattr(store_directory, "_warned_directories", set())
    return tmp_path / GBK


@cases(
    "name, good",
    [("kernels", True), ("用户", True), ("gruß 1", True), (GBK, False), (f"a/{GBK}/b", False)],
)
def test_text_is_what_is_utf_8_on_disk(name: str, good: bool) -> None:
    assert environment.is_utf8_path(Path("/tmp") / name) is good
    assert environment.printable_path(Path(name)).isprintable()


@cases(
    "variables, good",
    [
        ({"LC_ALL": "C", "PYTHONUTF8": "0"}, False),
        ({"LC_ALL": "C", "PYTHONUTF8": "1"}, True),
        ({"LC_ALL": "C.UTF-8"}, True),
    ],
)
def test_the_locale_decides_what_is_text(variables: dict[str, str], good: bool) -> None:
    code = (
        "import sys; from tbe_impl.environment import *; print(is_utf8_path(Path(sys.argv[1])), "
        "is_utf8_path(Path('/a')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "/tmp/gruß"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONCOERCECLOCALE": "0", **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == (f"{good} True\n", "")


def test_a_cache_that_is_not_utf_8_is_refused_and_not_made(place: Path) -> None:
    with pytest.raises(CacheError, match=r"\\xd3\\xc3/store: MindSpore cannot use a directory"):
        check_place(place / "store")
    assert not place.exists()


def test_kernels_go_elsewhere_with_one_warning(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    store = Store()
    key = make_key(source="a")
    built = store.get_or_build(KERNELS, key, lambda path: path.write_bytes(b"kernel"))
    assert built.read_bytes().startswith(b"kernel\n") and environment.is_utf8_path(built)
    assert store.find(KERNELS, key) == built
    mine = private_directory.make()
    assert environment.is_utf8_path(mine) and mine.is_dir()
    private_directory.remove(mine)
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1 and said[0].startswith("kernels are not kept: ")
    assert "not UTF-8 text in this locale" in said[0] and environment.CACHE_DIR.name in said[0]
    assert not place.exists()


def test_a_temporary_directory_is_chosen_whose_name_is_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / GBK).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / GBK))
    assert environment.is_utf8_path(environment.temporary_directory())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert environment.temporary_directory() == tmp_path


def test_the_command_shows_such_a_cache(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["cache", "info"]) == 0
    assert "\\xd3\\xc3/store\n" in capsys.readouterr().out


@FULL
@cases("variable", ["MS_FUSION_CACHE_DIR", "HOME", "TMPDIR"])
def test_a_net_is_fused_all_the_same(tmp_path: Path, variable: str) -> None:
    place = tmp_path / variable / GBK
    place.mkdir(parents=True)
    variables = {**os.environ, "PYTHONPATH": str(ROOT), variable: str(place)}
    if variable == "HOME":
        variables |= {"MS_FUSION_CACHE_DIR": "", "XDG_CACHE_HOME": ""}
    done = run_program(NET, cwd=tmp_path, environment=variables, fresh=True)
    assert done.returncode == 0 and "fused by ms_fusion" in done.output.splitlines()
    assert done.output.count("kernels are not kept") == (variable != "TMPDIR")
