"""Declarations of public names, parsed from the source without imports."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("ms_fusion", "custom_ops", "tbe_impl")

Declaration = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Declared:
    """A function or class, and its module."""

    module: str
    node: Declaration


@functools.cache
def _tree(module: str) -> ast.Module:
    return ast.parse(file_of(module).read_text(encoding="utf-8"))


def file_of(module: str) -> Path:
    """The file of a module of this repository."""
    place = ROOT / Path(*module.split("."))
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def declared(module: str, name: str) -> Declared | None:
    """The declaration or import of a name in a module; None for objects that are not ours."""
    if module.split(".")[0] not in PACKAGES or not file_of(module).exists():
        return None
    for node in ast.walk(_tree(module)):
        if isinstance(node, Declaration) and node.name == name:
            return Declared(module, node)
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for one in node.names:
                if (one.asname or one.name) == name:
                    found = declared(node.module, one.name)
                    if found is not None:
                        return found
    return None


def lines_of(name: str, found: Declared) -> Iterator[str]:
    """A function with its signature, or a class with its bases, fields and public methods."""
    if isinstance(found.node, ast.FunctionDef):
        yield _signature(name, found.node)
        return
    bases = ", ".join(map(ast.unparse, found.node.bases))
    yield f"class {name}({bases})" if bases else f"class {name}"
    for item in found.node.body:
        if isinstance(item, ast.AnnAssign) and not _text(item.target).startswith("_"):
            default = f" = {_text(item.value)}" if item.value is not None else ""
            yield f"    {_text(item.target)}: {_text(item.annotation)}{default}"
        elif isinstance(item, ast.FunctionDef) and _is_public(item.name):
            decorators = "".join(f"@{_text(one)} " for one in item.decorator_list)
            yield f"    {decorators}{_signature(item.name, item)}"


def bases_of(found: Declared) -> Iterator[tuple[str, Declared]]:
    """The base classes that these packages declare."""
    if isinstance(found.node, ast.ClassDef):
        for base in found.node.bases:
            name = _text(base).split("[")[0].rpartition(".")[2]
            own = declared(found.module, name)
            if own is not None:
                yield name, own


def _is_public(name: str) -> bool:
    return name in ("__init__", "__call__") or not name.startswith("_")


def _signature(name: str, node: ast.FunctionDef) -> str:
    returns = f" -> {_text(node.returns)}" if node.returns is not None else ""
    return f"{name}({ast.unparse(node.args)}){returns}"


def _text(node: ast.AST | None) -> str:
    return ast.unparse(node) if node is not None else ""
