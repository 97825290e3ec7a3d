"""The hook records the right operator registrations."""

from __future__ import annotations

import json
from typing import Any

import pytest

from custom_ops.tbe_bridge import mindspore_hook
from tests.cases import cases


class Library:
    """A substitute for MindSpore's registration that refuses an operator of that name."""

    def reg_op(self, info: str, file: str) -> bool:
        return "Refused" not in info


def tbe(name: Any) -> str:
    return json.dumps({"imply_type": "TBE", "op_name": name})


@cases(
    "info, file, is_taken, noted",
    [
        (tbe("Own"), "own.py", True, ["Own"]),
        (tbe("Refused"), "own.py", False, []),
        (tbe("Built_in"), "", True, []),
        (tbe([]), "own.py", True, []),
        ('{"imply_type": "TBE"}', "own.py", True, []),
        ('{"op_name": "Aicpu"}', "own.py", True, []),
        ("[]", "own.py", True, []),
        ("no JSON", "own.py", True, []),
    ],
    ids=str,
)
def test_what_the_library_takes_is_noted(
    info: str, file: str, is_taken: bool, noted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mindspore_hook, "registrations", {})
    assert mindspore_hook._RecordingLibrary(Library).reg_op(info, file) is is_taken
    assert list(mindspore_hook.registrations) == noted
