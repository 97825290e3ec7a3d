"""Creates seeded random input arrays for a kernel, in which indices are within bounds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tbe_impl.arguments import Argument
from tbe_impl.cli.arguments import ArrayDescription
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Const, Expr, reads
from tbe_impl.dsl.tensor import Operation, Tensor, shape_text, stages_of
from tbe_impl.errors import InputError
from tbe_impl.kernel import Kernel

_TRUTHS = re.compile(r"(\w+_)?(cond|condition|mask|pred|predicate)\w*\Z")
"""Regular expression for the names of boolean inputs, which operators store as int8."""


@dataclass(frozen=True)
class NamedArray:
    """An array with its direction, ``in`` or ``out``, and the name of its operator parameter."""

    role: str
    name: str
    array: np.ndarray


def make_inputs(
    kernel: Kernel, described: Sequence[ArrayDescription], *, seed: int = 0, operator: str = ""
) -> tuple[NamedArray, ...]:
    """Creates one array per input of a kernel.

    The descriptions supply the sizes that are unknown in the kernel. Floats have a standard normal
    distribution. Signed integers range from −50 to 50, and unsigned integers from 0 to 100.
    Booleans are 0 or 1. Indices are within bounds.

    Args:
        kernel: a kernel with inputs.
        described: descriptions of the operator's inputs. The elements in a description are used
            instead of random values. Without descriptions, only the kernel determines the shapes.
        seed: seed of the random values.
        operator: name of the operator. If it starts with ``logical``, integer inputs are 0 or 1.

    Raises:
        InputError: a size is unspecified, or no description has the size of an input of the kernel.
    """
    limits = _index_limits(kernel)
    left = list(described)
    found = []
    for number, item in enumerate(kernel.inputs):
        own = _take_description(item, left)
        if own is None and described:
            # a random array would hide the mistake
            raise InputError(
                f"nothing describes the input {item.name}",
                place=kernel.name,
                expected=f"{shape_text(item.shape)} {item.dtype}",
                got=", ".join(
                    f"{one.name or 'an input'} {shape_text(one.shape)} {one.dtype}"
                    for one in described
                ),
                remedy=f"Give it with --input, or leave {item.name} out of the operator's "
                "tensor_list",
            )
        name = own.name if own and own.name else item.name
        shape = own.array_shape if own is not None and not own.is_known else item.shape
        if any(size < 0 for size in shape):
            raise InputError(
                f"a size of the input {name} is known at call time only", place=kernel.name
            )
        if own is not None and own.array is not None:
            array = np.ascontiguousarray(own.array).reshape(shape).astype(item.dtype, copy=False)
        else:
            truth = own is not None and (own.dtype == "bool" or bool(_TRUTHS.match(own.name)))
            truth = truth or operator.lower().startswith("logical")
            random = np.random.default_rng((seed, number))
            limit = limits.get(id(item.tensor))
            dtype = item.tensor.dtype
            array = make_random_array(random, dtype, shape, limit=limit, truth=truth)
        found.append(NamedArray("in", name, array))
    return tuple(found)


def _take_description(item: Argument, left: list[ArrayDescription]) -> ArrayDescription | None:
    """Removes the first matching description from `left`, and returns it; None without a match.

    A description must have as many elements as the input or, with unknown sizes, the same shape.
    Descriptions with the dtype of the input are preferred.
    """

    def fits(one: ArrayDescription, *, dtype: bool) -> bool:
        same = one.shape == item.shape if not one.is_known else prod(one.shape) == prod(item.shape)
        return same and (not dtype or one.dtype == item.tensor.dtype)

    for exact in (True, False):
        for one in left:
            if fits(one, dtype=exact):
                left.remove(one)
                return one
    return None


def make_random_array(
    random: np.random.Generator,
    dtype: str,
    shape: tuple[int, ...],
    *,
    limit: int | None = None,
    truth: bool = False,
) -> np.ndarray:
    """Creates an array of random values; `make_inputs` describes their distribution.

    Args:
        random: source of the random values.
        dtype: name of the dtype in the DSL.
        shape: shape of the array.
        limit: upper bound of an index, which the values do not reach; None for other arrays.
        truth: whether the integers are 0 or 1.
    """
    kind, result = dtype_of(dtype).kind, dtype_of(dtype).numpy
    numbers: Any
    if kind == "float":
        wide = np.float64 if result == np.float64 else np.float32
        numbers = random.standard_normal(shape, wide)
    elif limit is not None:
        numbers = random.integers(0, max(limit, 1), shape)
    elif kind == "bool" or truth:
        numbers = random.integers(0, 2, shape)
    else:
        low, high = (0, 100) if kind == "uint" else (-50, 50)
        numbers = random.integers(low, high, shape, endpoint=True)
    return np.asarray(numbers).astype(result)


def _index_limits(kernel: Kernel) -> dict[int, int]:
    """Returns the size of the indexed axis for each input that is used as an index.

    The keys of the dict are ``id(tensor)``. If an input indexes several axes, the smallest of their
    sizes is returned.
    """
    found: dict[int, int] = {}
    for op in stages_of([item.tensor for item in kernel.outputs]):
        for tensor, size in _indices(op):
            source = _source(tensor)
            if isinstance(size, Const) and dtype_of(source.dtype).kind in ("int", "uint"):
                number = int(size.value)
                found[id(source)] = min(number, found.get(id(source), number))
    return found


def _indices(op: Operation) -> Iterator[tuple[Tensor, Expr]]:
    """Yields each tensor that an operation uses as an index, with the size of the indexed axis."""
    for body in op.body:
        for read in reads(body):
            for size, index in zip(read.tensor.shape, read.indices, strict=False):
                for inner in reads(index):
                    yield inner.tensor, size
    word = op.dsl_call
    if word is None or len(word.inputs) < 2:
        return
    if word.name.startswith("unsorted_segment"):
        yield word.inputs[1], word.parameters["num_segments"]
    elif word.name.startswith(("scatter", "inplace")) and word.inputs[0].shape:
        yield word.inputs[1], word.inputs[0].shape[0]


def _source(tensor: Tensor) -> Tensor:
    """Returns the tensor at the start of a chain of casts and other unary operations."""
    while len(tensor.op.input_tensors) == 1:
        tensor = tensor.op.input_tensors[0]
    return tensor
