"""Kernels whose sizes are known at call time only: made when an operator has seen several sizes of the same axes.

Sizes are told apart as 0, 1 and more: what is repeated where a size is 1, and what is empty, is another kernel. So an unknown
size is at least 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from tbe_impl.backends import numpy_backend
from tbe_impl.dsl.expr import Const, Expr, Var
from tbe_impl.kernel import Kernel

Sizes = tuple[int, ...]
"""All sizes of all inputs, one after the other."""
PATIENCE = 3
"""So many sizes of an axis get a kernel each; the next makes one for all."""


def kinds(sizes: Sizes) -> Sizes:
    """What has to be the same for one kernel: which sizes are 0 and which are 1."""
    return tuple(min(size, 2) for size in sizes)


def pattern_of(seen: Sequence[Sizes], open_places: frozenset[int] = frozenset()) -> Sizes:
    """Sizes that did not change, as they are; each other one as -1 less the number of its variable.

    Places whose sizes were always equal share a variable. `open_places` are known to change, though they did not yet.
    """
    numbers: dict[tuple[int, ...], int] = {}
    found = []
    for place, column in enumerate(zip(*seen, strict=True)):
        if column[0] < 2 or (len(set(column)) == 1 and place not in open_places):
            found.append(column[0])
        else:
            found.append(-1 - numbers.setdefault(column, len(numbers)))
    return tuple(found)


def fitting(pattern: Sizes, sizes: Sizes) -> dict[int, int] | None:
    """Number of a variable of the pattern → its size; None where the sizes are others."""
    values: dict[int, int] = {}
    for wanted, size in zip(pattern, sizes, strict=True):
        if wanted >= 0:
            if wanted != size:
                return None
        elif size < 2 or values.setdefault(-1 - wanted, size) != size:
            return None
    return values


@dataclass(frozen=True, eq=False)
class Varying:
    """A kernel for all sizes of a pattern.

    Attributes:
        pattern: as `pattern_of` makes it.
        variables: of the graph, by their numbers in the pattern.
        kernel: for them.
    """

    pattern: Sizes
    variables: tuple[Var, ...]
    kernel: Kernel

    def values(self, sizes: Sizes) -> Mapping[int, int] | None:
        """``id`` of each variable → its size; None where the sizes do not fit."""
        found = fitting(self.pattern, sizes)
        if found is None:
            return None
        return {id(variable): found[number] for number, variable in enumerate(self.variables)}

    def outputs(self, values: Mapping[int, int]) -> list[tuple[int, ...]]:
        """Shapes of what it makes."""
        return [
            tuple(_number(size, values) for size in item.tensor.shape)
            for item in self.kernel.outputs
        ]

    @cached_property
    def places(self) -> dict[int, tuple[int, int]]:
        """``id`` of each variable → input and axis where it is read."""
        found: dict[int, tuple[int, int]] = {}
        shapes = [item.tensor.shape for item in self.kernel.inputs]
        for at, size in chain.from_iterable(
            (((i, k), size) for k, size in enumerate(shape)) for i, shape in enumerate(shapes)
        ):
            if isinstance(size, Var):
                found.setdefault(id(size), at)
        return found


def _number(size: Expr, values: Mapping[int, int]) -> int:
    return int(size.value) if isinstance(size, Const) else int(numpy_backend.scalar(size, values))
