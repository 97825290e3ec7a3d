"""Emits the partition of a nest's iterations among threads."""

from __future__ import annotations

from tbe_impl.codegen.emit_c import text_of
from tbe_impl.codegen.loop_ir import Expr, Index


def partition_among_threads(
    name: str,
    extent: Expr,
    grain: int,
    work: str,
    sequential_call: str,
    *,
    portions: int = 0,
    arguments: str = "",
    extra_fields: str = "",
    part_count_variable: str = "",
) -> tuple[str, str]:
    """Emits the function that runs one part of a nest, and the statements that call it on threads.

    The statements run `sequential_call` instead when `work` is false or there is only one thread.
    The function is empty for a nest that is always sequential.

    Args:
        name: name of the nest's function.
        extent: trip count.
        grain: number of consecutive iterations that stay on one thread.
        work: C condition for using several threads.
        sequential_call: C statement of the sequential call.
        portions: number of dynamically scheduled parts; 0 for one part per thread.
        arguments: further C arguments of the nest's function, which may use the parameters ``nest``
            and ``own`` of the function that runs one part.
        extra_fields: further fields of ``struct shared_nest`` (`thread_pool.h`).
        part_count_variable: C variable that receives the number of parts.
    """
    if isinstance(extent, Index) and extent.constant is not None and extent.constant <= grain:
        return "", sequential_call
    fields = (
        f".run = {name}_part, .b = b, .s = s, .steps = {text_of(extent)}, .grain = {grain}, "
        f".portions = {portions}{extra_fields and ', '}{extra_fields}"
    )
    target = f"{part_count_variable} = " if part_count_variable else ""
    unused = "" if "own" in arguments else "(void)own; "
    part = [
        (
            f"static void {name}_part("
            "const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {"
        ),
        f"  {unused}{name}(nest->b, nest->s, begin, end{arguments and ', '}{arguments});",
        "}",
    ]
    parallel_call = f"{target}share_nest(&(struct shared_nest){{{fields}}}, threads);"
    statements = [f"if (threads > 1 && {work}) {parallel_call}", f"else {sequential_call}"]
    return "\n".join(part), "\n  ".join(statements)
