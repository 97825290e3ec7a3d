"""A formula's text as a syntax tree; NumPy is not imported for it."""

from __future__ import annotations

import ast

from tbe_impl.errors import InputError

PLACE = "--formula"


def parsed(text: str) -> ast.expr:
    """The syntax tree of a formula; raises `InputError` for what is no expression."""
    if len(text) > 10_000:
        raise InputError("the formula is too long", place=PLACE)
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise no_formula(text) from error


def no_formula(text: str) -> InputError:
    """The error for a text that is no formula."""
    return InputError(
        "this is no formula", place=PLACE, got=repr(text), expected="such as x/(1+exp(-beta*x))"
    )
