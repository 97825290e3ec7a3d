"""Lists the names of Ascend C that the host model's headers define."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tbe_impl.ascendc.native_build import HOST_MODEL

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_FUNCTION = re.compile(
    r"^(?:template\s*<.*>\s*)?(?:(?:inline|constexpr|static)\s+)*"
    r"[\w:]+(?:<[^;{}]*>)?[&*]*\s+([A-Z]\w*)\s*\(",
    re.MULTILINE,
)
_TYPE = re.compile(
    r"^(?:template\s*<[^;{}]*>\s*)?(?:struct|class|enum class)\s+([A-Z]\w*)", re.MULTILINE
)
_ALIAS = re.compile(r"^(?:template\s*<[^;{}]*>\s*)?using\s+([A-Z]\w*)\s*=", re.MULTILINE)
_MACRO = re.compile(r"^#define\s+((?!HOST_MODEL_)[A-Z]\w*)", re.MULTILINE)
_FAMILY = re.compile(r"^(?:HOST_MODEL_\w+)\((?!HOST_MODEL_)(\w+)", re.MULTILINE)
_OF_FAMILY = re.compile(r"^    void (?!NAME\b)([A-Z]\w*)\(.*\\$", re.MULTILINE)

_NAMESPACES = "AscendC|matmul|optiling|ge|gert|ops|platform_ascendc|matmul_tiling"


@dataclass(frozen=True)
class ApiFile:
    """A header of the host model: its file, its title, and the names that it defines."""

    name: str
    title: str
    names: tuple[str, ...]


def list_apis() -> tuple[ApiFile, ...]:
    """Returns the sorted headers of the model, each with the sorted names that kernels can use."""
    found = []
    for path in sorted((HOST_MODEL / "model").rglob("*.h")):
        text = path.read_text("utf-8")
        title = next((line[3:] for line in text.splitlines() if line.startswith("// ")), "")
        names: set[str] = set()
        for part in _public_parts(text):
            for pattern in (_FUNCTION, _TYPE, _ALIAS, _FAMILY, _OF_FAMILY):
                names |= set(pattern.findall(part))
        names |= set(_MACRO.findall(text))
        if names:
            found.append(
                ApiFile(str(path.relative_to(HOST_MODEL / "model")), title, tuple(sorted(names)))
            )
    return tuple(found)


def _public_parts(text: str) -> list[str]:
    """Returns the source text of each namespace that kernels can use, without comments."""
    found = re.findall(
        rf"^namespace (?:{_NAMESPACES}) \{{\n(.*?)^\}} // namespace", text, re.MULTILINE | re.DOTALL
    )
    return [_COMMENT.sub("", part) for part in found]
