"""Reads MindSpore IR dumps into `Graph`; the node of a fused kernel contains its body, a graph."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ms_fusion.graph import Graph
from ms_fusion.readers.ir_projection import IrProjector
from ms_fusion.readers.ir_text import read_document
from tbe_impl.errors import InputError

MAX_BYTES = 512 * 1024 * 1024
"""Largest dump that is read, bytes."""


@dataclass(frozen=True)
class IrModule:
    """The graphs of one parsed dump.

    Attributes:
        entry: name of the kernel graph.
        graph: the kernel graph. The node of each fused kernel contains the kernel's body.
        subgraphs: a dict from name to graph, with the other graphs of the file, such as branches
            and loops. The dict excludes the graphs of fused kernels.
        attrs: a dict from the name of a graph to a dict of its attributes. The dict includes all
            graphs in the file, also those of fused kernels.
        file: path of the dump.
    """

    entry: str
    graph: Graph
    subgraphs: Mapping[str, Graph]
    attrs: Mapping[str, Mapping[str, Any]]
    file: str = ""


def read_ir(path: str | Path) -> IrModule:
    """Reads a dump from disk and returns its graphs.

    Raises:
        InputError: the file cannot be opened.
        ParseError: the file is not an IR dump.
    """
    return parse_ir(read_text(Path(path)), file=str(path))


def read_text(path: Path) -> str:
    """Returns the text of a regular file of at most `MAX_BYTES`.

    Raises `InputError` if the file is larger, or is not a regular file.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError("this is not a regular file", place=str(path))
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputError(
            "the file cannot be read", place=str(path), got=reason or str(error)
        ) from error
    if len(data) > MAX_BYTES:
        raise InputError(
            "the file is too large", place=str(path), expected=f"at most {MAX_BYTES} bytes"
        )
    return data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")


def parse_ir(text: str, *, file: str) -> IrModule:
    """Parses the text of an IR dump into graphs.

    Args:
        text: the whole dump.
        file: name of the dump in error messages.

    Raises:
        ParseError: the text is damaged or truncated, or is not an IR dump. The error states line
            and column.
    """
    document = read_document(text, file=file)
    projection = IrProjector(document, budget=1_000_000 + 4 * len(text))
    entry = projection.graph(document.sections[document.entry], document.entry)
    called = projection.kernels
    others = {
        name: projection.graph(section, name)
        for name, section in document.sections.items()
        if name != document.entry
        and name not in called
        and "graph_kernel" not in section.attributes
    }
    attributes = {
        name: MappingProxyType(dict(section.attributes))
        for name, section in document.sections.items()
    }
    return IrModule(
        document.entry, entry, MappingProxyType(others), MappingProxyType(attributes), file
    )
