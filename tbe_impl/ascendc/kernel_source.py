"""Finds the kernel functions of an Ascend C file, and prepares its text for a C++ compiler."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tbe_impl.errors import InputError

SIZE_LIMIT_BYTES = 8 << 20
_COMMENT_OR_STRING = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL
)
_QUALIFIERS = (
    r"(?:(?:extern\s*\"C\"|inline|static|__aicore__|__vector__|__cube__"
    r"|\[aicore\]|__mix__\([^)]*\))\s+)*"
)
_FUNCTION = re.compile(
    rf"__global__\s+{_QUALIFIERS}(?:__attribute__\s*\(\([^)]*\)\)\s*)?void\s+(\w+)\s*\("
)
_TEMPLATE = re.compile(r"\btemplate\s*<((?:[^<>;{}]|<[^<>]*>)*)>\s*(?:extern\s*\"C\"\s*)?\Z")
_LAUNCH = re.compile(r"(\b\w+\b(?:\s*<[\w\s,:*]*>)?)\s*<<<(.*?)>>>\s*\(", re.DOTALL)
_ASSERTION = re.compile(r"((?<!\w)(?!(?:else|do)\b)[A-Za-z_]\w*|\])(\s+ASSERT\s*\()")
_TILING_TYPES = (
    re.compile(r"\bREGISTER_TILING_DEFAULT\s*\(\s*([\w:]+(?:\s*<[^;]*>)?)\s*\)"),
    re.compile(r"\bGET_TILING_DATA_(?:PTR_)?WITH_STRUCT\s*\(\s*([\w:]+)\s*,"),
    re.compile(r"\bGET_TILING_DATA_MEMBER\s*\(\s*([\w:]+)\s*,"),
    re.compile(
        r"\(\s*(?:const\s+)?__gm__\s+(?:const\s+)?(\w+)\s*\*\s*\)"
        r"\s*\(?\s*(?:tiling|tilingGm|tiling_gm)\b"
    ),
    re.compile(
        r"reinterpret_cast\s*<\s*(?:const\s+)?__gm__\s+(?:const\s+)?(\w+)\s*\*\s*>\s*\(\s*tiling"
    ),
)
_BUILT_IN_TYPES = frozenset(
    "uint8_t int8_t uint16_t int16_t uint32_t int32_t uint64_t int64_t float half bool char".split()
)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel function; `type` is the type as written in the file."""

    name: str
    type: str
    is_pointer: bool


@dataclass(frozen=True)
class KernelFunction:
    """A ``__global__ __aicore__`` function.

    Attributes:
        name: name of the function.
        line: line of the function in the file.
        parameters: parameters of the function, in order.
        template: kinds of the template parameters: ``typename``, ``int``, ``bool`` …
    """

    name: str
    line: int
    parameters: tuple[Parameter, ...]
    template: tuple[str, ...] = ()

    @property
    def pointers(self) -> tuple[Parameter, ...]:
        """The parameters that point to global memory."""
        return tuple(one for one in self.parameters if one.is_pointer)


@dataclass(frozen=True)
class KernelSource:
    """A kernel file.

    Attributes:
        path: path of the file.
        text: text of the file.
        functions: kernel functions in the file.
    """

    path: Path
    text: str
    functions: tuple[KernelFunction, ...]

    def function(self, name: str | None = None) -> KernelFunction:
        """Returns the kernel function of this name, by default the only kernel function.

        Template arguments may follow the name: ``add<float>``.

        Raises:
            InputError: there is no such function, or there are several and no name is given.
        """
        names = ", ".join(one.name for one in self.functions)
        if name is None:
            if len(self.functions) == 1:
                return self.functions[0]
            raise InputError(
                f"the file has {len(self.functions)} kernel functions"
                if self.functions
                else "the file has no kernel function",
                place=str(self.path),
                expected='extern "C" __global__ __aicore__ void NAME(GM_ADDR …)',
                got=names or "none",
                remedy=f"Choose one: --function {self.functions[0].name}"
                if self.functions
                else "Give the file that defines the kernel",
            )
        plain = name.partition("<")[0].strip()
        for one in self.functions:
            if one.name == plain:
                return one
        raise InputError(
            f"the file has no kernel function {plain}",
            place=str(self.path),
            expected=names or "a __global__ __aicore__ function",
        )

    def tiling_type(self, function: KernelFunction) -> str | None:
        """Returns the name of the tiling structure that the kernel's text uses, or None."""
        text = _without_comments(self.text)
        for pattern in _TILING_TYPES:
            found = pattern.search(text)
            if found and found[1] not in _BUILT_IN_TYPES:
                return found[1]
        by_value = [
            one
            for one in function.parameters
            if not one.is_pointer and one.type.split()[-1] not in _BUILT_IN_TYPES
        ]
        plain = [
            one.type.split()[-1] for one in by_value if "tiling" in f"{one.type}{one.name}".lower()
        ]
        return plain[0] if plain else None

    @property
    def reads_default_tiling(self) -> bool:
        """Returns whether the kernel uses GET_TILING_DATA without naming a structure."""
        text = _without_comments(self.text)
        return bool(re.search(r"\bGET_TILING_DATA\s*\(", text)) and not re.search(
            r"\bREGISTER_TILING_DEFAULT\s*\(", text
        )

    @property
    def vector_cores_per_block(self) -> int:
        """Number of vector cores per block: 2 if the kernel uses cube cores, otherwise 1.

        The chip has two vector cores for each cube core. KERNEL_TASK_TYPE_DEFAULT declares the kind
        of the kernel. Without this declaration, a kernel with a Matmul object uses cube cores.
        """
        text = _without_comments(self.text)
        found = re.search(r"\bKERNEL_TASK_TYPE_DEFAULT\s*\(\s*(\w+)", text)
        if found:
            return 2 if found[1] == "KERNEL_TYPE_MIX_AIC_1_2" else 1
        return 2 if re.search(r"\bREGIST_MATMUL_OBJ\b", text) else 1

    def compilable_text(self) -> str:
        """Returns the text as C++ that standard compilers accept.

        Line numbers do not change. Launches ``name<<<a, b, c>>>(x)`` become calls that do nothing.
        `symbol_of` renames kernel functions, because some of them have the name of a C library
        function, such as ``fmax``. CANN's compiler accepts ``n = count ASSERT(count)`` because
        CANN's ASSERT is empty. This method adds a semicolon before such a macro.
        """
        plain = _without_comments(self.text)
        places = [found.span(1) for found in _FUNCTION.finditer(plain)]
        text = self.text
        for start, end in reversed(places):
            text = text[:start] + symbol_of(text[start:end]) + text[end:]
        return _ASSERTION.sub(r"\1;\2", _LAUNCH.sub(_launch_call, text))


