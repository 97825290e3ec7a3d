"""Names of the attributes in which Cells carry our state."""

from __future__ import annotations

CELL_FLAGS = "_ms_fusion_flags"
"""A Cell's own setting, which holds for it and what is in it."""
CALLED_NET = "called_net"
"""The net, of a Cell of ours that does no more than call one."""
HELD = "_ms_fusion_held"
"""What held when a Cell that generates text was last called."""
