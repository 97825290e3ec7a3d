r"""Escapes names from a model: terminal control and bidirectional characters become visible.

>>> printable_text("a\x1b[31mb\n\u202ec")
'a\\x1b[31mb\\n\\u202ec'
>>> printable_text("abcdef", limit=4)
'abc…'
"""

from __future__ import annotations

import unicodedata

ESCAPED_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
"""Unicode general categories of the characters that are escaped.

The categories are: control characters, format characters (bidirectional marks, joiners, BOM),
private use, surrogates, unassigned characters, line separators and paragraph separators.
"""

_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
LIMIT = 2000
"""Length of the longest name that a report shows in full, in characters."""


def _escape(character: str) -> str:
    code = ord(character)
    if character in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[character]
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )


def printable_text(text: str, *, limit: int = LIMIT) -> str:
    """Returns `text` as one line of visible characters.

    The function first cuts a longer `text` to `limit` characters, the last of which is ``…``. Then
    it replaces invisible characters by escape sequences. So the result may be longer than `limit`.
    """
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        _escape(character) if unicodedata.category(character) in ESCAPED_CATEGORIES else character
        for character in text
    )


def scope_of(name: str) -> str:
    """Returns the scope of a full name: ``Default/q-Dense`` for ``Default/q-Dense/MatMul-op0``."""
    return name.rpartition("/")[0]
