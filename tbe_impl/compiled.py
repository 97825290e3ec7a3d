"""Defines the interfaces between kernels and back ends: `Planned`, `Compiled` and `CodeUse`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class CodeUse:
    """The code of a kernel.

    Attributes:
        symbols: names of the generated functions in execution order.
        libraries: the library files from which the functions were loaded.
        words: names of the DSL operations that a library computes between the calls of the
            functions.
        problem: the reason why there is no code, or an empty string. If there is no code, the next
            back end of `BACKENDS` runs the kernel.
    """

    symbols: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    problem: str = ""


class Compiled(Protocol):
    """A graph that a back end has compiled."""

    @property
    def source(self) -> str:
        """The generated text."""

    def run(
        self,
        arrays: Sequence[np.ndarray],
        values: Mapping[int, int | float],
        threads: int,
        results: Sequence[np.ndarray] | None = None,
    ) -> tuple[np.ndarray, ...]:
        """Computes the outputs.

        Args:
            arrays: one array for each input, with the dtype and shape of that input.
            values: maps the ``id`` of each size or scalar known only at run time to its value.
            threads: maximum number of threads.
            results: dense arrays that receive the outputs. They have the dtypes of the outputs. By
                default, new arrays are allocated.

        Raises:
            InputError: the back end cannot run on this processor.
        """

    def report(self) -> CodeUse:
        """Returns the names of the generated functions and their files."""


class Planned(Protocol):
    """A graph that a back end can build, before it is compiled."""

    def compile(self) -> Compiled:
        """Compiles the graph.

        Raises:
            MissingError: a tool such as the C compiler is missing.
            CompileError: code generation or compilation failed.
        """
