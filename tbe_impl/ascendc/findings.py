"""Defines records of findings in a run: faults and warnings, with names of kernel variables."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from tbe_impl.errors import pluralize

_BUFFER = re.compile(r"\{(queue|buffer|pool|workspace) ([^{}]*?):(\d+)\}")
_INIT_CALL = re.compile(
    r"(?:InitBuffer|InitBufPool|AllocTensor\w*|PopStackBuffer)"
    r"\s*(?:<[^;(]*>)?\s*\(\s*(?:this->)?([\w.\[\]>-]+)"
)
_ASSIGNED = re.compile(r"([\w\].\[]+)\s*=\s*[^=;]*\bAlloc\b")
_DECLARED = re.compile(r"\bLocalTensor\s*<[^;]*>\s+(\w+)\s*[({=]")


@dataclass(frozen=True)
class Finding:
    """One fault or warning.

    Attributes:
        kind: kind of the finding, such as ``hazard`` or ``alignment``.
        severity: ``error`` or ``warning``.
        message: description of the fault. It names a buffer after the kernel's variable.
        remedy: the change that removes the fault.
        file, line: the place in the kernel. `file` is empty if the finding has no place.
        core: number of the first core with this finding; -1 if the finding concerns no core.
        count: number of times that the fault occurred.
        other: a second place as text, such as that of an earlier access; empty if there is none.
    """

    kind: str
    severity: str
    message: str
    remedy: str
    file: str
    line: int
    core: int
    count: int
    other: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.file else ""
        more = f" ({self.other})" if self.other else ""
        times = f" [{self.count} times]" if self.count > 1 else ""
        remedy = f" To mend it: {self.remedy}." if self.remedy else ""
        return f"{place}{self.severity}: {self.kind}: {self.message}{more}{times}.{remedy}"


@dataclass(frozen=True)
class BufferUse:
    """A part of an on-chip memory of core 0.

    Attributes:
        memory: ``UB``, ``L1`` …
        name: name of the kernel's variable, or kind of the buffer if the buffer has no variable.
        bytes: size of one buffer.
        buffers: number of buffers of the queue.
        file, line: place of the allocation.
    """

    memory: str
    name: str
    bytes: int
    buffers: int
    file: str
    line: int


@dataclass(frozen=True)
class RunReport:
    """The host model's report of one run.

    Attributes:
        findings: the findings, errors before warnings.
        printed: text that the kernel printed with ``printf`` and ``DumpTensor``.
        buffers: the on-chip buffers of core 0.
        instructions: number of instructions of each pipe, over all cores.
        bytes_read, bytes_written: bytes of global memory that the kernel moved.
        updated: names of the inputs that the kernel wrote to.
    """

    findings: tuple[Finding, ...]
    printed: str
    buffers: tuple[BufferUse, ...]
    instructions: Mapping[str, int]
    bytes_read: int
    bytes_written: int
    updated: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [str(one) for one in self.findings] or ["no errors, no warnings"]
        for one in self.buffers:
            times = f" ({one.buffers} × {one.bytes:,})" if one.buffers > 1 else ""
            lines.append(
                f"{one.memory}: {one.name}, {pluralize(one.bytes * one.buffers, 'byte')}{times}"
            )
        counts = ", ".join(f"{name} {count}" for name, count in self.instructions.items() if count)
        lines.append(f"instructions: {counts or 'none'}")
        lines.append(
            f"{pluralize(self.bytes_read, 'byte')} read, "
            f"{pluralize(self.bytes_written, 'byte')} written"
        )
        return "\n".join(lines)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings of severity ``error``; each of them makes the run fail."""
        return tuple(one for one in self.findings if one.severity == "error")


def parse_report(text: str, *, strict: bool = False) -> RunReport:
    """Reads the report of a run from the host model's JSON. `strict` turns warnings into errors."""
    raw = json.loads(text, strict=False)
    findings = [
        _finding(one, severity)
        for key, severity in (("errors", "error"), ("warnings", "error" if strict else "warning"))
        for one in raw[key]
    ]
    buffers = tuple(_buffer_uses(raw["buffers"]))
    return RunReport(
        tuple(findings),
        raw["printed"],
        buffers,
        raw["instructions"],
        raw["bytes_read"],
        raw["bytes_written"],
        tuple(raw["updated"]),
    )


def _buffer_uses(raw: Sequence[Mapping[str, Any]]) -> Iterator[BufferUse]:
    """Yields one record for each queue or buffer; the record has the name of the kernel's variable.

    If a line of the kernel allocates several buffers, the buffers get the names of the variables on
    this line, in order.
    """
    seen: Counter[tuple[str, int]] = Counter()
    for one in raw:
        if one["index"]:
            continue
        place = (one["file"], one["line"])
        name = "hidden work space of library functions"
        if one["file"]:
            name = _name_at(*place, one["kind"], number=seen[place])
        seen[place] += 1
        yield BufferUse(one["memory"], name, one["bytes"], one["buffers"], *place)


def _finding(raw: Mapping[str, Any], severity: str) -> Finding:
    other = ""
    if raw.get("relation"):
        other = f"{raw['relation']}: {raw['other_file']}:{raw['other_line']}"
    return Finding(
        raw["kind"],
        severity,
        _with_names(raw["message"]),
        _with_names(raw["remedy"]),
        raw["file"],
        raw["line"],
        raw["core"],
        raw["count"],
        other,
    )


def _with_names(text: str) -> str:
    return _BUFFER.sub(lambda found: _name_at(found[2], int(found[3]), found[1]), text)


def _name_at(file: str, line: int, kind: str, *, number: int = 0) -> str:
    """Returns the variable name of the buffer that a source line creates or declares.

    If the line has several buffers, `number` selects one, counted from 0.
    """
    lines = _lines_of(file)
    text = " ".join(lines[line - 1 : line + 3]) if 0 < line <= len(lines) else ""
    for pattern in (_INIT_CALL, _ASSIGNED, _DECLARED):
        found = pattern.findall(text)
        if found:
            name: str = found[min(number, len(found) - 1)]
            return name.removeprefix("this->")
    return f"the {kind} of line {line}"


@lru_cache(maxsize=32)
def _lines_at(file: str, stamp: int) -> tuple[str, ...]:
    del stamp
    return tuple(Path(file).read_bytes().decode("utf-8", "replace").splitlines())


def _lines_of(file: str) -> tuple[str, ...]:
    try:
        return _lines_at(file, Path(file).stat().st_mtime_ns)
    except OSError:
        return ()
