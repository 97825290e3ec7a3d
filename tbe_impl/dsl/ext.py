"""Words that CANN lacks and our own kernels need; operators in the wild never see them.

``ext.tanh(x)`` and so on: every word of `EXT_WORDS` is a function of this module. `expand` says one in words of CANN.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tbe_impl.dsl import ext_arrays, ext_functions
from tbe_impl.dsl.location import here
from tbe_impl.dsl.operation import Word
from tbe_impl.dsl.operation_table import WORDS
from tbe_impl.errors import InputError

EXT_WORDS: Mapping[str, Word] = MappingProxyType(
    {word.name: word for module in (ext_functions, ext_arrays) for word in module.WORDS}
)
"""By name; none of them is in `tbe_impl.dsl.operation_table.WORDS`."""


def word_named(name: str) -> Word | None:
    """A word of CANN or of this module, by name."""
    return WORDS.get(name) or EXT_WORDS.get(name)


def expand(name: str, *args: Any) -> Any:
    """The word `name` built from words of CANN.

    Raises:
        InputError: there is no such word, or CANN has no words for it.
    """
    from tbe_impl.dsl.expansions import EXPANSIONS

    if name not in EXPANSIONS:
        raise InputError(
            f"{name} has no expansion into words of CANN",
            place=str(here()),
            expected=f"one of {', '.join(EXPANSIONS)}",
            got=name,
        )
    return EXPANSIONS[name](*args)


def __getattr__(name: str) -> Word:
    try:
        return EXT_WORDS[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted((*globals(), *EXT_WORDS))
