"""Operators in the TBE DSL, one file each as CANN lays them out, and what they compute.

Each file has ``<op>_compute``, which makes the graph, and ``<op>``, which builds the kernel; they import CANN's names, so that
they are opened by `load` (or `tbe_impl.load_operator`) and not by ``import``. `tbe_impl.ops.formulas` says what each computes.

>>> "swish" in names()
True
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from tbe_impl.errors import InputError

if TYPE_CHECKING:
    from tbe_impl.loading.operator import Operator

HERE = Path(__file__).parent
_OTHERS = ("__init__", "formula", "formulas")


def names() -> tuple[str, ...]:
    """The operators, sorted."""
    return tuple(
        sorted(file.stem for file in HERE.glob("*.py") if not file.stem.startswith(_OTHERS))
    )


def load(name: str) -> Operator:
    """An operator by its name.

    Raises:
        InputError: there is none of that name.
    """
    from tbe_impl.loading.operator import load_operator

    if name not in names():
        near = difflib.get_close_matches(name, names(), 1)
        raise InputError(
            f"there is no operator {name}",
            place="tbe_impl.ops",
            remedy=f"Did you mean {near[0]}?" if near else None,
        )
    return load_operator(HERE / f"{name}.py", name)
