"""Disables MindSpore's passes that lose the order of parameter reads and in-place writes.

The order of reads and in-place writes is kept by `UpdateState`, whose inputs are the operators that read. In a group the reading
operator becomes a result of the group, and `extend_output_for_update_state` puts those results in its place that are computed
from it, or none where there are none. So no pass may come before that takes such an operator out of its chain:

    y = tanh(p.reshape(8, 4)).reshape(4, 8)     # the reshapes are gone, and with them the link to what reads p
    assign(p, x)                                # y is tanh(x), not tanh(p)

`optimize_assign` hands out the parameter in place of the value that was written to it, also where another write follows.
"""

from __future__ import annotations

_EXTEND = "extend_output_for_update_state"

LOSING_ORDER = (
    "highlevelopt1.reorder_ops",
    "highlevelopt1.transform_op_optimizer",
    "highlevelopt2.optimize_assign",
    f"highlevelopt2.{_EXTEND}",
)
"""Run from opt_level 2 on."""

ORDER_ONCE_MORE = f"build.{_EXTEND}"
"""Links each `UpdateState` to each result once more, in place of one result of each group, which says the same.

The links grow with the square of a group's results: with it a training step of a language model takes three times as long
to compile. Run at all levels.
"""


def order_kept(level: int) -> tuple[str, ...]:
    """The passes to leave out at an opt_level.

    At the end of a process MindSpore warns of those that it does not run at the level.
    """
    return (ORDER_ONCE_MORE, *LOSING_ORDER) if level >= 2 else (ORDER_ONCE_MORE,) if level else ()
