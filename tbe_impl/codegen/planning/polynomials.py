"""Represents indices and addresses as integer polynomials over loop variables and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from tbe_impl.codegen.loop_ir import Index
from tbe_impl.records import Record

Monomial = tuple[int, ...]
"""Sorted serial numbers of the variables that a term multiplies; empty for the constant term."""
_UNIT = (((), 1),)


class Poly(Record):
    """A sum of monomials in normal form, so that equal polynomials compare equal."""

    terms: tuple[tuple[Monomial, int], ...] = ()

    @staticmethod
    def from_int(value: int) -> Poly:
        """Returns a constant polynomial."""
        return Poly((((), value),)) if value else ZERO

    @staticmethod
    def variable(serial: int) -> Poly:
        """Returns the polynomial that consists of one variable."""
        return Poly((((serial,), 1),))

    @property
    def constant(self) -> int | None:
        """The value of the polynomial if it has no variables, otherwise None."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and self.terms[0][0] == ():
            return self.terms[0][1]
        return None

    @cached_property
    def variables(self) -> frozenset[int]:
        """Serial numbers of the variables in the polynomial."""
        return frozenset(serial for monomial, _ in self.terms for serial in monomial)

    def __add__(self, other: Poly) -> Poly:
        if not self.terms or not other.terms:
            return self if self.terms else other
        return _normalize([*self.terms, *other.terms])

    def __sub__(self, other: Poly) -> Poly:
        if not other.terms:
            return self
        return _normalize([*self.terms, *((m, -c) for m, c in other.terms)])

    def __mul__(self, other: Poly) -> Poly:
        if _UNIT in (self.terms, other.terms):
            return other if self.terms == _UNIT else self
        return _normalize(
            [(tuple(sorted((*m, *n))), c * d) for m, c in self.terms for n, d in other.terms]
        )

    def coefficient(self, serial: int) -> Poly | None:
        """Returns the coefficient of a variable; None if the variable occurs in a higher power."""
        if any(monomial.count(serial) > 1 for monomial, _ in self.terms):
            return None
        return _normalize(
            [
                (tuple(item for item in monomial if item != serial), factor)
                for monomial, factor in self.terms
                if serial in monomial
            ]
        )

    def substitute(self, values: Mapping[int, Poly]) -> Poly:
        """Substitutes polynomials for variables."""
        if not self.variables & values.keys():
            return self
        total = ZERO
        for monomial, factor in self.terms:
            product = Poly.from_int(factor)
            for serial in monomial:
                product = product * values.get(serial, Poly.variable(serial))
            total = total + product
        return total

    def expr(self, names: Mapping[int, str]) -> Index:
        """Returns the polynomial as an expression of named variables."""
        return Index(
            tuple((tuple(names[serial] for serial in term), factor) for term, factor in self.terms)
        )


def _normalize(terms: list[tuple[Monomial, int]]) -> Poly:
    total: dict[Monomial, int] = {}
    for monomial, factor in terms:
        total[monomial] = total.get(monomial, 0) + factor
    return Poly(tuple(sorted((item for item in total.items() if item[1]), key=_sort_key)))


def _sort_key(item: tuple[Monomial, int]) -> tuple[int, Monomial]:
    return -len(item[0]), item[0]


ZERO = Poly()
ONE = Poly.from_int(1)
