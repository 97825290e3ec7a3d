"""Builds lookup tables for unary float16 functions, for processors with 32 lanes of float16.

32 cells (intervals) of equal width surround 0. In the cell around c = n · step, the table computes
y = hi · x + r, or y = hi + r if y(0) ≠ 0. Here, hi is a constant of the cell, and r is a polynomial
in x − c that is small compared to y. Therefore float16 roundings of r hardly matter, and y is
effectively rounded once. The accuracy is verified, not estimated: every float16 input is evaluated
as on the processor. A function whose error exceeds `MAX_ULP` for any input has no table.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tbe_impl.records import Record

Array = np.ndarray
Function = Callable[[Array], Array]
"""A function on arrays of float64 values, element by element."""

CELL_COUNT = 32
FIRST_CELL = -CELL_COUNT // 2
STEPS_AND_DEGREES = ((1.0, 4), (0.75, 4), (0.5, 3))
"""Pairs (cell width, polynomial degree), widest first.

With width 1, the 32 cells cover the range from −16.5 to 15.5.
"""
MAX_ULP = 1.2
"""Maximum error of a result in units in the last place.

One rounding has an error of at most 0.5. Two rounded operations may have an error of 1.5.
"""
SMALLEST_ULP = 2.0**-24
"""Spacing of the smallest float16 values."""
CHEBYSHEV_NODES = 48
REWEIGHTING_ROUNDS = 6
"""Number of iterations of the fit; each one increases the weights of points with a large error."""


class HalfLookupTable(Record):
    """Lookup table of a function.

    Attributes:
        step: width of a cell.
        of_product: whether the table computes y = hi · x + r instead of y = hi + r.
        rows: float16 array with one column per cell. The first row contains hi; each further row
            contains one coefficient of r, by increasing power.
    """

    step: float
    of_product: bool
    rows: Array


def fit_lookup_table(function: Function) -> HalfLookupTable | None:
    """Fits a table to a function.

    Returns None if the error of every tried table exceeds `MAX_ULP` for some float16 input.
    """
    with np.errstate(all="ignore"):
        for step, degree in STEPS_AND_DEGREES:
            x = float16_domain(step)
            y = function(x.astype(np.float64))
            if (np.abs(y) <= float(np.finfo(np.float16).max)).all():
                found = _fit_table(function, step, degree)
                if _is_accurate_enough(evaluate_table(found, x), y):
                    return found
    return None


def _is_accurate_enough(found: Array, wanted: Array) -> bool:
    same_zero = np.signbit(found) == np.signbit(wanted)
    return bool(
        (np.abs(found - wanted) <= MAX_ULP * ulp_of(wanted)).all() and same_zero[wanted == 0].all()
    )


def float16_domain(step: float) -> Array:
    """Returns all float16 values inside the cells of width `step`."""
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with np.errstate(invalid="ignore"):
        cell = _cell_index(every.astype(np.float64), step)
    return every[(cell >= 0) & (cell < CELL_COUNT)]


def _cell_index(x: Array, step: float) -> Array:
    """Returns the number of the cell of each value.

    A number may be out of range. As on the processor, 1 / step is rounded to float16.
    """
    return np.rint(x * float(np.float16(1 / step))) - FIRST_CELL


def ulp_of(y: Array) -> Array:
    """Returns the spacing of float16 values near y."""
    return np.maximum(np.ldexp(1.0, np.frexp(np.abs(y))[1] - 11), SMALLEST_ULP)


def evaluate_table(cells: HalfLookupTable, x: Array) -> Array:
    """Evaluates a table for float16 values as the processor does; returns float64 values."""
    wide = x.astype(np.float64)
    cell = _cell_index(wide, cells.step)
    away = _round_to_half(wide - (cell + FIRST_CELL) * cells.step)
    hi, *powers = cells.rows.astype(np.float64)[:, cell.astype(int)]
    rest = powers[-1]
    for coefficient in powers[-2::-1]:
        rest = _round_to_half(rest * away + coefficient)
    return _round_to_half(hi * wide + rest if cells.of_product else hi + rest)


def _round_to_half(x: Array) -> Array:
    return x.astype(np.float16).astype(np.float64)


def _round_toward_zero(x: float) -> float:
    near = np.float16(x)
    return float(near if abs(near) <= abs(x) else np.nextafter(near, np.float16(0)))


def _fit_table(function: Function, step: float, degree: int) -> HalfLookupTable:
    """Fits the coefficients of a table, by increasing power.

    Each coefficient is rounded to float16 before the next coefficient is fitted to the residual.
    """
    middles = (np.arange(CELL_COUNT) + FIRST_CELL) * step
    # at 0, the slope replaces the quotient y / x
    near = np.where(middles == 0, 2.0**-20, middles)
    values, of_product = function(near), float(function(np.zeros(1))[0]) == 0
    high = _round_to_half(values / near if of_product else values)
    if of_product:
        # rounding toward zero gives r the sign of the result near 0
        high[-FIRST_CELL] = _round_toward_zero(values[-FIRST_CELL] / near[-FIRST_CELL])
    along = np.cos(np.pi * (np.arange(CHEBYSHEV_NODES) + 0.5) / CHEBYSHEV_NODES)
    x = middles[:, None] + step / 2 * along
    y = function(x)
    left, weight = y - (high[:, None] * x if of_product else high[:, None]), 1 / ulp_of(y)
    terms = np.stack([along**power for power in range(degree + 1)], -1)
    rows = [high]
    for power in range(degree + 1):
        wanted = _fit_leading_coefficient(terms[:, power:], left, weight) / (step / 2) ** power
        if of_product and power < 2:
            # near 0, y is no larger than x, so r must be small too
            wanted[-FIRST_CELL] = (
                values[-FIRST_CELL] / near[-FIRST_CELL] - high[-FIRST_CELL] if power else -0.0
            )
        rows.append(_round_to_half(wanted))
        left = left - rows[-1][:, None] * (step / 2 * along) ** power
    return HalfLookupTable(step, of_product, np.stack(rows).astype(np.float16))


def _fit_leading_coefficient(terms: Array, left: Array, weight: Array) -> Array:
    """Fits a linear combination of `terms` to the values `left`, separately in each cell.

    The fit minimises the greatest weighted error in the cell by iterative reweighting. Returns an
    array with one element for each cell: the coefficient of the first term.
    """
    asked, count = np.ones_like(left), terms.shape[1]
    best, least = np.zeros(len(left)), np.full(len(left), np.inf)
    for _ in range(REWEIGHTING_ROUNDS):
        scale = asked * weight**2
        products = np.einsum("cn,ni,nj->cij", scale, terms, terms)
        size = np.trace(products, axis1=1, axis2=2)[:, None, None] + 1e-300
        sums = np.einsum("cn,ni->ci", scale * left, terms)[..., None]
        factors = np.linalg.solve(products / size + 1e-15 * np.eye(count), sums / size)[..., 0]
        error = np.abs(factors @ terms.T - left) * weight
        worst = error.max(1)
        best, least = np.where(worst < least, factors[:, 0], best), np.minimum(worst, least)
        asked = asked * (error / (worst[:, None] + 1e-300) + 1e-3)
        asked /= asked.max(1, keepdims=True)
    return best
