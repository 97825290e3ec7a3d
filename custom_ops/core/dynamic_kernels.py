"""Defines dynamic-shape kernels, each of which supports several sizes of the same input axes.

Inputs with a size 0 or 1 always get static kernels, because empty arrays and broadcasting need
separate kernels. A dynamic size is therefore at least 2.
"""

from __future__ import annotations

import timeit
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from custom_ops.core.kernel_interface import ArraySpec, program_of, to_tuple
from tbe_impl.cpu.loaded_program import LoadedProgram
from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.dsl.expr import Var
from tbe_impl.interpreter import evaluate
from tbe_impl.kernel import Kernel
from tbe_impl.runtime.sequence import CFunction

Sizes = tuple[int, ...]
"""Sizes of all inputs, concatenated."""
PATIENCE = 3
"""Number of different input sizes that get static kernels before a dynamic kernel is built."""
LAST_SIZES = 8
"""Number of different last-axis sizes after which the last axis becomes dynamic too."""
SHORT_S = 1e-4
"""Seconds that a dynamic kernel may take in addition to twice the time of a static kernel."""
MAX_TRIAL_ELEMENTS = 1 << 20
"""Largest number of input elements with which a dynamic kernel is tested."""
SMALL_SIZE = 64


def sizes_of(given: Sequence[ArraySpec]) -> Sizes:
    """Returns the sizes of all inputs, concatenated."""
    return tuple(size for one in given for size in one.shape)


def classify_sizes(sizes: Sizes) -> Sizes:
    """Returns the class of each size: 0, 1, or 2 for all larger sizes."""
    return tuple(min(size, 2) for size in sizes)


def last_axes(given: Sequence[ArraySpec]) -> frozenset[int]:
    """Returns the indices of the sizes of last axes in the concatenated sizes of all inputs.

    Inputs of rank 0 or 1 are left out.
    """
    found, first = set(), 0
    for one in given:
        first += len(one.shape)
        if len(one.shape) > 1:
            found.add(first - 1)
    return frozenset(found)


def pattern_of(seen: Sequence[Sizes], open_places: frozenset[int] = frozenset()) -> Sizes:
    """Returns the pattern of the sizes in `seen`, which marks each size as constant or variable.

    The pattern has one element for each axis of the inputs. The element of a constant axis is the
    size. The element of a variable axis is −1 − v, where v is the number of its size variable. Axes
    whose sizes were equal in all of `seen` share a variable. The axes in `open_places` are variable
    even if their size was constant so far.
    """
    numbers: dict[tuple[int, ...], int] = {}
    found = []
    for place, column in enumerate(zip(*seen, strict=True)):
        if column[0] < 2 or (len(set(column)) == 1 and place not in open_places):
            found.append(column[0])
        else:
            found.append(-1 - numbers.setdefault(column, len(numbers)))
    return tuple(found)


def match_pattern(pattern: Sizes, sizes: Sizes) -> dict[int, int] | None:
    """Returns a dict from the number of each size variable to the size.

    Returns None if `sizes` do not match `pattern`.
    """
    values: dict[int, int] = {}
    for wanted, size in zip(pattern, sizes, strict=True):
        if wanted >= 0:
            if wanted != size:
                return None
        elif size < 2 or values.setdefault(-1 - wanted, size) != size:
            return None
    return values


