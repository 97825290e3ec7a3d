"""Every error type of the project.

An error names the user's thing, the place, what was expected, what came, and what to do. The parts are kept apart, so
that the command line, a report and a test can each use the one they need; ``str(error)`` puts them in one sentence.
"""

from __future__ import annotations


class FusionError(Exception):
    """The one family of exceptions raised on purpose.

    Args:
        what: the sentence that says what is wrong, with the user's thing in it.
        place: file, line, argument or graph where it is.
        expected: what would have been right.
        got: what came instead.
        remedy: the next thing to do, as a command or a change.
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
        """What is wrong, where, what was expected and what came, without the remedy."""
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
    """What the user handed over cannot be used: no such file, no such class, wrong shape, unknown name."""

    code = "input"


class ParseError(InputError):
    """A file is damaged or of another kind.

    Args:
        what: what is wrong there.
        file: name of the file.
        line: line number, from 1.
        column: column number, from 1.
        text: the line around the place.
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
    """Something that has to be installed is absent: a package, a compiler."""

    code = "missing"


class UnsafeError(FusionError):
    """A combination that is known to kill the process or to compute wrong numbers was refused."""

    code = "unsafe"


class CaptureError(FusionError):
    """A net could not be compiled or run while it was being looked at."""

    code = "capture"


class CacheError(FusionError):
    """A cache entry or the cache directory cannot be trusted or used."""

    code = "cache"


class CompileError(FusionError):
    """A kernel could not be built."""

    code = "compile"


class FusionNotFound(FusionError, AssertionError):
    """A fusion that was asserted is not there; names the nearest kernel and the reason."""

    code = "not-fused"
