"""Specializes kernels by rebuilding an operator for the sizes of the arrays in a call.

A kernel for unknown sizes assumes that its inputs have equal sizes on each axis. If the arrays
broadcast on an axis (a size of 1 with another size), another kernel is needed. The CANN toolkit
builds such kernels in advance, whereas this module builds each kernel on the first call that needs
it. Some operators need the number of axes, or the values of a small input such as reduction axes,
at build time. Kernels of these operators are also built on the first call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from tbe_impl.compat.operator_errors import CheckError
from tbe_impl.errors import FusionError

Shape = tuple[int, ...]
Values = tuple[tuple[int, ...] | None, ...]
LIST_INPUT_LIMIT = 64
"""Greatest number of elements of an input that is regarded as a list of axes or sizes."""
PROBE_SIZE = 16
"""Size that replaces each unknown size when `may_specialize` builds an operator as a test."""


class ShapeSpecializer:
    """Builds the kernels of an operator for known sizes, one kernel per combination of sizes.

    Args:
        build: function that takes the arguments of the operator and returns a kernel.
        arguments, keywords: arguments of the operator, in which some sizes may be unknown.
    """

    def __init__(
        self, build: Callable[..., Any], arguments: Sequence[Any], keywords: dict[str, Any]
    ):
        self._build = build
        # copied, because operators modify their arguments
        self._arguments = tuple(map(_copy, arguments))
        self._keywords = {name: _copy(value) for name, value in keywords.items()}
        self._kernels: dict[tuple[tuple[Shape, ...], Values], Any] = {}

    def __call__(self, arrays: Sequence[Any]) -> Any:
        """Returns the kernel for these arrays, or None if the operator cannot take these arrays.

        Raises:
            FusionError: the operator rejects the sizes of the arrays.
        """
        shapes = tuple(map(np.shape, arrays))
        known = tuple(map(_list_values, arrays))
        try:
            found = self._build_kernel(shapes, (None,) * len(shapes))
        except FusionError:
            if not any(known):
                raise
            return self._build_kernel(shapes, known)
        return (
            self._build_kernel(shapes, known)
            if found is not None and found.open_sizes and any(known)
            else found
        )

    @property
    def is_needed(self) -> bool:
        """Whether a size in the arguments is unknown."""
        found = _descriptions([*self._arguments, *self._keywords.values()])
        return any(size < 0 for item in found for size in item["shape"])

    def may_specialize(self, problem: FusionError) -> bool:
        """Whether the error `problem` may vanish if sizes, or values of small inputs, are known.

        If all ranks are known, the result is False for an error that the operator's own checks
        raised.
        """
        given = list(_descriptions([*self._arguments, *self._keywords.values()]))
        if isinstance(problem, CheckError) and not any(map(_has_unknown_rank, given)):
            return False
        for values in (False, True):
            arguments, keywords = deepcopy((self._arguments, self._keywords))
            found = list(_descriptions([*arguments, *keywords.values()]))
            if not (any(map(_can_take_values, found)) if values else self.is_needed):
                continue
            for item in found:
                rank = 2 if _has_unknown_rank(item) else len(item["shape"])
                shape = tuple(item["shape"]) if not _has_unknown_rank(item) else (-1,) * rank
                _write(item, tuple(PROBE_SIZE if size < 0 else size for size in shape))
                if values and _can_take_values(item):
                    item["const_value"] = [0] * int(np.prod(item["shape"]))
            try:
                self._build(*arguments, **keywords)
            except FusionError as error:
                if (error.what, error.place) == (problem.what, problem.place):
                    continue
            return True
        return False

    def _build_kernel(self, shapes: tuple[Shape, ...], values: Values) -> Any:
        key = shapes, values
        if key not in self._kernels:
            arguments, keywords = deepcopy((self._arguments, self._keywords))
            found = list(_descriptions([*arguments, *keywords.values()]))
            if not _fill(found, shapes):
                return None
            for item, value in zip(found, values, strict=False):
                if value is not None and _can_take_values(item):
                    item["const_value"] = list(value)
            self._kernels[key] = self._build(*arguments, **keywords)
        return self._kernels[key]


def _copy(value: Any) -> Any:
    """Returns a deep copy; avoids `deepcopy` for values that do not need it."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if type(value) is dict:
        return {key: _copy(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_copy, value))
    return deepcopy(value)


def _can_take_values(item: dict[str, Any]) -> bool:
    return (
        item.get("const_value") is None
        and len(item["shape"]) <= 1
        and str(item.get("dtype")).lower() in ("int32", "int64")
        and int(np.prod(item["shape"])) <= LIST_INPUT_LIMIT
    )


def _list_values(array: Any) -> tuple[int, ...] | None:
    """Returns an array's values if the array may be a list of axes or sizes, otherwise None."""
    given = np.asarray(array)
    if given.dtype not in (np.int32, np.int64) or given.ndim > 1 or given.size > LIST_INPUT_LIMIT:
        return None
    return tuple(given.reshape(-1).tolist())


def _has_unknown_rank(item: dict[str, Any]) -> bool:
    return tuple(item["shape"]) == (-2,)


def _descriptions(values: Sequence[Any]) -> Iterator[dict[str, Any]]:
    for value in values:
        if isinstance(value, dict) and "shape" in value:
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _descriptions(value)


def _fill(found: Sequence[dict[str, Any]], shapes: Sequence[Shape]) -> bool:
    """Writes `shapes` into the descriptions of the inputs; returns False if a shape does not match.

    A shape does not match if it differs from its description in a known rank or size. The first
    items of `found` describe the inputs, and the remaining items describe the outputs. Each unknown
    size of an output is replaced by the size of the same axis in the broadcast shape of the inputs.
    If the ranks of the broadcast shape and of the output differ, the size is replaced by 1.
    """
    if len(found) < len(shapes) or not shapes:
        return False
    for item, shape in zip(found, shapes, strict=False):
        own = tuple(item["shape"])
        fits = len(own) == len(shape) and all(
            size in (-1, real) for size, real in zip(own, shape, strict=True)
        )
        if not fits and not _has_unknown_rank(item):
            return False
        _write(item, shape)
    try:
        whole: Shape = tuple(np.broadcast_shapes(*shapes))
    except ValueError:
        whole = shapes[0]
    for item in found[len(shapes) :]:
        own = (-1,) * len(whole) if _has_unknown_rank(item) else tuple(item["shape"])
        # the operator computes the output sizes itself, but needs a description with known sizes
        like = whole if len(whole) == len(own) else (1,) * len(own)
        _write(
            item, tuple(real if size < 0 else size for size, real in zip(own, like, strict=True))
        )
    return True


def _write(item: dict[str, Any], shape: Shape) -> None:
    if tuple(item.get("ori_shape", ())) == tuple(item["shape"]):
        item["ori_shape"] = shape
    item["shape"] = shape
    item["range"] = [(size, size) for size in shape]
