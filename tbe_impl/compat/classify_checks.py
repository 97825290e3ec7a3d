"""What the toolkit's classifiers refuse: incomplete calls, and inputs that do not go together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tbe_impl.compat.faults import refusal

NEEDED = {"concat": "axis", "split": "num_split", "transpose": "axes"}
"""Pattern → what its ``extra_params`` have to say."""
COUNTS = {"concat": (1, 1), "transpose": (1, 1), "split": (2, 3), "slice": (3, 3)}
"""Pattern → the least and greatest number of its inputs; ``concat`` takes one list."""
CONCATENATED = 63
"""The most tensors that are joined."""


def check_call(pattern: str, inputs: Sequence[Any], extra: Mapping[str, Any]) -> None:
    """Raises for missing or unknown extra parameters, and for another number of inputs."""
    needed = NEEDED.get(pattern)
    if needed and needed not in extra:
        raise refused(f"{pattern} needs {needed} in extra_params")
    if pattern == "elewise" and "disable_optimization" in extra:
        raise refused("elewise does not know disable_optimization")
    low, high = COUNTS.get(pattern, (0, len(inputs)))
    if not low <= len(inputs) <= high:
        raise refused(f"{pattern} takes {low} to {high} inputs, but got {len(inputs)}")
    if pattern == "concat" and not 1 <= len(inputs[0]) <= CONCATENATED:
        raise refused(f"concat joins 1 to {CONCATENATED} tensors, but got {len(inputs[0])}")


def check_elementwise(tensors: Sequence[Mapping[str, Any]]) -> None:
    """Raises unless all have one rank, and one size on each axis where sizes are known."""
    shapes = _shapes(tensors)
    if len({len(shape) for shape in shapes}) > 1 or any(map(_differ, zip(*shapes, strict=False))):
        raise refused(f"elewise takes inputs of one shape, but got {_text(shapes)}")


def check_broadcast(tensors: Sequence[Mapping[str, Any]]) -> None:
    """Raises unless on each axis the ranges that exclude 1 have a size in common."""
    for bounds in zip(*map(_bounds, tensors), strict=True):
        wide = [one for one in bounds if one[0] > 1]
        if wide and max(low for low, _ in wide) > min(high for _, high in wide):
            raise refused(f"the inputs do not broadcast: {_text(_shapes(tensors))}")


def check_concat(tensors: Sequence[Mapping[str, Any]], axis: int) -> None:
    """Raises unless known sizes are equal on all axes but the joined one."""
    shapes = _shapes(tensors)
    others = [shape[:axis] + shape[axis + 1 :] for shape in shapes]
    if len({len(shape) for shape in shapes}) > 1 or any(map(_differ, zip(*others, strict=False))):
        raise refused(
            f"concat joins along axis {axis} what is equal elsewhere, but got {_text(shapes)}"
        )


def refused(cause: str) -> Exception:
    """The error of a classifier."""
    return refusal("E90001", cause, detailed_cause=cause)


def _shapes(tensors: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(item["shape"]) for item in tensors]


def _text(shapes: Sequence[tuple[Any, ...]]) -> str:
    return " and ".join(map(str, shapes))


def _is_known(size: Any) -> bool:
    return isinstance(size, int) and size >= 0


def _differ(sizes: Sequence[Any]) -> bool:
    return len({size for size in sizes if _is_known(size)}) > 1


def _bounds(item: Mapping[str, Any]) -> list[tuple[float, float]]:
    """For each axis the least and the greatest size."""
    shape = item["shape"]
    ranges = item.get("range") or [(1, None)] * len(shape)
    return [
        (size, size) if _is_known(size) else (low or 0, math.inf if high is None else high)
        for size, (low, high) in zip(shape, ranges, strict=True)
    ]
