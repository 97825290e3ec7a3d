"""Implements ``compute_four2five`` (NCHW to NC1HWC0) and its inverse ``compute_five2four``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tbe_impl.compat.operator_errors import fault
from tbe_impl.dsl.expr import const, select
from tbe_impl.dsl.layouts import BLOCK
from tbe_impl.dsl.tensor import Tensor, compute, fresh_name


def compute_four2five(input_tensor: Tensor, raw_shape_4D: Sequence[int]) -> Any:
    """Computes ``y[n, c₁, h, w, c₀] = x[n, 16·c₁ + c₀, h, w]``; channels that x lacks are 0.

    Args:
        input_tensor: an NCHW image.
        raw_shape_4D: the four sizes of the image.
    """
    n, channels, h, w = _check_four_sizes("compute_four2five", raw_shape_4D)

    def pick(image: Any, block: Any, row: Any, column: Any, part: Any) -> Any:
        at = block * BLOCK + part
        value = input_tensor(image, at, row, column)
        return (
            value
            if channels % BLOCK == 0
            else select(at < channels, value, const(0, input_tensor.dtype))
        )

    return compute((n, -(-channels // BLOCK), h, w, BLOCK), pick, fresh_name("four2five"))


def compute_five2four(input_tensor: Tensor, raw_shape_4D: Sequence[int]) -> Any:
    """Computes ``y[n, c, h, w] = x[n, c // 16, h, w, c % 16]``.

    Args:
        input_tensor: an NC1HWC0 image.
        raw_shape_4D: the four sizes of the result.
    """
    return compute(
        _check_four_sizes("compute_five2four", raw_shape_4D),
        lambda n, c, h, w: input_tensor(n, c // BLOCK, h, w, c % BLOCK),
        fresh_name("five2four"),
    )


def _check_four_sizes(word: str, shape: Any) -> tuple[int, int, int, int]:
    if not isinstance(shape, (list, tuple)) or len(shape) != 4:
        raise fault(
            "E90001",
            f"{word} takes the four sizes of an image, but got {shape!r}",
            detailed_cause="raw_shape_4D",
        )
    n, channels, h, w = (int(size) for size in shape)
    return n, channels, h, w


FUNCTIONS: Mapping[str, Any] = {
    "compute_four2five": compute_four2five,
    "compute_five2four": compute_five2four,
}
"""Maps a name in ``te.lang.cce`` and ``tbe.dsl`` to its function."""
