"""Builds a program's entry function, which is the function that callers of the library call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.options import Options
from tbe_impl.runtime.buffers import MAX_THREADS

BUFFERS = ir.Var("b", "void **")
SIZES = ir.Var("s", "const int64_t *")
THREADS = ir.Var("threads")
MISSING = ir.Var("missing", ir.INT)
"""Result of an entry function that allocates memory: 1 when out of memory, else 0."""

POINTERS_AND_SIZES = tuple(ir.Parameter(item.name, item.kind) for item in (BUFFERS, SIZES))


def buffer_at(number: int, array: ir.Var = BUFFERS) -> ir.Element:
    """Returns the expression for tensor pointer `number` in the array `array`."""
    return ir.Element(array.name, (ir.Int(number),), "void *")


def entry_function(symbol: str, body: Sequence[ir.Stmt]) -> ir.Function:
    """Returns the function ``int symbol(void **b, const int64_t *s, int64_t threads)``."""
    parameters = (*POINTERS_AND_SIZES, ir.Parameter(THREADS.name, "int64_t"))
    return ir.Function(symbol, parameters, (), tuple(body), ir.INT)


def limit_threads(options: Options) -> list[ir.Stmt]:
    """Returns statements that set the number of threads if the options fix that number."""
    limit = ir.Assign(THREADS, ir.Int(min(options.threads, MAX_THREADS)))
    return [ir.If(ir.Var(THREADS.name, ir.FLAG), (limit,))] if options.threads else []


def define_sizes(names: Iterable[str]) -> list[ir.Stmt]:
    """Returns statements that define one C variable for each size in the array ``s`` (`SIZES`)."""
    return [
        ir.Let(name, ir.INDEX, ir.Element(SIZES.name, (ir.Int(number),)))
        for number, name in enumerate(names)
    ]


def allocate(target: ir.Expr, byte_count: ir.Expr, *between: ir.Stmt) -> list[ir.Stmt]:
    """Returns statements that allocate memory and, on failure, leave the enclosing `Attempt`.

    Args:
        target: the variable or the array element that receives the pointer. A variable is defined
            by these statements.
        byte_count: number of bytes.
        between: statements between the allocation and its check.
    """
    found = ir.call("aligned_alloc", ir.Int(64), byte_count, kind=target.kind)
    define: ir.Stmt = (
        ir.Let(target.name, target.kind, found, is_mutable=True)
        if isinstance(target, ir.Var)
        else ir.Assign(target, found)
    )
    leave = (ir.Assign(MISSING, ir.Int(1)), ir.Leave())
    return [define, *between, ir.If(ir.op("not", target, kind=ir.FLAG), leave)]


def free(pointer: ir.Expr) -> ir.Stmt:
    """Returns a statement that releases memory."""
    return ir.Evaluate(ir.call("free", pointer))
