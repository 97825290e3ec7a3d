"""Binds the arrays of a call to the arguments of a kernel; infers run-time sizes and shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tbe_impl.dsl.blocked_sizes import (
    match_blocked_size,
    pad_with_zeros,
    real_size,
    sizes_in_blocks,
)
from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.dsl.expr import Const, Expr, Var
from tbe_impl.dsl.layouts import BLOCK
from tbe_impl.dsl.merged_sizes import merged_variables, split_merged_sizes
from tbe_impl.dsl.tensor import Tensor, shape_text, static_shape, variables_of
from tbe_impl.errors import InputError
from tbe_impl.interpreter import evaluate
from tbe_impl.records import Record

_TRUTH = ({"bool", "int8"}, {"bool", "uint8"})


class Argument(Record):
    """An input or output of a kernel.

    Attributes:
        tensor: tensor of the graph. The shape of the tensor may differ from `shape`, because an
            operator may flatten its arguments.
        shape: declared shape. A negative size means that the size is known only at call time.
        name: name of the argument in messages.
    """

    tensor: Tensor
    shape: tuple[int, ...]
    name: str

    def __str__(self) -> str:
        return f"{self.name} {self.shape} {self.tensor.dtype}"

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the array."""
        return dtype_of(self.tensor.dtype).numpy

    @cached_property
    def is_resized(self) -> bool:
        """Whether the operator accesses more or fewer elements than the declared shape has.

        The operator accesses the elements in order, from the first element on.
        """
        own = static_shape(self.tensor)
        known = own is not None and all(size >= 0 for size in self.shape)
        return known and prod(own or ()) != prod(self.shape) and prod(self.shape) > 0


class BoundArrays(NamedTuple):
    """The inputs of one call.

    Attributes:
        arrays: the input arrays, in the shapes of the operator's tensors.
        values: ``id`` of a size or scalar that is known only at call time → the value in this call.
        shapes: shapes of the outputs, as the caller sees them.
    """

    arrays: tuple[np.ndarray, ...]
    values: Mapping[int, int | float]
    shapes: tuple[tuple[int, ...], ...]


