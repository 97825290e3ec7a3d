"""Wraps a net in a Cell that is compiled for the shapes of its arguments.

Other modules must import this module inside of functions, because this module imports MindSpore.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindspore import nn

from ms_fusion.mindspore.state.cell_attributes import CALLED_NET, CELL_FLAGS


class OneShape(nn.Cell):
    """A Cell that calls a net and is compiled for the shapes of the arguments.

    MindSpore uses the shapes that the outermost Cell declares by ``set_inputs``. This Cell is the
    outermost Cell and declares no shapes. So shapes that the net declares have no effect.
    """

    def __init__(self, net: Callable[..., Any]) -> None:
        """Wraps the Cell or function `net`; the weights of `net` keep their names.

        If `patch` was applied to `net`, the setting of `patch` also applies to the new Cell.
        """
        super().__init__(auto_prefix=False)
        setattr(self, CALLED_NET, net)
        own = getattr(net, CELL_FLAGS, None)
        if own is not None:
            setattr(self, CELL_FLAGS, own)

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the result of the wrapped net."""
        return self.called_net(*args, **kwargs)
