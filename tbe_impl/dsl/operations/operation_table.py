"""Collects every CANN operation of the DSL in one table."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tbe_impl.dsl.operation import DslOperation
from tbe_impl.dsl.operations import (
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

OPERATIONS: Mapping[str, DslOperation] = MappingProxyType(
    {word.name: word for module in MODULES for word in module.OPERATIONS}
)
"""Maps a name to its CANN operation."""
