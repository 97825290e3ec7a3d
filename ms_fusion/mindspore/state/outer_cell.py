"""Wraps a net in a Cell that is compiled for its arguments; imports MindSpore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindspore import nn

from ms_fusion.mindspore.state.cell_attributes import CALLED_NET, CELL_FLAGS


class OneShape(nn.Cell):
    """Calls the net. Inputs that the net declares apply to the outermost Cell only, so not here."""

    def __init__(self, net: Callable[..., Any]) -> None:
        """`net` is a Cell or a function; its weights keep their names, and its preset applies here
        too.
        """
        super().__init__(auto_prefix=False)
        setattr(self, CALLED_NET, net)
        own = getattr(net, CELL_FLAGS, None)
        if own is not None:
            setattr(self, CELL_FLAGS, own)

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """What the net returns."""
        return self.called_net(*args, **kwargs)
