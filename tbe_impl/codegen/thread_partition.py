"""Builds the partition of a nest's iterations among threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.entry_function import BUFFERS, SIZES, THREADS

BEGIN_AND_END = (ir.Parameter("begin", "int64_t"), ir.Parameter("end", "int64_t"))
NEST = ir.Var("nest", "const struct shared_nest *")
"""Parameter of a part function: the arguments of `share_nest` (``thread_pool.h``)."""

OWN = ir.Var("own", "char *")
"""Parameter of a part function: the memory of the part."""


def partition_among_threads(
    name: str,
    extent: ir.Expr,
    grain: int,
    condition: ir.Expr,
    arguments: Sequence[ir.Expr] = (),
    part_arguments: Sequence[ir.Expr] = (),
    fields: Mapping[str, ir.Expr] | None = None,
    *,
    portions: int = 0,
    part_count: ir.Var | None = None,
) -> tuple[tuple[ir.Function, ...], ir.Stmt]:
    """Returns the function that runs one part of a nest, and the statement that runs the nest.

    The statement calls the nest's function for all iterations if `condition` is false or there is
    only one thread. For a nest that is always sequential, no function is returned.

    Args:
        name: name of the nest's function.
        extent: trip count of the partitioned loop.
        grain: number of consecutive iterations that stay on one thread.
        condition: condition for using several threads.
        arguments: further arguments of the sequential call.
        part_arguments: further arguments of the call in the part function; they may use `NEST` and
            `OWN`.
        fields: further fields of ``struct shared_nest``.
        portions: number of dynamically scheduled parts; 0 for one part per thread.
        part_count: variable that receives the number of parts.
    """
    alone = ir.Evaluate(ir.call(name, BUFFERS, SIZES, ir.ZERO, extent, *arguments))
    if isinstance(extent, ir.Index) and extent.constant is not None and extent.constant <= grain:
        return (), alone
    given = (ir.Field(NEST, BUFFERS.name, BUFFERS.kind), ir.Field(NEST, SIZES.name, SIZES.kind))
    limits = (ir.Var(item.name) for item in BEGIN_AND_END)
    call = ir.Evaluate(ir.call(name, *given, *limits, *part_arguments))
    part = ir.Function(
        f"{name}_part",
        (ir.Parameter(NEST.name, NEST.kind), *BEGIN_AND_END, ir.Parameter(OWN.name, OWN.kind)),
        () if OWN.name in ir.names_in(part_arguments) else (ir.Unused((OWN.name,)),),
        (call,),
    )
    values = {
        "run": ir.Var(part.name, "function"),
        "b": BUFFERS,
        "s": SIZES,
        "steps": extent,
        "grain": ir.Int(grain),
        "portions": ir.Int(portions),
        **(fields or {}),
    }
    record = ir.Structure("struct shared_nest", tuple(values), tuple(values.values()))
    shared = ir.call("share_nest", record, THREADS, kind=ir.INT)
    together = ir.Evaluate(shared) if part_count is None else ir.Assign(part_count, shared)
    several = ir.op("gt", THREADS, ir.Int(1), kind=ir.FLAG)
    return (part,), ir.If(ir.op("and", several, condition, kind=ir.FLAG), (together,), (alone,))
