"""Generates the programs of scatters, segment reductions and in-place row updates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.entry_function import THREADS, buffer_at
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.planning.polynomials import Poly
from tbe_impl.codegen.program import Program
from tbe_impl.codegen.template_program import (
    arithmetic_macros,
    instantiate_template,
    number_text,
    product_of,
)
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Const
from tbe_impl.dsl.tensor import Operation, Tensor

SEGMENT_PREFIX = "unsorted_segment_"
UPDATE_OPERATORS = {"mean": "sum", "add": "sum", "mul": "prod", "update": "update"}
"""Maps a reduction of a DSL operation to `_Scatter.change`; reductions not listed are unchanged."""


@dataclass(frozen=True)
class _Scatter:
    """A scatter-like DSL operation.

    Attributes:
        change: kind of update: ``sum``, ``prod``, ``max``, ``min``, ``sub``, ``div`` or ``update``.
        var: the updated tensor; None if each row starts with the identity of the update.
        rows: tensor with the update rows.
        numbers: indices of the updated rows: a tensor, or constants.
        fill: value of the rows without an update; None if such rows keep their initial value.
        is_mean: whether each row is divided by the number of updates of this row.
    """

    change: str
    var: Tensor | None
    rows: Tensor
    numbers: Tensor | tuple[int, ...]
    fill: Const | None = None
    is_mean: bool = False


def write_scatter(op: Operation, *, name: str, options: Options) -> Program | None:
    """Generates the program of a scatter-like library stage.

    Rows are updated in index order and in the arithmetic dtype, as in the NumPy formula of the
    operation.

    Returns:
        The program; None for another operation, or for unsupported dtypes, sizes or indices.
    """
    use = _parse_scatter(op)
    if use is None:
        return None
    (result,) = op.outputs
    numbers = use.numbers if isinstance(use.numbers, Tensor) else None
    lead = use.rows.ndim - result.ndim + 1
    count, width = product_of(result.shape[:1]), product_of(result.shape[1:])
    rows = product_of(use.rows.shape[:lead])
    given = (
        Poly.from_int(len(use.numbers))
        if isinstance(use.numbers, tuple)
        else product_of(use.numbers.shape)
    )
    # symbolic sizes that must be equal but differ in form could differ at run time
    if rows != given or width != product_of(use.rows.shape[lead:]) or None in (count, rows, width):
        return None
    assert count is not None and rows is not None and width is not None
    inputs = tuple(item for item in (use.var, use.rows, numbers) if item is not None)
    places = {id(tensor): buffer_at(number) for number, tensor in enumerate(inputs)}
    call = ir.call(
        "numbered_rows",
        places[id(use.var)] if use.var is not None else ir.Var("NULL", "pointer"),
        places[id(use.rows)],
        places[id(numbers)] if numbers is not None else ir.Var("numbers", "pointer"),
        buffer_at(len(inputs)),
        *map(ir.Var, ("rows", "width", "count")),
        ir.Int(int(use.is_mean or use.fill is not None)),
        THREADS,
        kind=ir.INT,
    )
    return instantiate_template(
        name,
        options,
        [*_definitions(use), '#include "scatter.h"'],
        inputs,
        result,
        {"rows": rows, "width": width, "count": count},
        ("rows", "width"),
        ir.Return(call),
    )


def _parse_scatter(op: Operation) -> _Scatter | None:
    """Parses a scatter-like stage; returns None for an unsupported stage."""
    word = op.dsl_call
    if word is None:
        return None
    given = word.parameters
    if word.name.startswith(SEGMENT_PREFIX):
        kind = word.name.removeprefix(SEGMENT_PREFIX)
        numbers = word.inputs[1] if len(word.inputs) == 2 else _constants(given["segment_ids"])
        fill = given["init_value"]
        if numbers is None or not isinstance(fill, Const):
            return None
        plain = kind == "sum" and fill.value == 0
        return _Scatter(
            UPDATE_OPERATORS.get(kind, kind),
            None,
            word.inputs[0],
            numbers,
            None if plain else fill,
            kind == "mean",
        )
    target = word.inputs[0] if word.inputs else None
    is_logical = target is not None and target.dtype == "bool"
    if word.name == "scatter":
        change = UPDATE_OPERATORS.get(given["reduction"], given["reduction"])
        known = not (is_logical and change in ("sub", "div"))
        return _Scatter(change, target, word.inputs[2], word.inputs[1]) if known else None
    if word.name.startswith("inplace_") and len(word.inputs) == 2:
        change = word.name.removeprefix("inplace_")
        found = _constants(given["rows"])
        # at run time, negative or too large indices raise an error
        known = found is not None and not is_logical and isinstance(op.outputs[0].shape[0], Const)
        return (
            _Scatter(UPDATE_OPERATORS.get(change, change), target, word.inputs[1], found or ())
            if known
            else None
        )
    return None


def _constants(items: Sequence[Any]) -> tuple[int, ...] | None:
    if not all(isinstance(item, Const) for item in items):
        return None
    return tuple(int(item) for item in items)


def _definitions(use: _Scatter) -> list[str]:
    """Returns the C definitions that ``scatter.h`` requires."""
    dtype = use.rows.dtype
    tag = vectors.tag_of(dtype)
    begins = 0 if use.change in ("sub", "div", "update") else vectors.identity(use.change, dtype)
    is_list = isinstance(use.numbers, tuple)
    number = "int64_t" if isinstance(use.numbers, tuple) else dtype_of(use.numbers.dtype).c
    if isinstance(use.numbers, tuple):
        listed = f"static const int64_t numbers[] = {{{', '.join(map(str, use.numbers)) or '0'}}};"
    divided = "(work)((double)(sum) / (double)(count))"
    found = [
        *arithmetic_macros(use.change, dtype),
        f"typedef {number} number;",
        f"#define START {number_text(begins, tag)}",
        f"#define IS_FILLED {int(use.fill is not None)}",
        f"#define FILL {number_text(0 if use.fill is None else use.fill.value, tag)}",
        f"#define END(sum, count) {divided if use.is_mean and tag != vectors.MASK else '(sum)'}",
    ]
    return [*found, listed] if is_list else found