@dataclass(frozen=True, eq=False)
class DynamicKernel:
    """Kernel for all sizes that match a pattern.

    Attributes:
        pattern: the pattern, in the format of `pattern_of`.
        variables: size variables of the graph, indexed by their number in the pattern.
        kernel: the kernel, traced with these variables as sizes.
    """

    pattern: Sizes
    variables: tuple[Var, ...]
    kernel: Kernel

    def outputs(self, sizes: Sizes) -> list[tuple[int, ...]]:
        """Returns the output shapes for input sizes that match the pattern."""
        found = match_pattern(self.pattern, sizes)
        assert found is not None
        values = {id(variable): found[number] for number, variable in enumerate(self.variables)}
        return [
            tuple(int(evaluate.evaluate_scalar(size, values)) for size in item.tensor.shape)
            for item in self.kernel.outputs
        ]

    @cached_property
    def program(self) -> tuple[LoadedProgram, list[int], list[int]] | None:
        """The tuple (program, indices of the buffers, indices of the size arguments), or None.

        The index of a buffer is the position of its array among the kernel's inputs and outputs.
        The index of a size argument is its position among the concatenated sizes of all inputs. The
        result is None if the kernel does not consist of a single program, or if a size argument is
        not an input's size.

        Raises:
            FusionError: compilation failed.
        """
        found = program_of(self.kernel)
        numbers = {id(variable): -1 - number for number, variable in enumerate(self.variables)}
        if found is None or any(id(size) not in numbers for size in found[0].program.sizes):
            return None
        places = [self.pattern.index(numbers[id(size)]) for size in found[0].program.sizes]
        return *found, places


def shrink_pattern(pattern: Sizes) -> Sizes:
    """Replaces sizes above `SMALL_SIZE` by small sizes; equal sizes stay equal."""
    large = sorted({size for size in pattern if size > SMALL_SIZE})
    return tuple(8 * (1 + large.index(size)) if size in large else size for size in pattern)


def random_arrays(given: Sequence[ArraySpec], sizes: Sequence[int]) -> list[np.ndarray] | None:
    """Returns random arrays of these sizes, or None if the arrays would be too large in total."""
    rng, left = np.random.default_rng(0), iter(sizes)
    shapes = [tuple(next(left) for _ in one.shape) for one in given]
    if sum(map(prod, shapes)) > MAX_TRIAL_ELEMENTS:
        return None
    dtypes = [dtype_of(one.dtype) for one in given]
    return [
        (rng.standard_normal(shape) if is_float(dtype.name) else rng.integers(0, 2, shape)).astype(
            dtype.numpy
        )
        for shape, dtype in zip(shapes, dtypes, strict=True)
    ]


def time_fastest_call(kernel: Kernel, arrays: Sequence[np.ndarray]) -> float:
    """Returns the seconds of the fastest of four calls."""
    return min(timeit.repeat(lambda: kernel(*arrays), repeat=4, number=1))


def is_equivalent(one: Kernel, other: Kernel, arrays: Sequence[np.ndarray]) -> bool:
    """Whether two kernels compute the same result on `arrays`, within a tolerance.

    If `forward` computes with a size, its result may be different when the size is dynamic. For
    example, ``1 / size`` is a fraction if the size is a Python number, but an integer division if
    the size is symbolic.
    """
    made = [to_tuple(kernel(*arrays, backend="numpy")) for kernel in (one, other)]
    return all(
        a.shape == b.shape
        and a.dtype == b.dtype
        and np.allclose(
            a.astype(np.float64), b.astype(np.float64), rtol=1e-2, atol=1e-3, equal_nan=True
        )
        for a, b in zip(*made, strict=True)
    )


@dataclass(frozen=True, eq=False)
class BoundKernel:
    """Dynamic kernel together with the shapes and dtypes of the inputs and outputs of one call."""

    varying: DynamicKernel
    inputs: tuple[ArraySpec, ...]
    outputs: tuple[ArraySpec, ...]

    @property
    def c_function(self) -> CFunction | None:
        """The C function with its size arguments, or None if only Python can call the kernel."""
        if self.varying.program is None:
            return None
        loaded, order, places = self.varying.program
        sizes = sizes_of(self.inputs)
        return CFunction(loaded.function, order, tuple(sizes[place] for place in places))

    def __call__(self, *arrays: np.ndarray, out: Sequence[np.ndarray] | None = None) -> Any:
        """Returns the output array, or a tuple of arrays if there are several outputs."""
        return self.varying.kernel(*arrays, out=out)
