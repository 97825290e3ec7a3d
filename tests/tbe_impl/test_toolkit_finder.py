"""Import finder of the toolkit's names: last in order, not for MindSpore, off with a toolkit."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tbe_impl import TOOLKIT_PACKAGES, toolkit_finder
from tbe_impl.cann import toolkit as cann
from tbe_impl.compat.placeholders import CompatModule
from tests.cases import cases


@pytest.fixture(autouse=True)
def provided(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    others = [one for one in sys.meta_path if not isinstance(one, toolkit_finder.Finder)]
    monkeypatch.setattr(sys, "meta_path", others)
    toolkit_finder.provide()
    with toolkit_finder.hide_provided_modules():
        yield
        for name in [name for name in sys.modules if name.partition(".")[0] in TOOLKIT_PACKAGES]:
            del sys.modules[name]


def imported_by(module: str, name: str) -> Any:
    """The result of this import inside a module of that name."""
    space: dict[str, Any] = {"__name__": module}
    exec(f"import {name} as found", space)  # noqa: S102
    return space["found"]


def test_toolkit_names_are_imported_from_compat() -> None:
    for name in ("te", "te.lang.cce", "topi.generic", "tbe.dsl", "tbe.common.platform"):
        assert isinstance(imported_by("script", name), CompatModule)
    assert callable(importlib.import_module("te.lang.cce").vexp)


@cases("prober", ["mindspore.ops.operations._quant_ops", "akg.build_module"])
def test_mindspore_does_not_find_them(prober: str) -> None:
    for name in ("te", "tbe.dsl", "topi"):
        with pytest.raises(ModuleNotFoundError):
            imported_by(prober, name)


def test_providing_twice_is_providing_once() -> None:
    toolkit_finder.provide()
    assert sum(isinstance(one, toolkit_finder.Finder) for one in sys.meta_path) == 1


def test_hidden_names_come_back() -> None:
    before = imported_by("script", "te")
    with toolkit_finder.hide_provided_modules():
        assert "te" not in sys.modules
    assert sys.modules["te"] is before


def test_hidden_names_that_another_package_took_stay_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AKG has its own ``topi``."""
    imported_by("script", "topi.generic"), imported_by("script", "te")
    (tmp_path / "topi.py").write_text("OTHER = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with toolkit_finder.hide_provided_modules():
        assert imported_by("akg", "topi").OTHER
    assert sys.modules["topi"].OTHER and "topi.generic" not in sys.modules and "te" in sys.modules


def test_a_real_toolkit_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tbe", "tbe/dsl", "tbe/common"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("REAL = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert imported_by("script", "tbe.dsl").REAL
    for name in ("te", "topi", "tbe.nobody"):
        with pytest.raises(ModuleNotFoundError):
            imported_by("script", name)


def test_a_package_of_the_name_te_keeps_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "te.py").write_text("OTHER = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert imported_by("script", "te").OTHER
    with pytest.raises(ModuleNotFoundError):
        imported_by("script", "te.lang.cce")


def test_ours_are_no_toolkit_for_the_real_back_end() -> None:
    imported_by("script", "tbe.dsl.api")
    assert not cann.is_installed()
