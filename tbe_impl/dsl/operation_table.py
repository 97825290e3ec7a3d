"""Every word of the language that CANN has, in one visible table."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tbe_impl.dsl import (
    casts,
    compare,
    convolution,
    cube,
    elementwise,
    indexing,
    reductions,
    segments,
    shaping,
    window_gradients,
    windows,
)
from tbe_impl.dsl.operation import Word

MODULES = (
    elementwise,
    casts,
    compare,
    shaping,
    reductions,
    indexing,
    segments,
    windows,
    window_gradients,
    cube,
    convolution,
)

WORDS: Mapping[str, Word] = MappingProxyType(
    {word.name: word for module in MODULES for word in module.WORDS}
)
"""By name."""
