"""Defines the names of the attributes that we set on Cells."""

from __future__ import annotations

CELL_FLAGS = "_ms_fusion_flags"
"""Name of the attribute of a patched Cell with the setting for this Cell and its inner Cells."""
CALLED_NET = "called_net"
"""Name of the attribute of our Cell `OneShape` with the net that it wraps."""
HELD_FLAGS = "_ms_fusion_held"
"""Name of the attribute with the flags of a Cell's last call in a text generation phase."""
