"""Serialises the ledger as versioned JSON with a published schema (docs/ledger.schema.json).

The ledger is the record of fused and unfused operators. Wire types are msgspec types that describe
the JSON. This module derives them from the ledger's dataclasses. So a new field of a dataclass also
appears in the JSON and in the schema. Values without a JSON form are encoded as follows:

- a field of type float may have the strings "nan", "inf" or "-inf" as a value;
- in a field of type Any, a non-finite float becomes an object such as ``{"$float": "nan"}``;
- in a field of type Any, a tuple or list becomes an array, which is decoded to a tuple;
- in a field of type Any, a second ``$`` is put before a key that starts with ``$``.
"""

from __future__ import annotations

import functools
import inspect
import json
import math
import operator
import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any, Literal, Union

import msgspec

from ms_fusion.ledger import Ledger
from tbe_impl.errors import ParseError

SCHEMA_VERSION = 1
SCHEMA_ADDRESS = "ledger.schema.json"

NonFiniteText = Literal["nan", "inf", "-inf"]
Number = Union[float, NonFiniteText]  # noqa: UP007 - evaluated at run time by msgspec

Converter = Callable[[Any], Any]


def _text_to_plain(value: Any) -> str:
    """Returns `value` as a string, with a backslash escape in place of each lone surrogate.

    Damaged names contain lone surrogates, which UTF-8 cannot encode.
    """
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")


