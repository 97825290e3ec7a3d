"""Every word of the language that CANN has, in one visible table."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tbe_impl.dsl import elementwise
from tbe_impl.dsl.word import Word

WORDS: Mapping[str, Word] = MappingProxyType(
    {word.name: word for module in (elementwise,) for word in module.WORDS}
)
"""By name."""
