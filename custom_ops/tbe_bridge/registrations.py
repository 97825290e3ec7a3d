"""TBE operators that users registered with MindSpore (``op_info_register``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Registration:
    """A TBE operator that a user registered.

    Attributes:
        info: as ``TBERegOp(…).get_op_info()`` gives it.
        file: in which its function is written.
        function: that, where it is known.
    """

    info: Mapping[str, Any]
    file: str
    function: Callable[..., Any] | None = None


registrations: dict[str, Registration] = {}
"""By the operator's name; the last one counts."""
