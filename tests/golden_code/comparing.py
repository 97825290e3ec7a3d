"""Compares texts with tests/golden and shows differences as a short unified diff."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

LONGEST_DIFF = 60
"""Lines of a diff that are shown."""
FULL_DIFFS, SHORT_DIFF = 3, 12
"""Diffs of one test at full length, and the lines of the others."""

_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|/\*.*?\*/|//[^\n]*', re.DOTALL)


def without_comments(text: str) -> str:
    r"""C without its comments, without empty lines, and without spaces at ends of lines.

    >>> without_comments('int a; /* one\n two */\n// three\nchar *b = "//";\n')
    'int a;\nchar *b = "//";\n'
    """
    bare = _COMMENT.sub(lambda found: found[1] or " ", text)
    lines = (line.rstrip() for line in bare.splitlines())
    return "".join(f"{line}\n" for line in lines if line)


def difference(wanted: str, found: str, name: str, longest: int = LONGEST_DIFF) -> str:
    """A unified diff from the golden text to the found text, limited in length."""
    lines = list(
        difflib.unified_diff(
            wanted.splitlines(), found.splitlines(), f"golden {name}", "found", lineterm=""
        )
    )
    more = len(lines) - longest
    return "\n".join([*lines[:longest], *([f"… {more} more lines"] if more > 0 else [])])


@dataclass(frozen=True)
class Goldens:
    """The golden texts of one test module.

    Attributes:
        root: the directory of all golden texts.
        test: the test module, for the command that updates its goldens.
        update: write the found texts.
        failed: names with differences.
    """

    root: Path
    test: str
    update: bool
    failed: list[str] = field(default_factory=list)

    def compare(self, name: str, text: str) -> None:
        """Fails with a diff unless `text` is the golden text of this name."""
        __tracebackhide__ = True
        path = self.root / name
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        command = f"pytest {self.test} --update-golden"
        if not path.exists():
            pytest.fail(f"tests/golden/{name} is missing; write it with: {command}", pytrace=False)
        wanted = path.read_text(encoding="utf-8")
        if text != wanted:
            self.failed.append(name)
            longest = LONGEST_DIFF if len(self.failed) <= FULL_DIFFS else SHORT_DIFF
            shown = difference(wanted, text, name, longest)
            pytest.fail(
                f"tests/golden/{name} is another text; if that is meant, write it with: "
                f"{command}\n{shown}",
                pytrace=False,
            )

    def compare_each(self, name: str, suffix: str, texts: Mapping[str, str]) -> None:
        """Compares one text per kind: one file if all are equal, else one per kind.

        Args:
            name: name of the golden without its suffix.
            suffix: suffix of the file.
            texts: text by kind.
        """
        __tracebackhide__ = True
        same = len(set(texts.values())) == 1
        files = {f"{name}{suffix}": next(iter(texts.values()))}
        apart = {f"{name}.{kind}{suffix}": text for kind, text in texts.items()}
        if self.update:
            for file in {**files, **apart}:
                (self.root / file).unlink(missing_ok=True)
        for file, text in (files if same else apart).items():
            self.compare(file, text)

    def only(self, directory: str, names: Iterable[str]) -> None:
        """Fails if a directory has a golden text whose name is not among these."""
        __tracebackhide__ = True
        known = set(names)
        files = sorted(path.name for path in (self.root / directory).iterdir())
        left = [file for file in files if file.split(".")[0] not in known]
        assert not left, f"tests/golden/{directory}: no test compares with {left}; remove them"
