"""Defines the names of the attributes that we set on Cells."""

from __future__ import annotations

CELL_FLAGS = "_ms_fusion_flags"
"""Attribute with the setting of a patched Cell, which applies to the Cell and its inner Cells."""
CALLED_NET = "called_net"
"""Attribute of our Cell `OneShape` with the net that it wraps."""
HELD_FLAGS = "_ms_fusion_held"
"""Attribute with the flags that applied to a Cell's last call in a text generation phase."""