def _any_to_plain(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text_to_plain(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": str(float(value))}
    if isinstance(value, tuple | list):
        return [_any_to_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {
            _text_to_plain(f"${key}" if str(key).startswith("$") else key): _any_to_plain(item)
            for key, item in value.items()
        }
    return _text_to_plain(value)


def _any_from_plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_any_from_plain(item) for item in value)
    if isinstance(value, dict):
        if value.keys() == {"$float"} and value["$float"] in typing.get_args(NonFiniteText):
            return float(value["$float"])
        return {key.removeprefix("$"): _any_from_plain(item) for key, item in value.items()}
    return value


def _float_to_plain(value: Any) -> Any:
    return float(value) if math.isfinite(value) else str(float(value))


def _identity(value: Any) -> Any:
    return value


def _optional_converter(inner: Converter) -> Converter:
    return lambda value: None if value is None else inner(value)


def _tuple_converter(parts: list[Converter], make: Callable[[Any], Any]) -> Converter:
    return lambda value: make(part(item) for part, item in zip(parts, value, strict=True))


@functools.cache
def _wire(annotation: Any) -> tuple[Any, Converter, Converter]:
    """Returns (wire type, first converter, second converter) for a type annotation.

    The wire type is the type in the JSON. The first converter turns a ledger value of the annotated
    type into plain JSON. The second converter turns a decoded wire value back into a ledger value.
    """
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any:
        return Any, _any_to_plain, _any_from_plain
    if annotation is float:
        return Number, _float_to_plain, float
    if annotation is int:
        return int, int, _identity
    if annotation is str:
        return str, _text_to_plain, _identity
    if annotation in (bool, types.NoneType):
        return annotation, _identity, _identity
    if isinstance(annotation, type) and is_dataclass(annotation):
        return _record(annotation)
    if origin is tuple and parts[-1] is Ellipsis:
        wire, dump, load = _wire(parts[0])
        return (
            tuple[wire, ...],  # type: ignore[valid-type]
            lambda value: [dump(item) for item in value],
            lambda value: tuple(load(item) for item in value),
        )
    if origin is tuple:
        each = [_wire(part) for part in parts]
        return (
            tuple[tuple(wire for wire, _, _ in each)],  # type: ignore[misc]
            _tuple_converter([dump for _, dump, _ in each], list),
            _tuple_converter([load for _, _, load in each], tuple),
        )
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        wire, dump, load = _wire(parts[1])
        return (
            dict[str, wire],  # type: ignore[valid-type]
            lambda value: {_text_to_plain(key): dump(item) for key, item in value.items()},
            lambda value: {key: load(item) for key, item in value.items()},
        )
    if origin in (Union, types.UnionType):
        rest = [part for part in parts if part is not types.NoneType]
        if len(rest) == 1:
            wire, dump, load = _wire(rest[0])
            if isinstance(wire, str):  # a recursive record
                return f"{wire} | None", _optional_converter(dump), _optional_converter(load)
            return wire | None, _optional_converter(dump), _optional_converter(load)
        # Other unions have simple members only, such as int and str, which JSON distinguishes.
        wires = functools.reduce(operator.or_, (_wire(part)[0] for part in parts))
        return wires, _any_to_plain, _identity
    raise TypeError(f"no JSON form for {annotation!r}")


_open_records: set[type] = set()


def _record(record: type) -> tuple[Any, Converter, Converter]:
    """Returns (wire type, first converter, second converter) for a dataclass, like `_wire`.

    The wire type is a msgspec struct with the name and the field names of the dataclass.
    """
    name = record.__name__
    if record in _open_records:
        return name, lambda value: _wire(record)[1](value), lambda value: _wire(record)[2](value)
    _open_records.add(record)
    hints = typing.get_type_hints(record)
    plan, columns = [], []
    for entry in fields(record):
        wire, dump, load = _wire(hints[entry.name])
        default = entry.default if entry.default_factory is MISSING else entry.default_factory()
        plan.append((entry.name, default, dump, load))
        columns.append(
            (entry.name, wire)
            if default is MISSING
            else (entry.name, wire, _default(default, dump))
        )
    _open_records.discard(record)
    struct = msgspec.defstruct(
        name,
        columns,
        module=__name__,
        namespace={"__doc__": inspect.getdoc(record)},
        kw_only=True,
        forbid_unknown_fields=True,
    )
    globals()[name if name != "Ledger" else "LedgerRecord"] = struct

    def to_plain(value: Any) -> dict[str, Any]:
        return {
            key: dump(item)
            for key, default, dump, _ in plan
            if (item := getattr(value, key)) is not default
            and (default is MISSING or item != default)
        }

    def from_wire(value: Any) -> Any:
        # If the JSON omits a field, the struct holds the field's default, which `load` decodes.
        return record(**{key: load(getattr(value, key)) for key, _, _, load in plan})

    return struct, to_plain, from_wire


def _default(value: Any, dump: Converter) -> Any:
    """Returns the default of a field as plain JSON values, for msgspec and the schema.

    For a dataclass instance or a mapping, the result is a msgspec field with a default factory. The
    reason is that the instances of the wire type must not share one object.
    """
    plain = dump(value)
    if is_dataclass(value) and not isinstance(value, type):
        record: Any = type(value)
        return msgspec.field(default_factory=lambda: _wire(record)[0]())
    if isinstance(value, tuple):
        return ()
    if isinstance(plain, dict):
        return msgspec.field(default_factory=dict)
    return plain


_LEDGER, _dump_ledger, _load_ledger = _wire(Ledger)


class LedgerDocument(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One fusion ledger of ms_fusion."""

    schema_version: Literal[1]
    ledger: _LEDGER  # type: ignore[valid-type]


def to_json(ledger: Ledger) -> str:
    """Returns the ledger as one line of JSON."""
    document = {"schema_version": SCHEMA_VERSION, "ledger": _dump_ledger(ledger)}
    return msgspec.json.encode(document).decode("utf-8") + "\n"


def from_json(text: str | bytes, *, file: str = "<ledger>") -> Ledger:
    """Parses the output of `to_json`; returns the ledger.

    Raises:
        ParseError: the text is not JSON, is not a ledger, or has another schema version. The error
            names the line and the column.
    """
    data = text.encode("utf-8", "backslashreplace") if isinstance(text, str) else bytes(text)
    try:
        document = msgspec.json.decode(data, type=LedgerDocument)
        return typing.cast(Ledger, _load_ledger(document.ledger))
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `")
        line, column, context = _place_of_path(data.decode("utf-8", "replace"), path.rstrip("`"))
        where = f" at {path.rstrip('`')}" if path else ""
        raise ParseError(
            f"this is not a ledger of schema version {SCHEMA_VERSION}: {what}{where}",
            file=file,
            line=line,
            column=column,
            text=context,
            remedy="Write it again with Ledger.to_json of this version of ms_fusion",
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        line, column, context = _place_of_damage(data)
        raise ParseError(
            f"the JSON is damaged: {error}", file=file, line=line, column=column, text=context
        ) from error
    except RecursionError as error:
        raise ParseError("the JSON is nested too deeply", file=file, line=1) from error


def schema() -> dict[str, Any]:
    """Returns the JSON Schema (2020-12) of the output of `to_json`."""
    found = msgspec.json.schema(LedgerDocument)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ADDRESS,
        "title": "Fusion ledger",
        **found,
    }


def schema_text() -> str:
    """Returns the schema as the text of docs/ledger.schema.json."""
    return json.dumps(schema(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _position(text: str, offset: int) -> tuple[int, int, str]:
    """Returns (line, column, surrounding text) of an offset in `text`.

    Lines and columns are counted from 1.
    """
    start = text.rfind("\n", 0, offset) + 1
    return (
        text.count("\n", 0, offset) + 1,
        offset - start + 1,
        text[max(start, offset - 40) : offset + 40].partition("\n")[0],
    )


def _place_of_damage(data: bytes) -> tuple[int, int, str]:
    """Returns the `_position` at which the standard library's JSON parser fails on `data`."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _position(data.decode("latin-1"), error.start)
    try:
        json.loads(text)
    except JSONDecodeError as error:
        return _position(text, error.pos)
    except (RecursionError, ValueError):
        return _position(text, 0)
    return _position(text, len(text))


def _place_of_path(text: str, path: str) -> tuple[int, int, str]:
    """Returns the `_position` of the JSON value at a path such as ``$.ledger.kernels[0].name``.

    If `text` has no value at this path, the result is the position of the value at the longest
    existing prefix of the path.
    """
    offset = 0
    skip = json.decoder.WHITESPACE.match  # type: ignore[attr-defined]
    decoder = json.JSONDecoder()

    def blank(at: int) -> int:
        return int(skip(text, at).end())

    try:
        offset = blank(0)
        for step in path.replace("[", ".[").split(".")[1:]:
            index = int(step[1:-1]) if step[1:-1].isdecimal() and step.startswith("[") else None
            at, place = blank(offset + 1), 0
            while True:
                if text[offset] == "{":
                    key, at = scanstring(text, at + 1, True)
                    at = blank(blank(at) + 1)
                    if key == step:
                        break
                elif place == index:
                    break
                _, at = decoder.raw_decode(text, at)
                at = blank(at)
                if text[at] != ",":
                    return _position(text, offset)
                at, place = blank(at + 1), place + 1
            offset = at
    except (ValueError, IndexError, RecursionError):
        pass
    return _position(text, offset)


if __name__ == "__main__":
    sys.stdout.write(schema_text())
