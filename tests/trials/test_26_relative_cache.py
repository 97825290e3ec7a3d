"""A relative or ~ cache directory is resolved once: kernels are built only there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tbe_impl import environment
from tbe_impl.errors import InputError
from tests.cases import cases

ROOT = Path(__file__).resolve().parents[2]
SUM = ROOT / "tests" / "programs" / "trials" / "sum_in_another_directory.py"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory that is also the home directory."""
    return make_home(tmp_path, monkeypatch)


def make_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    return tmp_path


@cases(
    "chosen, below",
    [("rel", "rel"), ("./a/../rel", "a/../rel"), ("~/rel", "rel"), ("~", ""), ("a~b", "a~b")],
)
def test_a_relative_cache_becomes_absolute_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str, below: str
) -> None:
    home = make_home(tmp_path, monkeypatch)
    monkeypatch.setenv(environment.CACHE_DIR.name, chosen)
    found = environment.cache_dir()
    assert found == home / below and found.is_absolute()
    (home / "elsewhere").mkdir()
    monkeypatch.chdir(home / "elsewhere")
    assert environment.cache_dir() == found
    assert os.environ[environment.CACHE_DIR.name] == str(found)


@cases("variable", ["HOME", "XDG_CACHE_HOME"])
def test_a_relative_home_gives_an_absolute_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    make_home(tmp_path, monkeypatch)
    monkeypatch.setenv(environment.CACHE_DIR.name, "")
    monkeypatch.setenv(variable, "relative")
    found = environment.cache_dir()
    assert found.is_absolute()
    monkeypatch.chdir("/")
    assert environment.cache_dir() == found


def test_an_empty_setting_leaves_the_environment_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(environment.CACHE_DIR.name, "")
    assert environment.cache_dir() == home / ".cache" / "ms_fusion"
    assert os.environ[environment.CACHE_DIR.name] == ""


@cases("chosen", ["~nobody-has-this-name/x"])
def test_the_home_of_nobody_is_refused(monkeypatch: pytest.MonkeyPatch, chosen: str) -> None:
    monkeypatch.setenv(environment.CACHE_DIR.name, chosen)
    with pytest.raises(InputError) as caught:
        environment.cache_dir()
    said = str(caught.value)
    assert said.startswith("MS_FUSION_CACHE_DIR: ") and "got '~nobody-has-this-name'" in said
    assert said.endswith("Set MS_FUSION_CACHE_DIR to an absolute path")


def test_kernels_are_built_there_and_nothing_is_left_elsewhere(home: Path) -> None:
    variables = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "MS_FUSION_CACHE_DIR": "rel",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, str(SUM)], env=variables, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "cpu 7.0\n", "")
    assert sorted(path.name for path in home.iterdir()) == ["elsewhere", "rel"]
    assert list((home / "elsewhere").iterdir()) == []
    assert list((home / "rel" / "store" / "kernels").iterdir())
