"""The records of operators: what costs, decisions, flags and pages are derived from."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, Flag
from typing import Any

import msgspec

from ms_fusion.ops import OPERATORS
from ms_fusion.ops.op_info import OpInfo
from tests.golden_code.comparing import Goldens

TEXT_LENGTH = 60
"""A reason is shown up to this length; pages show the whole text."""


def text_of(value: Any) -> str:
    """The value of a field, without the text of functions."""
    if isinstance(value, Flag):
        return "|".join(str(one.name) for one in type(value) if one & value and one.name)
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, str):
        return repr(value if len(value) <= TEXT_LENGTH else value[:TEXT_LENGTH] + "…")
    if isinstance(value, tuple | frozenset):
        items = [text_of(item) for item in value]
        return f"({', '.join(items if isinstance(value, tuple) else sorted(items))})"
    if isinstance(value, msgspec.Struct):
        return f"{type(value).__name__}({', '.join(changed_fields(value))})"
    return "function" if callable(value) else repr(value)


def changed_fields(record: msgspec.Struct, path: str = "") -> Iterator[str]:
    """The fields whose values differ from their defaults."""
    names = record.__struct_fields__
    defaults = (msgspec.NODEFAULT,) * len(names) + record.__struct_defaults__
    for name, default in zip(names, defaults[-len(names) :], strict=True):
        value = getattr(record, name)
        if value == default or (name == "name" and isinstance(record, OpInfo)):
            continue
        if isinstance(value, msgspec.Struct) and isinstance(default, type(value)):
            yield from changed_fields(value, f"{path}{name}.")
        else:
            yield f"{path}{name}={text_of(value)}"


def test_the_records_of_operators(goldens: Goldens) -> None:
    """A new operator needs no line here until the next update of the goldens."""
    lines = {
        name: f"{name}: {'; '.join(changed_fields(record))}\n"
        for name, record in sorted(OPERATORS.items())
    }
    if not goldens.update:
        golden = (goldens.root / "decisions/operators.txt").read_text("utf-8")
        known = {line.partition(":")[0] for line in golden.splitlines()}
        lines = {name: line for name, line in lines.items() if name in known}
    goldens.compare("decisions/operators.txt", "".join(lines.values()))
