"""Defines every error type of the project.

An error names the user's object, the place, the expected and the actual value, and a remedy. Each
of these parts is an attribute, which the command line, reports and tests read; ``str(error)`` joins
the parts.
"""

from __future__ import annotations

from collections.abc import Iterable


class FusionError(Exception):
    """Base class of all exceptions that the project raises on purpose.

    Args:
        what: the sentence that describes the error and names the user's object.
        place: the file and line, the argument or the graph that the error is about.
        expected: the expected value.
        got: the actual value.
        remedy: the next step for the user: a command to run, or a change to make.
    """

    code = "fusion"

    def __init__(
        self,
        what: str,
        *,
        place: str | None = None,
        expected: str | None = None,
        got: str | None = None,
        remedy: str | None = None,
    ):
        self.what, self.place, self.expected, self.got, self.remedy = (
            what,
            place,
            expected,
            got,
            remedy,
        )
        super().__init__(what)

    @property
    def sentence(self) -> str:
        """The message with place, expected and actual value, but without the remedy."""
        named = not self.place or self.what.startswith((f"{self.place}:", f"{self.place} "))
        text = self.what if named else f"{self.place}: {self.what}"
        if self.expected is not None and self.got is not None:
            text += f"; expected {self.expected}, got {self.got}"
        elif self.expected is not None:
            text += f"; expected {self.expected}"
        elif self.got is not None:
            text += f"; got {self.got}"
        return f"{text}."

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}" if self.remedy else self.sentence


class InputError(FusionError):
    """The user's input cannot be used: for example a missing file, wrong shape or unknown name."""

    code = "input"


class ParseError(InputError):
    """A file is damaged or does not have the expected format.

    Args:
        what: a description of the error.
        file: name of the file.
        line: line number, from 1.
        column: column number, from 1.
        text: the line with the error.
    """

    code = "parse"

    def __init__(
        self,
        what: str,
        *,
        file: str,
        line: int,
        column: int = 1,
        text: str = "",
        remedy: str | None = None,
    ):
        self.file, self.line, self.column, self.text = file, line, column, text
        super().__init__(
            what,
            place=f"{file}:{line}:{column}",
            got=repr(text[:120]) if text else None,
            remedy=remedy,
        )


class MissingError(FusionError):
    """A required package, compiler or other program is not installed."""

    code = "missing"


class UnsafeError(FusionError):
    """The requested flags, dtypes or kernels are known to crash or to compute wrong values."""

    code = "unsafe"


class CaptureError(FusionError):
    """A net could not be captured, that is, compiled and run once without and once with fusion."""

    code = "capture"


class CacheError(FusionError):
    """A cache entry or the cache directory is invalid or unusable."""

    code = "cache"


class CompileError(FusionError):
    """A kernel could not be built."""

    code = "compile"


class CompileTimeoutError(CompileError):
    """The compiler exceeded its time limit."""


class FusionNotFound(FusionError, AssertionError):
    """Operators that should be in one fused kernel are not fused; the message gives the reason."""

    code = "not-fused"


def pluralize(count: int, noun: str, plural: str = "") -> str:
    """Returns the count and the noun: ``1 kernel``, ``1,200 kernels``.

    `plural` is the plural of the noun; by default, the noun with an appended s.
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def suggest_name(name: object, known: Iterable[str]) -> str | None:
    """Returns a remedy with the known name most similar to `name`; None if none is similar."""
    import difflib  # only errors need it

    near = difflib.get_close_matches(str(name), list(known), 1)
    return f"Did you mean {near[0]}?" if near else None
