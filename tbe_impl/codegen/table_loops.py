"""Emits loops that look up a float16 function in a table, where the processor computes in float16.

Memory is soon faster than an exponential and a quotient of two vectors of float32 for each of float16. What a result is of the one
number that it is made of (`tbe_impl.codegen.unary_half_functions`) is a table of float16 then, see `tbe_impl.codegen.half_precision_tables`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tbe_impl.codegen.half_precision_tables import HalfCells
from tbe_impl.codegen.statements import WORD, Statement

FEWEST = 64
"""Elements of a row that are worth chunks."""

_LOAD = re.compile(r"f16_load\((.*)\)$")
_STORE = re.compile(r"(if \(stream\) f16_stream\((.*?), \w+\); else )?f16_store\((.*?), \w+\);$")


def in_cells(
    name: str,
    begin: str,
    limit: str,
    whole: Sequence[Any],
    rest: Sequence[Any],
    cells: HalfCells | None,
) -> list[Any]:
    """A loop in chunks.

    Args:
        name: of the loop's variable.
        begin, limit: its first step, and the one behind its last, in C.
        whole: statements for a vector.
        rest: statements for what is less than one.
        cells: the table of the function that they compute, if there is one.

    Returns:
        Statements; none where these do not make one vector of float16 of another that is read.
    """
    lines = [Statement.of(line) for line in whole if isinstance(line, str)] if cells else []
    loads = [match for line in lines if (match := _LOAD.match(line.value))]
    stores = [match for line in lines if line.writes and (match := _STORE.match(line.text))]
    known = all(line.name or line.writes or line.fetches for line in lines) and len(lines) == len(
        whole
    )
    if cells is None or not known or not rest or len(loads) != 1 or len(stores) != 1:
        return []
    if sum(line.reads for line in lines) != 1 or sum(line.writes for line in lines) != 1:
        return []
    read, written = loads[0][1], stores[0][3]
    own = {line.name for line in lines}
    if not all(
        _follows(place, name) and own.isdisjoint(WORD.findall(place)) for place in (read, written)
    ):
        return []
    stream, table = "stream" if stores[0][1] else "0", f"{name}_cells"
    fetched = [line.text for line in lines if line.fetches]
    fetches = [
        f"for (int64_t {name} = {name}_chunk; {name} < {name}_chunk + {name}_size; {name} += HALVES) {{",
        fetched,
        "}",
    ]
    far = [
        "const int stream = 0;",
        f"for (int64_t {name} = {name}_chunk; {name} < {name}_chunk + {name}_size; {name} += LANES) {{",
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
        *_table(f"{name}_cells", cells),
        f"for (int64_t {name}_chunk = {begin}, {name}_size; {name}_chunk < {limit}; {name}_chunk += {name}_size) {{",
        chunk,
        "}",
    ]


def _follows(place: str, name: str) -> bool:
    """Whether an address goes from element to element as a loop's variable does."""
    terms = place.split(" + ")
    return terms.count(name) == 1 and not any(
        name in WORD.findall(term) for term in terms if term != name
    )


def _table(name: str, cells: HalfCells) -> list[Any]:
    """Of each row first the high bytes, then the low ones."""
    rows = [row.astype("<f2").view(np.uint8).reshape(-1, 2).T[::-1].ravel() for row in cells.rows]
    return [
        f"static const uint8_t {name}_rows[{len(rows)}][2*HALVES] __attribute__((aligned(64))) = {{",
        [f"{{{', '.join(map(str, row))}}}," for row in rows],
        "};",
        f"const f16_cells {name} = {{{name}_rows, {len(rows) - 2}, {int(cells.of_product)}, {cells.step}f}};",
    ]
