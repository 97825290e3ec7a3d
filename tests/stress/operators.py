"""Rows 11 and 15: every operator of `custom_ops` at the edges of what it takes, forward and backward."""

from __future__ import annotations

import warnings

from tests.custom_ops.edge_cases import check, edges_of
from tests.custom_ops.spec_cases import SPECS
from tests.stress.parts import Row, Stress


def edges(stress: Stress) -> str:
    """Shapes and dtypes by chance, of each operator as many as of any other."""
    chance = stress.chance
    specs = [spec for spec in SPECS.values() if spec.has_kernel]
    taken, refused, failures = 0, 0, []
    for spec in specs if stress.full else chance.sample(specs, 6):
        every = edges_of(spec)
        for edge in chance.sample(every, min(stress.times(20, 2), len(every))):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    right = check(edge, stress.seed)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is told
                failures.append(f"{edge}: {type(error).__name__} {error}")
                continue
            taken, refused = taken + right, refused + (not right)
    assert not failures, f"{len(failures)} of {taken + refused + len(failures)}: " + "; ".join(failures)  # fmt: skip
    return f"{taken} right forward and backward, {refused} refused by name"


ROWS = (
    Row(15, "operators and their gradients at the edges of shapes and dtypes", "right, within 1e-6 of differences in float64, or one typed error", edges),
)  # fmt: skip
