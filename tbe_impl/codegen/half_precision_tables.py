"""Builds lookup tables for unary float16 functions, for processors with 32 lanes of float16.

Around 0 there are 32 cells, as wide as is good for the function. In that around n · step it is y = hi · x + r (or hi + r where it is not
0 at 0), r a polynomial in x − n · step, small beside y, so that what float16 rounds on the way to r counts little and y is rounded once.
Whether that holds is no estimate: the function is computed for each number there is, as the processor does, and compared; one
that is further than `MOST_ULP` from the truth anywhere has no table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
Function = Callable[[Array], Array]
"""Of float64, element by element."""

CELLS = 32
FIRST = -CELLS // 2
SHAPES = ((1.0, 4), (0.75, 4), (0.5, 3))
"""Steps and degrees, the widest first: −16.5 to 15.5, and half as far."""
MOST_ULP = 1.2
"""Units in the last place that a result may be from the truth. Rounded once it is within 0.5, and two operations, each rounded,
may leave it 1.5 away."""
LEAST_UNIT = 2.0**-24
"""Of float16, between its smallest numbers."""
NODES = 48
ROUNDS = 6
"""Of the fit, each with more weight where the last was off."""


@dataclass(frozen=True)
class HalfCells:
    """A function's table.

    Attributes:
        step: from one cell to the next.
        of_product: whether y = hi · x + r, and not hi + r.
        rows: hi of each cell, then the coefficients of r from that of the power 0 on; float16.
    """

    step: float
    of_product: bool
    rows: Array


def half_cells(function: Function) -> HalfCells | None:
    """The table of a function; None where there is none that is near enough to it everywhere."""
    with np.errstate(all="ignore"):
        for step, degree in SHAPES:
            x = numbers(step)
            y = function(x.astype(np.float64))
            if (np.abs(y) <= float(np.finfo(np.float16).max)).all():
                found = _fitted(function, step, degree)
                if _is_near(computed(found, x), y):
                    return found
    return None


def _is_near(found: Array, wanted: Array) -> bool:
    same_zero = np.signbit(found) == np.signbit(wanted)
    return bool(
        (np.abs(found - wanted) <= MOST_ULP * unit(wanted)).all() and same_zero[wanted == 0].all()
    )


def numbers(step: float) -> Array:
    """All float16 numbers that lie in cells of a width."""
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with np.errstate(invalid="ignore"):
        cell = _cell(every.astype(np.float64), step)
    return every[(cell >= 0) & (cell < CELLS)]


def _cell(x: Array, step: float) -> Array:
    """The number of the cell in which a number lies, if there is one; what x is multiplied by is a float16 number, too."""
    return np.rint(x * float(np.float16(1 / step))) - FIRST


def unit(y: Array) -> Array:
    """The distance of float16 numbers near these."""
    return np.maximum(np.ldexp(1.0, np.frexp(np.abs(y))[1] - 11), LEAST_UNIT)


def computed(cells: HalfCells, x: Array) -> Array:
    """What the processor makes of float16 numbers in the cells, as float64."""
    wide = x.astype(np.float64)
    cell = _cell(wide, cells.step)
    away = _rounded(wide - (cell + FIRST) * cells.step)
    hi, *powers = cells.rows.astype(np.float64)[:, cell.astype(int)]
    rest = powers[-1]
    for coefficient in powers[-2::-1]:
        rest = _rounded(rest * away + coefficient)
    return _rounded(hi * wide + rest if cells.of_product else hi + rest)


def _rounded(x: Array) -> Array:
    return x.astype(np.float16).astype(np.float64)


def _toward_zero(x: float) -> float:
    near = np.float16(x)
    return float(near if abs(near) <= abs(x) else np.nextafter(near, np.float16(0)))


def _fitted(function: Function, step: float, degree: int) -> HalfCells:
    """Coefficients one after the other, each rounded before those of higher powers are fitted to what is left."""
    middles = (np.arange(CELLS) + FIRST) * step
    # next to 0 the slope stands for the quotient
    near = np.where(middles == 0, 2.0**-20, middles)
    values, of_product = function(near), float(function(np.zeros(1))[0]) == 0
    high = _rounded(values / near if of_product else values)
    if of_product:
        # so that what is added to hi · 0 has its sign
        high[-FIRST] = _toward_zero(values[-FIRST] / near[-FIRST])
    along = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
    x = middles[:, None] + step / 2 * along
    y = function(x)
    left, weight = y - (high[:, None] * x if of_product else high[:, None]), 1 / unit(y)
    terms = np.stack([along**power for power in range(degree + 1)], -1)
    rows = [high]
    for power in range(degree + 1):
        wanted = _first_factor(terms[:, power:], left, weight) / (step / 2) ** power
        if of_product and power < 2:
            # around 0 y is no larger than x, and so must be what is added to hi · x
            wanted[-FIRST] = values[-FIRST] / near[-FIRST] - high[-FIRST] if power else -0.0
        rows.append(_rounded(wanted))
        left = left - rows[-1][:, None] * (step / 2 * along) ** power
    return HalfCells(step, of_product, np.stack(rows).astype(np.float16))


def _first_factor(terms: Array, left: Array, weight: Array) -> Array:
    """Of each cell, the factor of the first term where all are such that the largest weighted error is about the least."""
    asked, count = np.ones_like(left), terms.shape[1]
    best, least = np.zeros(len(left)), np.full(len(left), np.inf)
    for _ in range(ROUNDS):
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
