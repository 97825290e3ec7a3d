"""Extension operations: DSL operations that CANN does not have, for this package's own kernels.

Every operation of `EXT_OPERATIONS` is a function of this module: ``ext.tanh(x)`` and so on.
`expand` lowers an extension operation to CANN operations. CANN operators do not use this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.operation import DslOperation
from tbe_impl.dsl.operations import ext_arrays, ext_functions
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.errors import InputError

EXT_OPERATIONS: Mapping[str, DslOperation] = MappingProxyType(
    {word.name: word for module in (ext_functions, ext_arrays) for word in module.OPERATIONS}
)
"""Maps a name to its extension operation. `operation_table.OPERATIONS` has none of the names."""


def find_operation(name: str) -> DslOperation | None:
    """Returns the CANN or extension operation called `name`, or None if there is none."""
    return OPERATIONS.get(name) or EXT_OPERATIONS.get(name)


def expand(name: str, *args: Any) -> Any:
    """Lowers a call of the extension operation `name` to CANN operations.

    Returns:
        The tensor that the last CANN operation computes.

    Raises:
        InputError: no extension operation `name` exists, or no expansion into CANN operations is
            defined for it.
    """
    from tbe_impl.dsl.operations.expansions import EXPANSIONS

    if name not in EXPANSIONS:
        raise InputError(
            f"{name} has no expansion into words of CANN",
            place=str(user_location()),
            expected=f"one of {', '.join(EXPANSIONS)}",
            got=name,
        )
    return EXPANSIONS[name](*args)


def __getattr__(name: str) -> DslOperation:
    try:
        return EXT_OPERATIONS[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted((*globals(), *EXT_OPERATIONS))
