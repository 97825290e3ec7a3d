"""Converts the result of a net's call to NumPy arrays; waits until the result is computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np


def arrays_of(result: Any) -> list[np.ndarray]:
    """Returns the tensors and numbers in a net's result as NumPy arrays, in order.

    The function waits until MindSpore has computed the result.
    """
    return [
        one if isinstance(one, np.ndarray) else one.asnumpy().copy() for one in _tensors(result)
    ]


def _tensors(result: Any) -> Iterator[Any]:
    if isinstance(result, (tuple, list)):
        for item in result:
            yield from _tensors(item)
    elif isinstance(result, Mapping):
        for item in result.values():
            yield from _tensors(item)
    elif hasattr(result, "asnumpy"):
        yield result
    elif isinstance(result, (int, float, bool)):
        yield np.asarray(result)