class Arguments(Record):
    """The arguments of a kernel.

    Attributes:
        name: name of the kernel, for errors.
        inputs, outputs: arguments in the order of the operator's arguments.
    """

    name: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]

    def bind(self, arrays: Sequence[Any], scalars: Mapping[str, float]) -> BoundArrays:
        """Checks the input arrays of a call; computes run-time sizes and shapes of the outputs.

        Args:
            arrays: one array per input.
            scalars: name of a scalar that is not the size of an input axis → its value.

        Raises:
            InputError: the number of arrays, a shape, a dtype or a name in `scalars` is wrong.
        """
        given = self._check_arrays(arrays)
        values = self._sizes(given, scalars)
        shapes = tuple(self._shape_of(item, values, given) for item in self.outputs)
        flat = tuple(
            self._reshape_input(item, array, values)
            for item, array in zip(self.inputs, given, strict=True)
        )
        return BoundArrays(flat, values, shapes)

    @cached_property
    def unknown_sizes(self) -> tuple[Var, ...]:
        """The sizes and scalars that are known only at call time."""
        return tuple(variables_of([item.tensor for item in self.outputs]))

    @property
    def open_sizes(self) -> tuple[Expr, ...]:
        """Unknown sizes and scalars that a call cannot infer from the shapes of its inputs."""
        sizes = [size for item in self.inputs for size in item.tensor.shape]
        known = {id(size) for size in sizes} | {
            id(parts[0]) for parts in map(match_blocked_size, sizes) if parts
        }
        known |= {id(one) for one in merged_variables(sizes)}
        return tuple(item for item in self.unknown_sizes if id(item) not in known)

    @cached_property
    def _has_blocked_sizes(self) -> bool:
        """Whether a size of an input is a constant multiple of a variable, such as 16·m."""
        return any(match_blocked_size(size) for item in self.inputs for size in item.tensor.shape)

    def _check_arrays(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        if len(arrays) != len(self.inputs):
            raise InputError(
                "wrong number of input arrays",
                place=self.name,
                expected=f"{len(self.inputs)} ({', '.join(item.name for item in self.inputs)})",
                got=str(len(arrays)),
            )
        found = []
        for item, array in zip(self.inputs, arrays, strict=True):
            given = np.asarray(array)
            if given.dtype != item.dtype and {given.dtype.name, item.dtype.name} in _TRUTH:
                # booleans are int8 in the toolkit and bool inside operators
                given = given.astype(item.dtype)
            fits = len(given.shape) == len(item.shape) and all(
                size < 0 or size == own for size, own in zip(item.shape, given.shape, strict=True)
            )
            if not fits or given.dtype != item.dtype:
                raise InputError(
                    f"the array for {item.name} has a wrong shape or dtype",
                    place=self.name,
                    expected=f"{shape_text(item.shape)} {item.dtype}",
                    got=f"{shape_text(given.shape)} {given.dtype}",
                    remedy=f"Convert it with .astype({str(item.dtype)!r})" if fits else None,
                )
            found.append(given)
        return found

    def _sizes(
        self, given: Sequence[np.ndarray], scalars: Mapping[str, float]
    ) -> dict[int, int | float]:
        """Returns a dict with the value of each size and scalar that is known only at call time.

        The keys are the ``id`` of the variables.
        """
        values: dict[int, int | float] = {}
        foreign = scalars.keys() - {item.name for item in self.unknown_sizes}
        if foreign:
            raise InputError(
                f"there is no scalar {min(foreign)}",
                place=self.name,
                expected=", ".join(item.name for item in self.unknown_sizes) or "none",
                got=min(foreign),
            )
        if not self.unknown_sizes:
            return values
        for item, array in zip(self.inputs, given, strict=True):
            sizes: Sequence[Expr] = item.tensor.shape
            actual = array.shape if len(sizes) == array.ndim else (array.size,)
            merged = merged_variables(sizes)
            if merged and array.ndim == len(item.shape):
                sizes, actual = merged, tuple(array.shape[one.axis or 0] for one in merged)
            if len(sizes) != len(actual):
                continue
            for size, number in zip(sizes, actual, strict=True):
                parts = match_blocked_size(size)
                if parts is not None:
                    values.setdefault(id(parts[0]), -(-number // parts[1]))
                if isinstance(size, Var) and values.setdefault(id(size), number) != number:
                    raise InputError(
                        f"the size {size} differs between two arrays",
                        place=self.name,
                        expected=str(values[id(size)]),
                        got=f"{number} in {item.name}",
                    )
        for one in self.unknown_sizes:
            if id(one) in values:
                continue
            if one.name not in scalars:
                raise InputError(
                    f"the size {one} is not the size of any input",
                    place=self.name,
                    remedy=f"Pass it as an argument: scalars={{{one.name!r}: …}}",
                )
            value = scalars[one.name]
            values[id(one)] = float(value) if is_float(one.dtype) else int(value)
        return values

    def _reshape_input(
        self, item: Argument, array: np.ndarray, values: Mapping[int, int | float]
    ) -> np.ndarray:
        shape = tuple(_number(size, values) for size in item.tensor.shape)
        if shape != array.shape and len(shape) == array.ndim:
            lacking = [wanted - own for wanted, own in zip(shape, array.shape, strict=True)]
            if all(0 <= number < BLOCK for number in lacking):
                array = pad_with_zeros(array, shape)
        if item.is_resized:
            # the device reads from the first element, and past the end of a shorter array
            array = np.resize(array.reshape(-1), prod(shape))
        if prod(shape) != array.size:
            raise InputError(
                f"the array for {item.name} does not fit the operator's tensor",
                place=self.name,
                expected=shape_text(shape),
                got=shape_text(array.shape),
            )
        return np.ascontiguousarray(array).reshape(shape)

    def _shape_of(
        self, item: Argument, values: Mapping[int, int | float], given: Sequence[np.ndarray]
    ) -> tuple[int, ...]:
        actual = tuple(_number(size, values) for size in item.tensor.shape)
        if self._has_blocked_sizes:
            in_blocks = sizes_in_blocks([one.tensor.shape for one in self.inputs], given)
            real = [real_size(size, in_blocks) for size in item.tensor.shape]
            actual = tuple(
                own if size is None else size for own, size in zip(actual, real, strict=True)
            )
        total, known = prod(actual), [size for size in item.shape if size >= 0]
        if len(known) == len(item.shape):
            return item.shape if prod(item.shape) == total else actual
        apart = split_merged_sizes(item.tensor.shape, values)
        if apart and prod(apart) == total:
            return apart
        share: int = prod(known)
        if len(known) == len(item.shape) - 1 and share:
            return tuple(total // share if size < 0 else size for size in item.shape)
        if len(actual) != len(item.shape):
            # The operator flattened the output: use the shape of an input with as many elements.
            like = (a.shape for a in given if a.size == total and a.ndim == len(item.shape))
            return next(like, None) or _fill_unknown_sizes(item.shape, given, total) or actual
        return actual

    def check_targets(
        self, out: Sequence[np.ndarray] | np.ndarray | None, shapes: Sequence[tuple[int, ...]]
    ) -> list[np.ndarray] | None:
        """Checks the argument `out`; returns its arrays as a list, or None if `out` is None."""
        if out is None:
            return None
        targets = [out] if isinstance(out, np.ndarray) else list(out)
        if len(targets) != len(shapes):
            raise InputError(
                "wrong number of output arrays",
                place=self.name,
                expected=str(len(shapes)),
                got=str(len(targets)),
            )
        for item, target, shape in zip(self.outputs, targets, shapes, strict=True):
            if target.shape != shape or target.dtype != item.dtype:
                raise InputError(
                    "an output array has a wrong shape or dtype",
                    place=self.name,
                    expected=f"{shape_text(shape)} {item.dtype}",
                    got=f"{shape_text(target.shape)} {target.dtype}",
                )
        return targets

    def reshape_targets(
        self, targets: Sequence[np.ndarray], bound: BoundArrays
    ) -> list[np.ndarray] | None:
        """Reshapes the output arrays to the shapes that the code writes.

        Returns None if the code cannot write to these arrays; the caller then copies the results.
        """
        others = [*bound.arrays, *targets]
        for target in targets:
            apart = sum(np.may_share_memory(target, other) for other in others) <= 1
            if not (target.flags.c_contiguous and target.flags.writeable and apart):
                return None
        shapes = [
            [_number(size, bound.values) for size in item.tensor.shape] for item in self.outputs
        ]
        if any(prod(shape) != target.size for shape, target in zip(shapes, targets, strict=True)):
            return None
        return [target.reshape(shape) for shape, target in zip(shapes, targets, strict=True)]


def _fill_unknown_sizes(
    shape: tuple[int, ...], given: Sequence[np.ndarray], total: int
) -> tuple[int, ...] | None:
    """Replaces the unknown sizes of `shape` by the sizes of the first suitable array of `given`.

    An array is suitable if it has one axis per unknown size, and the resulting shape has `total`
    elements. Returns None if no array is suitable.
    """
    known = [size for size in shape if size >= 0]
    for array in given:
        if known and array.ndim == len(shape) - len(known) and array.size * prod(known) == total:
            sizes = iter(array.shape)
            return tuple(next(sizes) if size < 0 else size for size in shape)
    return None


def _number(size: Expr, values: Mapping[int, int | float]) -> int:
    if isinstance(size, Const):
        return int(size.value)
    return int(evaluate.evaluate_scalar(size, values))
