"""Defines `Record`: immutable dataclasses whose definition takes little time at import.

`dataclass(frozen=True)` generates and compiles six methods for each class. The generation takes
about 0.4 ms for each class, and the code generator has a hundred such classes.
"""

from __future__ import annotations

from dataclasses import Field, dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    class _Frozen:
        """Base class for the type checker, which refuses assignments to fields of subclasses."""
else:
    _Frozen = object


class Record(_Frozen):
    """Base class of records: each subclass is a dataclass, compared and hashed by its fields.

    The type checker and the tests (`tests/conftest.py`) refuse assignments to fields. Fields with
    ``compare=False`` are ignored by comparison and hash.

    >>> class Point(Record):
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(1, 0), len({Point(1), Point(1, 0)})
    (Point(x=1, y=0), True, 1)
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    _compared_fields: ClassVar[attrgetter[Any]]

    def __init_subclass__(cls) -> None:
        dataclass(repr=False, eq=False)(cls)
        cls._compared_fields = attrgetter(
            "__class__", *(one.name for one in fields(cls) if one.compare)
        )

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and bool(
            self._compared_fields(self) == self._compared_fields(other)
        )

    def __hash__(self) -> int:
        return hash(self._compared_fields(self))

    def __repr__(self) -> str:
        named = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
        return f"{type(self).__name__}({', '.join(named)})"
