r"""Names from a model are data: what could steer a terminal or reorder a line is shown as its escape.

>>> printable("a\x1b[31mb\n\u202ec")
'a\\x1b[31mb\\n\\u202ec'
>>> printable("abcdef", limit=4)
'abc…'
"""

from __future__ import annotations

import unicodedata

ESCAPED_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
"""Controls, format characters (bidirectional marks, joiners, byte-order marks), private, surrogate, unassigned, separators."""

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
LIMIT = 2000
"""Longest name that a report shows whole."""


def _escape(character: str) -> str:
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )


def printable(text: str, *, limit: int = LIMIT) -> str:
    """The text in one line of visible characters, cut with … after `limit` of them."""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        _escape(character) if unicodedata.category(character) in ESCAPED_CATEGORIES else character
        for character in text
    )


def scope_of(name: str) -> str:
    """The part of a full name before the operator: ``Default/q-Dense/MatMul-op0`` → ``Default/q-Dense``."""
    return name.rpartition("/")[0]
