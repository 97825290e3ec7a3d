"""MindSpore's modes as a row of a table."""

from __future__ import annotations

MODES = ("graph", "pynative")


def set_mode(mode: str) -> None:
    """The mode from now on; the fixtures put it back after the test."""
    import mindspore

    mindspore.set_context(
        mode={"graph": mindspore.GRAPH_MODE, "pynative": mindspore.PYNATIVE_MODE}[mode]
    )
