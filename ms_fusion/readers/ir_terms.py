"""Parses the terms of MindSpore's IR text: arguments and attribute blocks.

Each function reads from a `Cursor` over one statement. The cursor stores the position of the
statement in the file, so that error messages contain line and column. A function reads each
character at most once, and never reads beyond the end of the statement.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from ms_fusion.graph import DTYPE_BYTES
from ms_fusion.readers.refusal import refuse

MAX_DEPTH = 64
"""Maximum nesting depth of brackets in a file."""

MAX_RANK = 16
"""Maximum rank of a constant tensor whose elements are read."""

REMEDY = (
    "The file is damaged or was written by a version that is not known here: make the dump again"
)


@dataclass(frozen=True)
class Reference:
    """A name that is used as an argument.

    `kind` is ``local`` (``%3``), ``parameter`` (``%para3_x``), ``graph`` (``@name``) or ``free``
    (``$(@graph:%3)``). For ``local`` and ``parameter``, `name` is the number. For ``graph``, `name`
    is the graph's name without ``@``. For ``free``, `name` is the whole text.
    """

    kind: str
    name: str


@dataclass(frozen=True)
class Literal:
    """A constant in the text; `data` is None if the dump omits the elements (``[...]``)."""

    data: Any
    dtype: str
    shape: tuple[int | str, ...] = ()


@dataclass(frozen=True)
class Group:
    """A tuple of terms, at least one of which is not a constant.

    A tuple of constants is a `Literal`.
    """

    items: tuple[Term, ...]


Term = Reference | Literal | Group


class Cursor:
    """A position in the text of a statement.

    `line` is the number of the line at which the statement's text begins, counted from 1. `indent`
    is the number of characters to the left of the text in this line.
    """

    __slots__ = ("file", "indent", "line", "position", "text")

    def __init__(self, text: str, *, file: str, line: int, indent: int = 0):
        self.text, self.file, self.line, self.indent, self.position = text, file, line, indent, 0

    def fail(self, what: str, *, position: int | None = None) -> NoReturn:
        """Raises `ParseError` with the position in the file and the surrounding text."""
        at = min(self.position if position is None else position, len(self.text))
        before = self.text.count("\n", 0, at)
        start = self.text.rfind("\n", 0, at) + 1
        column = at - start + 1 + (0 if before else self.indent)
        end = self.text.find("\n", at)
        line_text = self.text[start : len(self.text) if end < 0 else end]
        excerpt = line_text[max(0, at - start - 60) : at - start + 60]
        refuse(
            what,
            file=self.file,
            line=self.line + before,
            column=column,
            text=excerpt,
            remedy=REMEDY,
        )

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Moves the cursor behind a match of `pattern`; returns the match, or None."""
        found = pattern.match(self.text, self.position)
        if found:
            self.position = found.end()
        return found

    def accept(self, word: str) -> bool:
        if self.text.startswith(word, self.position):
            self.position += len(word)
            return True
        return False

    def expect(self, word: str) -> None:
        if not self.accept(word):
            self.fail(f"{word!r} is missing")

    def skip_space(self) -> None:
        self.match(_SPACE)

    @property
    def is_at_end(self) -> bool:
        return self.position >= len(self.text)


_SPACE = re.compile(r"\s*")
_PARAMETER = re.compile(r"%para(\d+)_")
PLAIN_NAME = re.compile(r"[^\s,()\[\]{}]*")
_LOCAL_NAME = re.compile(r"%(\d+)(?![\w(])")
_GRAPH = re.compile(r"@[^\s,()\[\]{}@]+")
_SCALAR = re.compile(r"(Bool|BF16|[IUF](?:4|8|16|32|64))\(([^()\n]{0,80})\)")
_TENSOR = re.compile(r"Tensor\(shape=\[([-\w, ]*)\], dtype=(\w+), value=")
_NUMBER = re.compile(r"-?(?:\d{1,60}(?:\.\d{0,60})?(?:[eE][-+]?\d{1,5})?|inf|nan)(?=\s*[,)\]}]|$)")
_MONAD = re.compile(r"(?:U|IO)Monad\[\w+\]")
_UNBRACKETED_TEXT = re.compile(r"[^\[\](){},]+")
_STRING_END = re.compile(r"\"(?=\s{0,8}[,)\]]|$)")
_STRING_END_IN_ATTRIBUTES = re.compile(
    r"\"(?=, [\w .\-]{1,120}: |\}\s*$|\} \w{1,40}_attrs: \{|\} \{)"
)
_KEY = re.compile(r"\s*([^:{}\"\n]{1,200}?): ?")
_CLOSING_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_WORDS: Mapping[str, Any] = {"None": None, "null": None, "true": True, "false": False}
_SHORT_DTYPES = {"F": "float", "I": "int", "U": "uint", "BF": "bfloat"}
_SHORT_DTYPE = re.compile(r"(BF|[FIU])(\d+)$")


