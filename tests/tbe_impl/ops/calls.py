"""Operator calls in tests: descriptions, random arrays, and formula results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from tbe_impl import ops
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.ops.formulas import FORMULAS

Shape = tuple[int, ...]
FLOATS = ("float16", "float32")


@dataclass(frozen=True)
class Case:
    """Test cases of one operator.

    Attributes:
        name: name of the operator.
        shapes: input shapes of each case; None for an omitted input.
        attributes: attributes by name.
        dtypes: dtypes of its inputs.
        own: input index → a different dtype.
        low, high: range of the random values.
        outputs: number of outputs.
        result: dtype of the outputs if it differs from the inputs'.
        times: factor on the table's tolerance.
        limits: input index → a different range.
    """

    name: str
    shapes: tuple[tuple[Shape | None, ...], ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    dtypes: tuple[str, ...] = FLOATS
    own: dict[int, str] = field(default_factory=dict)
    low: float = -3.0
    high: float = 3.0
    outputs: int = 1
    result: str = ""
    times: float = 1.0
    limits: dict[int, tuple[float, float]] = field(default_factory=dict)


def describe(shape: Sequence[int], dtype: str) -> dict[str, Any]:
    """A tensor description as operators get it."""
    sizes = tuple(shape)
    return {
        "shape": sizes,
        "dtype": dtype,
        "format": "ND",
        "ori_shape": sizes,
        "ori_format": "ND",
        "range": tuple((max(size, 1), None if size < 0 else size) for size in sizes),
    }


@cache
def operator(name: str) -> Any:
    """An operator of `tbe_impl.ops`."""
    return ops.load(name)


def dtypes_of(case: Case, dtype: str, count: int) -> list[str]:
    """The dtype of each input."""
    return [case.own.get(place, dtype) for place in range(count)]


def build(case: Case, shapes: Sequence[Shape | None], dtype: str, **how: Any) -> Any:
    """The kernel of an operator for these shapes."""
    kinds = dtypes_of(case, dtype, len(shapes))
    inputs: list[Any] = [
        None if shape is None else describe(shape, kind)
        for shape, kind in zip(shapes, kinds, strict=True)
    ]
    if FORMULAS[case.name].arguments[0].startswith("*"):
        inputs = [inputs]
    output = describe(shapes[0] or (), case.result or dtype)
    outputs = [[output] * case.outputs] if case.name == "split" else [output] * case.outputs
    return operator(case.name).build(*inputs, *outputs, **case.attributes, **how)


def arrays(case: Case, shapes: Sequence[Shape | None], dtype: str) -> list[np.ndarray]:
    """Values for each present input."""
    rng = np.random.default_rng([len(case.name), *map(ord, dtype)])
    found = []
    for place, (shape, kind) in enumerate(
        zip(shapes, dtypes_of(case, dtype, len(shapes)), strict=True)
    ):
        low, high = case.limits.get(place, (case.low, case.high))
        if shape is None:
            continue
        if kind in FLOATS:
            found.append(rng.uniform(low, high, shape).astype(dtype_of(kind).numpy))
        else:
            found.append(rng.integers(int(low), int(high) + 1, shape).astype(kind))
    return found


def expected(case: Case, given: Sequence[np.ndarray]) -> tuple[Any, ...]:
    """The formula's result in float64; integers stay integers."""
    wide = [array.astype(np.float64) if array.dtype.kind == "f" else array for array in given]
    with np.errstate(all="ignore"):
        found = FORMULAS[case.name](*wide, **case.attributes)
    return found if isinstance(found, tuple) else (found,)
