"""Compares arrays with expected values; the tolerance depends on the dtype."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.dsl.tensor import Tensor, stages_of

TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-12}
"""Dtype → relative tolerance.

The tolerance is relative to |expected| + r, where r is the root mean square of the expected array.
For a narrow dtype the tolerance is about four rounding errors. For float32 it covers another
summation order.
"""
STEP_SHARE = 0.01
"""Maximum share of elements that may differ because rounding alters a floor, comparison or cast."""


@dataclass(frozen=True)
class Difference:
    """The difference of an array from its expected value.

    Attributes:
        name: name of the array.
        against: origin of the expected value, ``definition`` or ``formula``.
        max_absolute: largest finite difference.
        max_ulp: largest finite difference, in units in the last place; the unit is 1 for integers.
        tolerance: relative tolerance, see `TOLERANCE`; 0 for integers.
        wrong: number of elements whose difference is above the tolerance. An element also counts if
            only the value or only the expected value is NaN or infinite.
        at_steps: number of elements with a large difference that rounding alone explains. `wrong`
            does not count these elements.
        elements: number of elements of the array.
        where: index of the worst element.
        got, expected: values of the worst element.
        problem: the reason why the comparison is impossible; empty if the comparison is possible.
    """

    name: str
    against: str
    max_absolute: float = 0.0
    max_ulp: float = 0.0
    tolerance: float = 0.0
    wrong: int = 0
    at_steps: int = 0
    elements: int = 0
    where: tuple[int, ...] = ()
    got: float = 0.0
    expected: float = 0.0
    problem: str = ""

    @property
    def is_within_tolerance(self) -> bool:
        """Whether the differences of all elements are within the tolerance."""
        return not self.wrong and not self.problem


def coarsest_dtype(outputs: Sequence[Tensor], rounding: str = "accurate") -> str:
    """Returns the least precise float dtype to which a graph rounds values.

    If `rounding` is ``device``, the graph rounds the results of all stages. Otherwise the graph
    rounds its outputs and the results of casts. If none of these values is a float, returns
    float32.
    """
    passed = {tensor.dtype for tensor in outputs}
    for op in stages_of(outputs):
        explicit = op.dsl_call is not None and op.dsl_call.name == "cast_to"
        if explicit or rounding == "device":
            passed |= {tensor.dtype for tensor in op.outputs}
    floats = [dtype for dtype in passed if is_float(dtype)]
    return max(floats, key=lambda dtype: TOLERANCE[dtype], default="float32")


def spacing(values: np.ndarray, dtype: str) -> np.ndarray:
    """Returns the distance between neighbouring values of a dtype at each element of `values`.

    The distance is 1 for integer dtypes.

    >>> spacing(np.array([1.0, 0.0]), "float16").tolist()
    [0.0009765625, 5.960464477539063e-08]
    """
    if not is_float(dtype):
        return np.ones(values.shape)
    import ml_dtypes

    limits = ml_dtypes.finfo(dtype_of(dtype).numpy)
    smallest = float(limits.smallest_subnormal)
    sizes = np.maximum(np.where(np.isfinite(values), np.abs(values), 0.0), smallest)
    return np.maximum(np.ldexp(float(limits.eps), np.frexp(sizes)[1] - 1), smallest)


def compare_arrays(
    name: str,
    against: str,
    got: Any,
    expected: Any,
    *,
    dtype: str,
    through: str,
    rounded: Any = None,
    meant: Any = None,
) -> Difference:
    """Compares an array with its expected value.

    Args:
        name: name of the array.
        against: origin of `expected`: ``definition`` (the operator's graph, evaluated by NumPy) or
            ``formula`` (an independent formula of the operator).
        got: the array to check.
        expected: the expected value, in float64 or integers.
        dtype: dtype of the array.
        through: the least precise float dtype of the computation.
        rounded: the result of the operator's graph, evaluated by NumPy in the dtypes of the graph.
        meant: the result of the operator's graph, evaluated by NumPy in float64. If an element of
            `expected` agrees with `meant` and the same element of `got` agrees with `rounded`, the
            difference of this element is due to rounding.
    """
    result = np.asarray(got)
    wanted = np.asarray(expected)
    if wanted.shape != result.shape:
        try:
            wanted = (
                wanted.reshape(result.shape)
                if wanted.size == result.size
                else np.broadcast_to(wanted, result.shape)
            )
        except ValueError:
            return Difference(
                name,
                against,
                elements=result.size,
                problem=f"its shape is {result.shape}, that of the {against} {wanted.shape}",
            )
    if not result.size:
        return Difference(name, against)
    result, wanted = _to_float64(result, dtype), _to_float64(wanted, dtype)
    limit = TOLERANCE[through] if is_float(dtype) else 0.0
    apart = _distances(result, wanted)
    # NaN and infinities must be equal; a finite value is never close to them
    allowed = limit * (
        np.where(np.isfinite(wanted), np.abs(wanted), 0.0) + _root_mean_square(wanted)
    )
    if is_float(dtype):
        allowed = np.maximum(allowed, spacing(wanted, through))
    if rounded is not None and meant is not None and is_float(dtype):
        # the rounding error of the definition in its own dtypes is not the kernel's error
        own = _distances(
            _to_float64(np.asarray(rounded), dtype), _to_float64(np.asarray(meant), dtype)
        )
        if against == "definition":
            allowed = np.maximum(allowed, 4 * np.where(np.isfinite(own), own, 0.0))
    wrong = ~(apart <= allowed)
    excused = np.zeros_like(wrong)
    if rounded is not None and meant is not None and wrong.any():
        near = _distances(result, _to_float64(np.asarray(rounded), dtype)) <= allowed
        same = _distances(wanted, _to_float64(np.asarray(meant), dtype)) <= allowed
        excused = wrong & near & same
        if excused.sum() > max(1, STEP_SHARE * result.size):
            excused[...] = False
    wrong &= ~excused
    return _summarize_difference(
        name,
        against,
        result,
        wanted,
        np.where(excused, 0.0, apart),
        wrong,
        limit,
        int(excused.sum()),
        dtype,
    )


def _summarize_difference(
    name: str,
    against: str,
    result: np.ndarray,
    wanted: np.ndarray,
    apart: np.ndarray,
    wrong: np.ndarray,
    limit: float,
    excused: int,
    dtype: str,
) -> Difference:
    ulp = apart / spacing(wanted, dtype)
    finite = np.isfinite(apart)
    place = int(
        np.argmax(
            np.where(wrong, np.where(finite, apart, np.inf), -1.0)
            if wrong.any()
            else np.where(finite, apart, -1.0)
        )
    )
    where = np.unravel_index(place, result.shape)
    return Difference(
        name,
        against,
        float(apart[finite].max(initial=0.0)),
        float(ulp[finite].max(initial=0.0)),
        limit,
        int(wrong.sum()),
        excused,
        int(result.size),
        tuple(int(item) for item in where),
        float(result[where]),
        float(wanted[where]),
    )


def _to_float64(array: np.ndarray, dtype: str) -> np.ndarray:
    """Converts an array to float64; values beyond the range of `dtype` become infinite."""
    if not is_float(dtype):
        return array.astype(np.float64)
    with np.errstate(all="ignore"):
        wide = array.astype(np.float64)
        held = wide.astype(dtype_of(dtype).numpy).astype(np.float64)
    return np.where(np.isinf(held), held, wide)


def _distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Returns the absolute difference of each pair of elements.

    The difference is 0 for two NaN and for equal infinities. The difference is infinite if exactly
    one of the two values is NaN or infinite.
    """
    if first.shape != second.shape:
        second = second.reshape(first.shape)
    with np.errstate(all="ignore"):
        same = (first == second) | (np.isnan(first) & np.isnan(second))
        apart = np.where(same, 0.0, np.abs(first - second))
    return np.where(np.isnan(apart), np.inf, apart)


def _root_mean_square(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0
    with np.errstate(all="ignore"):
        found = float(np.sqrt(np.mean(np.square(finite))))
    return found if np.isfinite(found) else 0.0
