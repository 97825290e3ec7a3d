"""Table-driven tests: ``@cases`` loops over a table in one test and reports each failing row.

``@pytest.mark.parametrize`` creates one item per row, and thousands of items cost more than their
tests. ``@cases`` creates one item per table: each row is a subtest, so a failure names its
parameters, and the rows after it still run.

``make test`` runs the rows that ``quick`` and ``sample`` select; ``make test-all``, that is
``pytest --full``, runs all of them, in items of at most ``per_item`` rows.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

FULL = pytest.mark.full
"""Marks a test, or one row of a table, that only ``make test-all`` runs."""

GROUP = "case_group"
"""The argument that passes the rows of an item to the test."""


@dataclass(frozen=True)
class Row:
    """A row of a table: arguments by name, label, and whether only ``make test-all`` runs it."""

    arguments: dict[str, Any]
    label: str
    full: bool = False

    def __add__(self, other: Row) -> Row:
        return Row(
            {**self.arguments, **other.arguments},
            f"{self.label}-{other.label}",
            self.full or other.full,
        )


@dataclass(frozen=True)
class Table:
    """The rows of a test: the product of its axes, and the share that ``make test`` runs."""

    axes: tuple[tuple[Row, ...], ...]
    quick_axes: tuple[tuple[Row, ...], ...]
    sample: int | None = None
    per_item: int = 40

    def rows(self, *, full: bool) -> list[Row]:
        """All rows, or those of ``make test``."""
        product = itertools.product(*(self.axes if full else self.quick_axes))
        rows = [functools.reduce(Row.__add__, row) for row in product]
        if full:
            return rows
        rows = [row for row in rows if not row.full]
        return rows if self.sample is None else spread(rows, self.sample)

    def groups(self, *, full: bool) -> list[list[Row]]:
        """The rows of each item."""
        rows = self.rows(full=full)
        if not full:
            return [rows]
        return [rows[i : i + self.per_item] for i in range(0, len(rows), self.per_item)]


def spread(rows: Sequence[Row], count: int) -> list[Row]:
    """`count` of `rows` by a stride near the golden section: all axes of a product vary."""
    if count >= len(rows):
        return list(rows)
    stride = max(1, round(len(rows) * 0.618))
    while math.gcd(stride, len(rows)) != 1:
        stride += 1
    return [rows[i] for i in sorted(i * stride % len(rows) for i in range(count))]


def cases(
    names: str,
    values: Sequence[Any],
    *,
    quick: int | None = None,
    sample: int | None = None,
    per_item: int | None = None,
    ids: Sequence[str] | Callable[[Any], str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator: the test runs once for each of `values`, all within one item.

    Decorators stack to the product of their tables. Each row has its own ``tmp_path`` and
    ``monkeypatch`` and an empty ``caplog``; all rows of an item share its other fixtures, which
    know the ``tmp_path`` of the item only.

    Args:
        names: the arguments of a row, separated by commas.
        values: the rows: a value, a tuple of values, or ``pytest.param`` (with ``id`` and
            ``marks=FULL``).
        quick: number of rows of this axis in ``make test``, evenly spread; default: all.
        sample: number of rows of the whole product in ``make test``, spread over all axes.
        per_item: the most rows of one item in ``make test-all``.
        ids: labels of the rows, or a function from a row to its label.
    """
    argument_names = [name.strip() for name in names.split(",")]
    axis = tuple(
        _row(argument_names, value, label)
        for value, label in zip(values, _labels(values, ids), strict=True)
    )
    kept = tuple(row for row in axis if not row.full)
    if quick is not None and quick < len(kept):
        kept = tuple(kept[i * len(kept) // quick] for i in range(quick))

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        table: Table = getattr(test, "table", Table((), ()))
        body = getattr(test, "body", test)
        table = replace(
            table,
            axes=(axis, *table.axes),
            quick_axes=(kept, *table.quick_axes),
            sample=table.sample if sample is None else sample,
            per_item=per_item or table.per_item,
        )

        def run_rows(*args: Any, **fixtures: Any) -> None:
            __tracebackhide__ = True
            subtests = fixtures.pop("subtests")
            rows: list[Row] = fixtures.pop(GROUP)
            wanted = inspect.signature(body).parameters
            if "subtests" in wanted:
                fixtures["subtests"] = subtests
            for place, row in enumerate(rows):
                with subtests.test(row.label), _fresh(fixtures, place) as fresh:
                    body(*args, **fresh, **row.arguments)

        functools.update_wrapper(run_rows, body)
        del run_rows.__wrapped__
        given = {name for row in table.axes for name in row[0].arguments} if axis else set()
        parameters = [
            one for name, one in inspect.signature(body).parameters.items() if name not in given
        ]
        named = {one.name for one in parameters}
        parameters += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
            for name in (GROUP, "subtests")
            if name not in named
        ]
        run_rows.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run_rows.pytestmark = list(getattr(test, "pytestmark", []))  # type: ignore[attr-defined]
        run_rows.table = table  # type: ignore[attr-defined]
        run_rows.body = body  # type: ignore[attr-defined]
        return run_rows

    return decorate


@contextlib.contextmanager
def _fresh(fixtures: dict[str, Any], place: int) -> Iterator[dict[str, Any]]:
    """The fixtures of a row: its own folder and patches, and no log records of earlier rows."""
    fresh = dict(fixtures)
    if "tmp_path" in fresh:
        fresh["tmp_path"] = fresh["tmp_path"] / f"row-{place}"
        fresh["tmp_path"].mkdir()
    if "caplog" in fresh:
        fresh["caplog"].clear()
    with pytest.MonkeyPatch.context() as patch:
        if "monkeypatch" in fresh:
            fresh["monkeypatch"] = patch
        yield fresh


def _row(names: Sequence[str], value: Any, label: str) -> Row:
    full = False
    if hasattr(value, "marks"):  # pytest.param
        unknown = [mark.name for mark in value.marks if mark.name != FULL.name]
        assert not unknown, f"a row takes no mark but full: {unknown}"
        full = bool(value.marks)
        given = value.values
    else:
        given = value if len(names) > 1 else (value,)
    return Row(dict(zip(names, given, strict=True)), label, full)


def _labels(values: Sequence[Any], ids: Sequence[str] | Callable[[Any], str] | None) -> list[str]:
    labels = []
    for place, value in enumerate(values):
        given = getattr(value, "id", None) if hasattr(value, "marks") else None
        if given is None and callable(ids):
            given = ids(_bare(value))
        elif given is None and ids is not None:
            given = list(ids)[place]
        labels.append(_printable(str(given) if given is not None else _label(value)))
    return labels


def _bare(value: Any) -> Any:
    """The row of a ``pytest.param``."""
    if not hasattr(value, "marks"):
        return value
    return value.values if len(value.values) > 1 else value.values[0]


def _printable(text: str) -> str:
    """A label for other processes and the terminal: unprintable characters are escaped."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def _label(value: Any) -> str:
    parts = value.values if hasattr(value, "marks") else value
    parts = parts if isinstance(parts, tuple) else (parts,)
    text = "-".join(getattr(part, "__name__", None) or str(part) for part in parts)
    return text if len(text) <= 200 else f"{text[:200]}…"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One item for each group of rows."""
    table: Table | None = getattr(metafunc.function, "table", None)
    if table is None:
        return
    groups = table.groups(full=metafunc.config.getoption("--full"))
    assert groups and groups[0], (
        f"{metafunc.function.__name__}: no row is left; mark the test with FULL"
    )
    ids = [f"{place + 1} of {len(groups)}" for place in range(len(groups))]
    metafunc.parametrize(GROUP, groups, ids=ids if len(groups) > 1 else ["all"])
