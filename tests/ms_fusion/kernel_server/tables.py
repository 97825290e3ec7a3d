"""Networks with every operator of the vocabulary: alone, before a sum, beside a broadcast.

`table_runs` runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tests.ms_fusion.kernel_server.any_vocabulary import ANY_BINARY, ANY_UNARY
from tests.ms_fusion.kernel_server.random_networks import Network
from tests.ms_fusion.kernel_server.vocabulary import (
    BINARY,
    MORE_BINARY,
    MORE_UNARY,
    NAMES,
    UNARY,
)

FLOATS = ("float16", "bfloat16", "float32", "float64")
SHAPE, ROW, COLUMN = (6, 9), (9,), (6, 1)
RANGES = {
    "wide": (-4, 4),
    "positive": (0.4, 4),
    "inside": (-0.8, 0.8),
    "above": (1.3, 4),
    "few": (0.4, 2.5),
}
PART = 24
"""Operators of one network: the compiler takes long for a kernel with all of them."""

Form = tuple[str, str]
FORMS: tuple[Form, ...] = (
    ("{}", "{}"),
    ("ops.sum(({}) * 0.5, dim=-1)", "np.sum(({}) * 0.5, -1)"),
    ("({}) * row + column", "({}) * row + column"),
)
"""Alone, before a sum, beside a broadcast."""
OF_WHOLE: tuple[Form, ...] = (FORMS[0], ("ops.sum({}, dim=-1)", "np.sum({}, -1)"), FORMS[2])
OF_TRUTH: tuple[Form, ...] = (
    FORMS[0],
    OF_WHOLE[1],
    ("ops.logical_and(ops.cast({}, ms.bool_), row)", "np.logical_and({}, row)"),
)
Word = tuple[str, str, Callable[..., bool]]


def of_functions(dtype: str) -> Iterator[Network]:
    """Every function of floats in each form, with gradients."""
    every = _counted((*UNARY, *MORE_UNARY), (*BINARY, *MORE_BINARY))
    yield from _in_forms(every, dtype, FORMS, _floats(), gradients=True, first=0)


def of_anything(dtype: str) -> Iterator[Network]:
    """Every operator on any dtype in each form; for non-float dtypes functions as well."""
    if dtype in FLOATS:
        yield from _in_forms(
            _counted(ANY_UNARY, ANY_BINARY), dtype, FORMS, _floats(), gradients=False, first=1000
        )
        return
    every = _counted((*ANY_UNARY, *UNARY, *MORE_UNARY), (*ANY_BINARY, *BINARY, *MORE_BINARY))
    forms = OF_TRUTH if dtype == "bool" else OF_WHOLE
    yield from _in_forms(every, dtype, forms, _whole(dtype), gradients=False, first=1000)


def networks(dtype: str) -> Iterator[Network]:
    """The table of a dtype."""
    if dtype in FLOATS:
        yield from of_functions(dtype)
    yield from of_anything(dtype)


def _counted(unary: Sequence[Word], binary: Sequence[Word]) -> list[tuple[Word, int]]:
    return [(one, 1) for one in unary] + [(one, 2) for one in binary]


def _in_forms(
    every: Sequence[tuple[Word, int]],
    dtype: str,
    forms: Sequence[Form],
    inputs: Mapping[str, Any],
    *,
    gradients: bool,
    first: int,
) -> Iterator[Network]:
    """Networks of `PART` operators each.

    Args:
        every: operators with the number of their inputs.
        first: number of the first network.
    """
    for number, form in enumerate(forms):
        for start in range(0, len(every), PART):
            lines, wanted = [], []
            for (ours, meant, allowed), count in every[start : start + PART]:
                names = _inputs_for(inputs, allowed, count, broadcast=number == 2)
                if names is None:
                    continue
                alone = _value(meant.format(*names), inputs)
                around = form if np.shape(alone) == SHAPE else forms[0]
                lines.append(f"v{len(lines)} = {around[0].format(ours.format(*names))}")
                wanted.append(_value(around[1].format(f"({meant.format(*names)})"), inputs))
            outputs = tuple(f"v{at}" for at in range(len(lines)))
            yield Network(
                first + 100 * number + start // PART,
                dtype,
                len(lines),
                tuple(lines),
                inputs,
                outputs,
                tuple(wanted),
                gradients,
            )


def _value(meant: str, inputs: Mapping[str, Any]) -> Any:
    """NumPy's result, or None if it has none for this dtype."""
    with np.errstate(all="ignore"):
        try:
            return np.asarray(eval(meant, dict(NAMES), dict(inputs)))  # noqa: S307 - our own text
        except (TypeError, ValueError):
            return None


def _floats() -> dict[str, Any]:
    random = np.random.default_rng(3)
    inputs = {}
    for name, (low, high) in RANGES.items():
        for number in range(2):
            inputs[f"{name}{number}"] = _eighths(random.uniform(low, high, SHAPE))
        inputs[f"{name}_row"] = _eighths(random.uniform(low, high, ROW))
    inputs["row"], inputs["column"] = (
        _eighths(random.uniform(0.5, 2, one)) for one in (ROW, COLUMN)
    )
    return inputs


def _eighths(x: Any) -> Any:
    """Exact in every float dtype, and not an integer."""
    return np.floor(x * 8) / 8 + 1 / 16


def _whole(dtype: str) -> dict[str, Any]:
    """The same ranges in integers, or in booleans."""
    random = np.random.default_rng(5)
    inputs = {}
    for name, (low, high) in RANGES.items():
        least = max(int(np.ceil(low)), 0 if dtype[0] in "ub" else -9)
        for place, shape in (("0", SHAPE), ("1", SHAPE), ("_row", ROW)):
            inputs[f"{name}{place}"] = random.integers(least, int(high) + 1, shape).astype(dtype)
    inputs["row"], inputs["column"] = (
        random.integers(dtype != "bool", 4, one).astype(dtype) for one in (ROW, COLUMN)
    )
    return inputs


def _inputs_for(
    inputs: Mapping[str, Any], allowed: Callable[..., bool], count: int, *, broadcast: bool
) -> tuple[str, ...] | None:
    """Inputs in the operator's domain; with `broadcast` the second is a row, if possible."""
    for second in ("_row", "1") if broadcast else ("1",):
        for first in RANGES:
            for other in RANGES:
                names = (f"{first}0", f"{other}{second}")[:count]
                if allowed(*(inputs[name].astype(np.float64) for name in names)):
                    return names
    return None
