"""Defines the function by which all readers of this package raise `ParseError`."""

from __future__ import annotations

from typing import NoReturn

from tbe_impl.errors import ParseError

SENTENCE_LENGTH_MAX = 400
"""Maximum number of characters of an error message, since names in a file may be long."""


def refuse(
    what: str, *, file: str, line: int, column: int = 1, text: str = "", remedy: str | None = None
) -> NoReturn:
    """Raises `ParseError` with the position and the message `what`.

    The function shortens a message that is too long.
    """
    if len(what) > SENTENCE_LENGTH_MAX:
        what = f"{what[: SENTENCE_LENGTH_MAX // 2]}…{what[-SENTENCE_LENGTH_MAX // 2 :]}"
    raise ParseError(what, file=file, line=line, column=column, text=text, remedy=remedy) from None
