"""Stores the TBE operators that users registered with MindSpore (``op_info_register``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Registration:
    """TBE operator registered by a user.

    Attributes:
        info: result of ``TBERegOp(…).get_op_info()``.
        file: path of the file that defines the operator's function.
        function: the operator's function, or None if the function was not loaded yet.
    """

    info: Mapping[str, Any]
    file: str
    function: Callable[..., Any] | None = None


registrations: dict[str, Registration] = {}
"""Dict from the name of an operator to the last registration with this name."""
