"""The path of a module is looked up once, even if few are looked up between."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from tbe_impl.loading import module_places
from tbe_impl.loading.module_places import find_modules_below


def test_a_module_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    whole = module_places._place_of

    def noted(module: Any) -> str:
        asked.append(module.__name__)
        return whole(module)

    monkeypatch.setattr(module_places, "_place_of", noted)
    loaded = {f"tried_{number}": ModuleType(f"tried_{number}") for number in range(1200)}
    loaded["tried_0"].__file__ = "/somewhere/tried_0.py"
    assert find_modules_below(loaded, ("/somewhere/",)) == ["tried_0"]
    assert len(asked) == 1200
    assert find_modules_below({}, ("/somewhere/",)) == []
    assert find_modules_below(loaded, ("/somewhere/",)) == ["tried_0"]
    assert len(asked) == 1200
