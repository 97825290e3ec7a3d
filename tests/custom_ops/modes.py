"""MindSpore's modes as a row of a table."""

from __future__ import annotations

MODES = ("graph", "pynative")


def set_mode(mode: str) -> None:
    """Sets the mode; the fixtures restore it after the test."""
    import mindspore

    mindspore.set_context(
        mode={"graph": mindspore.GRAPH_MODE, "pynative": mindspore.PYNATIVE_MODE}[mode]
    )
