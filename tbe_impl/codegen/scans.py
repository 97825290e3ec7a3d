"""Generates programs of cumulative sums and products, with NumPy's order of operations."""

from __future__ import annotations

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.entry_function import THREADS, buffer_at
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.program import Program
from tbe_impl.codegen.template_program import (
    arithmetic_macros,
    instantiate_template,
    number_text,
    product_of,
)
from tbe_impl.dsl.tensor import Operation

SCAN_OPERATORS = {"cumsum": "sum", "cumprod": "prod"}


def write_scan(op: Operation, *, name: str, options: Options) -> Program | None:
    """Generates the program of a cumulative sum or product; returns None for other stages.

    The accumulation is sequential and uses the arithmetic dtype, like the NumPy formula of the
    operation.
    """
    word = op.dsl_call
    if word is None or word.name not in SCAN_OPERATORS or not word.inputs[0].ndim:
        return None
    (source,), (result,) = word.inputs, op.outputs
    axis, shape = word.parameters["axis"], source.shape
    sizes = (shape[:axis], shape[axis : axis + 1], shape[axis + 1 :])
    parts = zip(("rows", "steps", "width"), map(product_of, sizes), strict=True)
    extents = {key: extent for key, extent in parts if extent is not None}
    if len(extents) < len(sizes):
        return None
    change, tag = SCAN_OPERATORS[word.name], vectors.tag_of(source.dtype)
    begins = int(change == "prod")
    # −0 is the identity of a float sum; an exclusive sum starts with 0
    neutral = -0.0 if tag[0] == "f" and not begins else begins
    definitions = [
        *arithmetic_macros(change, source.dtype),
        f"#define FIRST {number_text(begins, tag)}",
        f"#define NEUTRAL {number_text(neutral, tag)}",
        f"#define IS_EXCLUSIVE {int(word.parameters['exclusive'])}",
        f"#define IS_REVERSE {int(word.parameters['reverse'])}",
        '#include "scans.h"',
    ]
    call = ir.call("running", buffer_at(0), buffer_at(1), *map(ir.Var, extents), THREADS)
    return instantiate_template(
        name,
        options,
        definitions,
        (source,),
        result,
        extents,
        tuple(extents),
        ir.Evaluate(call),
        ir.Return(ir.Int(0)),
    )
