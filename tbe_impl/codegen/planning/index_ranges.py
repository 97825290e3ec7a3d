"""Tracks ranges of loop variables, and splits index sets where a condition changes.

A loop whose body tests ``i < n`` is split at n. In each resulting piece, the value of the condition
is known. A select therefore costs nothing, and the reads of its operands are contiguous.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager

from tbe_impl.codegen.loop_ir import Expr as Bound
from tbe_impl.codegen.planning.access_analysis import Environment, index_poly
from tbe_impl.codegen.planning.polynomials import ONE, ZERO, Poly
from tbe_impl.dsl.expr import COMPARISONS, Binary, Call, Const, Expr, walk
from tbe_impl.records import Record

INDEX_DTYPES = frozenset({"int32", "int64"})
"""Dtypes of indices. Differences in a narrower or an unsigned dtype could wrap around."""


MAX_MULTIPLES = 7
"""Maximum number of split points of one loop for one quotient of indices."""


class Piece(Record):
    """One of the consecutive ranges into which a loop is split (index-set splitting).

    Attributes:
        serial: serial number of the loop.
        lower_bound, upper_bound: bounds of the loop variable, which need not be tight;
            `upper_bound` is exclusive.
        begin, end: first value and exclusive end of the loop variable.
        steps: trip count; None if it is unknown.
        is_cut: whether the piece is shorter than the whole loop.
    """

    serial: int
    lower_bound: Poly
    upper_bound: Poly
    begin: Bound
    end: Bound
    steps: int | None
    is_cut: bool


class Ranges:
    """The known ranges of loop variables.

    Args:
        extents: maps the serial number of each loop to its extent; outer loops come first.
    """

    def __init__(self, extents: dict[int, Poly]):
        self.extents = extents
        self.known: dict[int, tuple[Poly, Poly]] = {}

    @contextmanager
    def restrict_to(self, serial: int, least: Poly, behind: Poly) -> Iterator[None]:
        """In the body of a ``with`` statement, restricts a loop variable to [`least`, `behind`)."""
        before = self.known.get(serial)
        self.known[serial] = (least, behind)
        try:
            yield
        finally:
            del self.known[serial]
            if before is not None:
                self.known[serial] = before

    def bounds_of_loop(self, serial: int) -> tuple[Poly, Poly]:
        """Returns the first value and the exclusive end of a loop variable."""
        return self.known.get(serial) or (ZERO, self.extents[serial])

    def bounds(self, value: Poly) -> tuple[Poly, Poly] | None:
        """Returns the least and the greatest value of a polynomial, in terms of sizes.

        Returns None if these bounds cannot be determined.
        """
        least = most = value
        # the bounds of an inner loop may depend on the outer ones
        for serial in reversed(self.extents):
            if serial not in least.variables and serial not in most.variables:
                continue
            first, last = self.bounds_of_loop(serial)[0], self.bounds_of_loop(serial)[1] - ONE
            low = self._extreme_value(least, serial, first, last)
            high = self._extreme_value(most, serial, last, first)
            if low is None or high is None:
                return None
            least, most = low, high
        return least, most

    def _extreme_value(self, value: Poly, serial: int, rising: Poly, falling: Poly) -> Poly | None:
        """Returns `value` with a loop variable replaced by one of its two bounds.

        The bound is `rising` if `value` increases with the variable, and `falling` if `value`
        decreases with it. Returns None if the sign of the coefficient is unknown.
        """
        if serial not in value.variables:
            return value
        step = value.coefficient(serial)
        if step is None or step.variables & self.extents.keys():
            return None
        if is_nonnegative(step):
            return value.substitute({serial: rising})
        return value.substitute({serial: falling}) if is_nonnegative(ZERO - step) else None

    def decide_condition(self, condition: Expr, environment: Environment) -> bool | None:
        """Decides a condition on indices for the current ranges of the loop variables.

        Returns True if the condition always holds, False if it never holds, and None otherwise.
        """
        if isinstance(condition, Const):
            return bool(condition.value)
        if isinstance(condition, Call) and condition.name == "not":
            inner = self.decide_condition(condition.args[0], environment)
            return None if inner is None else not inner
        if not isinstance(condition, Binary):
            return None
        if condition.op in ("and", "or"):
            settles = condition.op == "or"
            found = [self.decide_condition(side, environment) for side in condition.children]
            return settles if settles in found else None if None in found else not settles
        difference = _difference(condition, environment)
        bounds = None if difference is None else self.bounds(difference)
        return None if bounds is None else _decide_comparison(condition.op, *bounds)

    def multiples(self, value: Poly, divisor: Poly) -> list[int]:
        """Returns the multiples of a divisor inside the range of a value.

        Returns an empty list if the range is unknown or contains more than `MAX_MULTIPLES`
        multiples.
        """
        bounds, by = self.bounds(value), divisor.constant
        if bounds is None or not by or by < 0:
            return []
        least, most = (end.constant for end in bounds)
        if least is None or most is None or most // by - least // by > MAX_MULTIPLES:
            return []
        return [factor * by for factor in range(least // by + 1, most // by + 1)]

    def quotient(self, value: Poly, divisor: Poly) -> Poly | None:
        """Returns value // divisor if it is constant over the ranges, otherwise None."""
        bounds, by = self.bounds(value), divisor.constant
        if bounds is None or not by or by < 0:
            return None
        least, most = (end.constant for end in bounds)
        if least is None or most is None or least // by != most // by:
            return None
        return Poly.from_int(least // by)

    def split_points(
        self, serial: int, values: Iterable[Poly], open_loops: Container[int]
    ) -> list[Poly]:
        """Returns the points at which a loop is split, so that no value changes sign in a piece.

        Args:
            serial: serial number of the loop.
            values: differences of indices.
            open_loops: the enclosing loops; split points may depend on their variables.
        """
        first, behind = self.bounds_of_loop(serial)
        found: list[Poly] = []
        for value in values:
            for place in self._sign_changes(serial, value, open_loops):
                if not is_nonnegative(first - place) and not is_nonnegative(place - behind):
                    _insert(found, place)
        return found

    def _sign_changes(self, serial: int, value: Poly, open_loops: Container[int]) -> Iterator[Poly]:
        """Yields the values of a loop variable at which the sign of `value` may change.

        `serial` is the serial number of the loop.
        """
        step = value.coefficient(serial)
        factor = None if step is None else step.constant
        if not factor:
            return
        rest = value - Poly.variable(serial) * Poly.from_int(factor)
        ends = (rest, rest)
        inner = [item for item in rest.variables & self.extents.keys() if item not in open_loops]
        if inner:
            bounds = Ranges({item: self.extents[item] for item in inner}).bounds(rest)
            span = None if bounds is None else (bounds[1] - bounds[0]).constant
            # if the range of the inner loops exceeds one step of this loop, conditions stay
            # unknown in every piece
            if bounds is None or span is None or span > abs(factor):
                return
            ends = bounds
        for end in dict.fromkeys(ends):
            if abs(factor) == 1:
                yield ZERO - end if factor == 1 else end + ONE
            elif end.constant is not None:
                yield Poly.from_int(
                    -(end.constant // factor) if factor > 0 else end.constant // -factor + 1
                )


def compared_differences(condition: Expr, environment: Environment) -> Iterator[Poly]:
    """Yields the index differences whose signs decide a condition."""
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
    """Returns a − b for a comparison of two indices a and b, and None for any other expression."""
    if node.op not in COMPARISONS or any(
        part.dtype not in INDEX_DTYPES for side in node.children for part in walk(side)
    ):
        return None
    a, b = index_poly(node.a, environment), index_poly(node.b, environment)
    return None if a is None or b is None else a - b


def _decide_comparison(op: str, least: Poly, most: Poly) -> bool | None:
    """Compares a difference with 0, given the bounds of the difference.

    Returns the value of the comparison, or None if the bounds do not determine it.
    """
    below, above = is_nonnegative(ZERO - ONE - most), is_nonnegative(least - ONE)
    not_above, not_below = is_nonnegative(ZERO - most), is_nonnegative(least)
    if op in ("lt", "ge"):
        found = True if below else False if not_below else None
        return found if op == "lt" or found is None else not found
    if op in ("le", "gt"):
        found = True if not_above else False if above else None
        return found if op == "le" or found is None else not found
    found = False if below or above else True if not_above and not_below else None
    return found if op == "eq" or found is None else not found


def _insert(chain: list[Poly], place: Poly) -> None:
    """Inserts the split point `place` into the ascending list `chain`.

    The order of two split points may depend on sizes that are unknown. In this case `place` is not
    inserted.
    """
    for position, other in enumerate(chain):
        if place == other:
            return
        if is_nonnegative(other - place):
            chain.insert(position, place)
            return
        if not is_nonnegative(place - other):
            return
    chain.append(place)


def is_nonnegative(value: Poly) -> bool:
    """Returns whether a value is certainly non-negative for all non-negative sizes."""
    return all(factor >= 0 for _, factor in value.terms)
