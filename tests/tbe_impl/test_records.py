"""Records are compared, hashed and printed by their fields."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, field, replace

import pytest

from tbe_impl.records import Record


class Point(Record):
    x: int
    y: int = 0
    name: str = field(default="", compare=False, repr=False)


class Other(Record):
    x: int
    y: int = 0
    name: str = ""


class Deep(Point):
    z: Point | None = None


def test_records_are_frozen_and_equal_by_type_and_fields() -> None:
    assert Point(1) == Point(1, 0, "a") and hash(Point(1)) == hash(Point(1, name="a"))
    assert Point(1) != Point(2) and Point(1) != Other(1) and Point(1) != 1
    assert Point(1) != Deep(1) and Deep(1, z=Point(2)) == Deep(1, z=Point(2)) != Deep(1)
    assert len({Point(1), Point(1), Other(1), Deep(1)}) == 3
    assert replace(Point(1), y=5) == Point(1, 5)
    assert repr(Deep(1, z=Point(2))) == "Deep(x=1, y=0, z=Point(x=2, y=0))"
    with pytest.raises(FrozenInstanceError):
        setattr(Point(1), "x", 2)  # noqa: B010
