"""Lists the MindSpore passes that must be disabled to keep the order of reads and in-place writes.

If a net reads a parameter and then overwrites it in place, an operator `UpdateState` keeps this
order: its inputs are the operators that read the parameter. If such a reading operator is in a
group of fused operators, it becomes a result of the group. Then the pass
`extend_output_for_update_state` changes the inputs of `UpdateState`: it replaces the reading
operator by those results of the group that are computed from it. If there are no such results, the
pass removes the input, and the order is lost. So no earlier pass may remove an operator between the
reading operator and these results:

    y = tanh(p.reshape(8, 4)).reshape(4, 8)  # a pass removes the reshapes, and the link to p's read
    assign(p, x)                             # then y is tanh(x), not tanh(p)

The pass `optimize_assign` replaces the value that was written to a parameter by the parameter
itself. This is wrong if another write follows.
"""

from __future__ import annotations

_EXTEND = "extend_output_for_update_state"

ORDER_LOSING_PASSES = (
    "highlevelopt1.reorder_ops",
    "highlevelopt1.transform_op_optimizer",
    "highlevelopt2.optimize_assign",
    f"highlevelopt2.{_EXTEND}",
)
"""Passes that lose the order; MindSpore runs them at opt_level 2 and above."""

ORDER_RELINK_PASS = f"build.{_EXTEND}"
"""A pass that links each `UpdateState` to every result of a group; one result would suffice.

The number of links grows with the square of the number of results, and compile times grow with it.
MindSpore runs the pass at all levels above 0.
"""


def disabled_passes(level: int) -> tuple[str, ...]:
    """Returns the passes to disable: those of this module that MindSpore runs at this opt_level.

    A pass that MindSpore does not run at this level is left out: if it were disabled, MindSpore
    would issue a warning at process exit.
    """
    return (
        (ORDER_RELINK_PASS, *ORDER_LOSING_PASSES)
        if level >= 2
        else (ORDER_RELINK_PASS,)
        if level
        else ()
    )
