"""Raises the `ParseError` of all readers in this package."""

from __future__ import annotations

from typing import NoReturn

from tbe_impl.errors import ParseError

SENTENCE_LENGTH_MAX = 400
"""Length limit of one sentence, characters; names in a file may be of any length."""


def refuse(
    what: str, *, file: str, line: int, column: int = 1, text: str = "", remedy: str | None = None
) -> NoReturn:
    """Raise `ParseError` with the position; a sentence `what` that is too long is shortened."""
    if len(what) > SENTENCE_LENGTH_MAX:
        what = f"{what[: SENTENCE_LENGTH_MAX // 2]}…{what[-SENTENCE_LENGTH_MAX // 2 :]}"
    raise ParseError(what, file=file, line=line, column=column, text=text, remedy=remedy) from None
