"""Defines operators in the TBE DSL, one file per operator as in CANN, and their NumPy formulas.

Each file defines two functions: ``<op>_compute`` builds the graph, and ``<op>`` builds the kernel.
The files import CANN's modules. The files are therefore loaded by `load` or
`tbe_impl.load_operator`, not by ``import``. `tbe_impl.ops.formulas` contains the formula of each
operator.

>>> "swish" in names()
True
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tbe_impl.errors import InputError, suggest_name

if TYPE_CHECKING:
    from tbe_impl.loading.operator import Operator

HERE = Path(__file__).parent
_OTHERS = ("__init__", "formula", "kernel_building")


def names() -> tuple[str, ...]:
    """Returns the names of the operators, sorted."""
    return tuple(
        sorted(file.stem for file in HERE.glob("*.py") if not file.stem.startswith(_OTHERS))
    )


def load(name: str) -> Operator:
    """Loads an operator by its name.

    Raises:
        InputError: there is no operator of that name.
    """
    from tbe_impl.loading.operator import load_operator

    if name not in names():
        raise InputError(
            f"there is no operator {name}",
            place="tbe_impl.ops",
            remedy=suggest_name(name, names()),
        )
    return load_operator(HERE / f"{name}.py", name)
