"""Imports modules of a package without running the package."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ms_fusion.compile_server.isolated_import import import_alone


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """``big_package`` and ``big_package.inner`` report their import."""
    place = tmp_path / "big_package"
    (place / "inner").mkdir(parents=True)
    for directory in (place, place / "inner"):
        (directory / "__init__.py").write_text("IMPORTED = True\n")
    (place / "other.py").write_text("NUMBER = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield place
    for name in [name for name in sys.modules if name.startswith("big_package")]:
        del sys.modules[name]


def test_what_lies_above_is_not_imported(package: Path) -> None:
    (package / "inner" / "part.py").write_text("from big_package.other import NUMBER\n")
    assert import_alone("big_package.inner.part").NUMBER == 7
    assert not any(
        hasattr(sys.modules[name], "IMPORTED") for name in ("big_package", "big_package.inner")
    )


def test_where_the_package_lies_is_known(package: Path) -> None:
    (package / "inner" / "part.py").write_text("NUMBER = 7\n")
    import_alone("big_package.inner.part")
    found = importlib.util.find_spec("big_package")
    assert found is not None and found.submodule_search_locations == [str(package)]


def test_a_module_that_needs_its_package_gets_it(package: Path) -> None:
    (package / "inner" / "part.py").write_text("from big_package import IMPORTED\n")
    assert import_alone("big_package.inner.part").IMPORTED
    assert hasattr(sys.modules["big_package"], "IMPORTED")


def test_what_is_not_there_is_said(package: Path) -> None:
    with pytest.raises(ImportError, match="none"):
        import_alone("big_package.inner.none")
