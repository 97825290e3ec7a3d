"""Names of the attributes with which Cells carry our state."""

from __future__ import annotations

CELL_FLAGS = "_ms_fusion_flags"
"""A Cell's own setting, which applies to the Cell and its inner Cells."""
CALLED_NET = "called_net"
"""The net inside a wrapper Cell of ours."""
HELD_FLAGS = "_ms_fusion_held"
"""The flags in force at the last call of a Cell that generates text."""
