"""Ranges of loop variables, and index-set splitting where a condition changes.

A loop whose body asks ``i < n`` is cut at n: in each of its pieces the condition is known, so that a select costs nothing
and what it reads lies side by side.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tbe_impl.codegen.axis_merging import Environment, index_poly
from tbe_impl.codegen.polynomials import ONE, ZERO, Poly
from tbe_impl.dsl.expr import COMPARISONS, Binary, Call, Const, Expr, walk

WIDE = frozenset({"int32", "int64"})
"""dtypes of indices; in narrower or unsigned ones a difference could wrap around."""


MOST_MULTIPLES = 7
"""Places at which a loop is cut because a quotient of indices changes there."""


@dataclass(frozen=True)
class Piece:
    """A part of a loop.

    Attributes:
        serial: number of the loop.
        least, behind: bounds of its variable, the second exclusive; the piece may be smaller.
        begin, end: where it begins and ends, in C.
        steps: how many steps it takes, when that is known.
        is_cut: whether it is less than the loop.
    """

    serial: int
    least: Poly
    behind: Poly
    begin: str
    end: str
    steps: int | None
    is_cut: bool


class Ranges:
    """The bounds of loop variables.

    Args:
        extents: serial number of each loop → how many steps it takes; the outer loops come first.
    """

    def __init__(self, extents: dict[int, Poly]):
        self.extents = extents
        self.known: dict[int, tuple[Poly, Poly]] = {}

    @contextmanager
    def within(self, serial: int, least: Poly, behind: Poly) -> Iterator[None]:
        """Inside, the variable lies from `least` to before `behind`."""
        before = self.known.get(serial)
        self.known[serial] = (least, behind)
        try:
            yield
        finally:
            del self.known[serial]
            if before is not None:
                self.known[serial] = before

    def of(self, serial: int) -> tuple[Poly, Poly]:
        """The least value of a loop's variable, and the first above all of them."""
        return self.known.get(serial) or (ZERO, self.extents[serial])

    def bounds(self, value: Poly) -> tuple[Poly, Poly] | None:
        """The least and the greatest value of a polynomial, as far as sizes are concerned; None if it cannot be told."""
        least = most = value
        # the bounds of an inner loop may depend on the outer ones
        for serial in reversed(self.extents):
            if serial not in least.variables and serial not in most.variables:
                continue
            first, last = self.of(serial)[0], self.of(serial)[1] - ONE
            low = self._extreme(least, serial, first, last)
            high = self._extreme(most, serial, last, first)
            if low is None or high is None:
                return None
            least, most = low, high
        return least, most

    def _extreme(self, value: Poly, serial: int, rising: Poly, falling: Poly) -> Poly | None:
        """`value` where the variable is `rising` if it grows with it, else `falling`."""
        if serial not in value.variables:
            return value
        step = value.coefficient(serial)
        if step is None or step.variables & self.extents.keys():
            return None
        if is_natural(step):
            return value.substitute({serial: rising})
        return value.substitute({serial: falling}) if is_natural(ZERO - step) else None

    def holds(self, condition: Expr, environment: Environment) -> bool | None:
        """Whether a condition on indices holds in all of the ranges (True), in none of them (False), or neither."""
        if isinstance(condition, Const):
            return bool(condition.value)
        if isinstance(condition, Call) and condition.name == "not":
            inner = self.holds(condition.args[0], environment)
            return None if inner is None else not inner
        if not isinstance(condition, Binary):
            return None
        if condition.op in ("and", "or"):
            settles = condition.op == "or"
            found = [self.holds(side, environment) for side in condition.children]
            return settles if settles in found else None if None in found else not settles
        difference = _difference(condition, environment)
        bounds = None if difference is None else self.bounds(difference)
        return None if bounds is None else _compared(condition.op, *bounds)

    def multiples(self, value: Poly, divisor: Poly) -> list[int]:
        """The multiples of a divisor that a value passes in these ranges; none when they are many."""
        bounds, by = self.bounds(value), divisor.constant
        if bounds is None or not by or by < 0:
            return []
        least, most = (end.constant for end in bounds)
        if least is None or most is None or most // by - least // by > MOST_MULTIPLES:
            return []
        return [factor * by for factor in range(least // by + 1, most // by + 1)]

    def quotient(self, value: Poly, divisor: Poly) -> Poly | None:
        """value // divisor where it is the same in all of these ranges."""
        bounds, by = self.bounds(value), divisor.constant
        if bounds is None or not by or by < 0:
            return None
        least, most = (end.constant for end in bounds)
        if least is None or most is None or least // by != most // by:
            return None
        return Poly.of(least // by)

    def cuts(self, serial: int, values: Iterable[Poly], open_loops: Container[int]) -> list[Poly]:
        """Where a loop is cut so that each of `values` is nowhere or everywhere negative, in order.

        Args:
            serial: the loop.
            values: differences of indices.
            open_loops: the loops around it, on which a cut may depend.
        """
        first, behind = self.of(serial)
        found: list[Poly] = []
        for value in values:
            for place in self._changes(serial, value, open_loops):
                if not is_natural(first - place) and not is_natural(place - behind):
                    _insert(found, place)
        return found

    def _changes(self, serial: int, value: Poly, open_loops: Container[int]) -> Iterator[Poly]:
        """The first steps at which the sign of a value is, or may be, another one."""
        step = value.coefficient(serial)
        factor = None if step is None else step.constant
        if not factor:
            return
        rest = value - Poly.variable(serial) * Poly.of(factor)
        ends = (rest, rest)
        inner = [item for item in rest.variables & self.extents.keys() if item not in open_loops]
        if inner:
            bounds = Ranges({item: self.extents[item] for item in inner}).bounds(rest)
            span = None if bounds is None else (bounds[1] - bounds[0]).constant
            # an inner loop that goes further than one step of this one would leave pieces in which nothing is known
            if bounds is None or span is None or span > abs(factor):
                return
            ends = bounds
        for end in dict.fromkeys(ends):
            if abs(factor) == 1:
                yield ZERO - end if factor == 1 else end + ONE
            elif end.constant is not None:
                yield Poly.of(
                    -(end.constant // factor) if factor > 0 else end.constant // -factor + 1
                )


def signs(condition: Expr, environment: Environment) -> Iterator[Poly]:
    """The differences of indices on whose signs a condition depends."""
    for node in walk(condition):
        if isinstance(node, Binary) and node.op in COMPARISONS:
            difference = _difference(node, environment)
            if difference is None:
                continue
            if node.op not in ("le", "gt"):
                yield difference
            if node.op not in ("lt", "ge"):
                yield difference - ONE


def _difference(node: Binary, environment: Environment) -> Poly | None:
    """a − b of a comparison of indices."""
    if node.op not in COMPARISONS or any(
        part.dtype not in WIDE for side in node.children for part in walk(side)
    ):
        return None
    a, b = index_poly(node.a, environment), index_poly(node.b, environment)
    return None if a is None or b is None else a - b


def _compared(op: str, least: Poly, most: Poly) -> bool | None:
    """What a comparison of a difference with 0 says."""
    below, above = is_natural(ZERO - ONE - most), is_natural(least - ONE)
    not_above, not_below = is_natural(ZERO - most), is_natural(least)
    if op in ("lt", "ge"):
        found = True if below else False if not_below else None
        return found if op == "lt" or found is None else not found
    if op in ("le", "gt"):
        found = True if not_above else False if above else None
        return found if op == "le" or found is None else not found
    found = False if below or above else True if not_above and not_below else None
    return found if op == "eq" or found is None else not found


def _insert(chain: list[Poly], place: Poly) -> None:
    """Adds a place where it belongs; one whose order is not known is left out."""
    for position, other in enumerate(chain):
        if place == other:
            return
        if is_natural(other - place):
            chain.insert(position, place)
            return
        if not is_natural(place - other):
            return
    chain.append(place)


def is_natural(value: Poly) -> bool:
    """Whether it cannot be below 0, whatever the sizes are."""
    return all(factor >= 0 for _, factor in value.terms)
