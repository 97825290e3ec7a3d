"""Emits loops that look up a float16 function in a table, for processors with float16 arithmetic.

A lookup is faster than the arithmetic that it replaces: without a table, a float16 vector is
converted to two float32 vectors, and exponentials and divisions are computed for both.
`tbe_impl.codegen.passes.unary_half_functions` finds the functions, and
`tbe_impl.codegen.passes.half_precision_tables` builds the tables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tbe_impl.codegen.passes.half_precision_tables import HalfLookupTable
from tbe_impl.codegen.passes.statements import IDENTIFIER, CStatement

MIN_TABLE_ELEMENTS = 64
"""Minimum number of elements in a row for table lookups."""

_LOAD = re.compile(r"f16_load\((.*)\)$")
_STORE = re.compile(r"(if \(stream\) f16_stream\((.*?), \w+\); else )?f16_store\((.*?), \w+\);$")


def emit_table_loop(
    name: str,
    begin: str,
    limit: str,
    whole: Sequence[Any],
    rest: Sequence[Any],
    cells: HalfLookupTable | None,
) -> list[Any]:
    """Emits a loop over chunks of table lookups.

    Args:
        name: name of the loop variable.
        begin, limit: begin and exclusive end of the loop, in C.
        whole: statements for one vector.
        rest: statements for the remainder.
        cells: lookup table of the function that the statements compute; None if there is none.

    Returns:
        C statements; empty unless the loop maps one contiguous float16 vector to another.
    """
    lines = [CStatement.parse(line) for line in whole if isinstance(line, str)] if cells else []
    loads = [match for line in lines if (match := _LOAD.match(line.value))]
    stores = [match for line in lines if line.is_store and (match := _STORE.match(line.text))]
    known = all(line.name or line.is_store or line.is_prefetch for line in lines) and len(
        lines
    ) == len(whole)
    if cells is None or not known or not rest or len(loads) != 1 or len(stores) != 1:
        return []
    if sum(line.is_load for line in lines) != 1 or sum(line.is_store for line in lines) != 1:
        return []
    read, written = loads[0][1], stores[0][3]
    own = {line.name for line in lines}
    if not all(
        _is_unit_stride(place, name) and own.isdisjoint(IDENTIFIER.findall(place))
        for place in (read, written)
    ):
        return []
    stream, table = "stream" if stores[0][1] else "0", f"{name}_cells"
    fetched = [line.text for line in lines if line.is_prefetch]
    fetches = [
        (
            f"for (int64_t {name} = {name}_chunk; {name} < {name}_chunk + {name}_size; "
            f"{name} += HALVES) {{"
        ),
        fetched,
        "}",
    ]
    far = [
        "const int stream = 0;",
        (
            f"for (int64_t {name} = {name}_chunk; {name} < {name}_chunk + {name}_size; "
            f"{name} += LANES) {{"
        ),
        [
            f"const int {name}_rest = (int)least(LANES, {name}_chunk + {name}_size - {name});",
            f"const f16_part part = f16_part_of({read}, {name}_rest, {table});",
            f"if (part.near == f16_mask({name}_rest)) {{ }}",
            f"else if ({name}_rest == LANES) {{",
            [*whole],
            "} else {",
            [*rest],
            "}",
            f"f16_part_write({written}, part);",
        ],
        "}",
    ]
    chunk = [
        f"const int64_t {name} = {name}_chunk;",
        f"{name}_size = f16_chunk_size({written}, {limit} - {name}, {stream});",
        *("{", fetches, "}") * bool(fetched),
        f"if (!f16_chunk_write({read}, {written}, {name}_size, {table}, {stream})) {{",
        far,
        "}",
    ]
    return [
        *_table_definition(f"{name}_cells", cells),
        (
            f"for (int64_t {name}_chunk = {begin}, {name}_size; {name}_chunk < {limit}; "
            f"{name}_chunk += {name}_size) {{"
        ),
        chunk,
        "}",
    ]


def _is_unit_stride(place: str, name: str) -> bool:
    """Returns whether an address advances by one element when the variable `name` grows by 1."""
    terms = place.split(" + ")
    return terms.count(name) == 1 and not any(
        name in IDENTIFIER.findall(term) for term in terms if term != name
    )


def _table_definition(name: str, cells: HalfLookupTable) -> list[Any]:
    """Emits the table in C; each row stores the high bytes of all values, then the low bytes."""
    rows = [row.astype("<f2").view(np.uint8).reshape(-1, 2).T[::-1].ravel() for row in cells.rows]
    return [
        (
            f"static const uint8_t {name}_rows[{len(rows)}][2*HALVES] "
            "__attribute__((aligned(64))) = {"
        ),
        [f"{{{', '.join(map(str, row))}}}," for row in rows],
        "};",
        (
            f"const f16_cells {name} = "
            f"{{{name}_rows, {len(rows) - 2}, {int(cells.of_product)}, {cells.step}f}};"
        ),
    ]