def symbol_of(name: str) -> str:
    """Returns the name under which a kernel function, or an instance of it, is compiled."""
    return f"ascendc_kernel_{name}"


def read_kernel_source(path: Path) -> KernelSource:
    """Reads a kernel file.

    Raises:
        InputError: the file is missing, unreadable or too large.
    """
    text = read_text(path)
    plain = _without_comments(text)
    functions: list[KernelFunction] = []
    for found in _FUNCTION.finditer(plain):
        end = _closing_parenthesis(plain, found.end())
        parameters = tuple(
            _parameter(one, number)
            for number, one in enumerate(_split_at_commas(plain[found.end() : end]))
        )
        if plain[end + 1 :].lstrip()[:1] == ";" and any(one.name == found[1] for one in functions):
            continue
        functions = [one for one in functions if one.name != found[1]]
        head = _TEMPLATE.search(plain, 0, found.start())
        functions.append(
            KernelFunction(
                found[1],
                plain.count("\n", 0, found.start()) + 1,
                parameters,
                tuple(one.split()[0] for one in _split_at_commas(head[1])) if head else (),
            )
        )
    return KernelSource(path, text, tuple(functions))


def read_text(path: Path) -> str:
    """Returns the text of a C++ file.

    Raises:
        InputError: the file is missing, unreadable or too large.
    """
    try:
        if not path.is_file():
            raise InputError("no such file", place=str(path))
        if path.stat().st_size > SIZE_LIMIT_BYTES:
            raise InputError(
                "the file is too large",
                place=str(path),
                expected=f"at most {SIZE_LIMIT_BYTES >> 20} MiB",
                got=f"{path.stat().st_size} bytes",
            )
        return path.read_bytes().decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror}", place=str(path)) from error


def _without_comments(text: str) -> str:
    """Returns the text with comments and strings replaced by blanks; positions stay the same.

    ``extern "C"`` keeps its string.
    """

    def blank(found: re.Match[str]) -> str:
        if found[0] == '"C"':
            return found[0]
        return "".join(one if one == "\n" else " " for one in found[0])

    return _COMMENT_OR_STRING.sub(blank, text)


def _closing_parenthesis(text: str, start: int) -> int:
    depth = 1
    for place in range(start, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if not depth:
            return place
    return len(text)


def _split_at_commas(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for place, one in enumerate(text):
        depth += (one in "(<[") - (one in ")>]")
        if one == "," and not depth:
            parts.append(text[start:place])
            start = place + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip() and part.strip() != "void"]


def _parameter(text: str, number: int) -> Parameter:
    found = re.match(r"(.*?[\s*&])(\w+)\s*(?:\[\s*\])?\Z", text, re.DOTALL)
    written, name = (found[1].strip(), found[2]) if found else (text, f"parameter{number}")
    return Parameter(name, written, "*" in text or "GM_ADDR" in written or text.endswith("]"))


def _launch_call(found: re.Match[str]) -> str:
    """Returns the replacement for ``name<<<…>>>(``: the start of a call that does nothing."""
    lines = "\n" * found[0].count("\n")
    first = " ".join(_split_at_commas(found[2])[0].split())
    return f"::host_model::LaunchCall{{static_cast<uint32_t>({first})}}{lines}("
