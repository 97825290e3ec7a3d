"""Extracts the vocabulary of an installed MindSpore into a JSON file.

Usage: ``python -m ms_fusion.vocabulary.build [DIRECTORY OF MINDSPORE]``.

MindSpore's files are read, but MindSpore is not imported. MindSpore's shared libraries contain the
name of each operator in a symbol, such as ``mindspore::prim::kPrimAdd`` or
``mindspore::ops::gAdd``. The libraries contain the name of each pass in a string. MindSpore's
Python files define the primitives and register kernels. The CPU wheel also contains the Ascend and
GPU libraries, so one wheel contains the names for all devices.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

ALL_LIBRARIES = ("libmindspore_*.so", "plugin/libmindspore_*.so*")
BACK_ENDS = {
    "CPU": ("libmindspore_cpu.so", "plugin/libmindspore_cpu.so*"),
    "GPU": ("plugin/libmindspore_gpu.so*",),
    "Ascend": ("plugin/libmindspore_ascend.so*",),
}
"""A dict from a device to glob patterns of the libraries of its back end, below ``lib``."""
_SYMBOL = re.compile(rb"_ZN9mindspore(?:4prim|3ops)(\d+)(?=[kg])")
_NAME = re.compile(rb"(?:kPrim|k|g)([A-Z]\w*)")
_STRING = re.compile(rb"(?<![^\0])[A-Za-z][A-Za-z0-9_]{2,79}(?=\0)")
_TAIL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=_)(?=[a-z])")
_PASS = re.compile(
    r"(?!enable_|disable_|is_|ori_)[a-z0-9]+(_[a-z0-9]+)*_(fusion|fission)(_v\d)?"
    r"|FlashAttentionFusionV\d"
)
_REGISTRATION = re.compile(r'RegOp\(\s*"(\w+)"')
_NON_OPERATOR_CLASS = re.compile(r"Primitive\w*")


def build(root: Path) -> dict[str, object]:
    """Extracts the vocabulary of the MindSpore that is installed in the directory `root`.

    Returns a dict with MindSpore's version, its operators, and the passes of each device's back
    end.
    """
    version = re.search(r"__version__ = '([^']+)'", (root / "version.py").read_text("utf-8"))
    assert version is not None, f"{root} holds no MindSpore"
    named, strings = _contents(root, ALL_LIBRARIES)
    literals = _add_tails(strings)
    operators = {name for name in named if name in literals} | set(_primitives(root / "ops"))
    passes = {device: _contents(root, own)[1] for device, own in BACK_ENDS.items()}
    return {
        "version": version[1],
        "operators": sorted(operators),
        "passes": {
            device: sorted(filter(_PASS.fullmatch, found)) for device, found in passes.items()
        },
    }


def _contents(root: Path, patterns: Iterable[str]) -> tuple[set[str], set[str]]:
    """Returns the operator names in the libraries' symbols, and all strings in the libraries.

    The libraries are the files in `root`/lib that match a glob of `patterns`.
    """
    names: set[str] = set()
    strings: set[str] = set()
    for library in sorted(
        {path.resolve() for pattern in patterns for path in (root / "lib").glob(pattern)}
    ):
        content = library.read_bytes()
        names.update(_operators(content))
        strings.update(found.decode() for found in _STRING.findall(content))
    return names, strings


def _add_tails(strings: set[str]) -> set[str]:
    """Returns the strings, and all tails of the strings that begin at a word boundary.

    A linker may store a string as the tail of a longer string (tail merging). Therefore the tails
    are needed.
    """
    return strings | {one[at.start() :] for one in strings for at in _TAIL.finditer(one)}


def _operators(content: bytes) -> Iterator[str]:
    for symbol in _SYMBOL.finditer(content):
        # In a mangled symbol, the length of an identifier precedes the identifier.
        identifier = content[symbol.end() : symbol.end() + int(symbol[1])]
        named = _NAME.fullmatch(identifier)
        if named is not None and content.startswith((b"E", b"B"), symbol.end() + len(identifier)):
            yield named[1].decode()


def _primitives(directory: Path) -> Iterator[str]:
    """Yields the operators of a directory's Python files.

    These operators are the subclasses of Primitive and the operators with a kernel registration.
    """
    bases: dict[str, set[str]] = {}
    for path in sorted(directory.rglob("*.py")):
        text = path.read_text("utf-8")
        yield from _REGISTRATION.findall(text)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                names = {
                    base.id if isinstance(base, ast.Name) else getattr(base, "attr", "")
                    for base in node.bases
                }
                bases.setdefault(node.name, set()).update(names)
    found = {"Primitive"}
    while more := {name for name, of in bases.items() if of & found} - found:
        found |= more
    yield from (
        name for name in found if name[0] != "_" and not _NON_OPERATOR_CLASS.fullmatch(name)
    )


def main(arguments: list[str]) -> None:
    """Write ``<version>.json`` beside this file."""
    spec = find_spec("mindspore")
    assert arguments or (spec and spec.origin), (
        "MindSpore is not installed here: name its directory"
    )
    root = Path(arguments[0]) if arguments else Path(str(spec and spec.origin)).parent
    found = build(root)
    target = Path(__file__).with_name(f"{found['version']}.json")
    target.write_text(json.dumps(found, indent=0) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
