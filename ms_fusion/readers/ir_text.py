"""Parses MindSpore IR text line by line into statements.

`ms_fusion.readers.mindspore_ir` interprets the statements.

A dump has a head (entry graph, attributes, parameters) and then one section for each sub-graph::

    subgraph attr:
    graph_kernel: Mul_Add_fusion
    subgraph instance: seg_trans__anonymous__31 : 0x55cde8ca4740
    # Parameters: 1, (<Tensor[Float32], (64, 128)>)

    subgraph @seg_trans__anonymous__31(%para2_Parameter_34) {
      %0(CNode_33) = PrimFunc_Mul(%para2_Parameter_34, Tensor(shape=[], value=2)) cnode_attrs: {…}
          : (<Tensor[Float32], (64, 128)>, <Tensor[…], (), value=...>) -> (<Tensor[…], (64, 128)>)
          : (<Float32xDefaultFormat[const vector]{64, 128}>, …) -> (<Float32xDefaultFormat…>)
          # Fullname with scope: (Default/Mul-op0)
          # In file /home/user/nets.py:7, 12~19/        a = ops.mul(x, 2.0)/
      Return(%0)
    }
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from ms_fusion.graph import Source
from ms_fusion.readers.ir_terms import (
    PLAIN_NAME,
    REMEDY,
    Cursor,
    Term,
    read_attributes,
    read_items,
    read_raw,
)
from ms_fusion.readers.ir_types import UNKNOWN_TYPE, Leaf, Type, read_type, read_types
from ms_fusion.readers.refusal import refuse


@dataclass(frozen=True)
class Parameter:
    """A parameter ``%paraN_name``; `index` is N, which is unique in the file.

    If `is_weight` is True, the parameter is a weight or a state: it keeps its value between calls.
    """

    index: str
    name: str
    type: Type = UNKNOWN_TYPE
    format: str = "DefaultFormat"
    is_weight: bool = False


@dataclass(frozen=True)
class Statement:
    """One statement of a sub-graph, with the type lines and comment lines below it.

    Attributes:
        result: the number N, as text, of the name ``%N`` that the statement defines; empty for
            Return.
        label: the name in parentheses after ``%N``, for example ``CNode_33``.
        head: the callee, such as ``PrimFunc_Mul``, ``call @graph``, ``%7[@…]`` or ``Return``.
        arguments: the arguments, in order.
        attributes: primitive attributes and node attributes, merged. Node attributes take
            precedence.
        full_name: full name with scope; empty if the dump contains none.
        argument_types: types of the arguments; empty if the dump contains none.
        result_type: type of the result; `UNKNOWN_TYPE` if the dump contains none.
        result_formats: data formats of the results; empty if the dump contains none.
        sources: source locations in the dump's order, outermost first.
        line: index of the statement's first line in the file, from 0.
    """

    result: str
    label: str
    head: str
    arguments: tuple[Term, ...]
    attributes: Mapping[str, Any]
    full_name: str
    argument_types: tuple[Type, ...]
    result_type: Type
    result_formats: tuple[str, ...]
    sources: tuple[Source, ...]
    line: int


@dataclass(frozen=True)
class Section:
    """One sub-graph of the file."""

    name: str
    attributes: Mapping[str, Any]
    parameters: tuple[Parameter, ...]
    statements: tuple[Statement, ...]
    line: int


@dataclass(frozen=True)
class Document:
    """A whole dump; `parameters` are the parameters of the entry graph."""

    file: str
    entry: str
    parameters: tuple[Parameter, ...]
    sections: Mapping[str, Section]


def read_document(text: str, *, file: str) -> Document:
    """Parses an IR dump; raises `ParseError` if the text is truncated or is not an IR dump."""
    return _Reader(text, file).read()


_ENTRY = re.compile(r"# IR entry: @(\S+)\s*$")
_TOTAL = re.compile(r"# Total subgraphs: (\d{1,9})\s*$")
_HEAD_PARAMETER = re.compile(r"%para(\d+)_(.*?): (?=<Ref\[)|%para(\d+)_(.*?): (?=<)")
_SUBGRAPH = re.compile(r"subgraph @([^\s(]+)(?: parent: \[[^\[\]]*\])?\((.*)\) \{$")
_SECTION_PARAMETER = re.compile(r"%para(\d+)_(.*)", re.DOTALL)
_PARAMETER_SEPARATOR = re.compile(r", (?=%para\d+_)")
_SECTION_TYPES = re.compile(r"# Parameters: \d+, ?(?=\()")
_STATEMENT = re.compile(r"  %(\d+)\((.*?)\) = ")
_INSTANCE_NAME = re.compile(r" \{instance name: ([^\n]*?)\}(?= \w+_attrs: \{|\s*$)")
_ATTRIBUTE_BLOCK = re.compile(r" (\w+_attrs): (?=\{)")
_NOTE = re.compile(r"      (?:: \(|# (?:Fullname|In file|Corresponding|Scope|SideEffect|Order))")
_FULL_NAME = re.compile(r"      # Fullname with scope: \((.*)\)$")
_SHARED_LINE_NOTE = re.compile(r"/<~~This line of code can be shared by multiple nodes[^/]*/$")
_SOURCE = re.compile(r" *# In file (.+?):(\d{1,9})(?:~\d+)?(?:, \d+~\d+)?/(.*)")
_FORMAT = re.compile(r"<[A-Za-z0-9]+?x([A-Za-z]\w*)\[const vector\]\{")
_HEAD_FORMAT = re.compile(r" :  <[A-Za-z0-9]+?x([A-Za-z]\w*)\[const vector\]\{")
_SYMBOLS = re.compile(r"> : \[([^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\]  :")
_HEAD_NAME = re.compile(r"[^(\[\n]*")
_ONE_SYMBOL = re.compile(r"\s*([A-Za-z]\w*|-?\d+)(?:<[^<>]*>)?\s*(?:,|$)")


@dataclass
class _Reader:
    text: str
    file: str
    lines: list[str] = field(default_factory=list)
    line_index: int = 0
    spellings: dict[str, str] = field(default_factory=dict)
    entry_parameters: dict[str, Parameter] = field(default_factory=dict)
    type_lines: dict[str, tuple[tuple[Type, ...], Type]] = field(default_factory=dict)
    format_lines: dict[str, tuple[str, ...]] = field(default_factory=dict)
    source_lines: dict[str, Source | None] = field(default_factory=dict)

    def read(self) -> Document:
        self.lines = self.text.split("\n")
        entry, total, entry_line = self._head()
        sections: dict[str, Section] = {}
        attributes: dict[str, Any] = {}
        types: tuple[Type, ...] = ()
        while self.line_index < len(self.lines):
            line = self.lines[self.line_index]
            if line.startswith("subgraph @"):
                section = self._section(line, attributes, types)
                if section.name in sections:
                    self._fail(f"sub-graph @{section.name} is defined twice", section.line)
                sections[section.name] = section
                attributes, types = {}, ()
                continue
            if line.startswith("subgraph attr:"):
                attributes = self._section_attributes()
                continue
            if found := _SECTION_TYPES.match(line):
                types = read_types(self._cursor(line[found.end() :], self.line_index, found.end()))
            elif _STATEMENT.match(line) or line.startswith("  Return("):
                self._fail("a statement is outside any sub-graph", self.line_index)
            self.line_index += 1
        if entry not in sections:
            self._fail(
                f"the entry graph @{entry} is not in the file; it may be truncated", entry_line
            )
        if total is not None and total != len(sections):
            self._fail(
                f"{total} sub-graphs were announced but {len(sections)} found; it may be truncated",
                entry_line,
            )
        return Document(self.file, entry, tuple(self.entry_parameters.values()), sections)

    def _fail(self, what: str, index: int) -> NoReturn:
        text = self.lines[index] if index < len(self.lines) else ""
        refuse(what, file=self.file, line=index + 1, text=text.strip(), remedy=REMEDY)

    def _cursor(self, text: str, index: int, indent: int = 0) -> Cursor:
        return Cursor(text, file=self.file, line=index + 1, indent=indent)

    def _head(self) -> tuple[str, int | None, int]:
        """Parses the head of the dump.

        Returns (name of the entry graph, number of sub-graphs, index of the line that names the
        entry graph). The number is None if the head does not contain it.
        """
        entry, total, entry_line = None, None, 0
        while self.line_index < len(self.lines):
            line = self.lines[self.line_index]
            if line.startswith("subgraph "):
                break
            if entry is None and (found := _ENTRY.match(line)):
                entry, entry_line = found[1], self.line_index
            elif entry is None and line.strip():
                break
            elif found := _TOTAL.match(line):
                total = int(found[1])
            elif line.startswith("%para"):
                parameter = self._head_parameter(line)
                self.entry_parameters[parameter.index] = parameter
            elif _STATEMENT.match(line):
                break
            self.line_index += 1
        if entry is None:
            self._fail(
                "this is no MindSpore IR dump: it does not begin with '# IR entry: @…'",
                min(self.line_index, len(self.lines) - 1),
            )
        return entry, total, entry_line

    def _head_parameter(self, line: str) -> Parameter:
        found = _HEAD_PARAMETER.match(line)
        if not found:
            self._fail("this is not a parameter '%paraN_name: <type>'", self.line_index)
        index, name = (found[1], found[2]) if found[1] else (found[3], found[4])
        if not PLAIN_NAME.fullmatch(name):
            self.spellings[index] = name
        cursor = self._cursor(line, self.line_index)
        cursor.position = found.end()
        kind = read_type(cursor)
        tail = line[cursor.position - 1 :]
        layout = _HEAD_FORMAT.search(tail)
        return Parameter(
            index,
            name,
            _insert_symbols(kind, tail),
            layout[1] if layout else "DefaultFormat",
            tail.rstrip().endswith("IsWeight: true")
            or "  :  has_default" in tail
            or line.startswith("<Ref[", found.end()),
        )

    def _section_attributes(self) -> dict[str, Any]:
        attributes: dict[str, Any] = {}
        self.line_index += 1
        while self.line_index < len(self.lines):
            line = self.lines[self.line_index]
            if line.startswith(("subgraph ", "# ")):
                break
            name, separator, value = line.partition(":")
            if separator and name.strip():
                attributes[name.strip()] = _parse_value(value.strip())
            self.line_index += 1
        return attributes

    def _section(self, line: str, attributes: dict[str, Any], types: tuple[Type, ...]) -> Section:
        first = self.line_index
        found = _SUBGRAPH.match(line.rstrip())
        if not found:
            self._fail("this is not a head 'subgraph @name(parameters) {'", self.line_index)
        parameters: list[Parameter] = []
        words = _PARAMETER_SEPARATOR.split(found[2].strip()) if found[2].strip() else []
        for number, word in enumerate(words):
            parameter = _SECTION_PARAMETER.fullmatch(word)
            if not parameter:
                self._fail("this is not a list of parameters '%paraN_name, …'", self.line_index)
            index, name = parameter[1], parameter[2]
            if not PLAIN_NAME.fullmatch(name):
                self.spellings[index] = name
            parameters.append(
                Parameter(index, name, types[number] if number < len(types) else UNKNOWN_TYPE)
            )
        self.line_index += 1
        statements: list[Statement] = []
        while True:
            if self.line_index >= len(self.lines):
                self._fail(f"sub-graph @{found[1]} does not end; the file may be truncated", first)
            line = self.lines[self.line_index]
            if line.startswith("}"):
                break
            if line.startswith(("  %", "  Return(")):
                statements.append(self._statement())
            elif not line.strip() or line.lstrip().startswith(("#", ":")):
                self.line_index += 1
            else:
                self._fail("this is not a statement of a sub-graph", self.line_index)
        self.line_index += 1
        return Section(found[1], attributes, tuple(parameters), tuple(statements), first)

    def _statement(self) -> Statement:
        first = self.line_index
        parts = [self.lines[first]]
        self.line_index += 1
        while self.line_index < len(self.lines) and not self._is_statement_boundary(
            self.lines[self.line_index]
        ):
            parts.append(self.lines[self.line_index])
            self.line_index += 1
        text = "\n".join(parts).rstrip()
        cursor = self._cursor(text, first)
        if found := _STATEMENT.match(text):
            result, label = found[1], found[2]
            cursor.position = found.end()
        elif text.startswith("  Return("):
            result, label, cursor.position = "", "", 2
        else:
            self._fail("this is not a statement '%N(name) = operator(…)'", first)
        head = self._callee(cursor)
        arguments = read_items(cursor, self.spellings, ")")
        attributes = self._attributes(cursor)
        return self._attach_notes(
            Statement(
                result, label, head, arguments, attributes, "", (), UNKNOWN_TYPE, (), (), first
            )
        )

    @staticmethod
    def _is_statement_boundary(line: str) -> bool:
        return bool(
            line.startswith(("  %", "  Return(", "}", "subgraph "))
            or (line.startswith("      ") and _NOTE.match(line))
        )

    def _callee(self, cursor: Cursor) -> str:
        """Returns the callee: the text before the bracket that opens the arguments."""
        start = cursor.position
        if cursor.text.startswith("$(", start):
            cursor.position += 1
            cursor.accept("(")
            read_raw(cursor)
            cursor.expect(")")
        while True:
            cursor.match(_HEAD_NAME)
            if not cursor.text.startswith("[", cursor.position):
                break
            cursor.position += 1
            while not cursor.accept("]"):
                if not cursor.accept(","):
                    read_raw(cursor)
        head = cursor.text[start : cursor.position].strip()
        cursor.expect("(")
        if not head:
            cursor.fail("the name of the operator is missing")
        return head

    def _attributes(self, cursor: Cursor) -> dict[str, Any]:
        attributes: dict[str, Any] = {}
        while not cursor.is_at_end:
            if found := cursor.match(_INSTANCE_NAME):
                attributes["instance name"] = found[1]
            elif cursor.match(_ATTRIBUTE_BLOCK):
                attributes.update(read_attributes(cursor, self.spellings))
            elif cursor.text[cursor.position :].isspace():
                break
            else:
                cursor.fail("this is not an attribute block")
        return attributes

    def _attach_notes(self, statement: Statement) -> Statement:
        """Parses the lines below a statement: types, formats, full name and source locations."""
        types: tuple[tuple[Type, ...], Type] | None = None
        formats: tuple[str, ...] = ()
        full_name, sources = "", []
        while self.line_index < len(self.lines):
            line = self.lines[self.line_index]
            if line.startswith("      : ("):
                if types is None:
                    types = self._types(line)
                elif "[const vector]{" in line:
                    formats = self._formats(line)
            elif line.startswith("      # "):
                if found := _FULL_NAME.match(line.rstrip()):
                    full_name = found[1]
                elif source := self._source(line):
                    sources.append(source)
            else:
                break
            self.line_index += 1
        types = types or ((), UNKNOWN_TYPE)
        return replace(
            statement,
            full_name=full_name,
            argument_types=types[0],
            result_type=types[1],
            result_formats=formats,
            sources=tuple(sources),
        )

    def _types(self, line: str) -> tuple[tuple[Type, ...], Type]:
        found = self.type_lines.get(line)
        if found is None:
            cursor = self._cursor(line, self.line_index)
            cursor.position = len("      : ")
            arguments = read_types(cursor)
            results: tuple[Type, ...] = ()
            if cursor.accept(" -> "):
                results = read_types(cursor)
            found = arguments, (results[0] if len(results) == 1 else results or UNKNOWN_TYPE)
            self.type_lines[line] = found
        return found

    def _formats(self, line: str) -> tuple[str, ...]:
        found = self.format_lines.get(line)
        if found is None:
            found = tuple(_FORMAT.findall(line.rpartition(" -> ")[2]))
            self.format_lines[line] = found
        return found

    def _source(self, line: str) -> Source | None:
        if line not in self.source_lines:
            found = _SOURCE.match(line)
            code = (
                _SHARED_LINE_NOTE.sub("", found[3].rstrip()).removesuffix("/").strip()
                if found
                else ""
            )
            self.source_lines[line] = Source(found[1], int(found[2]), code) if found else None
        return self.source_lines[line]


def _parse_value(text: str) -> Any:
    """Returns the value of a ``name: value`` line above a sub-graph, as an int if possible."""
    return int(text) if text.isdecimal() and len(text) < 20 else text


def _insert_symbols(kind: Type, tail: str) -> Type:
    """Replaces each size -1 in the type `kind` by the name of the symbolic size.

    The text `tail` lists the sizes, as in ``[s1<[1,inf]>, 128]``. If the text does not list all
    sizes, `kind` is returned unchanged.
    """
    if not isinstance(kind, Leaf) or -1 not in kind.shape:
        return kind
    found = _SYMBOLS.match(tail)
    if not found or len(found[1]) > 2000:
        return kind
    names = [symbol[1] for symbol in _ONE_SYMBOL.finditer(found[1])]
    if len(names) != len(kind.shape):
        return kind
    return Leaf(
        kind.dtype,
        tuple(name if size == -1 else size for size, name in zip(kind.shape, names, strict=True)),
    )
