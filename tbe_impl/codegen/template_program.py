"""Generates programs for scatters and scans from C templates of the headers in `include/`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.emit_c import emit_function, text_of
from tbe_impl.codegen.entry_function import (
    SIZES,
    THREADS,
    define_sizes,
    entry_function,
    limit_threads,
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
from tbe_impl.dsl.expr import Expr, Var, walk
from tbe_impl.dsl.tensor import Tensor


def instantiate_template(
    name: str,
    options: Options,
    definitions: Sequence[str],
    inputs: tuple[Tensor, ...],
    result: Tensor,
    extents: Mapping[str, Poly],
    counted: Sequence[str],
    *calls: ir.Stmt,
) -> Program:
    """Generates a program that calls a C template of a header.

    Args:
        name, options: as for `write_program`.
        definitions: C macros that the template requires, and the ``#include`` directive of the
            template.
        inputs, result: the input tensors, and the result tensor.
        extents: dict from a variable's name to its value. The entry function defines these
            variables before the call.
        counted: names of the variables whose product is the number of elements. This number decides
            whether the call uses several threads.
        calls: statements that call the template and end the entry function.
    """
    shapes = [size for tensor in (*inputs, result) for size in tensor.shape]
    variables = (node for size in shapes for node in walk(size) if isinstance(node, Var))
    sizes = {node.serial: node for node in variables}
    names = {serial: f"n{number}" for number, serial in enumerate(sizes)}
    count = ir.fold("mul", map(ir.Var, counted))
    is_small = ir.op("lt", count, ir.Int(options.parallel_elements), kind=ir.FLAG)
    body = [
        *limit_threads(options),
        *define_sizes(names.values()),
        *(ir.Let(key, ir.INDEX, extent.expr(names)) for key, extent in extents.items()),
        ir.If(is_small, (ir.Assign(THREADS, ir.Int(1)),)),
        ir.Unused((SIZES.name,)),
        *calls,
    ]
    symbol = symbol_of(name)
    entry = emit_function(entry_function(symbol, body))
    text = "\n".join([include_directives(options), "", *definitions, "", entry, ""])
    return Program(
        lambda: text,
        symbol,
        inputs,
        (result,),
        sizes=tuple(sizes.values()),
        scalars=(),
        result_shapes=result_shapes([result]),
    )


def product_of(sizes: Sequence[Expr]) -> Poly | None:
    """Returns the product of sizes; None if a size is no polynomial."""
    extents = [extent for size in sizes if (extent := size_poly(size)) is not None]
    return math.prod(extents, start=ONE) if len(extents) == len(sizes) else None


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
