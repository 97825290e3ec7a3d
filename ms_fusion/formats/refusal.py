"""How every reader here says no."""

from __future__ import annotations

from typing import NoReturn

from tbe_impl.errors import ParseError

LONGEST = 400
"""Characters of one sentence; names in a file may be of any length."""


def refuse(
    what: str, *, file: str, line: int, column: int = 1, text: str = "", remedy: str | None = None
) -> NoReturn:
    """Raise `ParseError` with the place; a name of any length inside `what` is shortened."""
    if len(what) > LONGEST:
        what = f"{what[: LONGEST // 2]}…{what[-LONGEST // 2 :]}"
    raise ParseError(what, file=file, line=line, column=column, text=text, remedy=remedy) from None
