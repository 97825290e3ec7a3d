"""The installed package has every file that the packages read."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

from tests.cases import cases

ROOT = Path(__file__).resolve().parents[1]


@cases("package", ["ms_fusion", "custom_ops", "tbe_impl"])
def test_every_file_beside_the_code_is_installed(package: str) -> None:
    settings = ConfigParser()
    settings.read(ROOT / "setup.cfg", "utf-8")
    patterns = settings["options.package_data"][package].split()
    installed = {path for pattern in patterns for path in (ROOT / package).glob(pattern)}
    there = {
        path
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert there - installed == set()