def dtype_name(text: str) -> str:
    """Returns NumPy's name of a MindSpore dtype (``Float32``, ``F32``, ``Bool``).

    Any other text is returned unchanged.
    """
    lowered = text.lower()
    if lowered in DTYPE_BYTES:
        return lowered
    short = _SHORT_DTYPE.match(text)
    return f"{_SHORT_DTYPES[short[1]]}{short[2]}" if short else text


def read_term(
    cursor: Cursor, spellings: Mapping[str, str], *, depth: int = 0, in_attributes: bool = False
) -> Term:
    """Parses one argument or attribute value.

    `spellings` is a dict from the index of a parameter to its name. The dict contains the
    parameters whose names have brackets, commas or spaces.
    """
    if depth > MAX_DEPTH:
        cursor.fail("brackets are nested too deeply")
    cursor.skip_space()
    if cursor.is_at_end:
        cursor.fail("the text ends in the middle of a statement")
    first = cursor.text[cursor.position]
    if first == "%":
        return _read_reference(cursor, spellings)
    if first == '"':
        return _read_string(cursor, _STRING_END_IN_ATTRIBUTES if in_attributes else _STRING_END)
    if first in "([":
        return _read_sequence(cursor, spellings, depth)
    if (
        first == "@"
        and (found := _GRAPH.match(cursor.text, cursor.position))
        and not _is_call(found)
    ):
        cursor.position = found.end()
        return Reference("graph", found[0][1:])
    if first == "$":
        return Reference("free", read_raw(cursor))
    if found := cursor.match(_SCALAR):
        return _read_scalar(cursor, found)
    if found := cursor.match(_TENSOR):
        return _read_tensor(cursor, found)
    if cursor.match(_MONAD):
        return Literal(None, "monad")
    if found := cursor.match(_NUMBER):
        return Literal(_number(found[0]), "int64" if _is_integer(found[0]) else "float64")
    return _read_word(read_raw(cursor).strip())


def _is_call(found: re.Match[str]) -> bool:
    """Returns whether an opening bracket follows the name `found`, as in ``@FuncUnion(@a, @b)``."""
    return found.string.startswith("(", found.end())


def read_raw(cursor: Cursor) -> str:
    """Returns the text up to the first comma or closing bracket outside inner brackets.

    Raises `ParseError` if an inner bracket has no counterpart.
    """
    start, open_brackets, text = cursor.position, [], cursor.text
    while not cursor.is_at_end:
        if cursor.match(_UNBRACKETED_TEXT):
            continue
        character = text[cursor.position]
        if character in "([{":
            open_brackets.append(_CLOSING_BRACKETS[character])
        elif not open_brackets:
            break
        elif character != "," and open_brackets.pop() != character:
            cursor.fail("brackets do not pair")
        cursor.position += 1
    if open_brackets:
        cursor.fail(f"{open_brackets[-1]!r} is missing")
    if cursor.position == start:
        cursor.fail("a value is missing")
    return text[start : cursor.position]


def read_attributes(cursor: Cursor, spellings: Mapping[str, str]) -> dict[str, Any]:
    """Parses a block ``{name: value, …}`` into Python values."""
    cursor.expect("{")
    attributes: dict[str, Any] = {}
    if cursor.accept("}"):
        return attributes
    while True:
        key = cursor.match(_KEY)
        if not key:
            cursor.fail("the name of an attribute is missing")
        if cursor.text[cursor.position : cursor.position + 1] in ("", ",", "}"):
            attributes[key[1]] = ""
        else:
            attributes[key[1]] = python_value(read_term(cursor, spellings, in_attributes=True))
        cursor.skip_space()
        if cursor.accept("}"):
            return attributes
        cursor.expect(",")


def python_value(term: Term) -> Any:
    """Converts a term to numbers, strings and nested tuples; converts a reference to its text."""
    if isinstance(term, Literal):
        return term.data
    if isinstance(term, Group):
        return tuple(python_value(item) for item in term.items)
    return {"graph": "@", "local": "%", "parameter": "%para", "free": ""}[term.kind] + term.name


