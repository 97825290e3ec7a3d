"""Kernels for shapes that a dynamic kernel was not made for: the operator is built again with the sizes that came.

A kernel of unknown sizes takes two sizes at one place for the same. Arrays that broadcast there (a size of 1 beside another)
need another kernel, which the toolkit makes beforehand and which is made here when such arrays come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

Shape = tuple[int, ...]


class Specialised:
    """Builds an operator for known shapes, each time once.

    Args:
        build: from arguments and keywords to a kernel.
        arguments, keywords: as the operator was called; some sizes in them are not known.
    """

    def __init__(self, build: Callable[..., Any], arguments: Sequence[Any], keywords: dict[str, Any]):  # fmt: skip
        self._build, self._arguments, self._keywords = build, tuple(arguments), dict(keywords)
        self._kernels: dict[tuple[Shape, ...], Any] = {}

    def __call__(self, shapes: Sequence[Shape]) -> Any:
        """The kernel for inputs of these shapes; None when they are no inputs of the operator."""
        key = tuple(map(tuple, shapes))
        if key not in self._kernels:
            arguments, keywords = deepcopy((self._arguments, self._keywords))
            found = list(_descriptions([*arguments, *keywords.values()]))
            if not _fill(found, key):
                return None
            self._kernels[key] = self._build(*arguments, **keywords)
        return self._kernels[key]


def is_dynamic(arguments: Sequence[Any], keywords: dict[str, Any]) -> bool:
    """Whether a size is not known."""
    found = _descriptions([*arguments, *keywords.values()])
    return any(size < 0 for item in found for size in item["shape"])


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
        if len(own) != len(shape) or any(size not in (-1, real) for size, real in zip(own, shape, strict=True)):  # fmt: skip
            return False
        _write(item, shape)
    try:
        whole: Shape = tuple(np.broadcast_shapes(*shapes))
    except ValueError:
        whole = shapes[0]
    for item in found[len(shapes) :]:
        own = tuple(item["shape"])
        # what an output's sizes are, the operator finds by itself; its description only must not be unknown
        like = whole if len(whole) == len(own) else (1,) * len(own)
        _write(item, tuple(real if size < 0 else size for size, real in zip(own, like, strict=True)))  # fmt: skip
    return True


def _write(item: dict[str, Any], shape: Shape) -> None:
    if tuple(item.get("ori_shape", ())) == tuple(item["shape"]):
        item["ori_shape"] = shape
    item["shape"] = shape
    item["range"] = [(size, size) for size in shape]
