"""Disables MindSpore's passes that lose the order of parameter reads and in-place writes.

`UpdateState` keeps the order of reads and in-place writes; its inputs are the reading operators. In
a group the reading operator becomes a result of the group. `extend_output_for_update_state`
replaces it by the group's results that are computed from it, or by nothing if there are none. So no
earlier pass may remove such an operator from its chain:

    y = tanh(p.reshape(8, 4)).reshape(4, 8)     # the reshapes are gone, and the link to the read of
    p
    assign(p, x)                                # y is tanh(x), not tanh(p)

`optimize_assign` returns the parameter instead of the value that was written to it, also if another
write follows.
"""

from __future__ import annotations

_EXTEND = "extend_output_for_update_state"

ORDER_LOSING_PASSES = (
    "highlevelopt1.reorder_ops",
    "highlevelopt1.transform_op_optimizer",
    "highlevelopt2.optimize_assign",
    f"highlevelopt2.{_EXTEND}",
)
"""Passes that MindSpore runs from opt_level 2 on."""

ORDER_RELINK_PASS = f"build.{_EXTEND}"
"""Links each `UpdateState` to every result again; one result per group would suffice.

The number of links grows with the square of a group's results and multiplies compile times.
MindSpore runs the pass at all levels.
"""


def disabled_passes(level: int) -> tuple[str, ...]:
    """The passes to disable at an opt_level.

    At process exit MindSpore warns of disabled passes that the level does not run.
    """
    return (
        (ORDER_RELINK_PASS, *ORDER_LOSING_PASSES)
        if level >= 2
        else (ORDER_RELINK_PASS,)
        if level
        else ()
    )
