"""Parses a formula string to a syntax tree without importing NumPy."""

from __future__ import annotations

import ast

from tbe_impl.errors import InputError

PLACE = "--formula"


def parse_formula(text: str) -> ast.expr:
    """Returns the syntax tree of a formula; raises `InputError` if `text` is not an expression."""
    if len(text) > 10_000:
        raise InputError("the formula is too long", place=PLACE)
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise formula_error(text) from error


def formula_error(text: str) -> InputError:
    """Returns the error for a string that is not a formula."""
    return InputError(
        "this is not a formula", place=PLACE, got=repr(text), expected="such as x/(1+exp(-beta*x))"
    )
