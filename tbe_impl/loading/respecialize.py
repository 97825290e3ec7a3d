"""Kernels for sizes that a dynamic kernel was not made for: the operator is built again with the sizes that came.

A kernel of unknown sizes takes two sizes at one place for the same. Arrays that broadcast there (a size of 1 beside another)
need another kernel, which the toolkit makes beforehand and which is made here when such arrays come. So do operators that
cannot be built before more is known: the number of axes, or the numbers in a small input such as the axes of a sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from tbe_impl.compat.faults import CheckError
from tbe_impl.errors import FusionError

Shape = tuple[int, ...]
Values = tuple[tuple[int, ...] | None, ...]
MANY = 64
"""From how many elements on an input is no list of axes or sizes."""
SIZE = 16
"""What stands for an unknown size where only the operator's opinion on the rest is asked."""


class Specialised:
    """Builds an operator for known sizes, each time once.

    Args:
        build: from arguments and keywords to a kernel.
        arguments, keywords: as the operator was called; some sizes in them are not known.
    """

    def __init__(
        self, build: Callable[..., Any], arguments: Sequence[Any], keywords: dict[str, Any]
    ):
        self._build = build
        # operators write into their arguments
        self._arguments = tuple(map(_copy, arguments))
        self._keywords = {name: _copy(value) for name, value in keywords.items()}
        self._kernels: dict[tuple[tuple[Shape, ...], Values], Any] = {}

    def __call__(self, arrays: Sequence[Any]) -> Any:
        """The kernel for these arrays; None when they are no inputs of the operator.

        Raises:
            FusionError: the operator refuses their sizes.
        """
        shapes = tuple(map(np.shape, arrays))
        known = tuple(map(_listed, arrays))
        try:
            found = self._kernel(shapes, (None,) * len(shapes))
        except FusionError:
            if not any(known):
                raise
            return self._kernel(shapes, known)
        return (
            self._kernel(shapes, known)
            if found is not None and found.open_sizes and any(known)
            else found
        )

    @property
    def is_needed(self) -> bool:
        """Whether a size is not known."""
        found = _descriptions([*self._arguments, *self._keywords.values()])
        return any(size < 0 for item in found for size in item["shape"])

    def may_come(self, problem: FusionError) -> bool:
        """Whether the operator decides otherwise where sizes, or small inputs, are known.

        Where ranks are known, what its own checks refuse is refused.
        """
        given = list(_descriptions([*self._arguments, *self._keywords.values()]))
        if isinstance(problem, CheckError) and not any(map(_any_rank, given)):
            return False
        for values in (False, True):
            arguments, keywords = deepcopy((self._arguments, self._keywords))
            found = list(_descriptions([*arguments, *keywords.values()]))
            if not (any(map(_takes_values, found)) if values else self.is_needed):
                continue
            for item in found:
                rank = 2 if _any_rank(item) else len(item["shape"])
                shape = tuple(item["shape"]) if not _any_rank(item) else (-1,) * rank
                _write(item, tuple(SIZE if size < 0 else size for size in shape))
                if values and _takes_values(item):
                    item["const_value"] = [0] * int(np.prod(item["shape"]))
            try:
                self._build(*arguments, **keywords)
            except FusionError as error:
                if (error.what, error.place) == (problem.what, problem.place):
                    continue
            return True
        return False

    def _kernel(self, shapes: tuple[Shape, ...], values: Values) -> Any:
        key = shapes, values
        if key not in self._kernels:
            arguments, keywords = deepcopy((self._arguments, self._keywords))
            found = list(_descriptions([*arguments, *keywords.values()]))
            if not _fill(found, shapes):
                return None
            for item, value in zip(found, values, strict=False):
                if value is not None and _takes_values(item):
                    item["const_value"] = list(value)
            self._kernels[key] = self._build(*arguments, **keywords)
        return self._kernels[key]


def _copy(value: Any) -> Any:
    """A copy all the way down, quicker for what needs none."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if type(value) is dict:
        return {key: _copy(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_copy, value))
    return deepcopy(value)


def _takes_values(item: dict[str, Any]) -> bool:
    return (
        item.get("const_value") is None
        and len(item["shape"]) <= 1
        and str(item.get("dtype")).lower() in ("int32", "int64")
        and int(np.prod(item["shape"])) <= MANY
    )


def _listed(array: Any) -> tuple[int, ...] | None:
    """The numbers of an array that could be axes or sizes."""
    given = np.asarray(array)
    if given.dtype not in (np.int32, np.int64) or given.ndim > 1 or given.size > MANY:
        return None
    return tuple(given.reshape(-1).tolist())


def _any_rank(item: dict[str, Any]) -> bool:
    return tuple(item["shape"]) == (-2,)


def _descriptions(values: Sequence[Any]) -> Iterator[dict[str, Any]]:
    for value in values:
        if isinstance(value, dict) and "shape" in value:
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _descriptions(value)


def _fill(found: Sequence[dict[str, Any]], shapes: Sequence[Shape]) -> bool:
    """Writes sizes into descriptions, inputs first; says whether they fit."""
    if len(found) < len(shapes) or not shapes:
        return False
    for item, shape in zip(found, shapes, strict=False):
        own = tuple(item["shape"])
        fits = len(own) == len(shape) and all(
            size in (-1, real) for size, real in zip(own, shape, strict=True)
        )
        if not fits and not _any_rank(item):
            return False
        _write(item, shape)
    try:
        whole: Shape = tuple(np.broadcast_shapes(*shapes))
    except ValueError:
        whole = shapes[0]
    for item in found[len(shapes) :]:
        own = (-1,) * len(whole) if _any_rank(item) else tuple(item["shape"])
        # what an output's sizes are, the operator finds by itself; its description only must not be unknown
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
