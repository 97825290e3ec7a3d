"""Every row of the stress run, in order."""

from __future__ import annotations

from tests.stress import compilers, damage, keeping, places, races

ROWS = tuple(
    sorted(
        (row for module in (races, damage, places, keeping, compilers) for row in module.ROWS),
        key=lambda row: row.number,
    )
)
