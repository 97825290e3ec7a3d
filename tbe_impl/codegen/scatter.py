"""Emits scatters, segment reductions and in-place row updates as C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.emit_c import emit_function, text_of
from tbe_impl.codegen.entry_function import (
    SIZES,
    THREADS,
    buffer_at,
    define_sizes,
    entry_function,
    limit_threads,
    run_on_one_thread_below,
)
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.planning.access_analysis import size_poly
from tbe_impl.codegen.planning.polynomials import ONE, Poly
from tbe_impl.codegen.program import (
    HALF_PRECISION_DTYPES,
    Program,
    include_directives,
    result_shapes,
    symbol_of,
)
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Const, Expr, walk
from tbe_impl.dsl.expr import Var as Size
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
        rows: the update rows.
        numbers: indices of the updated rows: a tensor, or constants.
        fill: value of the rows without an update; None if such rows keep their initial value.
        is_mean: whether each row is divided by its number of updates.
    """

    change: str
    var: Tensor | None
    rows: Tensor
    numbers: Tensor | tuple[int, ...]
    fill: Const | None = None
    is_mean: bool = False


def write_scatter(op: Operation, *, name: str, options: Options) -> Program | None:
    """Generates the program of a scatter-like library stage.

    Rows are updated in index order, in the arithmetic dtype, as in the formula of the operation.

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
    sizes = variables_in([size for tensor in (*inputs, result) for size in tensor.shape])
    names = {size.serial: f"n{number}" for number, size in enumerate(sizes)}
    places = {id(tensor): buffer_at(number) for number, tensor in enumerate(inputs)}
    counts = (ir.Var("rows"), ir.Var("width"), ir.Var("count"))
    arguments = (
        places[id(use.var)] if use.var is not None else ir.Var("NULL", "pointer"),
        places[id(use.rows)],
        places[id(numbers)] if numbers is not None else ir.Var("numbers", "pointer"),
        buffer_at(len(inputs)),
        *counts,
        ir.Int(int(use.is_mean or use.fill is not None)),
        THREADS,
    )
    body = [
        *limit_threads(options),
        *define_sizes(names.values()),
        *(
            ir.Let(one.name, one.kind, size.expr(names))
            for one, size in zip(counts, (rows, width, count), strict=True)
        ),
        run_on_one_thread_below(ir.op("mul", *counts[:2]), options),
        ir.Unused((SIZES.name,)),
        ir.Return(ir.call("numbered_rows", *arguments, kind=ir.INT)),
    ]
    lines = [include_directives(options), "", *_definitions(use), '#include "scatter.h"', ""]
    symbol = symbol_of(name)
    source = "\n".join([*lines, emit_function(entry_function(symbol, body)), ""])
    return Program(
        lambda: source,
        symbol,
        inputs,
        (result,),
        sizes=tuple(sizes),
        scalars=(),
        result_shapes=result_shapes([result]),
    )


def product_of(sizes: Sequence[Expr]) -> Poly | None:
    total = ONE
    for size in sizes:
        extent = size_poly(size)
        if extent is None:
            return None
        total = total * extent
    return total


def variables_in(sizes: Sequence[Expr]) -> list[Size]:
    found = {node.serial: node for size in sizes for node in walk(size) if isinstance(node, Size)}
    return list(found.values())


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


def arithmetic_macros(change: str, dtype: str) -> list[str]:
    """Returns C definitions of element types, load, store, arithmetic and the update `change`."""
    tag, memory, element = vectors.tag_of(dtype), vectors.memory_prefix(dtype), dtype_of(dtype).c
    is_narrow = dtype in HALF_PRECISION_DTYPES
    return [
        f"typedef {element} element;",
        f"typedef {'float' if is_narrow else element} work;",
        f"#define MEMORY(name) {memory}_##name",
        f"#define WORK(name) {memory if tag == vectors.MASK else tag}_##name",
        f"#define READ(p) {f'{memory}_load_part(p, 1)[0]' if is_narrow else '(*(p))'}",
        f"#define CHANGE(a, b) {_update_text(change, tag)}",
        f"#define CHANGE_ONE(a, b) {_scalar_update_text(change, tag)}",
        f"#define IS_NARROW {int(is_narrow)}",
    ]


def number_text(value: float | int | bool, tag: str) -> str:
    if tag == vectors.MASK:
        return str(int(bool(value)))
    return f"({text_of(vectors.literal(value, tag))})[0]"


_OPERATIONS = {"sum": "add", "prod": "mul"}


def _update_text(change: str, tag: str) -> str:
    """Returns a C expression for the vector ``a`` updated by the vector ``b``."""
    if change == "update":
        return "(b)"
    operands = (ir.Var("(a)", tag), ir.Var("(b)", tag))
    return text_of(vectors.binary(_OPERATIONS.get(change, change), tag, *operands))


def _scalar_update_text(change: str, tag: str) -> str:
    """Returns a C expression for the element ``a`` updated by the element ``b``."""
    if change == "update":
        return "(b)"
    if tag == vectors.MASK:
        return "((a) | (b))" if change in ("sum", "max") else "((a) & (b))"
    simple = {"sum": "+", "prod": "*", "sub": "-"} | ({"div": "/"} if tag[0] == "f" else {})
    if change in simple:
        return f"((a) {simple[change]} (b))"
    if change in ("max", "min"):
        is_nan = "(b) != (b) || " if tag[0] == "f" else ""
        return f"({is_nan}(b) {'>' if change == 'max' else '<'} (a) ? (b) : (a))"
    wide = (ir.Splat(tag, ir.Var(name)) for name in ("(a)", "(b)"))
    return f"{text_of(vectors.binary(change, tag, *wide))}[0]"
