"""Lists the MindSpore passes that must be disabled to keep the order of reads and in-place writes.

If a net reads a parameter and then overwrites the parameter in place, an operator `UpdateState`
keeps this order. The inputs of `UpdateState` are the operators that read the parameter. If a
reading operator is in a group of fused operators, its result becomes a result of the group. The
pass `extend_output_for_update_state` then changes the inputs of `UpdateState`: it replaces the
reading operator by the results of the group that depend on the reading operator. If no result of
the group depends on the reading operator, the pass removes the input, and the order is lost. So no
earlier pass may remove an operator between the reading operator and the results of the group.
Example:

    y = tanh(p.reshape(8, 4)).reshape(4, 8)  # a pass removes both reshapes, so no link to p is left
    assign(p, x)                             # then y is tanh(x), not tanh(p)

The pass `optimize_assign` replaces the value that was written to a parameter by the parameter
itself. The replacement is wrong if another write to the parameter follows.
"""

from __future__ import annotations

_EXTEND = "extend_output_for_update_state"

ORDER_LOSING_PASSES = (
    "highlevelopt1.reorder_ops",
    "highlevelopt1.transform_op_optimizer",
    "highlevelopt2.optimize_assign",
    f"highlevelopt2.{_EXTEND}",
)
"""Passes that lose the order of reads and writes; MindSpore runs them at opt_level 2 and above."""

ORDER_RELINK_PASS = f"build.{_EXTEND}"
"""A pass that makes every result of a group an input of `UpdateState`; one result would suffice.

The number of these inputs, and with it the compile time, grows with the square of the number of
results. MindSpore runs the pass at all levels above 0.
"""


def disabled_passes(level: int) -> tuple[str, ...]:
    """Returns the passes to disable at the optimization level `level` (the flag `opt_level`).

    The result contains only passes that MindSpore runs at this level. If the flags disabled another
    pass, MindSpore would issue a warning at process exit.
    """
    return (
        (ORDER_RELINK_PASS, *ORDER_LOSING_PASSES)
        if level >= 2
        else (ORDER_RELINK_PASS,)
        if level
        else ()
    )
