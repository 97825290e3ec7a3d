"""Loop coalescing: one loop for perfectly nested loops that a schedule fuses.

Before::

    for i in 0..m as one loop with 1 inside:
      for j in 0..n:
        body

After::

    for i_j in 0..m * n:
      let i = i_j / n
      let j = i_j % n
      body

A block loop steps from block to block. For such a loop, the coalesced loop counts blocks, and the
index is the number of the block times the step.

The threads share the iterations of one loop. A short outer loop has too few iterations, and the
coalesced loop has enough. The pass only coalesces loops that a schedule fuses. Loops over axes that
are adjacent in memory need no pass: planning merges them into one loop without divisions.
"""

from __future__ import annotations

from tbe_impl.codegen.loop_ir import INDEX, ZERO, Expr, For, Int, Let, Stmt, Var, fold, op

THREAD_BEGIN, THREAD_END = Var("begin"), Var("end")
"""The iterations of a parallel loop that one thread runs: parameters of the nest's function."""


def trip_count(begin: Expr, end: Expr, step: int) -> Expr:
    """Returns the trip count of a loop."""
    count = op("sub", end, begin) if begin != ZERO else end
    return op("div", op("add", count, Int(step - 1)), Int(step)) if step > 1 else count


def coalesce_loops(node: Stmt) -> Stmt:
    """Coalesces a loop with its `For.inner` inner loops; returns other statements unchanged."""
    if not isinstance(node, For) or not node.inner:
        return node
    loops, starts = [node], [node.body]
    for _ in range(node.inner):
        *first, inner = starts.pop()
        assert isinstance(inner, For)
        loops.append(inner)
        starts += [tuple(first), inner.body]
    steps = [one.step.value for one in loops if isinstance(one.step, Int)]
    counts = [
        trip_count(one.begin or ZERO, one.end, step) for one, step in zip(loops, steps, strict=True)
    ]
    whole = Var("_".join(one.name for one in loops))
    body: list[Stmt] = []
    rest: Expr = whole
    for number, (one, own) in enumerate(zip(loops, starts, strict=True)):
        value = rest
        if counts[number + 1 :]:
            behind = fold("mul", counts[number + 1 :])
            value, rest = op("div", rest, behind), op("mod", whole, behind)
        if steps[number] > 1:
            value = op("mul", value, one.step)
        if one.begin != ZERO:
            value = op("add", one.begin or ZERO, value)
        body += [Let(one.name, INDEX, value), *own]
    begin, end = (THREAD_BEGIN, THREAD_END) if node.is_shared else (ZERO, fold("mul", counts))
    return For(whole.name, begin, end, tuple(body), unroll=node.unroll)
