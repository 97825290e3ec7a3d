"""Kernels whose sizes are known at call time only: made when an operator has seen several sizes of the same axes.

Sizes are told apart as 0, 1 and more: what is repeated where a size is 1, and what is empty, is another kernel. So an unknown
size is at least 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from time import perf_counter
from typing import Any

import numpy as np

from custom_ops.core.kernel_interface import Described, program_of, several
from custom_ops.core.kernel_sequence import InC
from tbe_impl.cpu.call import Loaded
from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.dsl.expr import Var
from tbe_impl.interpreter import evaluate
from tbe_impl.kernel import Kernel

Sizes = tuple[int, ...]
"""All sizes of all inputs, one after the other."""
PATIENCE = 3
"""So many sizes of an axis get a kernel each; the next makes one for all."""
LAST_SIZES = 8
"""With more sizes of a last axis that one comes later too."""
SHORT_S = 1e-4
"""What a kernel may take without being compared."""
MANY = 1 << 20
"""With so many numbers a kernel is not tried."""
SMALL_SIZE = 64


def sizes_of(given: Sequence[Described]) -> Sizes:
    """Of inputs."""
    return tuple(size for one in given for size in one.shape)


def kinds(sizes: Sizes) -> Sizes:
    """What has to be the same for one kernel: which sizes are 0 and which are 1."""
    return tuple(min(size, 2) for size in sizes)


def last_axes(given: Sequence[Described]) -> frozenset[int]:
    """Places of the sizes of last axes, of inputs with others before."""
    found, first = set(), 0
    for one in given:
        first += len(one.shape)
        if len(one.shape) > 1:
            found.add(first - 1)
    return frozenset(found)


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

    def outputs(self, sizes: Sizes) -> list[tuple[int, ...]]:
        """Shapes of what it makes from inputs of sizes that fit."""
        found = fitting(self.pattern, sizes)
        assert found is not None
        values = {id(variable): found[number] for number, variable in enumerate(self.variables)}
        return [
            tuple(int(evaluate.scalar(size, values)) for size in item.tensor.shape)
            for item in self.kernel.outputs
        ]

    @cached_property
    def program(self) -> tuple[Loaded, list[int], list[int]] | None:
        """Its function, the parameter that each buffer is, and the place among all sizes of inputs where each of its sizes
        is read; None where it is no single function of sizes of its inputs.

        Raises:
            FusionError: it cannot be compiled.
        """
        found = program_of(self.kernel)
        numbers = {id(variable): -1 - number for number, variable in enumerate(self.variables)}
        if found is None or any(id(size) not in numbers for size in found[0].program.sizes):
            return None
        places = [self.pattern.index(numbers[id(size)]) for size in found[0].program.sizes]
        return *found, places


def shrunk(pattern: Sizes) -> Sizes:
    """With small numbers in the place of large ones, equal for equal."""
    large = sorted({size for size in pattern if size > SMALL_SIZE})
    return tuple(8 * (1 + large.index(size)) if size in large else size for size in pattern)


def tried_with(given: Sequence[Described], sizes: Sequence[int]) -> list[np.ndarray] | None:
    """Arrays like those described, of these sizes; None for many numbers."""
    rng, left = np.random.default_rng(0), iter(sizes)
    shapes = [tuple(next(left) for _ in one.shape) for one in given]
    if sum(map(prod, shapes)) > MANY:
        return None
    dtypes = [dtype_of(one.dtype) for one in given]
    return [
        (rng.standard_normal(shape) if is_float(dtype.name) else rng.integers(0, 2, shape)).astype(
            dtype.numpy
        )
        for shape, dtype in zip(shapes, dtypes, strict=True)
    ]


def quickest(kernel: Kernel, arrays: Sequence[np.ndarray]) -> float:
    """Seconds of the quickest of a few calls."""
    times = []
    for _ in range(4):
        begin = perf_counter()
        kernel(*arrays)
        times.append(perf_counter() - begin)
    return min(times)


def agree(one: Kernel, other: Kernel, arrays: Sequence[np.ndarray]) -> bool:
    """Whether two kernels define the same. An operator that counts with a size as a number may mean another one where the
    size is not known: `1 / size` is a fraction of numbers, and a whole number of sizes."""
    made = [several(kernel(*arrays, backend="numpy")) for kernel in (one, other)]
    return all(
        a.shape == b.shape
        and a.dtype == b.dtype
        and np.allclose(
            a.astype(np.float64), b.astype(np.float64), rtol=1e-2, atol=1e-3, equal_nan=True
        )
        for a, b in zip(*made, strict=True)
    )


@dataclass(frozen=True, eq=False)
class Bound:
    """A kernel of unknown sizes for inputs of known ones."""

    varying: Varying
    inputs: tuple[Described, ...]
    outputs: tuple[Described, ...]

    @property
    def whole(self) -> InC | None:
        """Its function, told the sizes; None where it has to be called as it is."""
        if self.varying.program is None:
            return None
        loaded, order, places = self.varying.program
        sizes = sizes_of(self.inputs)
        return InC(loaded.function, order, tuple(sizes[place] for place in places))

    def __call__(self, *arrays: np.ndarray, out: Sequence[np.ndarray] | None = None) -> Any:
        """The outputs: an array, or a tuple."""
        return self.varying.kernel(*arrays, out=out)