def group(items: tuple[Term, ...]) -> Term:
    """Returns one `Literal` for terms that are all constants, else a `Group` of the terms.

    Here a monad (a token of side effects) does not count as a constant.
    """
    if not all(isinstance(item, Literal) for item in items):
        return Group(items)
    literals = [item for item in items if isinstance(item, Literal)]
    if any(literal.dtype == "monad" for literal in literals):
        return Group(items)
    data = tuple(literal.data for literal in literals)
    dtypes = {literal.dtype for literal in literals}
    if len(dtypes) == 1 and not any(literal.shape for literal in literals):
        return Literal(data, dtypes.pop(), (len(data),))
    return Literal(data, "int64" if not data else "tuple", (0,) if not data else ())


def _read_reference(cursor: Cursor, spellings: Mapping[str, str]) -> Reference:
    if found := cursor.match(_PARAMETER):
        index = found[1]
        rest = spellings.get(index)
        if rest is None or not cursor.accept(rest):
            cursor.match(PLAIN_NAME)
        return Reference("parameter", index)
    if found := cursor.match(_LOCAL_NAME):
        return Reference("local", found[1])
    cursor.fail("this is not the name of a value")


def _read_string(cursor: Cursor, end: re.Pattern[str]) -> Literal:
    found = end.search(cursor.text, cursor.position + 1)
    if not found:
        cursor.fail("a string does not end")
    data = cursor.text[cursor.position + 1 : found.start()]
    cursor.position = found.end()
    return Literal(data, "string")


def _read_sequence(cursor: Cursor, spellings: Mapping[str, str], depth: int) -> Term:
    closing = _CLOSING_BRACKETS[cursor.text[cursor.position]]
    cursor.position += 1
    return group(read_items(cursor, spellings, closing, depth=depth + 1))


def read_items(
    cursor: Cursor, spellings: Mapping[str, str], closing: str, *, depth: int = 0
) -> tuple[Term, ...]:
    """Parses comma-separated terms up to and including the closing bracket."""
    items: list[Term] = []
    cursor.skip_space()
    while not cursor.accept(closing):
        items.append(read_term(cursor, spellings, depth=depth))
        cursor.skip_space()
        if not cursor.accept(","):
            cursor.expect(closing)
            break
        cursor.skip_space()
    return tuple(items)


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def _number(text: str) -> int | float:
    return int(text) if _is_integer(text) and len(text) < 40 else float(text)


def _read_scalar(cursor: Cursor, found: re.Match[str]) -> Literal:
    kind, text = found[1], found[2].strip()
    try:
        if kind == "Bool":
            return Literal(text in ("1", "true", "True"), "bool")
        return Literal(float(text) if "F" in kind else _number(text), dtype_name(kind))
    except ValueError:
        cursor.fail(f"this is not a number of type {kind}", position=found.start(2))


def _read_tensor(cursor: Cursor, found: re.Match[str]) -> Literal:
    shape = tuple(read_size(size) for size in found[1].replace(",", " ").split())
    dtype = dtype_name(found[2])
    start = cursor.position
    text = ""
    if not cursor.text.startswith(")", start):
        text = read_raw(cursor)
        while cursor.accept(","):
            text += " " + (
                read_raw(cursor) if not cursor.text.startswith(")", cursor.position) else ""
            )
    cursor.expect(")")
    return Literal(_tensor_data(text, dtype, shape), dtype, shape)


def read_size(text: str) -> int | str:
    return int(text) if text.removeprefix("-").isdecimal() and len(text) < 20 else text


def _tensor_data(text: str, dtype: str, shape: tuple[int | str, ...]) -> Any:
    """Returns the elements of a tensor as nested tuples, or None if some are omitted."""
    if len(shape) > MAX_RANK:
        return None
    words = text.replace("[", " ").replace("]", " ").split()
    try:
        flat = [_element(word, dtype) for word in words]
    except (KeyError, ValueError):
        return None
    if not shape:
        return flat[0] if len(flat) == 1 else None
    values: list[Any] = flat
    for size in reversed(shape[1:]):
        if not isinstance(size, int) or size < 1 or len(values) % size:
            return None
        values = [tuple(values[start : start + size]) for start in range(0, len(values), size)]
    return tuple(values) if len(values) == shape[0] else None


def _element(word: str, dtype: str) -> Any:
    if dtype == "bool":
        return {"true": True, "1": True, "false": False, "0": False}[word.lower()]
    if dtype.startswith("complex"):
        return complex(word.strip("()"))
    return float(word) if "float" in dtype else _number(word)


def _read_word(text: str) -> Literal:
    if text in _WORDS:
        return Literal(_WORDS[text], "bool" if isinstance(_WORDS[text], bool) else "None")
    dtype = dtype_name(text)
    if dtype != text:
        return Literal(dtype, "dtype")
    return Literal(text, "text")
