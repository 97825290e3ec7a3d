"""Emits cumulative sums and products along an axis, with NumPy's order of operations."""

from __future__ import annotations

from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.emit_c import text_of
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.program import Program, include_directives, result_shapes, symbol_of
from tbe_impl.codegen.scatter import arithmetic_macros, number_text, product_of, variables_in
from tbe_impl.dsl.tensor import Operation
from tbe_impl.runtime.buffers import MAX_THREADS

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
    rows, steps, width = (text_of(part.expr(names)) for part in parts if part is not None)
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
    body = [
        f"if (threads) threads = {min(options.threads, MAX_THREADS)};" if options.threads else "",
        *(f"const int64_t {item} = s[{number}];" for number, item in enumerate(names.values())),
        f"const int64_t rows = {rows}, steps = {steps}, width = {width};",
        f"if (rows*steps*width < {options.parallel_elements}) threads = 1;",
        "(void)s;",
        "running(b[0], b[1], rows, steps, width, threads);",
        "return 0;",
    ]
    symbol = symbol_of(name)
    lines += [
        f"int {symbol}(void **b, const int64_t *s, int64_t threads) {{",
        *(f"  {line}" for line in body if line),
        "}\n",
    ]
    text = "\n".join(lines)
    return Program(
        lambda: text,
        symbol,
        (source,),
        (result,),
        sizes=tuple(sizes),
        scalars=(),
        result_shapes=result_shapes([result]),
    )
