"""Indices and addresses as polynomials with integer coefficients over loop variables and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

Monomial = tuple[int, ...]
"""Serial numbers of the variables that are multiplied, sorted; empty for the constant term."""
_UNIT = (((), 1),)


@dataclass(frozen=True)
class Poly:
    """A sum of monomials with coefficients, in one normal form, so that equal ones compare equal."""

    terms: tuple[tuple[Monomial, int], ...] = ()

    @staticmethod
    def of(value: int) -> Poly:
        """A constant."""
        return Poly((((), value),)) if value else ZERO

    @staticmethod
    def variable(serial: int) -> Poly:
        """A variable."""
        return Poly((((serial,), 1),))

    @property
    def constant(self) -> int | None:
        """Its value when it holds no variable."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and self.terms[0][0] == ():
            return self.terms[0][1]
        return None

    @cached_property
    def variables(self) -> frozenset[int]:
        """Serial numbers of the variables in it."""
        return frozenset(serial for monomial, _ in self.terms for serial in monomial)

    def __add__(self, other: Poly) -> Poly:
        if not self.terms or not other.terms:
            return self if self.terms else other
        return _normal([*self.terms, *other.terms])

    def __sub__(self, other: Poly) -> Poly:
        if not other.terms:
            return self
        return _normal([*self.terms, *((m, -c) for m, c in other.terms)])

    def __mul__(self, other: Poly) -> Poly:
        if _UNIT in (self.terms, other.terms):
            return other if self.terms == _UNIT else self
        return _normal(
            [(tuple(sorted((*m, *n))), c * d) for m, c in self.terms for n, d in other.terms]
        )

    def coefficient(self, serial: int) -> Poly | None:
        """What the variable is multiplied with; None when it stands in a square."""
        if any(monomial.count(serial) > 1 for monomial, _ in self.terms):
            return None
        return _normal(
            [
                (tuple(item for item in monomial if item != serial), factor)
                for monomial, factor in self.terms
                if serial in monomial
            ]
        )

    def substitute(self, values: Mapping[int, Poly]) -> Poly:
        """With polynomials in place of variables."""
        if not self.variables & values.keys():
            return self
        total = ZERO
        for monomial, factor in self.terms:
            product = Poly.of(factor)
            for serial in monomial:
                product = product * values.get(serial, Poly.variable(serial))
            total = total + product
        return total

    def text(self, names: Mapping[int, str]) -> str:
        """As C, in 64-bit arithmetic."""
        if not self.terms:
            return "0"
        parts = []
        for monomial, factor in self.terms:
            factors = [names[serial] for serial in monomial]
            if factor != 1 or not factors:
                factors.insert(0, f"INT64_C({factor})")
            parts.append("*".join(factors))
        return " + ".join(parts)


def _normal(terms: list[tuple[Monomial, int]]) -> Poly:
    total: dict[Monomial, int] = {}
    for monomial, factor in terms:
        total[monomial] = total.get(monomial, 0) + factor
    return Poly(tuple(sorted((item for item in total.items() if item[1]), key=_order)))


def _order(item: tuple[Monomial, int]) -> tuple[int, Monomial]:
    return -len(item[0]), item[0]


ZERO = Poly()
ONE = Poly.of(1)
