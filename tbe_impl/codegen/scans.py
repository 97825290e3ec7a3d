"""Emits cumulative sums and products along an axis, with NumPy's order of operations."""

from __future__ import annotations

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.emit_c import emit_function
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
from tbe_impl.codegen.program import Program, include_directives, result_shapes, symbol_of
from tbe_impl.codegen.scatter import arithmetic_macros, number_text, product_of, variables_in
from tbe_impl.dsl.tensor import Operation

SCAN_OPERATORS = {"cumsum": "sum", "cumprod": "prod"}


def write_scan(op: Operation, *, name: str, options: Options) -> Program | None:
    """Generates the program of a cumulative sum or product; returns None for other stages.

    Elements are accumulated in sequence, in the arithmetic dtype, as in the formula of the
    operation.
    """
    word = op.dsl_call
    if word is None or word.name not in SCAN_OPERATORS or not word.inputs[0].ndim:
        return None
    (source,), (result,) = word.inputs, op.outputs
    axis, shape = word.parameters["axis"], source.shape
    parts = [
        product_of(shape[:axis]),
        product_of(shape[axis : axis + 1]),
        product_of(shape[axis + 1 :]),
    ]
    if None in parts:
        return None
    sizes = variables_in(list(shape))
    names = {size.serial: f"n{number}" for number, size in enumerate(sizes)}
    shape_of = [part.expr(names) for part in parts if part is not None]
    change, tag = SCAN_OPERATORS[word.name], vectors.tag_of(source.dtype)
    begins = int(change == "prod")
    # −0 is the identity of a float sum; an exclusive sum starts with 0
    neutral = -0.0 if tag[0] == "f" and not begins else begins
    lines = [
        include_directives(options),
        "",
        *arithmetic_macros(change, source.dtype),
        f"#define FIRST {number_text(begins, tag)}",
        f"#define NEUTRAL {number_text(neutral, tag)}",
        f"#define IS_EXCLUSIVE {int(word.parameters['exclusive'])}",
        f"#define IS_REVERSE {int(word.parameters['reverse'])}",
        '#include "scans.h"',
        "",
    ]
    rows, steps, width = (ir.Var(name) for name in ("rows", "steps", "width"))
    count = ir.op("mul", ir.op("mul", rows, steps), width)
    arguments = (buffer_at(0), buffer_at(1), rows, steps, width, THREADS)
    body = [
        *limit_threads(options),
        *define_sizes(names.values()),
        *(
            ir.Let(one.name, one.kind, size)
            for one, size in zip((rows, steps, width), shape_of, strict=True)
        ),
        run_on_one_thread_below(count, options),
        ir.Unused((SIZES.name,)),
        ir.Evaluate(ir.call("running", *arguments)),
        ir.Return(ir.Int(0)),
    ]
    symbol = symbol_of(name)
    text = "\n".join([*lines, emit_function(entry_function(symbol, body)), ""])
    return Program(
        lambda: text,
        symbol,
        (source,),
        (result,),
        sizes=tuple(sizes),
        scalars=(),
        result_shapes=result_shapes([result]),
    )
