"""Rejects incomplete calls and incompatible inputs, as the toolkit's classifiers do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tbe_impl.compat.operator_errors import refusal

REQUIRED_PARAMETERS = {"concat": "axis", "split": "num_split", "transpose": "axes"}
"""Pattern → the required key of its ``extra_params``."""
INPUT_COUNTS = {"concat": (1, 1), "transpose": (1, 1), "split": (2, 3), "slice": (3, 3)}
"""Pattern → least and greatest number of inputs; ``concat`` takes one list."""
MAX_CONCAT_TENSORS = 63
"""Greatest number of tensors that ``concat`` joins."""


def check_call(pattern: str, inputs: Sequence[Any], extra: Mapping[str, Any]) -> None:
    """Raises for missing or unknown extra parameters and for a wrong number of inputs."""
    needed = REQUIRED_PARAMETERS.get(pattern)
    if needed and needed not in extra:
        raise classify_error(f"{pattern} needs {needed} in extra_params")
    if pattern == "elewise" and "disable_optimization" in extra:
        raise classify_error("elewise does not know disable_optimization")
    low, high = INPUT_COUNTS.get(pattern, (0, len(inputs)))
    if not low <= len(inputs) <= high:
        raise classify_error(f"{pattern} takes {low} to {high} inputs, but got {len(inputs)}")
    if pattern == "concat" and not 1 <= len(inputs[0]) <= MAX_CONCAT_TENSORS:
        raise classify_error(
            f"concat joins 1 to {MAX_CONCAT_TENSORS} tensors, but got {len(inputs[0])}"
        )


def check_elementwise(tensors: Sequence[Mapping[str, Any]]) -> None:
    """Raises unless all ranks, and on each axis all known sizes, are equal."""
    shapes = _shapes(tensors)
    if len({len(shape) for shape in shapes}) > 1 or any(
        map(_has_different_sizes, zip(*shapes, strict=False))
    ):
        raise classify_error(f"elewise takes inputs of one shape, but got {_shapes_text(shapes)}")


def check_broadcast(tensors: Sequence[Mapping[str, Any]]) -> None:
    """Raises unless, on each axis, the size ranges that exclude 1 intersect."""
    for bounds in zip(*map(_size_bounds, tensors), strict=True):
        wide = [one for one in bounds if one[0] > 1]
        if wide and max(low for low, _ in wide) > min(high for _, high in wide):
            raise classify_error(f"the inputs do not broadcast: {_shapes_text(_shapes(tensors))}")


def check_concat(tensors: Sequence[Mapping[str, Any]], axis: int) -> None:
    """Raises unless known sizes are equal on all axes except the concatenation axis."""
    shapes = _shapes(tensors)
    others = [shape[:axis] + shape[axis + 1 :] for shape in shapes]
    if len({len(shape) for shape in shapes}) > 1 or any(
        map(_has_different_sizes, zip(*others, strict=False))
    ):
        raise classify_error(
            f"concat along axis {axis} takes inputs that are equal on the other axes, "
            f"but got {_shapes_text(shapes)}"
        )


def classify_error(cause: str) -> Exception:
    """Returns the error of a classifier."""
    return refusal("E90001", cause, detailed_cause=cause)


def _shapes(tensors: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(item["shape"]) for item in tensors]


def _shapes_text(shapes: Sequence[tuple[Any, ...]]) -> str:
    return " and ".join(map(str, shapes))


def _is_known(size: Any) -> bool:
    return isinstance(size, int) and size >= 0


def _has_different_sizes(sizes: Sequence[Any]) -> bool:
    return len({size for size in sizes if _is_known(size)}) > 1


def _size_bounds(item: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Returns the least and greatest size of each axis."""
    shape = item["shape"]
    ranges = item.get("range") or [(1, None)] * len(shape)
    return [
        (size, size) if _is_known(size) else (low or 0, math.inf if high is None else high)
        for size, (low, high) in zip(shape, ranges, strict=True)
    ]
