"""Rows 11 and 15: every operator of `custom_ops` at extreme shapes, forward and backward."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from tests.custom_ops.edge_cases import OTHER_DTYPES, check, check_other_dtype, edges_of
from tests.custom_ops.spec_cases import SPECS
from tests.stress.parts import Row, Stress


def edges(stress: Stress) -> str:
    """Random shapes and dtypes, equally many for each operator."""
    chance = stress.chance
    specs = [spec for spec in SPECS.values() if spec.has_kernel]
    taken, refused, failures = 0, 0, []
    for spec in specs if stress.full else chance.sample(specs, 6):
        every = edges_of(spec)
        tried: list[tuple[Callable[..., bool], tuple[Any, ...]]] = [
            (check, (edge, stress.seed))
            for edge in chance.sample(every, min(stress.times(20, 2), len(every)))
        ]
        others = [
            (spec, place, dtype) for place in range(len(spec.inputs)) for dtype in OTHER_DTYPES
        ]
        tried += [(check_other_dtype, one) for one in others[:: stress.times(1, 5)]]
        for function, arguments in tried:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    right = function(*arguments)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is told
                told = " ".join(getattr(one, "name", str(one)) for one in arguments)
                failures.append(f"{told}: {type(error).__name__} {error}")
                continue
            taken, refused = taken + right, refused + (not right)
    assert not failures, f"{len(failures)} of {taken + refused + len(failures)}: " + "; ".join(
        failures
    )
    return f"{taken} right forward and backward, {refused} refused by name"


ROWS = (
    Row(
        15,
        "operators and their gradients at the edges of shapes and dtypes",
        "right, within 1e-6 of differences in float64, or one typed error",
        edges,
    ),
)
