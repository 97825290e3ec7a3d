"""Preprocesses the headers of the generated C for an instruction set."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tbe_impl.runtime import compiler
from tests.golden_code.comparing import without_comments

INCLUDE = compiler.INCLUDE
FIRST = ("vector_math.h", "runtime.h")
"""Included by every generated text."""

_X86 = (
    "__x86_64__",
    "__SSE2__",
    "__SSE4_1__",
    "__AVX__",
    "__AVX2__",
    "__FMA__",
    "__F16C__",
    "__BMI2__",
    "__linux__",
)
_SSE = ("__x86_64__", "__SSE2__", "__SSE4_1__", "__SSE4_2__", "__linux__")
_BEYOND = tuple(f"__AVX512{part}__" for part in ("F", "BW", "CD", "DQ", "VL"))
_GCC = {"__GNUC__": "12", "__has_builtin": "0"}
MACROS: Mapping[str, Mapping[str, str]] = {
    "sse4.2": {**_GCC, **dict.fromkeys(_SSE, "1")},
    "avx2": {**_GCC, **dict.fromkeys(_X86, "1")},
    "avx512": {**_GCC, **dict.fromkeys((*_X86, *_BEYOND), "1")},
}
"""Macros that GCC defines for an instruction set; everything else counts as undefined."""

BUILTINS = ("__builtin_shufflevector",)
"""Builtins that the headers test and GCC has."""

_DIRECTIVE = re.compile(r"\s*#\s*(\w+)\s*(.*)", re.DOTALL)
_HAS_BUILTIN = re.compile(r"\b__has_builtin\s*\((\w+)\)")
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")


def resolved(isa: str) -> dict[str, str]:
    """Each included header, without comments and branches that this instruction set excludes."""
    reader = _Reader(dict(MACROS[isa]))
    for name in FIRST:
        reader.include(name)
    return {name: "".join(f"{line}\n" for line in lines) for name, lines in reader.found.items()}


class _Reader:
    def __init__(self, macros: dict[str, str]):
        self.macros = macros
        self.parameters: dict[str, str] = {}
        self.found: dict[str, list[str]] = {}

    def include(self, name: str) -> None:
        """Reads a header of the package; its include guard empties a second inclusion."""
        if name in self.found:
            return
        lines = self.found[name] = []
        # per open condition: whether its branch is active, and whether one of its branches was
        open_: list[tuple[bool, bool]] = []
        for line in _logical_lines(without_comments((INCLUDE / name).read_text(encoding="utf-8"))):
            directive = _DIRECTIVE.match(line)
            word, rest = directive.groups() if directive else ("", "")
            active = all(read for read, _ in open_)
            if word in ("if", "ifdef", "ifndef"):
                holds = active and self._holds(word, rest)
                open_.append((holds, holds or not active))
            elif word in ("elif", "else"):
                _, done = open_.pop()
                outside = all(read for read, _ in open_)
                holds = outside and not done and (word == "else" or self._holds("if", rest))
                open_.append((holds, done or holds))
            elif word == "endif":
                open_.pop()
            elif active:
                self._take(name, line, word, rest, lines)
        assert not open_, f"{name}: a condition is not closed"

    def _take(self, name: str, line: str, word: str, rest: str, lines: list[str]) -> None:
        assert word != "error", f"{name}: {line}"
        if word == "define":
            macro, _, value = rest.partition(" ")
            macro, _, parameters = macro.partition("(")
            self.macros[macro] = value.strip()
            if parameters:
                self.parameters[macro] = parameters.strip("()")
        elif word == "undef":
            self.macros.pop(rest.strip(), None)
        elif word == "include" and rest.startswith('"') and (INCLUDE / rest.strip('"')).exists():
            self.include(rest.strip('"'))
        lines.append(line)

    def _holds(self, word: str, text: str) -> bool:
        if word != "if":
            return (text.strip() in self.macros) == (word == "ifdef")
        text = _DEFINED.sub(lambda found: str(int((found[1] or found[2]) in self.macros)), text)
        text = _HAS_BUILTIN.sub(lambda found: str(int(found[1] in BUILTINS)), text)
        return bool(_number(self._expanded(text)))

    def _expanded(self, text: str) -> str:
        """Replaces names: macros by their values, everything else by 0."""
        while name := re.search(r"\b[A-Za-z_]\w*\b", text):
            end, value = name.end(), self.macros.get(name[0], "0")
            if name[0] in self.parameters:
                argument = _argument(text[end:])
                end += len(argument) + 2
                value = re.sub(rf"\b{self.parameters[name[0]]}\b", f"({argument})", value)
            text = f"{text[: name.start()]}({value}){text[end:]}"
        return text


def _argument(text: str) -> str:
    """The text between the first parenthesis and its counterpart."""
    depth = 0
    for at, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if not depth:
            return text[1:at]
    raise ValueError(text)


def _number(text: str) -> int:
    """The value of a condition of numbers and operators, innermost parentheses first."""
    while "(" in text:
        text = re.sub(r"\(([^()]*)\)", lambda found: str(_number(found[1])), text)
    if "?" in text:
        condition, _, branches = text.partition("?")
        branch, _, other = branches.partition(":")
        return _number(branch if _number(condition) else other)
    text = text.replace("&&", " and ").replace("||", " or ").replace("/", "//")
    text = re.sub(r"!(?!=)", " not ", text).replace("\\\n", " ").strip()
    return int(eval(text, {"__builtins__": {}}))  # noqa: S307 - our own headers


def _logical_lines(text: str) -> Iterator[str]:
    """Lines; continuation lines are joined to their directive."""
    waiting: list[str] = []
    for line in text.splitlines():
        waiting.append(line)
        if not line.endswith("\\"):
            yield "\n".join(waiting)
            waiting = []
