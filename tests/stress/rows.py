"""Every row of the stress run, in order."""

from __future__ import annotations

from tests.stress import (
    accuracy,
    compilers,
    concurrency,
    damage,
    keeping,
    models,
    networks,
    operators,
    places,
    races,
    words,
)

ROWS = tuple(
    sorted(
        (
            row
            for module in (
                races,
                damage,
                places,
                keeping,
                compilers,
                concurrency,
                words,
                operators,
                accuracy,
                models,
                networks,
            )
            for row in module.ROWS
        ),
        key=lambda row: row.number,
    )
)
