"""Parses type lines of MindSpore's IR: ``(<Tensor[Float32], (8, 64)>) -> (<Tuple[…], …>)``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from ms_fusion.readers.ir_terms import MAX_DEPTH, Cursor, dtype_name, read_size


@dataclass(frozen=True)
class Leaf:
    """Type of one tensor or scalar."""

    dtype: str
    shape: tuple[int | str, ...] = ()


Type = Leaf | tuple["Type", ...]
"""Type of a result: a `Leaf`, or nested tuples of `Leaf` if the operator returns a tuple."""

UNKNOWN_TYPE = Leaf("unknown")
"""The type of a value for which the dump contains no type."""


@dataclass(frozen=True)
class _Dtype:
    name: str
    children: tuple[tuple[_Dtype, int], ...] = ()


_TYPE_WORD = re.compile(r"[^\[\]<>,()*]+")
_REPEAT = re.compile(r"\*(\d{1,9})")
_TYPE_END = re.compile(r">(?=, <|\)|  :| : \[|\s*$)")
_SEQUENCES = frozenset({"Tuple", "List"})
_SEQUENCE_SHAPES = frozenset({"TupleShape", "ListShape", "SequenceShape"})


def read_types(cursor: Cursor) -> tuple[Type, ...]:
    """Parses a list ``(<type>, <type>)`` of a type line."""
    cursor.expect("(")
    types: list[Type] = []
    while not cursor.accept(")"):
        if types:
            cursor.expect(", ")
        types.append(read_type(cursor))
    return tuple(types)


def read_type(cursor: Cursor) -> Type:
    """Parses one type, such as ``<Tensor[Float32], (8, 64)>``.

    A type in an unknown notation becomes a leaf whose dtype is the text of the type.
    """
    cursor.expect("<")
    start = cursor.position
    end = _TYPE_END.search(cursor.text, start)
    if not end:
        cursor.fail("'>' is missing")
    try:
        dtype = _read_dtype(cursor, 0)
        shape = _read_shape(cursor, 0) if cursor.accept(", ") else None
        found = _combine(dtype, shape)
        close = _TYPE_END.search(cursor.text, cursor.position)
    except _UnknownTypeError:
        text = cursor.text[start : end.start()]
        found, close = (UNKNOWN_TYPE if text == "null" else Leaf(text)), end
    if not close:
        cursor.fail("'>' is missing")
    cursor.position = close.end()
    return found


class _UnknownTypeError(Exception):
    """A type in the text has a notation that this reader does not parse."""


def _read_dtype(cursor: Cursor, depth: int) -> _Dtype:
    if depth > MAX_DEPTH:
        cursor.fail("brackets are nested too deeply")
    word = cursor.match(_TYPE_WORD)
    if not word:
        raise _UnknownTypeError
    children: list[tuple[_Dtype, int]] = []
    if cursor.accept("["):
        while not cursor.accept("]"):
            if children and not cursor.accept(","):
                raise _UnknownTypeError
            child = _read_dtype(cursor, depth + 1)
            times = cursor.match(_REPEAT)
            children.append((child, int(times[1]) if times else 1))
    return _Dtype(word[0].strip(), tuple(children))


_Shape = tuple[int | str, ...] | list[Any] | None


def _read_shape(cursor: Cursor, depth: int) -> _Shape:
    if depth > MAX_DEPTH:
        cursor.fail("brackets are nested too deeply")
    if cursor.accept("("):
        end = cursor.text.find(")", cursor.position)
        if end < 0:
            raise _UnknownTypeError
        sizes = cursor.text[cursor.position : end]
        cursor.position = end + 1
        return tuple(read_size(size.strip()) for size in sizes.split(",") if size.strip())
    word = cursor.match(_TYPE_WORD)
    if not word:
        raise _UnknownTypeError
    if word[0] in _SEQUENCE_SHAPES and cursor.accept("("):
        shapes: list[Any] = []
        while not cursor.accept(")"):
            if shapes and not cursor.accept(", "):
                raise _UnknownTypeError
            shapes.append(_read_shape(cursor, depth + 1))
        return shapes
    return () if word[0] == "NoShape" else None


def _combine(dtype: _Dtype, shape: _Shape) -> Type:
    if dtype.name in ("Ref", "Tensor") and len(dtype.children) == 1:
        return _combine(dtype.children[0][0], shape)
    if dtype.name in _SEQUENCES and isinstance(shape, list):
        element_types = (child for child, times in dtype.children for child in repeat(child, times))
        found = tuple(_combine(*pair) for pair in zip(element_types, shape, strict=False))
        if len(found) == len(shape):
            return found
    if dtype.name == "null":
        return UNKNOWN_TYPE
    return Leaf(_dtype_text(dtype), shape if isinstance(shape, tuple) else ())


def _dtype_text(dtype: _Dtype) -> str:
    if dtype.name in ("UMonad", "IOMonad"):
        return "monad"
    if not dtype.children:
        return dtype_name(dtype.name)
    inside = ",".join(
        _dtype_text(child) + (f"*{times}" if times > 1 else "") for child, times in dtype.children
    )
    return f"{dtype.name}[{inside}]"
